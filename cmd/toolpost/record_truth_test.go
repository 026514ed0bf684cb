package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/journal"
)

// TestSizesAreTrue: an output that a tool shortens is not called the full output. The receipt has its whole size, and the
// model and the person are told how much is missing.
func TestSizesAreTrue(t *testing.T) {
	if _, err := exec.LookPath("seq"); err != nil {
		t.Skip("seq is not installed")
	}
	clitest.Bare(t, map[string]string{"big.txtar": "-- 1 --\ncall run_command {\"program\":\"seq\",\"args\":[\"200000\"]}\n-- 2 --\ntext Done.\n"})
	const printed = 1288895 // bytes that seq 200000 prints
	r := toolpost(t, "", "run", "-y", "-m", "sim/script:big.txtar", "--allow", "exec", "count")
	must(t, r, 0, "the tool left out ")
	shown := toolpost(t, "", "receipts", "show", "--json", "latest")
	must(t, shown, 0, "bytes, and what it returned is saved to: ")
	if strings.Contains(shown.out, "full output saved") {
		t.Error("a part is called the full output")
	}
	var run struct {
		Entries []struct {
			Kind journal.Kind
			Body journal.Receipt
		}
	}
	_ = json.Unmarshal([]byte(shown.out), &run) // bodies of other kinds differ
	found := false
	for _, e := range run.Entries {
		if e.Kind == journal.KindReceipt {
			found = true
			if e.Body.OutputBytes < printed || e.Body.OutputBytes > printed+200 || e.Body.OmittedBytes < printed-300_000 || !e.Body.Truncated {
				t.Errorf("the receipt has %d bytes of output, %d left out, truncated %v", e.Body.OutputBytes, e.Body.OmittedBytes, e.Body.Truncated)
			}
		}
	}
	if !found {
		t.Errorf("no receipt in\n%.2000s", shown.out)
	}
}

// TestShowPrintsAConversationInOrder: each turn of a conversation over several runs is printed once, the first one first.
func TestShowPrintsAConversationInOrder(t *testing.T) {
	clitest.Bare(t, map[string]string{"talk.txtar": "-- 1 --\ntext One.\n-- 2 --\ntext Two.\n-- 3 --\ntext Three.\n"})
	must(t, toolpost(t, "", "run", "-m", "sim/script:talk.txtar", "first question"), 0)
	must(t, toolpost(t, "", "run", "-m", "sim/script:talk.txtar", "-c", "second question"), 0)
	must(t, toolpost(t, "", "run", "-m", "sim/script:talk.txtar", "-c", "third question"), 0)
	r := toolpost(t, "", "receipts", "show", "latest")
	must(t, r, 0)
	last := -1
	for _, want := range []string{"› first question", "One.", "› second question", "Two.", "› third question", "Three."} {
		at := strings.Index(r.out, want)
		if strings.Count(r.out, want) != 1 || at < last {
			t.Errorf("%q is there %d times, at %d after %d:\n%s", want, strings.Count(r.out, want), at, last, r.out)
		}
		last = at
	}
}

