package journal

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
)

// ScopeRepeat is the scope of an [Approval] by which a person grants one more attempt
// of a call that has an intent. It precedes the intent that uses it.
const ScopeRepeat = "again"

// ledger counts the intents of a run's calls and the attempts that people
// granted. It is what a store needs to refuse a second intent.
type ledger struct {
	mu  sync.Mutex
	seq int64 // of the last entry that is counted
	// open is how many intents a call has beyond the attempts that were granted.
	open map[string]int32
}

// counted returns what readCounted would read of an intent's body. It is zero if
// the body may say it otherwise.
func (in *Intent) counted() counted {
	call := cmp.Or(in.Repeats, in.Call)
	if !utf8.ValidString(call) {
		return counted{}
	}
	return counted{call: call}
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
			again = js.Is(v, ScopeRepeat)
		case "allowed":
			allowed = string(v) == "true"
		case "by":
			by = js.Text(v) != ""
		}
	}
	c.call, c.granted = cmp.Or(repeats, c.call), allowed && by && again
	return c
}

// learn counts the next entry after the counted ones; c is the result of admit for it.
// Any other entry is left for admit to read.
func (l *ledger) learn(e *Entry, c counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == KindApproval {
		c = readCounted(e.Body)
	}
	l.count(e, c)
}

func (l *ledger) count(e *Entry, c counted) {
	if e.Seq != l.seq+1 {
		return
	}
	l.seq = e.Seq
	switch {
	case e.Kind == KindIntent:
		l.add(c.call, 1)
	case e.Kind == KindApproval && c.granted:
		l.add(c.call, -1)
	}
}

func (l *ledger) add(call string, n int32) {
	if l.open == nil {
		l.open = make(map[string]int32)
	}
	l.open[call] += n
}

// admit refuses e, as it would be written, if it may not follow the entry last: a
// second intent for a call. read yields the entries of the run from a number on; k are
// the known properties of e. The result is for learn, once e is written.
func (l *ledger) admit(last int64, e *Entry, k *known, read func(from int64) iter.Seq2[Entry, error]) (counted, error) {
	if e.Kind != KindIntent { // most entries: they cost nothing
		return counted{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seq < last {
		if err := l.catchUp(e.Run, last, read); err != nil {
			return counted{}, err
		}
	}
	c := k.counted
	if c.call == "" || e.Stripped != nil { // the record may have the call under another name
		c = readCounted(e.Body)
	}
	if c.call != "" && l.open[c.call] > 0 {
		return c, fmt.Errorf("%w: call %s has an intent, and nobody granted another attempt", ErrTwice, c.call)
	}
	return c, nil
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
		var c counted
		if e.Kind == KindIntent || e.Kind == KindApproval {
			c = readCounted(e.Body)
		}
		l.count(&e, c)
	}
	if l.seq < last {
		return fmt.Errorf("journal: entries of run %s are missing after entry %d", run, l.seq)
	}
	return nil
}

// ErrTwice is the error of a second intent or receipt for one call.
var ErrTwice = errors.New("journal: the call is on record already")
