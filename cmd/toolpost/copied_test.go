//go:build unix

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestPrintedCommandsNameTheJournal: a printed command finds the run, for any --journal.
func TestPrintedCommandsNameTheJournal(t *testing.T) {
	for _, dir := range []string{"elsewhere", "in two words", "it's"} {
		clitest.Bare(t, map[string]string{"s.txtar": writes})
		copied := func(r result, after, until string) []string {
			t.Helper()
			_, rest, ok := strings.Cut(r.errOut+r.out, after)
			line, _, ends := strings.Cut(rest, until)
			if !ok || !ends {
				t.Fatalf("no %q: %+v", after, r)
			}
			words, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
			if err != nil {
				t.Fatal(err)
			}
			return strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
		}
		r := toolpost(t, "", "run", "-m", "sim/script:s.txtar", "--allow", "write", "--later", "--journal", dir, "write")
		if v := toolpost(t, "", append(copied(r, "receipt toolpost ", "\n"), "--allow-open")...); v.code != cli.ExitOK {
			t.Errorf("verify: %+v", v)
		}
		approve := append(copied(r, "decide  toolpost ", ", or deny"), "--all")
		decided := toolpost(t, "", approve...)
		if decided.code != cli.ExitOK {
			t.Fatalf("%q: %+v", approve, decided)
		}
		resume, again := copied(r, "then toolpost ", "\n"), copied(decided, "; toolpost ", " goes on")
		if v := toolpost(t, "", resume...); v.code != cli.ExitOK || !slices.Equal(resume, again) {
			t.Errorf("%q, %q: %+v", resume, again, v)
		}
	}
}
