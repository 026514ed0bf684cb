package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/journal"
)

// ownStore gives the test a separate store with three runs: one sealed, one open, and one open with a call of unknown
// outcome and a torn line.
func ownStore(t *testing.T) string {
	t.Helper()
	ownHome(t)
	path := filepath.Join(t.TempDir(), "runs")
	t.Setenv("TOOLPOST_STORE", path)
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	fillStore(t, dir)
	f, err := os.OpenFile(dir.File("torn"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"at":"2026`); err != nil {
		t.Fatal(err)
	}
	return path
}

func fillStore(t *testing.T, store journal.Store) {
	t.Helper()
	for _, run := range []string{"sealed", "open", "torn"} {
		r, err := journal.Open(t.Context(), store, run)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r.Now = func() time.Time { at = at.Add(time.Second); return at }
		check := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check(r.Write(t.Context(), journal.KindStart, journal.Start{Task: "mend \x1b[31mit"}))
		check(r.Intent(t.Context(), journal.Intent{Call: "call_1", Tool: "edit_file", Args: json.RawMessage(`{"path":"a.go"}`)}))
		if run == "torn" {
			check(nil, r.Close(t.Context()))
			return
		}
		check(r.Receipt(t.Context(), journal.Receipt{Call: "call_1", Tool: "edit_file", Args: json.RawMessage(`{"path":"a.go"}`), Status: journal.OK, LatencyMS: 3,
			SideEffects: []journal.SideEffect{{Type: "file_modified", Path: "a.go"}}}))
		check(r.Receipt(t.Context(), journal.Receipt{Call: "call_2", Tool: "rm", Status: journal.Refused, Error: &journal.Failure{Code: "permission", Message: "no"}}))
		if run == "sealed" {
			check(r.Seal(t.Context()))
		}
		check(nil, r.Close(t.Context()))
	}
}

// expect runs a command and checks its exit code and output.
func expect(t *testing.T, code int, wants []string, args ...string) result {
	t.Helper()
	r := toolpost(t, "", args...)
	if r.code != code {
		t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.errOut)
	}
	for _, want := range wants {
		if !strings.Contains(r.out+r.errOut, want) {
			t.Errorf("%s: no %q in\n%s%s", strings.Join(args, " "), want, r.out, r.errOut)
		}
	}
	if strings.Contains(r.out, "\x1b") {
		t.Errorf("%s: control characters in\n%q", strings.Join(args, " "), r.out)
	}
	return r
}

func TestReceiptsVerify(t *testing.T) {
	path := ownStore(t)
	file := filepath.Join(path, "sealed.jsonl")
	expect(t, cli.ExitOK, []string{"sealed  sealed  5 entries"}, "receipts", "verify", "sealed")
	expect(t, cli.ExitOK, []string{"sealed  " + file}, "receipts", "verify", file)
	expect(t, cli.ExitFailed, []string{"open    open  4 entries", "the run has not ended"}, "receipts", "verify", "open")
	expect(t, cli.ExitOK, []string{"open    open"}, "receipts", "verify", "--allow-open", "open")
	expect(t, cli.ExitFailed, []string{"open    torn", "torn: the last 11 bytes", "outcome unknown: edit_file (call call_1)"}, "receipts", "verify", "torn")
	expect(t, cli.ExitFailed, []string{"sealed  sealed", "open    open", "open    torn"}, "receipts", "verify")
	expect(t, cli.ExitOK, []string{"sealed.jsonl", "open.jsonl", "torn.jsonl"}, "receipts", "verify", "--allow-open", path)
	expect(t, cli.ExitFailed, []string{"there is no run nobody in"}, "receipts", "verify", "nobody")
	expect(t, cli.ExitFailed, []string{"no such file"}, "receipts", "verify", filepath.Join(path, "nobody.jsonl"))
	expect(t, cli.ExitFailed, []string{"holds neither runs nor an export"}, "receipts", "verify", t.TempDir())
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, cli.ExitFailed, []string{"there are no entries"}, "receipts", "verify", "--allow-open", empty)

	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for want, tampered := range map[string][]byte{
		"entry 3 (line 3) changed":                    bytes.Replace(whole, []byte(`"latency_ms":3`), []byte(`"latency_ms":4`), 1),
		"entry 2 removed: entry 2 is missing":         bytes.Join([][]byte{lines[0], lines[2], lines[3], lines[4]}, nil),
		"entry 2 (line 3) inserted":                   bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[2], lines[3], lines[4]}, nil),
		"entry 3 (line 4) reordered":                  bytes.Join([][]byte{lines[0], lines[1], lines[3], lines[2], lines[4]}, nil),
		"an entry (line 1) changed: not an entry":     append([]byte("x"), whole...),
		"entry 5 (line 5) changed: the newline after": whole[:len(whole)-1],
	} {
		if err := os.WriteFile(file, tampered, 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, cli.ExitFailed, []string{"broken  sealed", want}, "receipts", "verify", "--allow-open", "sealed")
	}
}

