package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"
)

// A store that can be read but not written to, such as one on a full disk, cannot admit requests, because Admit writes.
// The last write of a request shows whether the store works. Without a recent request, Ready writes a record itself.

const (
	// readyRecord is the kind of that record. There is one, with an empty ID.
	readyRecord = "ready"
	// writeFresh is how long the result of the last write is reused. Anyone may ask for readiness, and a write is
	// expensive.
	writeFresh = time.Second
	// readyBytes is about the size of the writes that admit a request. A smaller record could still fit when a request
	// does not.
	readyBytes = 32 << 10
)

// writes is the result of the last write of a book.
type writes struct {
	one  sync.Mutex // held while Ready checks the store
	mu   sync.Mutex
	at   time.Time // zero means unknown
	last error
}

// wrote records that a write of a request succeeded. A failure may be the fault of the request, so it only makes Ready
// check the store.
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

// noise returns n letters that a database cannot compress below their content.
func noise(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Ready returns an error if the store cannot be read and written, so no request can be admitted. While one call checks
// the store, other calls return the last known result.
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
