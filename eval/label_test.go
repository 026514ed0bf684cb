package eval_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// labelledRun records a run that read a file.
func labelledRun(t *testing.T, store journal.Store, run string) {
	t.Helper()
	rec, err := journal.Open(t.Context(), store, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct {
		kind journal.Kind
		body any
	}{
		{journal.KindStart, journal.Start{Task: "Read a.txt", Model: "m"}},
		{journal.KindRequest, map[string]any{"messages": []llm.Message{llm.User("Read a.txt")}, "tools": []map[string]any{{"name": "read_file", "description": "Reads a file.", "schema": map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}}}}},
		{journal.KindReceipt, journal.Receipt{Call: "1", Tool: "read_file", Args: []byte(`{"path":"b.txt"}`), Status: journal.OK}},
	} {
		if _, err := rec.Write(t.Context(), e.kind, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rec.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestLabelsBecomeCases labels runs, and reads the cases back as a suite.
func TestLabelsBecomeCases(t *testing.T) {
	store := new(journal.Memory)
	labelledRun(t, store, "one")
	for _, c := range []struct {
		label eval.Label
		want  string // in the case, or in the error
		fails bool
	}{
		{eval.Label{Right: true}, `"read_file":{"path":"b.txt"}`, false},
		{eval.Label{}, eval.ErrNoExpectation.Error(), true},
		{eval.Label{Expect: []byte(`{"calls":[{"read_file":{"path":"a.txt"}}]}`)}, `"read_file":{"path":"a.txt"}`, false},
		{eval.Label{Expect: []byte(`{"no_call":true}`)}, `"no_call":true`, false},
		{eval.Label{Expect: []byte(`{"calls":[{"fly":{}}]}`)}, "fly", true},
		{eval.Label{Expect: []byte(`{"exepct":1}`)}, "exepct", true},
		{eval.Label{Expect: []byte(`nonsense`)}, "not JSON", true},
		{eval.Label{Run: "none", Right: true}, "none", true},
	} {
		l := c.label
		if l.Run == "" {
			l.Run = "one"
		}
		line, err := l.Case(t.Context(), store)
		text := string(line)
		if err != nil {
			text = err.Error()
		}
		if (err != nil) != c.fails || !strings.Contains(text, c.want) {
			t.Errorf("%v %s: %s", l.Right, l.Expect, text)
		}
		if err == nil {
			if s, err := new(eval.Loader).Parse("labels.jsonl", line); err != nil || len(s.Cases) != 1 {
				t.Errorf("%s is not a suite: %v", line, err)
			}
		}
	}
}

// TestLastLabelCounts labels a run twice.
func TestLastLabelCounts(t *testing.T) {
	store := new(journal.Memory)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, l := range []eval.Label{{Run: "a", Right: true}, {Run: "b", Right: true}, {Run: "a", Why: "the wrong file", By: "ada"}} {
		l.At = at.Add(time.Duration(i) * time.Minute)
		if err := l.Keep(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
	got, err := eval.Labels(t.Context(), store)
	if err != nil || len(got) != 2 || got[0].Run != "a" || got[0].Right || got[1].Run != "b" {
		t.Errorf("%+v, %v", got, err)
	}
	if none, err := eval.Labels(t.Context(), new(journal.Memory)); err != nil || len(none) != 0 {
		t.Errorf("%v %v", none, err)
	}
}