// TestEmptyRunsDoNotFail: a file without entries, which a full disk leaves, is no failure of verify. A named file of the
// person's own is.
func TestEmptyRunsDoNotFail(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ntext One.\n", "runs/20260101-000000-aaaaaaaa.jsonl": "", "runs/20260101-000001-aaaaaaaa.jsonl": `{"at":"20`})
	if err := os.Chmod("runs", 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, toolpost(t, "", "run", "--journal", "runs", "-m", "sim/script:s.txtar", "x"), 0)
	must(t, toolpost(t, "", "receipts", "verify", "--journal", "runs"), 0, "empty", "nothing was recorded", "sealed")
	if r := toolpost(t, "", "receipts", "verify", "runs/20260101-000000-aaaaaaaa.jsonl"); r.code != cli.ExitFailed {
		t.Errorf("an empty file that was named: %+v", r)
	}
	must(t, toolpost(t, "", "receipts", "prune", "--journal", "runs", "--keep", "1"), 0, "2 runs removed")
	must(t, toolpost(t, "", "receipts", "verify", "--journal", "runs"), 0, "sealed")
}

// TestRunsAreRemoved: by age, by number, and by the retention of the settings. Runs that have not ended stay.
func TestRunsAreRemoved(t *testing.T) {
	for _, name := range []string{"runs", "sqlite:runs.db"} {
		clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ntext One.\n", "w.txtar": "-- 1 --\ncall write_file {\"path\":\"a\",\"content\":\"b\"}\n-- 2 --\ntext Done.\n"})
		runs := func() int {
			r := toolpost(t, "", "receipts", "list", "--journal", name, "--json")
			var all []struct{ Run string }
			if err := json.Unmarshal([]byte(r.out), &all); err != nil {
				t.Fatal(err, r)
			}
			return len(all)
		}
		must(t, toolpost(t, "", "run", "--journal", name, "-m", "sim/script:w.txtar", "--allow", "write", "--later", "x"), 3)
		for range 3 {
			must(t, toolpost(t, "", "run", "--journal", name, "-m", "sim/script:s.txtar", "x"), 0)
		}
		must(t, toolpost(t, "", "receipts", "prune", "--journal", name), 2)
		must(t, toolpost(t, "", "receipts", "prune", "--journal", name, "--older-than", "1h"), 0, "0 runs removed")
		must(t, toolpost(t, "", "receipts", "prune", "--journal", name, "--keep", "2", "--dry-run"), 0, "1 run would be removed")
		if n := runs(); n != 4 {
			t.Errorf("%s: %d runs before", name, n)
		}
		must(t, toolpost(t, "", "receipts", "prune", "--journal", name, "--keep", "2"), 0, "1 run removed")
		must(t, toolpost(t, "", "receipts", "verify", "--journal", name, "--allow-open"), 0)
		t.Setenv("TOOLPOST_RETENTION", "1ns")
		must(t, toolpost(t, "", "run", "--journal", name, "-m", "sim/script:s.txtar", "x"), 0)
		if n := runs(); n != 2 {
			t.Errorf("%s: %d runs after the retention, want the waiting one and the new one", name, n)
		}
		must(t, toolpost(t, "", "receipts", "prune", "--journal", name, "--older-than", "1ns", "--open"), 0, "2 runs removed")
		t.Setenv("TOOLPOST_RETENTION", "")
	}
}

// TestNoJournal: --no-journal leaves no record and says so. The word none is not a store.
func TestNoJournal(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall list_files {}\n-- 2 --\ntext One.\n", "config.yaml": "journal: none\n"})
	must(t, toolpost(t, "", "run", "-m", "sim/script:s.txtar", "--no-journal", "x"), 0, "receipt none: --no-journal")
	found, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolpost", "runs", "*"))
	if more, _ := filepath.Glob("none*"); err != nil || len(slices.Concat(found, more)) > 0 {
		t.Errorf("there are %v, %v", found, err)
	}
	for _, args := range [][]string{
		{"run", "-m", "sim/script:s.txtar", "--journal", "none", "x"},
		{"run", "-m", "sim/script:s.txtar", "--journal", "runs", "--no-journal", "x"},
		{"run", "-m", "sim/script:s.txtar", "--no-journal", "--later", "x"},
		{"run", "-m", "sim/script:s.txtar", "--no-journal", "-c", "x"},
		{"run", "-m", "sim/script:s.txtar", "--no-journal", "--resume", "r", "x"},
	} {
		if r := toolpost(t, "", args...); r.code != cli.ExitUsage || !strings.Contains(r.errOut, "-journal") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := toolpost(t, "", "run", "-m", "sim/script:s.txtar", "--config", "config.yaml", "x"); r.code == 0 || !strings.Contains(r.errOut, "--no-journal") {
		t.Errorf("journal: none in the file: %+v", r)
	}
}

// TestQuietHoldsTheFinalAnswer: -q into a file writes the final answer, and nothing that was said before it.
func TestQuietHoldsTheFinalAnswer(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ntext I will look.\ncall list_files {}\n-- 2 --\ntext Here it is.\n"})
	r := toolpost(t, "", "run", "-q", "-m", "sim/script:s.txtar", "x")
	if r.code != 0 || r.out != "Here it is.\n" {
		t.Errorf("%+v", r)
	}
	if r = toolpost(t, "", "run", "-m", "sim/script:s.txtar", "x"); r.out != "I will look.\nHere it is.\n" {
		t.Errorf("%+v", r)
	}
}
