package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// TestReceiptsAnchor checks runs that were deleted, rolled back or replaced. They verify by themselves, but not against
// an anchor.
func TestReceiptsAnchor(t *testing.T) {
	path := ownStore(t)
	key := filepath.Join(t.TempDir(), "audit.key")
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "keygen", key)
	anchors := filepath.Join(t.TempDir(), "anchors.jsonl")
	verify := []string{"receipts", "verify", "--allow-open", "--anchor", anchors, "--key", key + ".pub"}
	programtest.Expect(t, cli.ExitUsage, []string{"name the key"}, "receipts", "anchor", anchors)
	programtest.Expect(t, cli.ExitFailed, []string{"holds no anchors"}, verify...)
	programtest.Expect(t, cli.ExitOK, []string{"anchor 1: 3 runs, signed by key"}, "receipts", "anchor", "--key", key, anchors)
	programtest.Expect(t, cli.ExitOK, []string{"anchor 1 of", "sealed  sealed", "open    open", "open    torn"}, verify...)

	// The open run continues, a new one starts, and both anchors are valid.
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"open", "young"} {
		if _, err := dir.Append(t.Context(), journal.Entry{Run: run, Kind: "note", Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	programtest.Expect(t, cli.ExitOK, []string{"open    young"}, verify...)
	programtest.Expect(t, cli.ExitOK, []string{"anchor 2: 4 runs"}, "receipts", "anchor", "--key", key, anchors)
	programtest.Expect(t, cli.ExitOK, []string{"anchor 2 of"}, verify...)

	read := func(run string) []byte {
		b, err := os.ReadFile(dir.File(run))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write := func(file string, b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cut := func(b []byte, n int) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:n], nil) }
	other, err := journal.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		if _, err := other.Append(t.Context(), journal.Entry{Run: "open", Kind: "note", Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	replaced, err := os.ReadFile(other.File("open"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, run string
		now       []byte // nil: the run is deleted
		want      string
	}{
		{"gone", "sealed", nil, "missing  sealed"},
		{"gone while open", "young", nil, "the run is gone; the anchor of "},
		{"empty", "open", []byte{}, "rolled back to 0 entries"},
		{"rolled back", "open", cut(read("open"), 3), "rolled back to 3 entries; the anchor of "},
		{"rolled back to the first anchor", "open", cut(read("open"), 4), "rolled back to 4 entries"},
		{"replaced by a longer one", "open", replaced, "replaced: entry 4 is not the one that the anchor of "},
	} {
		t.Run(c.name, func(t *testing.T) {
			was := read(c.run)
			if c.now == nil {
				if err := os.Remove(dir.File(c.run)); err != nil {
					t.Fatal(err)
				}
			} else {
				write(dir.File(c.run), c.now)
			}
			r := programtest.Expect(t, cli.ExitFailed, []string{c.want}, verify...)
			if strings.Count(r.Out, "missing")+strings.Count(r.Out, "broken") != 1 {
				t.Errorf("other runs are blamed:\n%s", r.Out)
			}
			before, _ := os.ReadFile(anchors)
			programtest.Expect(t, cli.ExitFailed, []string{c.want, "so nothing was added"}, "receipts", "anchor", "--key", key, anchors)
			if after, _ := os.ReadFile(anchors); !bytes.Equal(before, after) {
				t.Error("an anchor was added")
			}
			write(dir.File(c.run), was)
		})
	}
	programtest.Expect(t, cli.ExitOK, nil, verify...)

	whole, err := os.ReadFile(anchors)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += 97 {
		b := bytes.Clone(whole)
		b[i] ^= 1
		write(anchors, b)
		if r := programtest.Run(t, "", verify...); r.Code == cli.ExitOK {
			t.Errorf("byte %d (%q) was changed unnoticed", i, whole[i])
		}
	}
	write(anchors, bytes.SplitAfter(whole, []byte("\n"))[1]) // the first anchor is missing
	programtest.Expect(t, cli.ExitFailed, []string{"does not follow the one before it"}, verify...)
	write(anchors, whole)
	stranger := filepath.Join(t.TempDir(), "k")
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "keygen", stranger)
	programtest.Expect(t, cli.ExitFailed, []string{"it is signed by key"}, "receipts", "verify", "--anchor", anchors, "--key", stranger+".pub")
	programtest.Expect(t, cli.ExitFailed, []string{"it is signed by key"}, "receipts", "anchor", "--key", stranger, anchors)
	programtest.Expect(t, cli.ExitUsage, []string{"name none"}, "receipts", "verify", "--anchor", anchors, "open")

	// A run that does not verify is left out and reported.
	write(dir.File("young"), []byte("{}\n"))
	fresh := filepath.Join(t.TempDir(), "fresh.jsonl")
	programtest.Expect(t, cli.ExitFailed, []string{"anchor 1: 3 runs", "broken  young"}, "receipts", "anchor", "--key", key, fresh)
}

// begin creates a run with a start time, and returns its recorder.
func begin(t *testing.T, store journal.Store, run string, at time.Time) *journal.Recorder {
	t.Helper()
	r, err := journal.Open(t.Context(), store, run)
	if err != nil {
		t.Fatal(err)
	}
	r.Now = func() time.Time { at = at.Add(time.Second); return at }
	if _, err := r.Write(t.Context(), journal.KindStart, journal.Start{Task: "task of " + run, Model: "sim/native"}); err != nil {
		t.Fatal(err)
	}
	return r
}

// Runs are listed by start time, regardless of their ids.
func TestReceiptsListNewestFirst(t *testing.T) {
	programtest.OwnHome(t)
	path := t.TempDir()
	t.Setenv("TOOLPOST_STORE", path)
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"no runs yet"}, "receipts", "show", "latest")
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, run := range []string{"m", "z", "a", "k"} {
		r := begin(t, dir, run, day.Add(time.Duration(i)*time.Hour))
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	order := func(args ...string) string {
		var ids []string
		for line := range strings.Lines(programtest.Expect(t, cli.ExitOK, nil, append([]string{"receipts", "list"}, args...)...).Out) {
			if f := strings.Fields(line); len(f) > 8 && f[4] == "entries" {
				ids = append(ids, f[7])
			} else {
				ids = append(ids, strings.TrimSpace(line))
			}
		}
		return strings.Join(ids, " ")
	}
	if got := order(); got != "k a z m" {
		t.Error(got)
	}
	if got := order("--limit", "2"); got != "k a and 2 older; --limit 0 lists all" {
		t.Error(got)
	}
	programtest.Expect(t, cli.ExitOK, []string{"sim/native", "task of k"}, "receipts", "list", "-n", "1")
	programtest.Expect(t, cli.ExitUsage, []string{"--limit"}, "receipts", "list", "--limit", "-1")
	r := programtest.Expect(t, cli.ExitOK, nil, "receipts", "list", "--json")
	var rows []runstore.Listed
	if err := json.Unmarshal([]byte(r.Out), &rows); err != nil || len(rows) != 4 || rows[0].Run != "k" || rows[0].Model != "sim/native" {
		t.Errorf("%v\n%s", err, r.Out)
	}
	// A run with the id latest takes precedence.
	programtest.Expect(t, cli.ExitOK, []string{"task of k"}, "receipts", "show", "latest")
	if err := begin(t, dir, "latest", day.Add(-time.Hour)).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	programtest.Expect(t, cli.ExitOK, []string{"task of latest"}, "receipts", "show", "latest")
}

// TestLatestRunInEveryCommand uses latest in every command that takes a run.
func TestLatestRunInEveryCommand(t *testing.T) {
	clitest.Bare(t, map[string]string{"a.txt": "hello"})
	programtest.Expect(t, cli.ExitOK, nil, "run", "read a.txt")
	id := programtest.RunID(t, programtest.Run(t, "", "run", "list the files").ErrOut)
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "keygen", "k")
	for _, c := range []struct{ args, says string }{
		{"receipts show latest", id},
		{"receipts show --entries latest", id},
		{"receipts show --json latest", id},
		{"receipts verify latest", "sealed"},
		{"receipts sign --key k latest", id},
		{"receipts verify --key k.pub latest", "signed by"},
		{"receipts export --out out latest", "out"},
		{"replay latest", id},
	} {
		programtest.Expect(t, cli.ExitOK, []string{c.says}, strings.Fields(c.args)...)
	}
	programtest.Expect(t, cli.ExitUsage, []string{id, "has ended"}, "run", "--resume", "latest")
	programtest.Expect(t, cli.ExitUsage, []string{"json"}, "receipts", "show", "--json", "--full", "latest")
}

// TestRunAsTranscript shows each kind of entry as in a transcript. The hashes of the requests are invented, so the run
// is broken, but it is still shown.
func TestRunAsTranscript(t *testing.T) {
	programtest.OwnHome(t)
	path := t.TempDir()
	t.Setenv("TOOLPOST_STORE", path)
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	r := begin(t, dir, "talk", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	write := func(kind journal.Kind, body any) {
		t.Helper()
		if _, err := r.Write(t.Context(), kind, body); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(keep int, messages ...llm.Message) {
		t.Helper()
		req := journal.Request{Hash: journal.Hash("sha256:" + strings.Repeat("0", 64)), Keep: keep}
		for _, m := range messages {
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, raw)
		}
		write(journal.KindRequest, req)
	}
	long := strings.TrimSuffix(strings.Repeat("a line\n", 30), "\n")
	ask(0, llm.User("task of talk"))
	write(journal.KindAnswer, journal.Answer{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: "one\ntwo\nthree\nfour"}, llm.Text{Text: "Let me \x1b[31mlook."}}}, Finish: &llm.Finish{Reason: llm.Stop}})
	write(journal.KindApproval, journal.Approval{Call: "c1", Tool: "rm", Allowed: true, By: "the person at the terminal", Scope: "this call"})
	write(journal.KindReceipt, journal.Receipt{Call: "c1", Tool: "rm", Args: json.RawMessage(`{"path":"a b"}`), Status: journal.OK, Result: &llm.Result{CallID: "c1", Parts: []llm.Part{llm.Text{Text: long}}}})
	ask(1, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Let me look."}}}, llm.User("and now?"))
	write(journal.KindAnswer, journal.Answer{Message: llm.Message{Role: llm.RoleAssistant}, Invalid: []llm.InvalidCall{{Name: "rn", Problem: "there is no tool rn"}}, Error: &journal.AnswerError{Message: "gone away"}})
	write(journal.KindEnd, journal.End{Status: "failure", Usage: &llm.Usage{Input: 5, Output: 7}})
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := programtest.Expect(t, cli.ExitFailed, []string{
		"talk  2026-03-01 00:00:01 UTC  on sim/native", "\n› task of talk\n", "  two\n  three\n  four\n", "Let me ␛[31mlook.", "· rm allowed by the person at the terminal, this call",
		"✓ rm ok 0 ms  path=\"a b\"\n    a line", "… 18 lines more; --full shows all", "\n› and now?\n", "✗ a call of rn cannot be read: there is no tool rn", "✗ the model failed: gone away",
		"· the run ended: failure, 5 tokens read and 7 written",
	}, "receipts", "show", "talk").Out
	if n := strings.Count(got, "task of talk"); n != 1 {
		t.Errorf("the task is shown %d times:\n%s", n, got)
	}
	if n := strings.Count(programtest.Expect(t, cli.ExitFailed, nil, "receipts", "show", "--full", "talk").Out, "a line"); n != 30 {
		t.Errorf("--full shows %d lines of 30", n)
	}
	programtest.Expect(t, cli.ExitFailed, []string{fmt.Sprintf("%-12s", "approval"), "   2 "}, "receipts", "show", "--entries", "talk")
}

