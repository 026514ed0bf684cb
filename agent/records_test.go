package agent_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// recordsDir holds a directory for each format that runs were ever recorded in.
const recordsDir = "testdata/records"

// eachFormat runs a test on a copy of the records of every format.
func eachFormat(t *testing.T, test func(t *testing.T, dir *journal.Dir, original string)) {
	t.Helper()
	formats, err := filepath.Glob(filepath.Join(recordsDir, "format*"))
	if err != nil || len(formats) == 0 {
		t.Fatalf("no records: %v", err)
	}
	for _, original := range formats {
		t.Run(filepath.Base(original), func(t *testing.T) {
			path := t.TempDir()
			if err := os.Chmod(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(path, os.DirFS(original)); err != nil {
				t.Fatal(err)
			}
			dir, err := journal.OpenDir(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, dir, original)
		})
	}
}

// recordStates says what verify finds in each record.
var recordStates = map[string]struct {
	state    string
	unknown  int // calls without a receipt
	stripped bool
	torn     bool
}{
	"finished": {state: "sealed"}, "spilled": {state: "sealed"}, "checkpoints": {state: "sealed"}, "switch": {state: "sealed"},
	"hosted": {state: "sealed"}, "structured": {state: "sealed"}, "ids": {state: "sealed"}, "shortened": {state: "sealed"}, "faults": {state: "sealed"},
	"odd": {state: "sealed", stripped: true}, "stripped": {state: "sealed", stripped: true}, "session": {state: "sealed", unknown: 1},
	"killed-after-answer": {state: "open"}, "killed-after-intent": {state: "open", unknown: 1}, "killed-after-receipt": {state: "open"},
	"stripped-killed": {state: "open", stripped: true}, "checkpoints-killed": {state: "open"}, "torn": {state: "open", torn: true},
}

func TestRecordsVerify(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, _ string) {
		for run, want := range recordStates {
			report, err := journal.VerifyLines(dir.Lines(t.Context(), run))
			if err != nil {
				t.Errorf("%s: %v", run, err)
			}
			if report.State() != want.state || len(report.Unknown) != want.unknown || (report.Stripped > 0) != want.stripped || (report.Torn > 0) != want.torn {
				t.Errorf("%s: %+v", run, report)
			}
			for _, in := range report.Unknown {
				if in.Tool == "" || journal.ParamsHash(in.Args) != in.ParamsHash {
					t.Errorf("%s: the call of unknown outcome is %+v", run, in)
				}
			}
			if _, err := journal.Verify(dir.Read(t.Context(), run, 0)); err != nil {
				t.Errorf("%s: %v", run, err)
			}
		}
	})
}

// TestRecordsVerifyChanges: a changed byte of any entry is found, whatever the
// format.
func TestRecordsVerifyChanges(t *testing.T) {
	t.Parallel()
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	eachFormat(t, func(t *testing.T, dir *journal.Dir, _ string) {
		whole, err := os.ReadFile(dir.File("finished"))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(whole); i += 7 {
			attacks++
			changed := bytes.Clone(whole)
			changed[i] ^= 1
			if _, err := journal.VerifyLines(journal.Lines(bytes.NewReader(changed))); err == nil {
				t.Fatalf("byte %d was changed and nobody noticed", i)
			}
		}
	})
}

func TestRecordsAreSigned(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, _ string) {
		base := strings.TrimSuffix(dir.File("finished"), ".jsonl")
		line, err := os.ReadFile(base + ".sig")
		pem, err2 := os.ReadFile(base + ".pub")
		var sig signing.Signature
		if err := errors.Join(err, err2, json.Unmarshal(line, &sig)); err != nil {
			t.Fatal(err)
		}
		key, err := signing.ParsePublicKey(pem)
		if err != nil {
			t.Fatal(err)
		}
		report, err := journal.Verify(dir.Read(t.Context(), "finished", 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := sig.Check(report, key); err != nil {
			t.Error(err)
		}
	})
}

