package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Records of every format there ever was can be listed, verified, shown, replayed
// and exported.
func TestRecordsOfEveryFormat(t *testing.T) {
	formats, err := filepath.Glob(filepath.Join("..", "..", "agent", "testdata", "records", "format*"))
	if err != nil || len(formats) == 0 {
		t.Fatalf("no records: %v", err)
	}
	for _, original := range formats {
		t.Run(filepath.Base(original), func(t *testing.T) { commandsReadRecords(t, original) })
	}
}

func commandsReadRecords(t *testing.T, original string) {
	ownHome(t)
	path := filepath.Join(t.TempDir(), "runs")
	t.Setenv("TOOLPOST_STORE", path)
	if err := os.CopyFS(path, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(path, "*.jsonl"))
	if err != nil || len(runs) < 10 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	expect(t, exitOK, []string{"sealed  finished", "signed by key"}, "receipts", "verify", "--key", filepath.Join(path, "finished.pub"), "finished")
	expect(t, exitOK, []string{"outcome unknown: write_file (call 2)"}, "receipts", "verify", "--allow-open", "killed-after-intent")
	expect(t, exitOK, []string{`write_file {"path":"b.txt","text":"x"}`, "Outcome unknown"}, "receipts", "show", "killed-after-intent")
	expect(t, exitOK, []string{`calls read_file, calls write_file`, "All is done.", "messages: 3, new: 2"}, "receipts", "show", "finished")
	expect(t, exitOK, []string{"[stripped]", `say {"password":"[stripped:password]"`}, "receipts", "show", "stripped")
	expect(t, exitOK, []string{"sealed", "open", "Copy a.txt to b.txt"}, "receipts", "list")
	for _, file := range runs {
		expect(t, exitOK, nil, "receipts", "verify", "--allow-open", file)
		expect(t, exitOK, nil, "receipts", "show", file)
		if r := expect(t, exitOK, nil, "receipts", "show", "--json", file); !strings.Contains(r.out, `"entries"`) {
			t.Errorf("%s: %s", file, r.out)
		}
		expect(t, exitOK, nil, "receipts", "export", "--allow-open", "--full", "--out", filepath.Join(t.TempDir(), "export"), file)
	}
	expect(t, exitOK, []string{"finished goes as it went: 3 questions"}, "replay", "finished")
	exports, err := filepath.Glob(filepath.Join(path, "exports", "*"))
	if err != nil || len(exports) == 0 {
		t.Fatalf("no exports: %v", err)
	}
	for _, dir := range exports {
		expect(t, exitOK, []string{"agrees"}, "receipts", "verify", dir)
	}
}
