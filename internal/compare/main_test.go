package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// BenchmarkWork is measured by TestIterations.
func BenchmarkWork(b *testing.B) {
	for b.Loop() {
		for end := cpu() + 200*time.Microsecond; cpu() < end; {
		}
	}
}

var started = time.Now()

// cpu approximates processor time well enough: this test never waits.
func cpu() time.Duration { return time.Since(started) }

// The time of an iteration is taken from the process that runs them, and an
// error includes the output of that process.
func TestIterations(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := side{dir: ".", tests: self}
	took, err := s.iterations(t.Context(), "Work", 50)
	if err != nil || took <= 0 {
		t.Errorf("an iteration took %v, %v", took, err)
	}
	if _, err := s.iterations(t.Context(), "Work(", 50); err == nil || !strings.Contains(err.Error(), "regexp") {
		t.Errorf("a benchmark that cannot be: %v", err)
	}
}

// repository makes the working directory a repository with one package and two
// commits of it.
func repository(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		if err := execute(exec.CommandContext(t.Context(), "git", args...)); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	for _, who := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		t.Setenv(who+"_NAME", "somebody")
		t.Setenv(who+"_EMAIL", "somebody@example.com")
	}
	if err := os.Mkdir("tiny", 0o700); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet")
	write("go.mod", "module example.com/tiny\n\ngo 1.24\n")
	write("tiny/tiny_test.go", "package tiny\n\nimport \"testing\"\n\nfunc BenchmarkTiny(b *testing.B) {\n\tb.Run(\"one\", func(b *testing.B) {\n\t\tfor b.Loop() {\n\t\t}\n\t})\n}\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	write("tiny/more_test.go", "package tiny\n\nimport \"testing\"\n\nfunc BenchmarkNew(b *testing.B) {}\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "two")
}

// The whole command, on a package without work: it prints a line for each
// benchmark, and always removes the tree of the other commit.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	repository(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name        string
		ctx         context.Context
		commit, dir string
		out, err    string // regular expressions
	}{
		{"two commits", t.Context(), "HEAD~1", "./tiny", `^Tiny/one: \S+ before, \S+ now; before/now \d+\.\d\d in the fastest round, \d+\.\d\d in the median\n$`, ""},
		{"no such commit", t.Context(), "nowhere", "./tiny", "^$", "worktree add.*nowhere.*(?s:.*)invalid reference"},
		{"no such package", t.Context(), "HEAD~1", "./large", "^$", "large"},
		{"interrupted", ended, "HEAD~1", "./tiny", "^$", "context canceled"},
	} {
		var out strings.Builder
		err := run(c.ctx, &out, c.commit, c.dir, []string{"Tiny/one"}, 2, 1)
		if !regexp.MustCompile(c.out).MatchString(out.String()) {
			t.Errorf("%s: prints %q", c.name, out.String())
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !regexp.MustCompile(c.err).MatchString(err.Error())) {
			t.Errorf("%s: %v", c.name, err)
		}
		trees, err := exec.CommandContext(t.Context(), "git", "worktree", "list").Output()
		if err != nil || strings.Count(string(trees), "\n") != 1 {
			t.Errorf("%s: leaves the trees %s %v", c.name, trees, err)
		}
	}
}
