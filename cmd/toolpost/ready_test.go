package main

import (
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// A run that would fail because of a missing key does not start. It leaves nothing in the store, and prints only the
// reason.
func TestMissingKeyStartsNoRun(t *testing.T) {
	clitest.Bare(t, nil)
	r := toolpost(t, "", "run", "-m", "anthropic/claude-sonnet-4-5", "hi")
	if r.code != cli.ExitFailed || !strings.Contains(r.errOut, "set ANTHROPIC_API_KEY") || strings.Contains(r.errOut, "did ") {
		t.Errorf("exit %d, %q", r.code, r.errOut)
	}
	if r = toolpost(t, "", "receipts", "list"); strings.Contains(r.out, "anthropic") {
		t.Errorf("a run was begun: %s", r.out)
	}
}

// verify prints the id of the run that "latest" refers to.
func TestVerifyNamesTheLatest(t *testing.T) {
	clitest.Bare(t, map[string]string{"notes.txt": "hello"})
	expect(t, cli.ExitOK, nil, "run", "-m", "sim/offline", "Read notes.txt")
	r := toolpost(t, "", "receipts", "verify", "latest")
	if r.code != cli.ExitOK || strings.Contains(r.out, "latest") || !strings.Contains(r.out, "sealed  20") {
		t.Errorf("exit %d, %q %q", r.code, r.out, r.errOut)
	}
}

// The sources of settings are aligned in one column.
func TestConfigShowAlignsSources(t *testing.T) {
	clitest.Bare(t, nil)
	r := toolpost(t, "", "config", "show")
	column := -1
	for line := range strings.Lines(r.out) {
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
