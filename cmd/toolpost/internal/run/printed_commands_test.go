//go:build unix

package run_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestPrintedCommandsNameTheJournal: a printed command finds the run, for any --journal.
func TestPrintedCommandsNameTheJournal(t *testing.T) {
	for _, dir := range []string{"elsewhere", "in two words", "it's"} {
		clitest.Bare(t, map[string]string{"s.txtar": writes})
		copied := func(r programtest.Result, after, until string) []string {
			t.Helper()
			_, rest, ok := strings.Cut(r.ErrOut+r.Out, after)
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
		r := programtest.Run(t, "", "run", "-m", "sim/script:s.txtar", "--allow", "write", "--later", "--journal", dir, "write")
		if v := programtest.Run(t, "", append(copied(r, "receipt toolpost ", "\n"), "--allow-open")...); v.Code != cli.ExitOK {
			t.Errorf("verify: %+v", v)
		}
		approve := append(copied(r, "decide  toolpost ", ", or deny"), "--all")
		decided := programtest.Run(t, "", approve...)
		if decided.Code != cli.ExitOK {
			t.Fatalf("%q: %+v", approve, decided)
		}
		resume, again := copied(r, "then toolpost ", "\n"), copied(decided, "; toolpost ", " goes on")
		if v := programtest.Run(t, "", resume...); v.Code != cli.ExitOK || !slices.Equal(resume, again) {
			t.Errorf("%q, %q: %+v", resume, again, v)
		}
	}
}
