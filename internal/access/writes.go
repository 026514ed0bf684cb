package access

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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

// This file keeps the usage of requests that ended while the store was failing, and writes it once the store works
// again.

// maxLate limits how many requests are kept.
const maxLate = 10_000

// The first and the longest wait before a retry, and the time limit of each write.
const (
	lateWait    = 100 * time.Millisecond
	lateLongest = 2 * time.Second
	lateTime    = 10 * time.Second
)

// LateError reports that the usage of a request could not be written when it ended and will be written later.
type LateError struct{ Err error }

// Error includes the reason for the delay.
func (e *LateError) Error() string { return "access: it is kept and written later: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LateError) Unwrap() error { return e.Err }

// lateLine is the usage of a request and the limits that count it.
type lateLine struct {
	line   LogLine
	rights *Rights
}

// late is the queue of usage to write later.
type late struct {
	mu      sync.Mutex
	lines   []lateLine
	writing bool           // a writer is running
	closed  bool           // nothing may be written any more
	writers sync.WaitGroup // at most one at a time
	stop    context.CancelFunc
}

// settleLater queues the usage of a request and starts a writer. It fails if the queue is full or closed.
func (b *Book) settleLater(l lateLine, err error) error {
	b.late.mu.Lock()
	defer b.late.mu.Unlock()
	if len(b.late.lines) >= maxLate || b.late.closed {
		return fmt.Errorf("access: it is lost, because %d requests wait to be written already or the gateway ends: %w", len(b.late.lines), err)
	}
	b.late.lines = append(b.late.lines, l)
	if !b.late.writing {
		b.late.writing = true
		var ctx context.Context
		ctx, b.late.stop = context.WithCancel(context.Background())
		b.late.writers.Go(func() { b.writeLate(ctx) })
	}
	return &LateError{err}
}

// next returns the first entry of the queue, or false if the queue is empty or closed.
func (l *late) next() (lateLine, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 || l.closed {
		l.writing = false
		return lateLine{}, false
	}
	return l.lines[0], true
}

// tried removes the first entry. If it was not written, it moves to the end of the queue, so one bad entry does not
// block the rest.
func (l *late) tried(written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.lines[0]
	if l.lines = l.lines[1:]; !written {
		l.lines = append(l.lines, first)
	}
}

// writeLate writes the queue until it is empty or ctx is done.
func (b *Book) writeLate(ctx context.Context) {
	for wait := lateWait; ; {
		l, ok := b.late.next()
		if !ok {
			return
		}
		within, cancel := context.WithTimeout(ctx, lateTime)
		used, err := b.Store.Settle(within, l.line, windows(&l.rights.Key, l.line.At))
		cancel()
		if b.late.tried(err == nil); err == nil {
			b.release(l.line.ID)
			b.report(l.rights, l.line.At, l.line.count(), used)
			wait = lateWait
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, lateLongest)
	}
}

// Late returns how many finished requests have usage that is not written yet.
func (b *Book) Late() int {
	b.late.mu.Lock()
	defer b.late.mu.Unlock()
	return len(b.late.lines)
}

// Close waits until all usage is written or ctx is done, and returns how many requests are left. Nothing is written
// after it returns.
func (b *Book) Close(ctx context.Context) int {
	tick := time.NewTicker(lateWait)
	defer tick.Stop()
	for b.Late() > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	b.late.mu.Lock()
	if b.late.closed = true; b.late.stop != nil {
		b.late.stop()
	}
	b.late.mu.Unlock()
	b.late.writers.Wait()
	return b.Late()
}

// A reservation lasts holdTime. The gateway that made it renews it every heartbeat while the request runs, so the
// reservations of a dead gateway are released within a minute.
const (
	holdTime  = time.Minute
	heartbeat = holdTime / 3
)

// requestTime is the longest a request may take.
const requestTime = time.Hour

// holds are the reservations of running requests.
type holds struct {
	mu    sync.Mutex
	open  map[string]bool // by request
	timer *time.Timer     // nil while no request runs
}

// hold begins the renewal of a reservation.
func (b *Book) hold(request string) {
	h := &b.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[string]bool)
	}
	if h.open[request] = true; h.timer == nil {
		h.timer = time.AfterFunc(heartbeat, b.beat)
	}
}

// release ends the renewal of a reservation.
func (b *Book) release(request string) {
	h := &b.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.open, request); len(h.open) == 0 && h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// beat renews the reservations of all running requests, and schedules the next renewal.
func (b *Book) beat() {
	h := &b.holds
	h.mu.Lock()
	requests := make([]string, 0, len(h.open))
	for id := range h.open {
		requests = append(requests, id)
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), heartbeat)
	_ = b.wrote(b.Store.Extend(ctx, requests, b.now().Add(holdTime))) // the next beat tries again, and requests report a store that is down
	cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Reset(heartbeat)
	}
}