// A run that was replaced by another complete run does not verify.
func TestReceiptsVerifyAnotherRun(t *testing.T) {
	path := ownStore(t)
	whole, err := os.ReadFile(filepath.Join(path, "sealed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(path, "other.jsonl")
	if err := os.WriteFile(other, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, cli.ExitFailed, []string{"broken  other", "this is run sealed, in the place of other"}, "receipts", "verify", "other")
	expect(t, cli.ExitOK, []string{"sealed  " + other, "the file holds run sealed"}, "receipts", "verify", other)
	expect(t, cli.ExitOK, []string{"broken     5 entries    2 calls  other"}, "receipts", "list")
}

func TestReceiptsVerifyJSON(t *testing.T) {
	ownStore(t)
	r := expect(t, cli.ExitFailed, nil, "receipts", "verify", "--json", "sealed", "torn")
	var got []struct {
		Target, State string
		OK            bool
		Run           struct {
			Torn    int64
			Unknown []struct{ Call string }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got) != 2 || !got[0].OK || got[1].OK || got[1].State != "open" || got[1].Run.Torn != 11 || len(got[1].Run.Unknown) != 1 {
		t.Errorf("%v\n%s", err, r.out)
	}
}

// H8: a reviewer of a run sees its changes.
func TestReceiptsShow(t *testing.T) {
	ownStore(t)
	expect(t, cli.ExitOK, []string{"edit_file ok 3 ms", "rm refused 0 ms: permission: no", "Side effects\n  file_modified    a.go  (edit_file, call call_1)", "sealed, 5 entries"}, "receipts", "show", "sealed")
	expect(t, cli.ExitOK, []string{"Outcome unknown", `edit_file {"path":"a.go"}  (call call_1)`, "open, 2 entries"}, "receipts", "show", "torn")
	r := expect(t, cli.ExitOK, nil, "receipts", "show", "--json", "sealed")
	var got struct {
		Report  journal.Report
		Entries []struct{ Kind string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || !got.Report.Sealed || len(got.Entries) != 5 {
		t.Errorf("%v\n%s", err, r.out)
	}
	expect(t, cli.ExitUsage, []string{"is a directory"}, "receipts", "show", ".")
}

func TestReceiptsList(t *testing.T) {
	path := ownStore(t)
	expect(t, cli.ExitOK, []string{"2026-01-02 03:04:06  sealed     5 entries    2 calls  sealed", "open "}, "receipts", "list")
	r := expect(t, cli.ExitOK, nil, "receipts", "list", "--json")
	var got []struct{ Run, State string }
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got) != 3 {
		t.Errorf("%v\n%s", err, r.out)
	}
	expect(t, cli.ExitFailed, []string{"there are no runs"}, "receipts", "list", "--journal", path+"-none")
	if _, err := os.Stat(path + "-none"); err == nil {
		t.Error("looking for runs made a directory")
	}
}

// TestEditedSummariesAndEmptySignatures: an export whose summary was edited does not verify, nor does a run whose file of
// signatures is empty.
func TestEditedSummariesAndEmptySignatures(t *testing.T) {
	path := ownStore(t)
	for _, format := range []string{"a", "b"} {
		out := filepath.Join(t.TempDir(), "out")
		expect(t, cli.ExitOK, nil, "receipts", "export", "sealed", "--format", format, "--out", out)
		summary := filepath.Join(out, "PR_SUMMARY.md")
		text, err := os.ReadFile(summary)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(summary, append(text, "All tests pass.\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, cli.ExitFailed, []string{"broken  " + out, "PR_SUMMARY.md is not the file"}, "receipts", "verify", out)
	}
	for _, content := range []string{"", "\n"} {
		if err := os.WriteFile(filepath.Join(path, "sealed.sig"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, cli.ExitFailed, []string{"sealed.sig is empty"}, "receipts", "verify", "sealed")
	}
}

func TestReceiptsExport(t *testing.T) {
	ownStore(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, format := range []string{"a", "b"} {
		expect(t, cli.ExitOK, []string{out}, "receipts", "export", "sealed", "--format", format, "--out", out, "--force")
		expect(t, cli.ExitOK, []string{"agrees  " + out, "format " + format + ", 2 calls"}, "receipts", "verify", out)
		expect(t, cli.ExitOK, nil, "receipts", "verify", filepath.Join(out, "RECEIPT.json"))
	}
	for _, name := range []string{"REPLAY.jsonl", "RECEIPT.json", "PR_SUMMARY.md"} {
		info, err := os.Stat(filepath.Join(out, name))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if text, _ := os.ReadFile(filepath.Join(out, name)); bytes.Contains(text, []byte("a.go")) {
			t.Errorf("%s tells a path:\n%s", name, text)
		}
	}
	expect(t, cli.ExitFailed, []string{"is there already"}, "receipts", "export", "sealed", "--out", out)
	expect(t, cli.ExitOK, nil, "receipts", "export", "sealed", "--out", out, "--force", "--full")
	if text, _ := os.ReadFile(filepath.Join(out, "REPLAY.jsonl")); !bytes.Contains(text, []byte(`"params":{"path":"a.go"}`)) {
		t.Errorf("--full tells nothing:\n%s", text)
	}
	expect(t, cli.ExitFailed, []string{"the run is open", "--allow-open"}, "receipts", "export", "open", "--out", out)
	expect(t, cli.ExitOK, nil, "receipts", "export", "open", "--out", out, "--allow-open", "--force")
	expect(t, cli.ExitFailed, []string{"open    " + out}, "receipts", "verify", out)
	expect(t, cli.ExitUsage, []string{`no format "c"`}, "receipts", "export", "sealed", "--format", "c")
}

func TestReceiptsVerifyExportWithoutAFile(t *testing.T) {
	ownStore(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"REPLAY.jsonl", "RECEIPT.json"} {
		expect(t, cli.ExitOK, nil, "receipts", "export", "sealed", "--out", out, "--force")
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
		expect(t, cli.ExitFailed, []string{"broken  " + out, name + " is missing"}, "receipts", "verify", out)
	}
}

func TestReceiptsSign(t *testing.T) {
	path := ownStore(t)
	key := filepath.Join(t.TempDir(), "audit.key")
	expect(t, cli.ExitOK, []string{"keep " + key}, "receipts", "keygen", key)
	expect(t, cli.ExitFailed, []string{"exists"}, "receipts", "keygen", key)
	expect(t, cli.ExitFailed, []string{"nobody signed it"}, "receipts", "verify", "--key", key+".pub", "sealed")
	expect(t, cli.ExitOK, []string{"sealed signed by key"}, "receipts", "sign", "--key", key, "sealed")
	expect(t, cli.ExitOK, []string{"signed by key"}, "receipts", "verify", "--key", key+".pub", "sealed")
	expect(t, cli.ExitOK, []string{"not checked: name the key"}, "receipts", "verify", "sealed")
	expect(t, cli.ExitFailed, []string{"run open is open"}, "receipts", "sign", "--key", key, "open")
	expect(t, cli.ExitUsage, []string{"name the key"}, "receipts", "sign", "sealed")

	// The whole run is replaced by another one that verifies.
	if err := os.Remove(filepath.Join(path, "sealed.jsonl")); err != nil {
		t.Fatal(err)
	}
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.Open(t.Context(), dir, "sealed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, cli.ExitFailed, []string{"the signature is of run sealed with 5 entries"}, "receipts", "verify", "sealed")
	expect(t, cli.ExitFailed, []string{"not signed by the key", "the signature is of run sealed with 5 entries"}, "receipts", "verify", "--key", key+".pub", "sealed")

	if runtime.GOOS != "windows" {
		if err := os.Chmod(key, 0o644); err != nil {
			t.Fatal(err)
		}
		expect(t, cli.ExitFailed, []string{"can be read by others"}, "receipts", "sign", "--key", key, "sealed")
	}
}

func TestReceiptsInADatabase(t *testing.T) {
	ownHome(t)
	file := filepath.Join(t.TempDir(), "my runs.db")
	t.Setenv("TOOLPOST_STORE", "sqlite:"+file)
	expect(t, cli.ExitFailed, []string{"there are no runs"}, "receipts", "list")
	store, done, err := runstore.OpenSQLite(file, true)
	if err != nil {
		t.Fatal(err)
	}
	fillStore(t, store)
	done()
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	expect(t, cli.ExitOK, []string{"sealed"}, "receipts", "list")
	expect(t, cli.ExitOK, []string{"sealed  sealed  5 entries"}, "receipts", "verify", "sealed")
	key := filepath.Join(t.TempDir(), "k")
	expect(t, cli.ExitOK, nil, "receipts", "keygen", key)
	expect(t, cli.ExitUsage, []string{"--sig"}, "receipts", "sign", "--key", key, "sealed")
	expect(t, cli.ExitOK, nil, "receipts", "sign", "--key", key, "--sig", key+".sig", "sealed")
	expect(t, cli.ExitOK, nil, "receipts", "verify", "--key", key+".pub", "--sig", key+".sig", "sealed")
	expect(t, cli.ExitUsage, []string{"a password on the command line"}, "receipts", "list", "--journal", "postgres://u:secret@localhost/x")
}
