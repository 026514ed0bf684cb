package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// TestStore checks that a [journal.Store] keeps the promises of the interface.
// It calls open once per promise; each store it gets must be empty.
func TestStore(t *testing.T, open func(*testing.T) journal.Store) {
	for _, c := range []struct {
		promise string
		check   func(*testing.T, journal.Store)
	}{
		{"entries are numbered, linked and the same in every store", storeChains},
		{"Read starts where asked", storeReadsFrom},
		{"a run that does not exist is empty", storeUnknownRun},
		{"a seal counts what stands before it and ends the run", storeSeals},
		{"a run has the format of its first entry", storeFormats},
		{"entries that refer to others come back as they were written", storeReferences},
		{"what has no place in a journal is refused and leaves no trace", storeRefuses},
		{"a cancelled context writes nothing", storeCancelled},
		{"secrets do not arrive, and the run verifies without them", storeStrips},
		{"writers of one run take turns", storeOneRun},
		{"writers of different runs do not disturb each other", storeManyRuns},
		{"a reader does not keep writers waiting", storeReadsWhileWriting},
		{"long runs and long entries come back", storeLong},
		{"runs are listed in order", storeLists},
		{"a run has one owner, and only the owner adds to it", storeLeases},
		{"a lease that has ended writes nothing", storeLeaseEnds},
		{"a call has one intent unless a person granted another attempt", storeIntents},
	} {
		t.Run(c.promise, func(t *testing.T) { c.check(t, open(t)) })
	}
}

// TestSharedStore checks that two stores on one medium, as two processes would
// have them, can write the same run without forking it and, if they are a
// [journal.Leaser], that the run has one owner. Both must be empty.
func TestSharedStore(t *testing.T, a, b journal.Store) {
	for i := range 6 {
		store := []journal.Store{a, b}[i/2%2] // a a b b a a: each must notice the entries of the other
		mustAppend(t, store, "shared", "note", fmt.Sprintf(`{"n":%d}`, i))
	}
	var writers sync.WaitGroup
	for i, store := range []journal.Store{a, b, a, b} {
		writers.Go(func() {
			for j := range 20 {
				mustAppend(t, store, "shared", "note", fmt.Sprintf(`{"writer":%d,"n":%d}`, i, j))
			}
		})
	}
	writers.Wait()
	mustVerify(t, a, "shared", 86)
	mustVerify(t, b, "shared", 86)
	mustAppend(t, b, "shared", journal.KindSeal, "")
	if _, err := a.Append(t.Context(), journal.Entry{Run: "shared", Kind: "note", Body: json.RawMessage(`{}`)}); !errors.Is(err, journal.ErrSealed) {
		t.Errorf("one store sealed the run, the other appends with error %v; want ErrSealed", err)
	}
	one, ok := a.(journal.Leaser)
	two, ok2 := b.(journal.Leaser)
	if !ok || !ok2 {
		return
	}
	mustAppend(t, b, "owned", "note", `{}`)
	lease := mustLease(t, one, "owned")
	mustBeHeld(t, second(two.Lease(t.Context(), "owned")), "owned")
	mustBeHeld(t, second(appendAs(t, b, "owned", "")), "owned")
	mustAppendAs(t, a, "owned", lease.Token)
	if err := one.Release(t.Context(), lease); err != nil {
		t.Error(err)
	}
	after := mustLease(t, two, "owned")
	mustAppendAs(t, b, "owned", after.Token)
	if _, err := appendAs(t, a, "owned", lease.Token); !errors.Is(err, journal.ErrLeaseLost) {
		t.Errorf("the owner before appends with error %v; want ErrLeaseLost", err)
	}
	if err := two.Release(t.Context(), after); err != nil {
		t.Error(err)
	}
	mustVerify(t, a, "owned", 3)
	var wg sync.WaitGroup
	owners := make(chan journal.Lease, 20)
	for i := range 20 {
		wg.Go(func() {
			if l, err := []journal.Leaser{one, two}[i%2].Lease(t.Context(), "owned"); err == nil {
				owners <- l
			}
		})
	}
	wg.Wait()
	if len(owners) != 1 {
		t.Errorf("%d of 20 became the owner of one run", len(owners))
	}
}

var storeTime = time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("elsewhere", 3600))

func mustAppend(t *testing.T, s journal.Store, run string, kind journal.Kind, body string) journal.Entry {
	t.Helper()
	e, err := s.Append(t.Context(), journal.Entry{Run: run, At: storeTime, Kind: kind, Body: json.RawMessage(body)})
	if err != nil {
		t.Errorf("append %s to %s: %v", kind, run, err)
	}
	return e
}