// ownStore gives the test a separate store with three runs: one sealed, one open, and one open with a call of unknown
// outcome and a torn line.
func ownStore(t *testing.T) string {
	t.Helper()
	programtest.OwnHome(t)
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

func TestReceiptsVerify(t *testing.T) {
	path := ownStore(t)
	file := filepath.Join(path, "sealed.jsonl")
	programtest.Expect(t, cli.ExitOK, []string{"sealed  sealed  5 entries"}, "receipts", "verify", "sealed")
	programtest.Expect(t, cli.ExitOK, []string{"sealed  " + file}, "receipts", "verify", file)
	programtest.Expect(t, cli.ExitFailed, []string{"open    open  4 entries", "the run has not ended"}, "receipts", "verify", "open")
	programtest.Expect(t, cli.ExitOK, []string{"open    open"}, "receipts", "verify", "--allow-open", "open")
	programtest.Expect(t, cli.ExitFailed, []string{"open    torn", "torn: the last 11 bytes", "outcome unknown: edit_file (call call_1)"}, "receipts", "verify", "torn")
	programtest.Expect(t, cli.ExitFailed, []string{"sealed  sealed", "open    open", "open    torn"}, "receipts", "verify")
	programtest.Expect(t, cli.ExitOK, []string{"sealed.jsonl", "open.jsonl", "torn.jsonl"}, "receipts", "verify", "--allow-open", path)
	programtest.Expect(t, cli.ExitFailed, []string{"there is no run nobody in"}, "receipts", "verify", "nobody")
	programtest.Expect(t, cli.ExitFailed, []string{"no such file"}, "receipts", "verify", filepath.Join(path, "nobody.jsonl"))
	programtest.Expect(t, cli.ExitFailed, []string{"holds neither runs nor an export"}, "receipts", "verify", t.TempDir())
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"there are no entries"}, "receipts", "verify", "--allow-open", empty)

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
		programtest.Expect(t, cli.ExitFailed, []string{"broken  sealed", want}, "receipts", "verify", "--allow-open", "sealed")
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
	programtest.Expect(t, cli.ExitFailed, []string{"broken  other", "this is run sealed, in the place of other"}, "receipts", "verify", "other")
	programtest.Expect(t, cli.ExitOK, []string{"sealed  " + other, "the file holds run sealed"}, "receipts", "verify", other)
	programtest.Expect(t, cli.ExitOK, []string{"broken     5 entries    2 calls  other"}, "receipts", "list")
}

