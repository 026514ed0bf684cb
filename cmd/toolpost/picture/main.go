// Command picture makes the pictures of the documents: the diagrams, and an animated recording of 'toolpost demo' in a
// terminal. It needs tmux. Its argument is the folder to write to:
//
//	go run ./cmd/toolpost/picture docs/pictures
//
// All text in the recording is real output of the command.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The size of the picture.
const columns, rows = 100, 22

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./cmd/toolpost/picture FOLDER")
	}
	scenes, err := record()
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], "demo.svg"), draw(scenes, columns, rows), 0o644)
	}
	if err == nil {
		err = writeDiagrams(os.Args[1])
	}
	if err != nil {
		log.Fatal("picture: ", err)
	}
}

// question begins the last line of a question about a call.
const question = "a key, then Enter"

// record plays the demo in tmux and returns a screen with colours for each scene. The dangerous call is refused.
func record() ([]string, error) {
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "toolpost"), "./cmd/toolpost")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	socket := filepath.Join(dir, "tmux")
	tmux := func(args ...string) (string, error) {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HOME="+dir, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TMUX=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := tmux("-u", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "50", "env", "-u", "NO_COLOR", "PS1=$ ", "sh"); err != nil {
		return nil, fmt.Errorf("tmux: %w\n%s", err, out)
	}
	defer tmux("kill-server")
	if err := settle(tmux, func(screen string) bool { return strings.TrimSpace(screen) == "$" }); err != nil {
		return nil, err
	}
	tmux("send-keys", "toolpost demo", "Enter")
	var scenes []string
	for asked := false; ; {
		last := ""
		err := settle(tmux, func(screen string) bool {
			lines := strings.Split(strings.TrimSpace(screen), "\n")
			last = strings.TrimSpace(lines[len(lines)-1])
			return strings.HasPrefix(last, "Enter: next") || strings.HasPrefix(last, question) && !asked || last == "$" && len(lines) > 1
		})
		if err != nil {
			return nil, err
		}
		screen, err := tmux("capture-pane", "-e", "-p")
		if err != nil {
			return nil, err
		}
		scenes = append(scenes, lastScene(screen))
		if last == "$" {
			return scenes, nil
		}
		if strings.HasPrefix(last, question) {
			asked = true
			time.Sleep(time.Second) // a new question ignores keys for a moment
			tmux("send-keys", "n")
			time.Sleep(time.Second) // a key and Enter at once are text that was pasted
			tmux("send-keys", "Enter")
		} else {
			tmux("send-keys", "-R") // an empty screen for the next scene
			tmux("send-keys", "Enter")
		}
	}
}

// lastScene returns the lines of the last scene on a screen, below the command that was typed.
func lastScene(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	first, last := 0, len(lines)
	for i, line := range lines {
		switch plain := escapes.ReplaceAllString(line, ""); {
		case heading.MatchString(plain):
			first = i
		case strings.HasPrefix(plain, "Enter: next"), strings.TrimSpace(plain) == "$" && i == len(lines)-1:
			last = i
		}
	}
	return "$ toolpost demo\n\n" + strings.TrimRight(strings.Join(lines[first:last], "\n"), "\n")
}

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
	heading = regexp.MustCompile(`^\d of \d  `)
)

// settle waits until the screen is as wanted.
func settle(tmux func(...string) (string, error), wanted func(string) bool) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if screen, err := tmux("capture-pane", "-p"); err == nil && wanted(screen) {
			return nil
		}
	}
	screen, _ := tmux("capture-pane", "-p")
	return errors.New("the screen does not become what it should:\n" + screen)
}

// The look of the picture.
const (
	cell, line, margin = 8.4, 18, 16
	seconds            = 7 // for each screen
)

// draw returns an animation that shows the screens in an endless loop. Viewers without animation show the last one.
func draw(scenes []string, columns, rows int) []byte {
	var b bytes.Buffer
	width, height := int(cell*float64(columns))+2*margin, line*rows+3*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" xml:space="preserve" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" role="img" aria-label="toolpost demo in a terminal">`+"\n", width, height, width, height)
	b.WriteString(`<style>text{fill:#d8dee9;white-space:pre}` +
		`.b{font-weight:bold}.d{fill:#8791a5}.c31{fill:#ff7b85}.c32{fill:#a3d977}.c33{fill:#f2c56b}.c34{fill:#7fb2ff}.c35{fill:#d39bea}.c36{fill:#6fd3d8}`)
	for i := range scenes {
		from, to := 100*float64(i)/float64(len(scenes)), 100*float64(i+1)/float64(len(scenes))
		fmt.Fprintf(&b, `#s%d{animation:k%d %ds step-end infinite}@keyframes k%d{0%%{opacity:%d}%.2f%%{opacity:1}%.2f%%{opacity:0}100%%{opacity:0}}`, i, i, seconds*len(scenes), i, visible(i == 0), from, to)
	}
	b.WriteString("</style>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="10" fill="#1e222a"/><circle cx="20" cy="18" r="6" fill="#ff6159"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#28c941"/>`+"\n", width, height)
	for i, screen := range scenes {
		fmt.Fprintf(&b, `<g id="s%d" opacity="%d">`+"\n", i, visible(i == len(scenes)-1))
		for row, text := range strings.Split(strings.TrimRight(screen, "\n"), "\n") {
			drawLine(&b, text, margin, 2*margin+line*(row+1))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func visible(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// drawLine draws a line of a screen, with one element for each run of a colour.
func drawLine(b *bytes.Buffer, text string, x, y int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fmt.Fprintf(b, `<text y="%d">`, y)
	column, class := 0, ""
	for text != "" {
		piece, rest, escaped := strings.Cut(text, "\x1b[")
		if piece != "" {
			n := len([]rune(piece)) // columns stay aligned in any font
			fmt.Fprintf(b, `<tspan x="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</tspan>`, float64(x)+cell*float64(column), cell*float64(n), class, escapeXML(piece))
			column += n
		}
		if !escaped {
			break
		}
		code, after, _ := strings.Cut(rest, "m")
		class, text = colour(class, code), after
	}
	b.WriteString("</text>\n")
}

// colour returns the class after the codes of an escape sequence.
func colour(class, codes string) string {
	names := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(class, ` class="`), `"`))
	for code := range strings.SplitSeq(codes, ";") {
		switch {
		case code == "" || code == "0":
			names = nil
		case code == "1":
			names = append(names, "b")
		case code == "2":
			names = append(names, "d")
		case len(code) == 2 && code[0] == '3' && code[1] >= '1' && code[1] <= '6':
			names = append(names, "c"+code)
		case code == "39" || code == "22":
			names = nil
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func escapeXML(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text))
}