func readAll(t *testing.T, s journal.Store, run string, from int64) []journal.Entry {
	t.Helper()
	var all []journal.Entry
	for e, err := range s.Read(t.Context(), run, from) {
		if err != nil {
			t.Fatalf("read %s: %v", run, err)
		}
		all = append(all, e)
	}
	return all
}

func mustVerify(t *testing.T, s journal.Store, run string, entries int64) *journal.Report {
	t.Helper()
	report, err := journal.Verify(s.Read(t.Context(), run, 0))
	if err != nil {
		t.Errorf("verify %s: %v", run, err)
	}
	if report.Entries != entries {
		t.Errorf("run %s has %d entries, want %d", run, report.Entries, entries)
	}
	return report
}

func storeChains(t *testing.T, s journal.Store) {
	bodies := []string{`{"b": 1, "a": [1.0, 12345678901234567890]}`, "{\"text\":\"\\u0000 \u2028 <&> \U0001F600\"}", `{}`, `"text"`}
	var want, got []journal.Entry
	twin := new(journal.Memory)
	for _, b := range bodies {
		want = append(want, mustAppend(t, twin, "r", "note", b))
		got = append(got, mustAppend(t, s, "r", "note", b))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Append returns other entries than journal.Memory (-memory +store):\n%s", diff)
	}
	if diff := cmp.Diff(want, readAll(t, s, "r", 0)); diff != "" {
		t.Errorf("Read returns other entries than journal.Memory (-memory +store):\n%s", diff)
	}
	if e := mustAppendNow(t, s, "r"); time.Since(e.At).Abs() > time.Hour {
		t.Errorf("an entry without a time got %v", e.At)
	}
	mustVerify(t, s, "r", 5)
}