func TestRecordsReplay(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, _ string) {
		for run, want := range recordStates {
			if want.state != "sealed" || run == "session" {
				continue
			}
			if err := agent.Replay(t.Context(), dir, run); err != nil {
				t.Errorf("%s: %v", run, err)
			}
		}
	})
}

// TestRecordsAgainst asks another model the questions of a recorded run.
func TestRecordsAgainst(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, _ string) {
		m := says([]llm.Part{call("7", "read_file", `{"path":"a.txt"}`), call("8", "write_file", `{"text":"x","path":"b.txt"}`)}, "No.", "All is done.")
		var same []bool
		for c, err := range agent.Against(t.Context(), dir, "finished", m) {
			if err != nil {
				t.Fatal(err)
			}
			same = append(same, c.Same)
		}
		if diff := cmp.Diff([]bool{true, false, true}, same); diff != "" {
			t.Error(diff)
		}
		last := m.asked[2].Messages
		if len(last) != 5 || last[1].Text() != "Let me see." || !strings.Contains(last[2].Parts[0].(llm.Result).Text(), "text of a.txt <&> \u2028 é") {
			t.Errorf("the last question was %+v", last)
		}
	})
}

// recordsThatGoOn are the records that can be resumed, with what the model must have
// been shown by then.
var recordsThatGoOn = map[string][]string{
	"killed-after-answer":  {"Copy a.txt to b.txt"},
	"killed-after-intent":  {"Let me see.", "text of a.txt", "whether it took effect is unknown"},
	"killed-after-receipt": {"Let me see.", "text of a.txt", "1 bytes written to b.txt"},
	"stripped-killed":      {"With [stripped:anthropic-key]", "the key is [stripped:anthropic-key]"},
	"checkpoints-killed":   {"it is open"},
	"torn":                 {"text of a.txt", "text of c.txt"},
}

// resumable is an agent with the tools of all records. It counts the calls it runs.
func resumable(store journal.Store, ran *int) (*agent.Agent, *actor) {
	m := says("So be it.")
	a := recordedAgent(store, "", m)
	a.Tools = &invoke.Runner{Tools: tool.MustSet(counted("read_file", ran, tool.ReadOnly), counted("write_file", ran, 0), counted("say", ran, 0), counted("open", ran, 0))}
	return a, m
}

func TestRecordsResume(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, _ string) {
		for run, want := range recordsThatGoOn {
			resumeRecord(t, dir, run, want)
		}
		a, _ := resumable(dir, new(int))
		if done, err := agent.Last(a.Resume(t.Context(), "finished")); err != nil || done.Status != agent.StatusFinished {
			t.Errorf("a finished run is resumed with status %s, error %v", done.Status, err)
		}
	})
}

func resumeRecord(t *testing.T, store journal.Store, run string, want []string) {
	t.Helper()
	ran := 0
	a, m := resumable(store, &ran)
	l := listen(a.Resume(t.Context(), run, llm.User("Go on.")))
	if l.err != nil || l.done.Text != "So be it." || ran > 0 {
		t.Errorf("%s: %q, %d calls run, error %v", run, l.done.Text, ran, l.err)
		return
	}
	valid(t, l.done.Messages)
	shown, err := json.Marshal(m.asked[0].Messages)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range want {
		if !strings.Contains(string(shown), text) {
			t.Errorf("%s: the model was not shown %q: %s", run, text, shown)
		}
	}
	report, err := journal.Verify(store.Read(t.Context(), run, 0))
	if err != nil || !report.Sealed || len(report.Unknown) > 0 {
		t.Errorf("%s, resumed: %+v, %v", run, report, err)
	}
	if err := agent.Replay(t.Context(), store, run); err != nil {
		t.Errorf("%s, resumed, is not replayed: %v", run, err)
	}
	if _, err := export.Run(store.Read(t.Context(), run, 0), export.Options{Full: true}); err != nil {
		t.Errorf("%s, resumed, is not exported: %v", run, err)
	}
}

// withoutSummaryHash returns a receipt without the hash of the summary, which earlier versions did not write, and
// without the hash of the whole.
func withoutSummaryHash(t *testing.T, receipt []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(receipt, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "summary_hash")
	delete(members, "canonical_json_sha256")
	rest, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return rest
}

