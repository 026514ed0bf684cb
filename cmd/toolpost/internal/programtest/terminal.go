//go:build unix

package programtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/internal/pages"
)

// Press presses keys, by tmux's names for them.
func (term *Terminal) Press(keys ...string) {
	term.t.Helper()
	term.Run(append([]string{"send-keys", "-t", "0"}, keys...)...)
}

// Enter types a line.
func (term *Terminal) Enter(text string) {
	term.t.Helper()
	term.Run("send-keys", "-t", "0", "-l", text)
	term.Wait(text[max(0, len(text)-20):], true)
	term.Press("Enter")
}

// Choose chooses an answer of a question.
func (term *Terminal) Choose(offer, key string) {
	term.t.Helper()
	term.Wait(offer, true)
	term.Run("send-keys", "-t", "0", "-l", key)
	term.Wait("  Enter", true)
	term.Press("Enter")
}

// Kill ends the program that runs in the terminal with SIGKILL.
func (term *Terminal) Kill() {
	term.t.Helper()
	shell := strings.TrimSpace(term.Run("list-panes", "-t", "0", "-F", "#{pane_pid}"))
	child, err := exec.Command("pgrep", "-P", shell).Output()
	if err != nil {
		term.t.Fatal("no program runs in the terminal: ", err)
	}
	if err := exec.Command("kill", "-9", strings.TrimSpace(string(child))).Run(); err != nil {
		term.t.Fatal(err)
	}
	term.Wait("Killed", true)
}

// Recorded returns the id and the text of the only record.
func (term *Terminal) Recorded() (id, text string) {
	term.t.Helper()
	var files []string
	_ = filepath.WalkDir(term.Env["HOME"], func(path string, _ os.DirEntry, _ error) error {
		if filepath.Base(filepath.Dir(path)) == "runs" && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) != 1 {
		term.t.Fatalf("the records are %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		term.t.Fatal(err)
	}
	return strings.TrimSuffix(filepath.Base(files[0]), ".jsonl"), string(b)
}

// The parts of a screen that vary: the spinner, dates, and lines about calls that do not fit. In such a line the
// duration of the call determines how much of its result (cut) and of its arguments (shortened) is shown.
var (
	turning   = regexp.MustCompile("[" + string(view.Spinner) + "]")
	cut       = regexp.MustCompile(`^([✓✗*] .*?) · .*…$`)
	shortened = regexp.MustCompile(`^([✓✗*] \S+) .*… · `)
	dated     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|\bhead (sha256:)?[0-9a-f]{12,64}\b`)
)

// Steady returns a screen without the parts that vary. A prompt at its end may be late.
func Steady(text string) string {
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

// Terminal is a separate terminal with a shell.
type Terminal struct {
	t      *testing.T
	socket string
	bin    string
	Work   string // folder of the shell
	Env    map[string]string
	open   bool
}

// NewTerminal returns a terminal that opens with its first size.
func NewTerminal(t *testing.T) *Terminal {
	t.Helper()
	bin := Path(t)
	if err := os.WriteFile(filepath.Join(bin, "rc"), []byte("PS1='$ '\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	term := &Terminal{t: t, socket: filepath.Join(t.TempDir(), "s"), bin: bin, Work: t.TempDir(), Env: clitest.BareEnv(t.TempDir())}
	t.Cleanup(func() {
		if term.open {
			_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		}
	})
	return term
}

// Toolpost returns the path of the program in the terminal.
func (term *Terminal) Toolpost() string { return filepath.Join(term.bin, "toolpost") }

// Size opens the terminal, or changes its size.
func (term *Terminal) Size(wh []string) {
	term.t.Helper()
	if len(wh) != 2 {
		term.t.Fatal("size needs a width and a height")
	}
	if term.open {
		term.Run("resize-window", "-t", "0", "-x", wh[0], "-y", wh[1])
		return
	}
	term.open = true
	term.Run("-f", "/dev/null", "new-session", "-d", "-s", "0", "-c", term.Work, "-x", wh[0], "-y", wh[1], "exec sh -i")
	term.Wait("$", true)
}

// Run runs a tmux command and returns its output.
func (term *Terminal) Run(args ...string) string {
	term.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", term.socket}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+term.bin+":"+os.Getenv("PATH"), "ENV="+filepath.Join(term.bin, "rc"), "LC_ALL=C.UTF-8", "TMUX=", "TERM=xterm-256color")
	for name, value := range term.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		term.t.Fatalf("tmux %s: %v %s", strings.Join(args, " "), err, problem.String())
	}
	return out.String()
}

// Screen returns the text on the screen, without the empty lines at its end.
func (term *Terminal) Screen() string {
	term.t.Helper()
	var lines []string
	for line := range strings.Lines(term.Run("capture-pane", "-t", "0", "-p")) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// Shows waits until the screen is as wanted, and returns the final screen.
func (term *Terminal) Shows(want string, patience time.Duration) string {
	term.t.Helper()
	got := term.Screen()
	for deadline := time.Now().Add(patience); Steady(got) != Steady(want) && time.Now().Before(deadline); got = term.Screen() {
		time.Sleep(50 * time.Millisecond)
	}
	return got
}

// Wait waits until the screen shows a text, or does not show it, and then until the screen stops changing.
func (term *Terminal) Wait(text string, there bool) {
	term.t.Helper()
	deadline := time.Now().Add(LongWait)
	for strings.Contains(term.Screen(), text) != there {
		if time.Now().After(deadline) {
			term.t.Fatalf("waited for %q (%v) in vain:\n%s", text, there, term.Screen())
		}
		time.Sleep(50 * time.Millisecond)
	}
	for last := ""; Steady(term.Screen()) != last; time.Sleep(120 * time.Millisecond) {
		last = Steady(term.Screen())
	}
}