func mustAppendNow(t *testing.T, s journal.Store, run string) journal.Entry {
	t.Helper()
	e, err := s.Append(t.Context(), journal.Entry{Run: run, Kind: "note", Body: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func storeReadsFrom(t *testing.T, s journal.Store) {
	for range 5 {
		mustAppend(t, s, "r", "note", `{}`)
	}
	for from, want := range map[int64]int{-1: 5, 0: 5, 1: 5, 2: 4, 5: 1, 6: 0, 100: 0} {
		got := readAll(t, s, "r", from)
		if len(got) != want || len(got) > 0 && got[0].Seq != max(from, 1) {
			t.Errorf("from %d: %d entries, want %d: %v", from, len(got), want, got)
		}
	}
	for e, err := range s.Read(t.Context(), "r", 2) { // stopping early releases everything
		if err != nil || e.Seq != 2 {
			t.Errorf("%v, %v", e, err)
		}
		break
	}
	mustAppend(t, s, "r", "note", `{}`)
}

func storeUnknownRun(t *testing.T, s journal.Store) {
	if got := readAll(t, s, "nobody", 0); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func storeSeals(t *testing.T, s journal.Store) {
	first := mustAppend(t, s, "r", "note", `{}`)
	seal := mustAppend(t, s, "r", journal.KindSeal, `{"count":99,"head":"a lie"}`)
	var body journal.Seal
	if err := seal.Decode(&body); err != nil || body.Count != 1 || body.Head != first.Hash {
		t.Errorf("the seal says %+v, %v", body, err)
	}
	for _, kind := range []journal.Kind{"note", journal.KindSeal} {
		if _, err := s.Append(t.Context(), journal.Entry{Run: "r", Kind: kind, Body: json.RawMessage(`{}`)}); !errors.Is(err, journal.ErrSealed) {
			t.Errorf("appending a %s to a sealed run: %v, want ErrSealed", kind, err)
		}
	}
	if report := mustVerify(t, s, "r", 2); !report.Sealed {
		t.Error("the run is not sealed")
	}
	mustAppend(t, s, "other", "note", `{}`)
}

// storeFormats: a store keeps the format of a run, and refuses other formats.
func storeFormats(t *testing.T, s journal.Store) {
	ctx := t.Context()
	for _, c := range []struct {
		run         string
		first, want int
	}{{"old", 1, 1}, {"new", 2, 2}, {"plain", 0, journal.CurrentFormat}} {
		for i, format := range []int{c.first, 0, c.want} {
			e, err := s.Append(ctx, journal.Entry{Run: c.run, At: storeTime, Kind: "note", Body: json.RawMessage(`{}`), Format: format})
			if err != nil || e.Format != c.want {
				t.Errorf("run %s, entry %d: format %d, want %d, error %v", c.run, i+1, e.Format, c.want, err)
			}
		}
		if _, err := s.Append(ctx, journal.Entry{Run: c.run, Kind: "note", Body: json.RawMessage(`{}`), Format: 3 - c.want}); err == nil {
			t.Errorf("run %s: an entry in format %d follows", c.run, 3-c.want)
		}
		if report := mustVerify(t, s, c.run, 3); report.Format != c.want {
			t.Errorf("run %s is read in format %d, want %d", c.run, report.Format, c.want)
		}
	}
	var newer *journal.FormatError
	if _, err := s.Append(ctx, journal.Entry{Run: "r", Kind: "note", Body: json.RawMessage(`{}`), Format: journal.CurrentFormat + 1}); !errors.As(err, &newer) {
		t.Errorf("a format that nobody knows: %v, want a FormatError", err)
	}
	if got := readAll(t, s, "r", 0); len(got) > 0 {
		t.Errorf("refused entries were written: %v", got)
	}
}

// storeReferences: the entries of a Recorder are read back whole, and verify.
func storeReferences(t *testing.T, s journal.Store) {
	ctx := t.Context()
	rec, err := journal.Open(ctx, s, "r")
	if err != nil {
		t.Fatal(err)
	}
	const key = "sk-ant-api03-aB3aB3aB3aB3aB3aB3aB3aB3"
	req := &llm.Request{Messages: []llm.Message{llm.User("the key is " + key)}}
	said := llm.Assistant(llm.Text{Text: "I have seen " + key}, llm.Call{ID: "c", Name: "f", Args: json.RawMessage(`{"a":1}`)})
	result := llm.Result{CallID: "c", Name: "f", Parts: []llm.Part{llm.Text{Text: "a result"}}}
	for _, err := range []error{
		record(ctx, rec, req, said),
		second(rec.Receipt(ctx, journal.Receipt{Call: "c", Tool: "f", Args: json.RawMessage(`{"a":1}`), Status: journal.OK, Result: &result})),
		record(ctx, rec, &llm.Request{Messages: append(req.Messages, said, llm.Results(result))}, llm.Assistant(llm.Text{Text: "done"})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	mustVerify(t, s, "r", 5)
	var texts []string
	for e, err := range journal.Whole(s.Read(ctx, "r", 0)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != journal.KindRequest {
			continue
		}
		var body struct{ Messages []llm.Message }
		if err := e.Decode(&body); err != nil {
			t.Fatal(err)
		}
		for _, m := range body.Messages {
			texts = append(texts, m.Text())
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok {
					texts = append(texts, r.Text())
				}
			}
		}
	}
	want := []string{"the key is [stripped:anthropic-key]", "I have seen [stripped:anthropic-key]", "", "a result"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

func second[T any](_ T, err error) error { return err }

// record writes a request and its answer.
func record(ctx context.Context, rec *journal.Recorder, req *llm.Request, said llm.Message) error {
	asked, err := rec.Request(ctx, req)
	if err != nil {
		return err
	}
	return second(rec.Answer(ctx, asked, &llm.Response{Message: said, Finish: llm.Finish{Reason: llm.Stop}}, 0, nil))
}

func storeRefuses(t *testing.T, s journal.Store) {
	for _, e := range []journal.Entry{
		{Run: "", Kind: "note", Body: json.RawMessage(`{}`)},
		{Run: "../escape", Kind: "note", Body: json.RawMessage(`{}`)},
		{Run: ".hidden", Kind: "note", Body: json.RawMessage(`{}`)},
		{Run: strings.Repeat("x", 200), Kind: "note", Body: json.RawMessage(`{}`)},
		{Run: "r", Kind: "", Body: json.RawMessage(`{}`)},
		{Run: "r", Kind: `quo"te`, Body: json.RawMessage(`{}`)},
		{Run: "r", Kind: "note"},
		{Run: "r", Kind: "note", Body: json.RawMessage(`{"a":1,"a":2}`)},
		{Run: "r", Kind: "note", Body: json.RawMessage(`NaN`)},
		{Run: "r", Kind: "note", Body: json.RawMessage(`{} {}`)},
		{Run: "r", Kind: "note", Body: json.RawMessage(`{}`), At: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got, err := s.Append(t.Context(), e); err == nil {
			t.Errorf("%+v was written as %+v", e, got)
		}
	}
	if got := readAll(t, s, "r", 0); len(got) > 0 {
		t.Errorf("refused entries were written: %v", got)
	}
	if e := mustAppend(t, s, "r", "note", `{}`); e.Seq != 1 {
		t.Errorf("the first entry is number %d", e.Seq)
	}
}

func storeCancelled(t *testing.T, s journal.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, journal.Entry{Run: "r", Kind: "note", Body: json.RawMessage(`{}`)}); err == nil {
		t.Error("Append ignores its context")
	}
	mustAppend(t, s, "r", "note", `{}`)
	var failed error
	for _, err := range s.Read(ctx, "r", 0) {
		failed = err
	}
	if failed == nil {
		t.Error("Read ignores its context")
	}
	mustVerify(t, s, "r", 1)
}

func storeStrips(t *testing.T, s journal.Store) {
	key := "sk-ant-api03-" + strings.Repeat("aB3", 12)
	body := `{"header":"Authorization: Bearer ` + key + `","args":{"password":"hunter22"}}`
	e := mustAppend(t, s, "r", "note", body)
	whole, err := journal.HashJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(readAll(t, s, "r", 0), e) {
		if strings.Contains(string(e.Body), key) || strings.Contains(string(e.Body), "hunter22") {
			t.Errorf("a secret is in the store: %s", e.Body)
		}
		if e.Stripped == nil || e.Stripped.Whole != whole {
			t.Errorf("the entry is marked %+v, want the hash of the whole body %s", e.Stripped, whole)
		}
	}
	if report := mustVerify(t, s, "r", 1); report.Stripped != 1 {
		t.Errorf("%d entries are reported as stripped", report.Stripped)
	}
}

func storeOneRun(t *testing.T, s journal.Store) {
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				mustAppend(t, s, "r", "note", fmt.Sprintf(`{"w":%d,"i":%d}`, w, i))
			}
		})
	}
	wg.Wait()
	mustVerify(t, s, "r", writers*each)
	next := make(map[int]int) // the entries of each writer are in order
	for _, e := range readAll(t, s, "r", 0) {
		var body struct{ W, I int }
		if err := e.Decode(&body); err != nil {
			t.Fatal(err)
		}
		if body.I != next[body.W] {
			t.Errorf("writer %d: entry %d comes where %d should", body.W, body.I, next[body.W])
		}
		next[body.W]++
	}
}

func storeManyRuns(t *testing.T, s journal.Store) {
	const runs, each = 16, 12
	var wg sync.WaitGroup
	for r := range runs {
		wg.Go(func() {
			for i := range each {
				mustAppend(t, s, fmt.Sprintf("run-%d", r), "note", fmt.Sprintf(`{"i":%d}`, i))
			}
		})
	}
	wg.Wait()
	for r := range runs {
		mustVerify(t, s, fmt.Sprintf("run-%d", r), each)
	}
}

func storeReadsWhileWriting(t *testing.T, s journal.Store) {
	for range 3 {
		mustAppend(t, s, "r", "note", `{}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seen := 0
	for _, err := range s.Read(ctx, "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen > 3 {
			continue
		}
		for _, run := range []string{"r", "other"} {
			if _, err := s.Append(ctx, journal.Entry{Run: run, Kind: "note", Body: json.RawMessage(`{}`)}); err != nil {
				t.Fatalf("writing to %s while reading: %v", run, err)
			}
		}
	}
	mustVerify(t, s, "r", 6)
	mustVerify(t, s, "other", 3)
}

func storeLong(t *testing.T, s journal.Store) {
	big := strings.Repeat("long ", 250_000)
	mustAppend(t, s, "r", "note", fmt.Sprintf(`{"text":%q}`, big))
	for i := range 600 {
		mustAppend(t, s, "r", "note", fmt.Sprintf(`{"i":%d}`, i))
	}
	mustVerify(t, s, "r", 601)
	var body struct{ Text string }
	if err := readAll(t, s, "r", 0)[0].Decode(&body); err != nil || body.Text != big {
		t.Errorf("%d bytes came back as %d, %v", len(big), len(body.Text), err)
	}
	if got := readAll(t, s, "r", 590); len(got) != 12 || got[0].Seq != 590 {
		t.Errorf("from 590: %d entries", len(got))
	}
}

func storeLists(t *testing.T, s journal.Store) {
	lister, ok := s.(journal.Lister)
	if !ok {
		t.Skip("the store is not a journal.Lister")
	}
	want := []string{"B", "a", "a-1", "a.b", "b"}
	for _, run := range []string{"b", "a", "a.b", "B", "a-1", "a"} {
		mustAppend(t, s, run, "note", `{}`)
	}
	var got []string
	for run, err := range lister.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, run)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
