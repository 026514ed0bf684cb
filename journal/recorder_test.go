package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// tick is a clock that moves a millisecond every time it is asked.
func tick() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Millisecond)
		return at
	}
}

func open(t testing.TB, store journal.Store, run string) *journal.Recorder {
	t.Helper()
	r, err := journal.Open(t.Context(), store, run)
	if err != nil {
		t.Fatal(err)
	}
	r.Now = tick()
	return r
}

// crash ends a process, as far as the store can tell.
func crash(t testing.TB, r *journal.Recorder) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func kinds(t testing.TB, store journal.Store, run string) string {
	t.Helper()
	var out []string
	for e, err := range store.Read(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

func TestIntentThenReceipt(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r1")
	args := json.RawMessage(`{"path": "a.txt", "text": "x"}`)
	if _, err := r.Intent(t.Context(), journal.Intent{Call: "c1", Tool: "write", Args: args}); err != nil {
		t.Fatal(err)
	}
	rec, err := r.Receipt(t.Context(), journal.Receipt{Call: "c1", Tool: "write", Args: args, Status: journal.OK,
		SideEffects: []journal.SideEffect{{Type: "file_modified", Path: "a.txt"}}})
	if err != nil {
		t.Fatal(err)
	}
	if rec.ParamsHash != journal.ParamsHash(args) || !rec.Entry.Valid() {
		t.Errorf("the receipt has params_hash %q and entry %q", rec.ParamsHash, rec.Entry)
	}
	if _, err := r.Receipt(t.Context(), journal.Receipt{Call: "c2", Tool: "rm", Status: journal.Refused, Reason: "not allowed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, store, "r1"); got != "intent receipt refusal seal" {
		t.Errorf("the run is: %s", got)
	}
	report, err := journal.Verify(store.Read(t.Context(), "r1", 0))
	if err != nil || !report.Sealed || report.Entries != 4 || len(report.Unknown) != 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	if _, err := r.Write(t.Context(), "note", struct{}{}); !errors.Is(err, journal.ErrSealed) {
		t.Errorf("writing after the seal: %v", err)
	}
	if _, err := journal.Open(t.Context(), store, "r1"); !errors.Is(err, journal.ErrSealed) {
		t.Errorf("opening a sealed run: %v", err)
	}
}

func TestSecondIntentRefused(t *testing.T) {
	r := open(t, new(journal.Memory), "r1")
	in := journal.Intent{Call: "c1", Tool: "write"}
	if _, err := r.Intent(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Intent(t.Context(), in); !errors.Is(err, journal.ErrTwice) {
		t.Errorf("a second intent: %v", err)
	}
	rec := journal.Receipt{Call: "c1", Tool: "write", Status: journal.OK}
	if _, err := r.Receipt(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Receipt(t.Context(), rec); !errors.Is(err, journal.ErrTwice) {
		t.Errorf("a second receipt: %v", err)
	}
	if _, err := r.Intent(t.Context(), in); !errors.Is(err, journal.ErrTwice) {
		t.Errorf("an intent after the receipt: %v", err)
	}
}

func TestUnknownOutcomeAfterACrash(t *testing.T) {
	store := new(journal.Memory)
	before := open(t, store, "r1")
	for _, call := range []string{"c1", "c2", "c3"} {
		if _, err := before.Intent(t.Context(), journal.Intent{Call: call, Tool: "pay", Args: json.RawMessage(`{"n":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := before.Receipt(t.Context(), journal.Receipt{Call: "c2", Tool: "pay", Status: journal.OK}); err != nil {
		t.Fatal(err)
	}
	crash(t, before)
	after := open(t, store, "r1")
	var lost []string
	for _, in := range after.Unknown() {
		lost = append(lost, in.Call)
	}
	if diff := cmp.Diff([]string{"c1", "c3"}, lost); diff != "" {
		t.Fatal(diff)
	}
	var unknown *journal.UnknownOutcomeError
	if _, err := after.Intent(t.Context(), journal.Intent{Call: "c1", Tool: "pay"}); !errors.As(err, &unknown) {
		t.Errorf("announcing a lost call again: %v", err)
	}
	if !after.Settled("c2") || after.Settled("c1") {
		t.Error("what is settled is not known")
	}
	rec, err := after.Abandon(t.Context(), after.Unknown()[0])
	if err != nil || rec.Status != journal.Unknown {
		t.Fatalf("%+v, %v", rec, err)
	}
	if left := after.Unknown(); len(left) != 1 || left[0].Call != "c3" {
		t.Errorf("still unknown: %v", left)
	}
	crash(t, after)
	if left := open(t, store, "r1").Unknown(); len(left) != 1 || left[0].Call != "c3" {
		t.Errorf("still unknown to the next process: %v", left)
	}
}

func TestReceiptSurvivesCancellation(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r1")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := r.Intent(ctx, journal.Intent{Call: "c1", Tool: "pay"}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Receipt(ctx, journal.Receipt{Call: "c1", Tool: "pay", Status: journal.Abandoned}); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, store, "r1"); got != "intent receipt" {
		t.Errorf("the run is: %s", got)
	}
}

func TestArgumentsWithoutCanonicalForm(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r1")
	bad := json.RawMessage("{\"a\":1,\"a\":\"\xff")
	rec, err := r.Receipt(t.Context(), journal.Receipt{Call: "c1", Tool: "f", Args: bad, Status: journal.Refused})
	if err != nil {
		t.Fatal(err)
	}
	if rec.ParamsHash != journal.ParamsHash(bad) {
		t.Errorf("params_hash %s", rec.ParamsHash)
	}
}

// What a call costs on the record, without the call: an intent and a receipt.
func BenchmarkRecorder(b *testing.B) {
	for _, c := range []struct {
		name string
		open func() journal.Store
	}{
		{"memory", func() journal.Store { return new(journal.Memory) }},
		{"jsonl", func() journal.Store { d := openDir(b, b.TempDir()); d.Sync = journal.SyncNone; return d }},
		{"jsonl-fsync-intents", func() journal.Store { return openDir(b, b.TempDir()) }},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkRecorder(b, c.open()) })
	}
}

func benchmarkRecorder(b *testing.B, store journal.Store) {
	r := open(b, store, "bench")
	r.Now = nil
	args := json.RawMessage(`{"path":"src/auth.rs","limit":2000}`)
	result := &llm.Result{CallID: "c", Name: "read", Parts: []llm.Part{llm.Text{Text: strings.Repeat("some text ", 20)}}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		call := "call_" + strconv.Itoa(n)
		n++
		if _, err := r.Intent(b.Context(), journal.Intent{Call: call, Tool: "read", Args: args}); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Receipt(b.Context(), journal.Receipt{Call: call, Tool: "read", Args: args, Status: journal.OK, Result: result}); err != nil {
			b.Fatal(err)
		}
	}
}

// hoarder keeps the bodies it is given, as a store of somebody else may.
type hoarder struct {
	*journal.Memory
	given []json.RawMessage
}

func (s *hoarder) Append(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	s.given = append(s.given, e.Body)
	return s.Memory.Append(ctx, e)
}

// The recorder uses the space of a body again. What a store keeps, and what the
// recorder returned, stays as it is.
func TestRecordedBodiesAreNotReused(t *testing.T) {
	foreign := &hoarder{Memory: new(journal.Memory)}
	for name, store := range map[string]journal.Store{"memory": new(journal.Memory), "directory": openDir(t, t.TempDir()), "SQL": openSQL(t, "sqlite", sqliteDSN(t)), "foreign": foreign} {
		t.Run(name, func(t *testing.T) {
			rec, err := journal.Open(t.Context(), store, "run")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rec.Request(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("go on")}}); err != nil {
				t.Fatal(err) // results are referred to by hash from now on
			}
			intents := make(map[int64]string)
			for i := range 60 {
				id, text := fmt.Sprint("call", i), strings.Repeat(fmt.Sprint(i, " "), 1+i*i)
				args := json.RawMessage(fmt.Sprintf(`{"n":%d}`, i/2))
				e, err := rec.Intent(t.Context(), journal.Intent{Call: id, Tool: "write", Args: args})
				if err != nil {
					t.Fatal(err)
				}
				intents[e.Seq] = string(e.Body)
				result := &llm.Result{CallID: id, Name: "write", Parts: []llm.Part{llm.Text{Text: text}}}
				if _, err := rec.Receipt(t.Context(), journal.Receipt{Call: id, Tool: "write", Args: args, Status: journal.OK, Result: result}); err != nil {
					t.Fatal(err)
				}
				if i%7 == 0 {
					if _, err := rec.Request(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("go on"), {Role: llm.RoleTool, Parts: []llm.Part{*result}}}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if report, err := journal.Verify(store.Read(t.Context(), "run", 0)); err != nil || len(report.Faults) > 0 {
				t.Fatalf("%+v, %v", report, err)
			}
			for e, err := range store.Read(t.Context(), "run", 0) {
				if err != nil {
					t.Fatal(err)
				}
				if was, ok := intents[e.Seq]; ok && was != string(e.Body) {
					t.Errorf("entry %d was returned as %s and is %s", e.Seq, was, e.Body)
				}
				if store == foreign && string(foreign.given[e.Seq-1]) != string(e.Body) {
					t.Errorf("entry %d was given as %s and is %s", e.Seq, foreign.given[e.Seq-1], e.Body)
				}
			}
		})
	}
}