// TestRecordsExport: an export is the same to the byte, whichever version wrote the
// record, but for the hash of its summary.
func TestRecordsExport(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, original string) {
		for name, opts := range exported {
			run, _, _ := strings.Cut(name, "-")
			again := t.TempDir()
			writeExport(t, dir, run, again, opts)
			for _, file := range []string{export.ReplayFile, export.ReceiptFile, export.SummaryFile} {
				was, err := os.ReadFile(filepath.Join(original, "exports", name, file))
				is, err2 := os.ReadFile(filepath.Join(again, file))
				if err := errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				if file == export.ReceiptFile {
					was, is = withoutSummaryHash(t, was), withoutSummaryHash(t, is)
				}
				if diff := cmp.Diff(string(was), string(is)); diff != "" {
					t.Errorf("%s, %s (-was +is):\n%s", name, file, diff)
				}
			}
			replay, err := os.ReadFile(filepath.Join(original, "exports", name, export.ReplayFile))
			receipt, err2 := os.ReadFile(filepath.Join(original, "exports", name, export.ReceiptFile))
			if err := errors.Join(err, err2, export.Verify(replay, receipt).Err()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// holdNoSecrets fails if a file of a folder has a secret of the scenes.
func holdNoSecrets(t *testing.T, folder string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(folder, path))
		if strings.Contains(string(b), "aB3aB3") || strings.Contains(string(b), "hunter22") {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecordsHoldNoSecrets: the secrets of the scenes are in no file, of records of every format and of those that are
// written now, and the hashes still speak for them.
func TestRecordsHoldNoSecrets(t *testing.T) {
	eachFormat(t, func(t *testing.T, dir *journal.Dir, original string) {
		holdNoSecrets(t, original)
		path := t.TempDir()
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		now, err := journal.OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scenes {
			if strings.HasPrefix(s.name, "stripped") {
				s.play(t, now, s.name)
			}
		}
		holdNoSecrets(t, path)
		found := false
		for _, e := range verified(t, dir, "stripped") {
			if e.Kind == journal.KindReceipt {
				var r journal.Receipt
				if err := e.Decode(&r); err != nil {
					t.Fatal(err)
				}
				found = e.Stripped != nil && r.ParamsHash == journal.ParamsHash(json.RawMessage(`{"text":"hi","password":"hunter22"}`))
			}
		}
		if !found {
			t.Error("no receipt of the call with a password")
		}
	})
}

// eachDump runs a test on a database made from each of the dumps.
func eachDump(t *testing.T, test func(t *testing.T, db *sql.DB)) {
	t.Helper()
	dumps, err := filepath.Glob(filepath.Join(recordsDir, "format*", "journal.sql"))
	if err != nil || len(dumps) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	for _, dump := range dumps {
		t.Run(filepath.Base(filepath.Dir(dump)), func(t *testing.T) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "journal.db")+"?_pragma=busy_timeout(60000)")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			load(t, db, dump)
			test(t, db)
		})
	}
}

// load executes the statements of a dump.
func load(t *testing.T, db *sql.DB, dump string) {
	t.Helper()
	statements, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	for statement := range strings.SplitSeq(string(statements), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordsInADatabase(t *testing.T) {
	eachDump(t, func(t *testing.T, db *sql.DB) {
		store, err := journal.OpenSQL(db)
		if err != nil {
			t.Fatal(err)
		}
		var runs []string
		for run, err := range store.Runs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			report, err := journal.VerifyLines(store.Lines(context.Background(), run))
			if err != nil || report.State() != recordStates[run].state {
				t.Errorf("%s: %+v, %v", run, report, err)
			}
			runs = append(runs, run)
		}
		if diff := cmp.Diff([]string{"finished", "killed-after-intent", "stripped-killed"}, runs); diff != "" {
			t.Error(diff)
		}
		if err := agent.Replay(t.Context(), store, "finished"); err != nil {
			t.Error(err)
		}
		for _, run := range runs[1:] {
			resumeRecord(t, store, run, recordsThatGoOn[run])
		}
	})
}
