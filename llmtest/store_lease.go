package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/toolpost/toolpost/journal"
)

func leaser(t *testing.T, s journal.Store) journal.Leaser {
	t.Helper()
	l, ok := s.(journal.Leaser)
	if !ok {
		t.Skip("the store is not a journal.Leaser")
	}
	return l
}

func mustLease(t *testing.T, s journal.Leaser, run string) journal.Lease {
	t.Helper()
	l, err := s.Lease(t.Context(), run)
	if err != nil {
		t.Fatalf("lease of %s: %v", run, err)
	}
	if l.Run != run || l.Token == "" || l.Owner.Process != os.Getpid() || l.Owner.Host == "" {
		t.Errorf("the lease is %+v", l)
	}
	return l
}

// appendAs appends a note with the token of a lease.
func appendAs(t *testing.T, s journal.Store, run, token string) (journal.Entry, error) {
	return s.Append(t.Context(), journal.Entry{Run: run, At: storeTime, Kind: "note", Body: json.RawMessage(`{}`), Lease: token})
}

func mustAppendAs(t *testing.T, s journal.Store, run, token string) {
	t.Helper()
	e, err := appendAs(t, s, run, token)
	if err != nil || e.Lease != "" {
		t.Errorf("append to %s: %+v, %v", run, e, err)
	}
}

// mustBeHeld checks that err names this process as the owner of a run.
func mustBeHeld(t *testing.T, err error, run string) {
	t.Helper()
	var held *journal.HeldError
	if !errors.As(err, &held) || held.Run != run || held.Owner.Process != os.Getpid() || held.Owner.Host == "" {
		t.Errorf("%v; want a HeldError that names process %d as the owner of %s", err, os.Getpid(), run)
	}
}

func storeLeases(t *testing.T, store journal.Store) {
	s := leaser(t, store)
	for _, run := range []string{"r", "new"} {
		if run == "r" {
			mustAppend(t, store, run, "note", `{}`)
		}
		l := mustLease(t, s, run)
		mustBeHeld(t, second(s.Lease(t.Context(), run)), run)
		mustBeHeld(t, second(appendAs(t, store, run, "")), run)
		if _, err := appendAs(t, store, run, "of nobody"); !errors.Is(err, journal.ErrLeaseLost) {
			t.Errorf("a token that nobody was given: %v, want ErrLeaseLost", err)
		}
		mustAppendAs(t, store, run, l.Token)
	}
	mustVerify(t, store, "r", 2)
	mustVerify(t, store, "new", 1)
	if _, err := s.Lease(t.Context(), "../escape"); err == nil {
		t.Error("a run that cannot exist has an owner")
	}
}

func storeLeaseEnds(t *testing.T, store journal.Store) {
	s := leaser(t, store)
	first := mustLease(t, s, "r")
	mustAppendAs(t, store, "r", first.Token)
	for range 2 { // the second time it has ended already
		if err := s.Release(t.Context(), first); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if _, err := appendAs(t, store, "r", first.Token); !errors.Is(err, journal.ErrLeaseLost) {
		t.Errorf("with a lease that was released: %v, want ErrLeaseLost", err)
	}
	mustAppendAs(t, store, "r", "") // without an owner
	next := mustLease(t, s, "r")
	if next.Token == first.Token {
		t.Error("two leases have one token")
	}
	if err := s.Release(t.Context(), first); err != nil { // not that of the next owner
		t.Errorf("release: %v", err)
	}
	mustBeHeld(t, second(s.Lease(t.Context(), "r")), "r")
	if _, err := appendAs(t, store, "r", first.Token); !errors.Is(err, journal.ErrLeaseLost) {
		t.Errorf("with the lease of the owner before: %v, want ErrLeaseLost", err)
	}
	mustAppendAs(t, store, "r", next.Token)
	mustVerify(t, store, "r", 3)
}

func storeIntents(t *testing.T, store journal.Store) {
	leaser(t, store)
	put := func(kind journal.Kind, body string) error {
		return second(store.Append(t.Context(), journal.Entry{Run: "r", Kind: kind, Body: json.RawMessage(body)}))
	}
	for i, c := range []struct {
		kind    journal.Kind
		body    string
		refused bool
	}{
		{journal.KindIntent, `{"call":"c1","tool":"f","args":{}}`, false},
		{journal.KindIntent, `{"call":"c1","tool":"f","args":{}}`, true},
		{journal.KindIntent, `{"call":"c2","repeats":"c1","tool":"f","args":{}}`, true},
		{journal.KindReceipt, `{"call":"c1","tool":"f","status":"failed"}`, false},
		{journal.KindIntent, `{"call":"c2","repeats":"c1","tool":"f","args":{}}`, true},
		{journal.KindApproval, `{"call":"c1","tool":"f","allowed":true,"by":"ann"}`, false}, // of the call, not of another attempt
		{journal.KindApproval, `{"call":"c1","tool":"f","allowed":false,"by":"ann","scope":"again"}`, false},
		{journal.KindApproval, `{"call":"c1","tool":"f","allowed":true,"scope":"again"}`, false}, // without a decider
		{journal.KindApproval, `{"call":"c3","tool":"f","allowed":true,"by":"ann","scope":"again"}`, false},
		{journal.KindIntent, `{"call":"c2","repeats":"c1","tool":"f","args":{}}`, true},
		{journal.KindApproval, `{"call":"c1","tool":"f","allowed":true,"by":"ann","scope":"again"}`, false},
		{journal.KindIntent, `{"call":"c2","repeats":"c1","tool":"f","args":{}}`, false},
		{journal.KindIntent, `{"call":"c4","repeats":"c1","tool":"f","args":{}}`, true}, // one grant, one attempt
		{journal.KindIntent, `{"call":"c5","tool":"f","args":{}}`, false},
	} {
		err := put(c.kind, c.body)
		if c.refused != errors.Is(err, journal.ErrTwice) || !c.refused && err != nil {
			t.Errorf("%d: %s %s: %v; want it refused: %v", i, c.kind, c.body, err, c.refused)
		}
	}
	const n = 30 // at once, and one of them counts
	won := make(chan error, n)
	for i := range n {
		go func() {
			won <- put(journal.KindIntent, fmt.Sprintf(`{"call":"one","tool":"f%d","args":{}}`, i))
		}()
	}
	written := 0
	for range n {
		if err := <-won; err == nil {
			written++
		} else if !errors.Is(err, journal.ErrTwice) {
			t.Error(err)
		}
	}
	if written != 1 {
		t.Errorf("%d intents of one call were written", written)
	}
	mustVerify(t, store, "r", 10)
}
