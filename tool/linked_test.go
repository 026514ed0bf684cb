package tool_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheTableIsLinkedOnlyByProgramsThatRankByMeaning looks for the table of word vectors in two programs: an agent with a
// tool, and this test, which calls NewRanker.
func TestTheTableIsLinkedOnlyByProgramsThatRankByMeaning(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../internal/rank/table.bin")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", agent, "../docs/examples/ownmodel").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	part := table[len(table)-4096:]
	for program, want := range map[string]bool{agent: false, self: true} {
		b, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, part) != want {
			t.Errorf("%s, %d bytes, contains the table: %v", filepath.Base(program), len(b), !want)
		}
	}
}
