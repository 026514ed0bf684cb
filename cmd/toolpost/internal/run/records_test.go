package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// Records of all past formats can be listed, verified, shown, replayed and exported.
func TestRecordsOfEveryFormat(t *testing.T) {
	formats, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "agent", "testdata", "records", "format*"))
	if err != nil || len(formats) == 0 {
		t.Fatalf("no records: %v", err)
	}
	for _, original := range formats {
		t.Run(filepath.Base(original), func(t *testing.T) { commandsReadRecords(t, original) })
	}
}

func commandsReadRecords(t *testing.T, original string) {
	programtest.OwnHome(t)
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
	programtest.Expect(t, cli.ExitOK, []string{"sealed  finished", "signed by key"}, "receipts", "verify", "--key", filepath.Join(path, "finished.pub"), "finished")
	programtest.Expect(t, cli.ExitOK, []string{"outcome unknown: write_file (call 2)"}, "receipts", "verify", "--allow-open", "killed-after-intent")
	programtest.Expect(t, cli.ExitOK, []string{`write_file {"path":"b.txt","text":"x"}`, "Outcome unknown"}, "receipts", "show", "killed-after-intent")
	programtest.Expect(t, cli.ExitOK, []string{`calls read_file, calls write_file`, "All is done.", "messages: 3, new: 2"}, "receipts", "show", "--entries", "finished")
	programtest.Expect(t, cli.ExitOK, []string{"\n› Copy a.txt to b.txt", "✓ write_file ok", "All is done."}, "receipts", "show", "finished")
	programtest.Expect(t, cli.ExitOK, []string{"[stripped]", `say {"password":"[stripped:password]"`}, "receipts", "show", "--entries", "stripped")
	programtest.Expect(t, cli.ExitOK, []string{"say ok", "password=[stripped:password]", "secrets were taken out"}, "receipts", "show", "stripped")
	programtest.Expect(t, cli.ExitOK, []string{"sealed", "open", "Copy a.txt to b.txt"}, "receipts", "list")
	for _, file := range runs {
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "verify", "--allow-open", file)
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "show", file)
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "show", "--entries", file)
		if r := programtest.Expect(t, cli.ExitOK, nil, "receipts", "show", "--json", file); !strings.Contains(r.Out, `"entries"`) {
			t.Errorf("%s: %s", file, r.Out)
		}
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "export", "--allow-open", "--full", "--out", filepath.Join(t.TempDir(), "export"), file)
	}
	programtest.Expect(t, cli.ExitOK, []string{"finished goes as it went: 3 questions"}, "replay", "finished")
	exports, err := filepath.Glob(filepath.Join(path, "exports", "*"))
	if err != nil || len(exports) == 0 {
		t.Fatalf("no exports: %v", err)
	}
	for _, dir := range exports {
		programtest.Expect(t, cli.ExitOK, []string{"agrees"}, "receipts", "verify", dir)
	}
}

// newerRun is a run that a later version wrote.
const newerRun = `{"at":"2030-01-01T00:00:00Z","body":["packed"],"hash":"b3:00","kind":"start","prev":"","run":"future","seq":1,"v":9}` + "\n"

// Every command refuses a run in a newer format in one line, and does not change it.
func TestNewerRecordIsRefused(t *testing.T) {
	path := ownStore(t)
	file := filepath.Join(path, "future.jsonl")
	if err := os.WriteFile(file, []byte(newerRun), 0o600); err != nil {
		t.Fatal(err)
	}
	const why = "run future is recorded in format 9, and this version of toolpost reads formats up to 2; read it with a newer version"
	for _, target := range []string{"future", file} {
		programtest.Expect(t, cli.ExitFailed, []string{"newer   " + target + "\n        " + why}, "receipts", "verify", "--allow-open", target)
		for _, command := range [][]string{{"receipts", "show"}, {"receipts", "show", "--json"}, {"receipts", "export", "--allow-open", "--out", t.TempDir()}, {"replay"}} {
			r := programtest.Expect(t, cli.ExitFailed, []string{why}, append(command, target)...)
			if r.Out != "" || strings.Count(strings.TrimSpace(r.ErrOut), "\n") > 0 {
				t.Errorf("%v says more than one line:\n%s%s", command, r.Out, r.ErrOut)
			}
		}
	}
	programtest.Expect(t, cli.ExitFailed, []string{why}, "run", "--model", "sim/offline", "--resume", "future")
	programtest.Expect(t, cli.ExitOK, []string{"newer ", "sealed", "open"}, "receipts", "list")
	// The other runs are verified as usual.
	programtest.Expect(t, cli.ExitFailed, []string{"newer   future", "sealed  sealed  5 entries", "open    open"}, "receipts", "verify", "--allow-open")
	if b, err := os.ReadFile(file); err != nil || string(b) != newerRun {
		t.Errorf("the run was changed to %q, %v", b, err)
	}
}

