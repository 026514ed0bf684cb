package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

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
	ownHome(t)
	path := t.TempDir()
	t.Setenv("TOOLPOST_STORE", path)
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, cli.ExitFailed, []string{"no runs yet"}, "receipts", "show", "latest")
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, run := range []string{"m", "z", "a", "k"} {
		r := begin(t, dir, run, day.Add(time.Duration(i)*time.Hour))
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	order := func(args ...string) string {
		var ids []string
		for line := range strings.Lines(expect(t, cli.ExitOK, nil, append([]string{"receipts", "list"}, args...)...).out) {
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
	expect(t, cli.ExitOK, []string{"sim/native", "task of k"}, "receipts", "list", "-n", "1")
	expect(t, cli.ExitUsage, []string{"--limit"}, "receipts", "list", "--limit", "-1")
	r := expect(t, cli.ExitOK, nil, "receipts", "list", "--json")
	var rows []runstore.Listed
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || len(rows) != 4 || rows[0].Run != "k" || rows[0].Model != "sim/native" {
		t.Errorf("%v\n%s", err, r.out)
	}
	// A run with the id latest takes precedence.
	expect(t, cli.ExitOK, []string{"task of k"}, "receipts", "show", "latest")
	if err := begin(t, dir, "latest", day.Add(-time.Hour)).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, cli.ExitOK, []string{"task of latest"}, "receipts", "show", "latest")
}

// TestLatestRunInEveryCommand uses latest in every command that takes a run.
func TestLatestRunInEveryCommand(t *testing.T) {
	clitest.Bare(t, map[string]string{"a.txt": "hello"})
	expect(t, cli.ExitOK, nil, "run", "read a.txt")
	id := runID(t, toolpost(t, "", "run", "list the files").errOut)
	expect(t, cli.ExitOK, nil, "receipts", "keygen", "k")
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
		expect(t, cli.ExitOK, []string{c.says}, strings.Fields(c.args)...)
	}
	expect(t, cli.ExitUsage, []string{id, "has ended"}, "run", "--resume", "latest")
	expect(t, cli.ExitUsage, []string{"json"}, "receipts", "show", "--json", "--full", "latest")
}

// TestRunAsTranscript shows each kind of entry as in a transcript. The hashes of the requests are invented, so the run
// is broken, but it is still shown.
func TestRunAsTranscript(t *testing.T) {
	ownHome(t)
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
	got := expect(t, cli.ExitFailed, []string{
		"talk  2026-03-01 00:00:01 UTC  on sim/native", "\n› task of talk\n", "  two\n  three\n  four\n", "Let me ␛[31mlook.", "· rm allowed by the person at the terminal, this call",
		"✓ rm ok 0 ms  path=\"a b\"\n    a line", "… 18 lines more; --full shows all", "\n› and now?\n", "✗ a call of rn cannot be read: there is no tool rn", "✗ the model failed: gone away",
		"· the run ended: failure, 5 tokens read and 7 written",
	}, "receipts", "show", "talk").out
	if n := strings.Count(got, "task of talk"); n != 1 {
		t.Errorf("the task is shown %d times:\n%s", n, got)
	}
	if n := strings.Count(expect(t, cli.ExitFailed, nil, "receipts", "show", "--full", "talk").out, "a line"); n != 30 {
		t.Errorf("--full shows %d lines of 30", n)
	}
	expect(t, cli.ExitFailed, []string{fmt.Sprintf("%-12s", "approval"), "   2 "}, "receipts", "show", "--entries", "talk")
}
