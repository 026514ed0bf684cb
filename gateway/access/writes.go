package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"
)

// A store that can be read but not written to, such as one on a full disk, lets no request in: Admit writes. So what requests have
// written last says whether it works, and where no request came for a while, a record of its own is written.

const (
	// readyRecord is the kind of that record. There is one, whose ID is empty.
	readyRecord = "ready"
	// writeFresh is for how long the last write says how the store is. Anybody may ask for that, and a write costs more than a question.
	writeFresh = time.Second
	// readyBytes is about as many bytes as letting a request in writes: a smaller record would still fit where no request does.
	readyBytes = 32 << 10
)

// writes is how the last write of a book ended.
type writes struct {
	one  sync.Mutex // of the one who finds out how the store is
	mu   sync.Mutex
	at   time.Time // zero means that nobody knows how the store is
	last error
}

// wrote keeps that a write of a request worked. One that did not may be the fault of the request, so that Ready has to find out.
func (b *Book) wrote(err error) error {
	if err == nil {
		b.writes.set(time.Now(), nil)
	} else {
		_, last := b.writes.get()
		b.writes.set(time.Time{}, last)
	}
	return err
}

func (w *writes) set(at time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.last = at, err
}

func (w *writes) get() (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at, w.last
}

// noise returns so many letters that no database can store in less.
func noise(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b) // which never fails
	return hex.EncodeToString(b)
}

// Ready says why no request can be let in, nil if the store works: it can be read and written to. While somebody finds that out, others are
// told what was known last.
func (b *Book) Ready(ctx context.Context) error {
	if !b.writes.one.TryLock() {
		_, last := b.writes.get()
		return last
	}
	defer b.writes.one.Unlock()
	r, err := b.Store.Get(ctx, readyRecord, "")
	if err != nil {
		b.writes.set(time.Time{}, err)
		return err
	}
	if at, last := b.writes.get(); time.Since(at) < writeFresh {
		return last
	}
	r.Kind, r.ID, r.Doc = readyRecord, "", []byte(noise(readyBytes))
	if err = b.Store.Put(ctx, r); errors.Is(err, ErrConflict) { // another gateway of the same store has just written it
		err = nil
	}
	b.writes.set(time.Now(), err)
	return err
}