// An empty file, a pipe or a directory in place of a run does not stop the verification of other runs.
func TestVerifyContinuesAfterUnreadableRun(t *testing.T) {
	path := ownStore(t)
	if err := os.WriteFile(filepath.Join(path, "empty.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	others := []string{"sealed  sealed", "open    open", "open    torn", "nothing was recorded; the disk may have been full"}
	programtest.Expect(t, cli.ExitFailed, append(others, "empty   empty", "unread  folder"), "receipts", "verify", "--allow-open")
	pipe := makePipe(t, filepath.Join(path, "pipe.jsonl"))
	if err := os.Remove(filepath.Join(path, "folder.jsonl")); err != nil {
		t.Fatal(err)
	}
	if pipe {
		programtest.Expect(t, cli.ExitFailed, append(others, "empty   empty", "unread  pipe"), "receipts", "verify", "--allow-open")
	}
	if err := os.Mkdir(filepath.Join(path, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range others[:3] {
		kind, name, _ := strings.Cut(others[i], "  ")
		others[i] = kind + "  " + filepath.Join(path, strings.TrimSpace(name)+".jsonl")
	}
	others[1], others[2] = "open    "+filepath.Join(path, "open.jsonl"), "open    "+filepath.Join(path, "torn.jsonl")
	others[3] = "there are no entries" // a file is no run of the store
	programtest.Expect(t, cli.ExitFailed, append(others, "unread  "+filepath.Join(path, "folder.jsonl")), "receipts", "verify", "--allow-open", path)
	if pipe {
		fifo := filepath.Join(path, "pipe.jsonl")
		programtest.Expect(t, cli.ExitFailed, []string{"unread  " + fifo, "is not a regular file"}, "receipts", "verify", "--allow-open", path)
		sealed := filepath.Join(path, "sealed.jsonl")
		programtest.Expect(t, cli.ExitFailed, []string{"unread  " + fifo, "is not a regular file", "sealed  " + sealed}, "receipts", "verify", fifo, sealed)
		programtest.Expect(t, cli.ExitFailed, []string{"unread  nobody", "there is no run nobody", "sealed  " + sealed}, "receipts", "verify", "nobody", sealed)
		for _, command := range [][]string{{"show"}, {"show", "--json"}, {"export", "--out", t.TempDir()}} {
			programtest.Expect(t, cli.ExitFailed, []string{"is not a regular file"}, append(append([]string{"receipts"}, command...), fifo)...)
		}
		programtest.Expect(t, cli.ExitFailed, []string{"is not a regular file"}, "replay", fifo)
		makePipe(t, filepath.Join(path, "open.sig"))
		programtest.Expect(t, cli.ExitFailed, []string{"open    open", "the signatures cannot be read", "sealed  sealed"}, "receipts", "verify", "--allow-open")
		programtest.Expect(t, cli.ExitFailed, []string{"is not a regular file"}, "receipts", "verify", "--anchor", fifo)
		programtest.Expect(t, cli.ExitFailed, []string{"is not a regular file"}, "receipts", "verify", "pipe")
		programtest.Expect(t, cli.ExitFailed, []string{"is not a regular file"}, "receipts", "show", "pipe")
	}
	programtest.Expect(t, cli.ExitOK, []string{"sealed", "empty"}, "receipts", "list")
}
