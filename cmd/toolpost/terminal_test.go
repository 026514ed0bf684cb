//go:build unix

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/internal/pages"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestTerminalSessions drives the program in a real terminal. A session is a txtar file with its purpose, the files that
// it needs, its steps, and the expected screens. Steps are
//
//	size WIDTH HEIGHT   start in a terminal of that size, or change to it
//	type TEXT           type, without Enter
//	key NAME...         press keys by tmux's names for them
//	answer KEY          choose an answer of a question: its key, then Enter
//	wait TEXT           wait until the screen shows the text
//	gone TEXT           wait until the screen does not show the text
//	screen NAME         wait until the screen equals the file of that name
//	shell COMMAND       run a command in the folder of the session, outside the terminal
//	settle DURATION     before size: for how long a new question ignores keys, for sessions
//	                    that press keys too early
//
// Durations, ids of runs and spinners are not compared. A session with only one width is played again at another width.
// The expected screens are then the files "screen NAME at WIDTH". In a nested archive, "=== 1 ===" replaces "-- 1 --".
func TestTerminalSessions(t *testing.T) { playSessions(t, false) }

// TestChatSessions plays the sessions of chat, whose names begin with it.
func TestChatSessions(t *testing.T) { playSessions(t, true) }

func playSessions(t *testing.T, chat bool) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: no terminal to look at")
	}
	files, err := filepath.Glob("testdata/terminal/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if strings.HasPrefix(name, "chat") != chat {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a session mostly waits
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			playSession(t, path)
		})
	}
}

var marker = regexp.MustCompile(`(?m)^=== (.*) ===$`)

func playSession(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	needs := make(map[string]string)
	for _, f := range archive.Files {
		if f.Name != "steps" && !strings.HasPrefix(f.Name, "screen ") {
			needs[f.Name] = marker.ReplaceAllString(string(f.Data), "-- $1 --")
		}
	}
	steps := strings.Split(strings.TrimSpace(string(fileIn(archive, "steps"))), "\n")
	screens := playSteps(t, archive, needs, steps, "")
	if steps, width := atOtherWidth(steps); width != "" {
		screens = append(screens, playSteps(t, archive, needs, steps, " at "+width)...)
	}
	compareScreens(t, path, archive, screens)
}

// atOtherWidth returns the steps of a session at another width and that width. The width is empty if the session names
// several widths.
func atOtherWidth(steps []string) (changed []string, width string) {
	named := make(map[string]bool)
	for _, step := range steps {
		if f := strings.Fields(step); f[0] == "size" {
			named[f[1]] = true
		}
	}
	if len(named) != 1 {
		return nil, ""
	}
	width = "120"
	if named[width] {
		width = "80"
	}
	for _, step := range steps {
		if f := strings.Fields(step); f[0] == "size" {
			step = "size " + width + " " + f[2]
		}
		changed = append(changed, step)
	}
	return changed, width
}

// playSteps plays the steps of a session in a new terminal and returns its screens. Their names end with suffix.
func playSteps(t *testing.T, archive *txtar.Archive, needs map[string]string, steps []string, suffix string) []txtar.File {
	t.Helper()
	term := newTerminal(t)
	clitest.WriteFiles(t, term.work, needs)
	var screens []txtar.File
	for i, step := range steps {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch verb {
		case "size":
			term.size(strings.Fields(rest))
		case "type":
			term.run("send-keys", "-t", "0", "-l", rest)
		case "key":
			term.run(append([]string{"send-keys", "-t", "0"}, strings.Fields(rest)...)...)
		case "word": // by single keys: a text that came at once is taken as pasted
			for n := range len(rest) {
				term.run("send-keys", "-t", "0", "-l", rest[n:n+1])
				term.wait("› "+rest[:n+1], true)
			}
		case "answer":
			term.run("send-keys", "-t", "0", "-l", rest)
			term.wait("  Enter", true)
			term.run("send-keys", "-t", "0", "Enter")
		case "wait":
			term.wait(rest, true)
		case "gone":
			term.wait(rest, false)
		case "screen":
			name := "screen " + rest + suffix
			screens = append(screens, txtar.File{Name: name, Data: []byte(term.shows(string(fileIn(archive, name))))})
		case "settle":
			term.env["TOOLPOST_TEST_SETTLE"] = rest
		case "shell":
			cmd := exec.Command("sh", "-c", rest)
			cmd.Dir = term.work
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("step %d: %v\n%s", i+1, err, out)
			}
		default:
			t.Fatalf("step %d: %q", i+1, step)
		}
	}
	return screens
}

