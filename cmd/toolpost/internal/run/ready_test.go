package run_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// A run that would fail because of a missing key does not start. It leaves nothing in the store, and prints only the
// reason.
func TestMissingKeyStartsNoRun(t *testing.T) {
	clitest.Bare(t, nil)
	r := programtest.Run(t, "", "run", "-m", "anthropic/claude-sonnet-4-5", "hi")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "set ANTHROPIC_API_KEY") || strings.Contains(r.ErrOut, "did ") {
		t.Errorf("exit %d, %q", r.Code, r.ErrOut)
	}
	if r = programtest.Run(t, "", "receipts", "list"); strings.Contains(r.Out, "anthropic") {
		t.Errorf("a run was begun: %s", r.Out)
	}
}

// verify prints the id of the run that "latest" refers to.
func TestVerifyNamesTheLatest(t *testing.T) {
	clitest.Bare(t, map[string]string{"notes.txt": "hello"})
	programtest.Expect(t, cli.ExitOK, nil, "run", "-m", "sim/offline", "Read notes.txt")
	r := programtest.Run(t, "", "receipts", "verify", "latest")
	if r.Code != cli.ExitOK || strings.Contains(r.Out, "latest") || !strings.Contains(r.Out, "sealed  20") {
		t.Errorf("exit %d, %q %q", r.Code, r.Out, r.ErrOut)
	}
}

// The sources of settings are aligned in one column.
func TestConfigShowAlignsSources(t *testing.T) {
	clitest.Bare(t, nil)
	r := programtest.Run(t, "", "config", "show")
	column := -1
	for line := range strings.Lines(r.Out) {
		if strings.Contains(line, os.Getenv("HOME")) {
			continue // as wide as the folder in it
		}
		at := strings.Index(line, " # ")
		if column < 0 {
			column = at
		}
		if at != column {
			t.Errorf("column %d, want %d: %q", at, column, line)
		}
	}
}
