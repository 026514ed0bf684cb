package journal

import (
	"cmp"
	"fmt"
	"iter"
	"sync"

	"github.com/toolpost/toolpost/internal/js"
)

// ScopeAgain is the scope of an [Approval] by which a person grants one more
// attempt of a call that has an intent. It stands before the intent that uses it.
const ScopeAgain = "again"

// ledger counts the intents of a run's calls and the attempts that people
// granted. It is what a store needs to refuse a second intent.
type ledger struct {
	mu    sync.Mutex
	seq   int64 // of the last entry that is counted
	calls map[string]tally

	// admitted is the hash of the last intent that was admitted, and admittedAs
	// what was read of it: most are counted next.
	admitted   Hash
	admittedAs counted
}

type tally struct{ intents, grants int }

// counted is what the ledger reads of an entry.
type counted struct {
	call    string // the one that it is about, in its first attempt
	granted bool   // a person has allowed another attempt
}

// readCounted reads the body of an entry, which is canonical JSON.
func readCounted(body []byte) (c counted) {
	var repeats string
	var allowed, by, again bool
	for key, v := range js.Members(body) {
		switch string(key) {
		case "call":
			c.call = js.Text(v)
		case "repeats":
			repeats = js.Text(v)
		case "scope":
			again = js.Is(v, ScopeAgain)
		case "allowed":
			allowed = string(v) == "true"
		case "by":
			by = js.Text(v) != ""
		}
	}
	c.call, c.granted = cmp.Or(repeats, c.call), allowed && by && again
	return c
}

// learn counts the entry that follows those that are counted. Any other is left
// for admit to read.
func (l *ledger) learn(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(e)
}

func (l *ledger) count(e Entry) {
	if e.Seq != l.seq+1 {
		return
	}
	l.seq = e.Seq
	if e.Kind != KindIntent && e.Kind != KindApproval {
		return
	}
	if l.calls == nil {
		l.calls = make(map[string]tally)
	}
	c := l.admittedAs
	if e.Hash == "" || e.Hash != l.admitted {
		c = readCounted(e.Body)
	}
	t := l.calls[c.call]
	switch {
	case e.Kind == KindIntent:
		t.intents++
	case c.granted:
		t.grants++
	}
	l.calls[c.call] = t
}

// admit refuses e, as it would be written, if it may not follow the entry last: a
// second intent for a call. read yields the entries of the run from a number on.
func (l *ledger) admit(last, e Entry, read func(from int64) iter.Seq2[Entry, error]) error {
	if e.Kind != KindIntent { // most entries: they cost nothing
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seq < last.Seq {
		if err := l.catchUp(e.Run, last.Seq, read); err != nil {
			return err
		}
	}
	c := readCounted(e.Body)
	if t := l.calls[c.call]; c.call != "" && t.intents > t.grants {
		return fmt.Errorf("%w: call %s has an intent, and nobody granted another attempt", ErrTwice, c.call)
	}
	l.admitted, l.admittedAs = e.Hash, c
	return nil
}

// catchUp counts the entries of a run up to the one with the number last.
func (l *ledger) catchUp(run string, last int64, read func(from int64) iter.Seq2[Entry, error]) error {
	for e, err := range read(l.seq + 1) {
		if err != nil {
			return err
		}
		if e.Seq > last {
			break
		}
		l.count(e)
	}
	if l.seq < last {
		return fmt.Errorf("journal: entries of run %s are missing after entry %d", run, l.seq)
	}
	return nil
}