func fileIn(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func compareScreens(t *testing.T, path string, archive *txtar.Archive, screens []txtar.File) {
	t.Helper()
	if *update {
		var kept []txtar.File
		for _, f := range archive.Files {
			if !strings.HasPrefix(f.Name, "screen ") {
				kept = append(kept, f)
			}
		}
		for i, s := range screens { // keep parts that are not compared
			if old := fileIn(archive, s.Name); old != nil && steadyScreen(string(old)) == steadyScreen(string(s.Data)) {
				screens[i].Data = old
			}
		}
		archive.Files = append(kept, screens...)
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, s := range screens {
		want := string(fileIn(archive, s.Name))
		if d := cmp.Diff(steadyScreen(want), steadyScreen(string(s.Data))); d != "" {
			t.Errorf("%s is not as it was (-want +got):\n%s", s.Name, d)
		}
	}
}

// The parts of a screen that vary: the spinner, dates, and lines about calls that do not fit. In such a line the
// duration of the call determines how much of its result (cut) and of its arguments (shortened) is shown.
var (
	turning   = regexp.MustCompile("[" + string(view.Spinner) + "]")
	cut       = regexp.MustCompile(`^([✓✗*] .*?) · .*…$`)
	shortened = regexp.MustCompile(`^([✓✗*] \S+) .*… · `)
	dated     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|\bhead (sha256:)?[0-9a-f]{12,64}\b`)
)

// steadyScreen returns a screen without the parts that vary. A prompt at its end may be late.
func steadyScreen(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line = pages.Timeless(strings.TrimRight(line, "\n"))
		line = turning.ReplaceAllString(line, "*")
		line = dated.ReplaceAllString(line, "*")
		line = cut.ReplaceAllString(line, "$1 · …")
		out = append(out, shortened.ReplaceAllString(line, "$1 … · "))
	}
	return strings.TrimSuffix(strings.Join(out, "\n"), "\n$")
}

// terminal is a separate terminal with a shell.
type terminal struct {
	t      *testing.T
	socket string
	bin    string
	work   string // folder of the shell
	env    map[string]string
	open   bool
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	bin := programPath(t)
	if err := os.WriteFile(filepath.Join(bin, "rc"), []byte("PS1='$ '\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, socket: filepath.Join(t.TempDir(), "s"), bin: bin, work: t.TempDir(), env: clitest.BareEnv(t.TempDir())}
	t.Cleanup(func() {
		if term.open {
			_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		}
	})
	return term
}

// size opens the terminal, or changes its size.
func (term *terminal) size(wh []string) {
	term.t.Helper()
	if len(wh) != 2 {
		term.t.Fatal("size needs a width and a height")
	}
	if term.open {
		term.run("resize-window", "-t", "0", "-x", wh[0], "-y", wh[1])
		return
	}
	term.open = true
	term.run("-f", "/dev/null", "new-session", "-d", "-s", "0", "-c", term.work, "-x", wh[0], "-y", wh[1], "exec sh -i")
	term.wait("$", true)
}

// run runs a tmux command and returns its output.
func (term *terminal) run(args ...string) string {
	term.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", term.socket}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+term.bin+":"+os.Getenv("PATH"), "ENV="+filepath.Join(term.bin, "rc"), "LC_ALL=C.UTF-8", "TMUX=", "TERM=xterm-256color")
	for name, value := range term.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		term.t.Fatalf("tmux %s: %v %s", strings.Join(args, " "), err, problem.String())
	}
	return out.String()
}

// screen returns the text on the screen, without the empty lines at its end.
func (term *terminal) screen() string {
	term.t.Helper()
	var lines []string
	for line := range strings.Lines(term.run("capture-pane", "-t", "0", "-p")) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// shows waits until the screen is as wanted, and returns the final screen. A screen that is to be saved has one second
// to appear.
func (term *terminal) shows(want string) string {
	term.t.Helper()
	patience := longWait / 2
	if *update {
		patience = time.Second
	}
	got := term.screen()
	for deadline := time.Now().Add(patience); steadyScreen(got) != steadyScreen(want) && time.Now().Before(deadline); got = term.screen() {
		time.Sleep(50 * time.Millisecond)
	}
	return got
}

// wait waits until the screen shows a text, or does not show it, and then until the screen stops changing.
func (term *terminal) wait(text string, there bool) {
	term.t.Helper()
	deadline := time.Now().Add(longWait)
	for strings.Contains(term.screen(), text) != there {
		if time.Now().After(deadline) {
			term.t.Fatalf("waited for %q (%v) in vain:\n%s", text, there, term.screen())
		}
		time.Sleep(50 * time.Millisecond)
	}
	for last := ""; steadyScreen(term.screen()) != last; time.Sleep(120 * time.Millisecond) {
		last = steadyScreen(term.screen())
	}
}