func TestReceiptsVerifyJSON(t *testing.T) {
	ownStore(t)
	r := programtest.Expect(t, cli.ExitFailed, nil, "receipts", "verify", "--json", "sealed", "torn")
	var got []struct {
		Target, State string
		OK            bool
		Run           struct {
			Torn    int64
			Unknown []struct{ Call string }
		}
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || len(got) != 2 || !got[0].OK || got[1].OK || got[1].State != "open" || got[1].Run.Torn != 11 || len(got[1].Run.Unknown) != 1 {
		t.Errorf("%v\n%s", err, r.Out)
	}
}

// H8: a reviewer of a run sees its changes.
func TestReceiptsShow(t *testing.T) {
	ownStore(t)
	programtest.Expect(t, cli.ExitOK, []string{"edit_file ok 3 ms", "rm refused 0 ms: permission: no", "Side effects\n  file_modified    a.go  (edit_file, call call_1)", "sealed, 5 entries"}, "receipts", "show", "sealed")
	programtest.Expect(t, cli.ExitOK, []string{"Outcome unknown", `edit_file {"path":"a.go"}  (call call_1)`, "open, 2 entries"}, "receipts", "show", "torn")
	r := programtest.Expect(t, cli.ExitOK, nil, "receipts", "show", "--json", "sealed")
	var got struct {
		Report  journal.Report
		Entries []struct{ Kind string }
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || !got.Report.Sealed || len(got.Entries) != 5 {
		t.Errorf("%v\n%s", err, r.Out)
	}
	programtest.Expect(t, cli.ExitUsage, []string{"is a directory"}, "receipts", "show", ".")
}

func TestReceiptsList(t *testing.T) {
	path := ownStore(t)
	programtest.Expect(t, cli.ExitOK, []string{"2026-01-02 03:04:06  sealed     5 entries    2 calls  sealed", "open "}, "receipts", "list")
	r := programtest.Expect(t, cli.ExitOK, nil, "receipts", "list", "--json")
	var got []struct{ Run, State string }
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || len(got) != 3 {
		t.Errorf("%v\n%s", err, r.Out)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"there are no runs"}, "receipts", "list", "--journal", path+"-none")
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
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "export", "sealed", "--format", format, "--out", out)
		summary := filepath.Join(out, "PR_SUMMARY.md")
		text, err := os.ReadFile(summary)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(summary, append(text, "All tests pass.\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		programtest.Expect(t, cli.ExitFailed, []string{"broken  " + out, "PR_SUMMARY.md is not the file"}, "receipts", "verify", out)
	}
	for _, content := range []string{"", "\n"} {
		if err := os.WriteFile(filepath.Join(path, "sealed.sig"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		programtest.Expect(t, cli.ExitFailed, []string{"sealed.sig is empty"}, "receipts", "verify", "sealed")
	}
}

func TestReceiptsExport(t *testing.T) {
	ownStore(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, format := range []string{"a", "b"} {
		programtest.Expect(t, cli.ExitOK, []string{out}, "receipts", "export", "sealed", "--format", format, "--out", out, "--force")
		programtest.Expect(t, cli.ExitOK, []string{"agrees  " + out, "format " + format + ", 2 calls"}, "receipts", "verify", out)
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "verify", filepath.Join(out, "RECEIPT.json"))
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
	programtest.Expect(t, cli.ExitFailed, []string{"is there already"}, "receipts", "export", "sealed", "--out", out)
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "export", "sealed", "--out", out, "--force", "--full")
	if text, _ := os.ReadFile(filepath.Join(out, "REPLAY.jsonl")); !bytes.Contains(text, []byte(`"params":{"path":"a.go"}`)) {
		t.Errorf("--full tells nothing:\n%s", text)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"the run is open", "--allow-open"}, "receipts", "export", "open", "--out", out)
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "export", "open", "--out", out, "--allow-open", "--force")
	programtest.Expect(t, cli.ExitFailed, []string{"open    " + out}, "receipts", "verify", out)
	programtest.Expect(t, cli.ExitUsage, []string{`no format "c"`}, "receipts", "export", "sealed", "--format", "c")
}

func TestReceiptsVerifyExportWithoutAFile(t *testing.T) {
	ownStore(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"REPLAY.jsonl", "RECEIPT.json"} {
		programtest.Expect(t, cli.ExitOK, nil, "receipts", "export", "sealed", "--out", out, "--force")
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
		programtest.Expect(t, cli.ExitFailed, []string{"broken  " + out, name + " is missing"}, "receipts", "verify", out)
	}
}

func TestReceiptsSign(t *testing.T) {
	path := ownStore(t)
	key := filepath.Join(t.TempDir(), "audit.key")
	programtest.Expect(t, cli.ExitOK, []string{"keep " + key}, "receipts", "keygen", key)
	programtest.Expect(t, cli.ExitFailed, []string{"exists"}, "receipts", "keygen", key)
	programtest.Expect(t, cli.ExitFailed, []string{"nobody signed it"}, "receipts", "verify", "--key", key+".pub", "sealed")
	programtest.Expect(t, cli.ExitOK, []string{"sealed signed by key"}, "receipts", "sign", "--key", key, "sealed")
	programtest.Expect(t, cli.ExitOK, []string{"signed by key"}, "receipts", "verify", "--key", key+".pub", "sealed")
	programtest.Expect(t, cli.ExitOK, []string{"not checked: name the key"}, "receipts", "verify", "sealed")
	programtest.Expect(t, cli.ExitFailed, []string{"run open is open"}, "receipts", "sign", "--key", key, "open")
	programtest.Expect(t, cli.ExitUsage, []string{"name the key"}, "receipts", "sign", "sealed")

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
	programtest.Expect(t, cli.ExitFailed, []string{"the signature is of run sealed with 5 entries"}, "receipts", "verify", "sealed")
	programtest.Expect(t, cli.ExitFailed, []string{"not signed by the key", "the signature is of run sealed with 5 entries"}, "receipts", "verify", "--key", key+".pub", "sealed")

	if runtime.GOOS != "windows" {
		if err := os.Chmod(key, 0o644); err != nil {
			t.Fatal(err)
		}
		programtest.Expect(t, cli.ExitFailed, []string{"can be read by others"}, "receipts", "sign", "--key", key, "sealed")
	}
}

func TestReceiptsInADatabase(t *testing.T) {
	programtest.OwnHome(t)
	file := filepath.Join(t.TempDir(), "my runs.db")
	t.Setenv("TOOLPOST_STORE", "sqlite:"+file)
	programtest.Expect(t, cli.ExitFailed, []string{"there are no runs"}, "receipts", "list")
	store, done, err := runstore.OpenSQLite(file, true)
	if err != nil {
		t.Fatal(err)
	}
	fillStore(t, store)
	done()
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	programtest.Expect(t, cli.ExitOK, []string{"sealed"}, "receipts", "list")
	programtest.Expect(t, cli.ExitOK, []string{"sealed  sealed  5 entries"}, "receipts", "verify", "sealed")
	key := filepath.Join(t.TempDir(), "k")
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "keygen", key)
	programtest.Expect(t, cli.ExitUsage, []string{"--sig"}, "receipts", "sign", "--key", key, "sealed")
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "sign", "--key", key, "--sig", key+".sig", "sealed")
	programtest.Expect(t, cli.ExitOK, nil, "receipts", "verify", "--key", key+".pub", "--sig", key+".sig", "sealed")
	programtest.Expect(t, cli.ExitUsage, []string{"a password on the command line"}, "receipts", "list", "--journal", "postgres://u:secret@localhost/x")
}
