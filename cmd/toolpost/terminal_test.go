//go:build unix

package main

import (
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
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
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
	term := programtest.NewTerminal(t)
	clitest.WriteFiles(t, term.Work, needs)
	patience := programtest.LongWait / 2
	if *update {
		patience = time.Second // for a screen that will be saved
	}
	var screens []txtar.File
	for i, step := range steps {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch verb {
		case "size":
			term.Size(strings.Fields(rest))
		case "type":
			term.Run("send-keys", "-t", "0", "-l", rest)
		case "key":
			term.Run(append([]string{"send-keys", "-t", "0"}, strings.Fields(rest)...)...)
		case "word": // by single keys: a text that came at once is taken as pasted
			for n := range len(rest) {
				term.Run("send-keys", "-t", "0", "-l", rest[n:n+1])
				term.Wait("› "+rest[:n+1], true)
			}
		case "answer":
			term.Run("send-keys", "-t", "0", "-l", rest)
			term.Wait("  Enter", true)
			term.Run("send-keys", "-t", "0", "Enter")
		case "wait":
			term.Wait(rest, true)
		case "gone":
			term.Wait(rest, false)
		case "screen":
			name := "screen " + rest + suffix
			screens = append(screens, txtar.File{Name: name, Data: []byte(term.Shows(string(fileIn(archive, name)), patience))})
		case "settle":
			term.Env["TOOLPOST_TEST_SETTLE"] = rest
		case "shell":
			cmd := exec.Command("sh", "-c", rest)
			cmd.Dir = term.Work
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
			if old := fileIn(archive, s.Name); old != nil && programtest.Steady(string(old)) == programtest.Steady(string(s.Data)) {
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
		if d := cmp.Diff(programtest.Steady(want), programtest.Steady(string(s.Data))); d != "" {
			t.Errorf("%s is not as it was (-want +got):\n%s", s.Name, d)
		}
	}
}
