package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown is one command in a document, with the output the document shows.
type shown struct {
	file    string
	line    int
	command string
	output  []string // nil: the document shows none
}

// documentedCommands runs every command that README.md and docs/ show in a
// "console" fence, and compares the output where they show it. A line "…"
// stands for any lines; durations and ids of runs may differ. A command that
// fails is shown with what it says first.
func documentedCommands(t *testing.T) {
	root := moduleRoot(t)
	env := documentEnv(t, root)
	for _, file := range documents(t, root) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands(file, string(text)) {
			t.Run(fmt.Sprintf("%s:%d", c.file, c.line), func(t *testing.T) { c.check(t, root, env) })
		}
	}
}

func (c shown) check(t *testing.T, root string, env []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.command)
	cmd.Dir, cmd.Env = root, env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && (len(c.output) == 0 || strings.TrimSpace(c.output[0]) == "…") {
		t.Fatalf("$ %s\n%v\n%s", c.command, err, out.String())
	}
	got := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if c.output != nil && !matches(c.output, got) {
		t.Errorf("$ %s\nshown:\n%s\nreal:\n%s", c.command, strings.Join(c.output, "\n"), strings.Join(got, "\n"))
	}
}

// matches compares lines, where "…" in want stands for any number of lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "…" {
		for i := range len(got) + 1 {
			if matches(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && timeless(want[0]) == timeless(got[0]) && matches(want[1:], got[1:])
}

// varying is what is different every time: durations, and the ids of runs.
var varying = regexp.MustCompile(`<?\b\d+(\.\d)? m?s\b|<1 ms|\b\d{8}-\d{6}-[a-z2-7]{8}\b`)

// timeless returns a line without what is different every time.
func timeless(line string) string {
	return varying.ReplaceAllString(strings.TrimRight(line, " "), "*")
}

// commands finds the commands of a document. A line that ends in a backslash
// goes on in the next.
func commands(file, text string) []shown {
	var found []shown
	inside := false
	more := false
	for i, line := range strings.Split(text, "\n") {
		last := len(found) - 1
		switch command, ok := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside, more = !inside && strings.TrimSpace(line) == "```console", false
		case !inside:
		case more:
			found[last].command += "\n" + line
			more = strings.HasSuffix(line, `\`)
		case ok:
			found = append(found, shown{file: file, line: i + 1, command: command})
			more = strings.HasSuffix(line, `\`)
		case last >= 0:
			found[last].output = append(found[last].output, line)
		}
	}
	return found
}

// documents lists README.md, what it leads to in that order, and everything else
// below docs.
func documents(t *testing.T, root string) []string {
	t.Helper()
	files := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	place := func(file string) int {
		if i := strings.Index(string(readme), file); i >= 0 {
			return i
		}
		return len(readme)
	}
	slices.SortStableFunc(files[1:], func(a, b string) int { return place(a) - place(b) })
	return files
}

// documentEnv builds the program and returns an environment in which it is on
// the path, nothing is configured, and no key is set.
func documentEnv(t *testing.T, root string) []string {
	t.Helper()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "toolpost"), "./cmd/toolpost")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	home := t.TempDir()
	env := []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_STATE_HOME=" + home, "NO_COLOR=1",
		"TOOLPOST_LOCAL=none", // whatever runs on the machine of the test
	}
	for _, name := range []string{"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCommandsOfADocument(t *testing.T) {
	got := commands("x.md", "text\n$ not this\n```console\n$ one\n$ two \\\n  more\nout\n…\n```\n```sh\n$ nor this\n```\n")
	if len(got) != 2 || got[0].command != "one" || got[0].output != nil || got[1].command != "two \\\n  more" || len(got[1].output) != 2 || got[1].line != 5 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb", "a\nb", true}, {"a", "a\nb", false}, {"a\n…", "a\nb\nc", true}, {"…\nc", "a\nb\nc", true}, {"…\nb", "a\nb\nc", false}, {"a\n…", "a", true},
		{"x · 12 ms · y", "x · <1 ms · y", true}, {"x in 1.5 s", "x in 20 ms", true}, {"verify 20261115-174644-vfsbnbzo", "verify 20270101-000000-aaaaaaaa", true}, {"12 files", "13 files", false},
	} {
		if matches(strings.Split(c.want, "\n"), strings.Split(c.got, "\n")) != c.ok {
			t.Errorf("%q against %q", c.want, c.got)
		}
	}
}
