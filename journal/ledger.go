package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
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
}

type tally struct{ intents, grants int }

// counted is what the ledger reads of an entry.
type counted struct {
	Call    string `json:"call"`
	Repeats string `json:"repeats"`
	Scope   string `json:"scope"`
	Allowed bool   `json:"allowed"`
	By      string `json:"by"`
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
	var c counted
	if json.Unmarshal(e.Body, &c) != nil {
		return
	}
	if l.calls == nil {
		l.calls = make(map[string]tally)
	}
	call := cmp.Or(c.Repeats, c.Call)
	t := l.calls[call]
	switch {
	case e.Kind == KindIntent:
		t.intents++
	case c.Scope == ScopeAgain && c.Allowed && c.By != "":
		t.grants++
	}
	l.calls[call] = t
}

// admit refuses e, as it would be written, if it may not follow the entry last: a
// second intent for a call. read yields the entries of the run from a number on.
func (l *ledger) admit(last, e Entry, read func(from int64) iter.Seq2[Entry, error]) error {
	if e.Kind != KindIntent {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seq < last.Seq {
		for e, err := range read(l.seq + 1) {
			if err != nil {
				return err
			}
			if e.Seq > last.Seq {
				break
			}
			l.count(e)
		}
		if l.seq < last.Seq {
			return fmt.Errorf("journal: entries of run %s are missing after entry %d", e.Run, l.seq)
		}
	}
	var c counted
	call := ""
	if json.Unmarshal(e.Body, &c) == nil {
		call = cmp.Or(c.Repeats, c.Call)
	}
	if t := l.calls[call]; call != "" && t.intents > t.grants {
		return fmt.Errorf("%w: call %s has an intent, and nobody granted another attempt", ErrTwice, call)
	}
	return nil
}
