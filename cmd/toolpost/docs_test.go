//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/pages"
	"github.com/toolpost/toolpost/internal/testkit"
)

// documentedCommands runs every command in the "console" fences of README.md and docs/, and compares the output, if
// there is any. The commands of a page run in order. A line "…" matches any lines. Durations and run ids may differ. A failing command is shown with its
// error first.
func documentedCommands(t *testing.T) {
	root := programtest.ModuleRoot(t)
	env := documentEnv(t)
	for _, file := range documents(t, root) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			env := append(slices.Clone(env), newHome(t)...)
			for _, f := range pages.Fences(string(text)) {
				if f.Kind != "console" {
					continue
				}
				for _, c := range f.Commands() {
					t.Run(fmt.Sprintf("line %d", c.Line), func(t *testing.T) { checkCommand(t, c, root, env) })
				}
			}
		})
	}
}

func checkCommand(t *testing.T, c pages.Command, root string, env []string) {
	if strings.HasPrefix(c.Text, "go test ") {
		testkit.Long(t, "it runs tests inside the tests")
	}
	if strings.Contains(c.Text, "go run ./docs/examples/") {
		testkit.Long(t, "it builds a program that the tests of docs/examples run")
	}
	text := c.Text
	if !testkit.IsLong() {
		text = strings.ReplaceAll(text, "go run ./cmd/toolpost ", "toolpost ") // the same program without building it
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env = root, env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && (len(c.Output) == 0 || strings.TrimSpace(c.Output[0]) == "…") {
		t.Fatalf("$ %s\n%v\n%s", c.Text, err, out.String())
	}
	got := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if c.Output != nil && !pages.Matches(c.Output, got) {
		t.Errorf("$ %s\nshown:\n%s\nreal:\n%s", c.Text, strings.Join(c.Output, "\n"), strings.Join(got, "\n"))
	}
}

// documents lists README.md, the pages that it links to, in order, and all other pages below docs.
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

// newHome returns the variables of an empty home folder. Each page has one, so its commands work without those of
// another page.
func newHome(t *testing.T) []string {
	home := t.TempDir()
	return []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_STATE_HOME=" + home}
}

// documentEnv returns an environment with the program on the path, without a home folder and keys.
func documentEnv(t *testing.T) []string {
	t.Helper()
	env := []string{
		"PATH=" + programtest.Path(t) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"NO_COLOR=1",
		"TOOLPOST_LOCAL=none", // ignore servers on the test machine
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
