package access

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// What requests used that ended while the store did not work is kept here and written once it works again.

// maxLate bounds how many requests that may be.
const maxLate = 10_000

// How long to wait before the store is asked again: first, and at most, and how long it may take.
const (
	lateWait    = 100 * time.Millisecond
	lateLongest = 2 * time.Second
	lateTime    = 10 * time.Second
)

// LateError says that what a request used could not be written when it ended, and is written later.
type LateError struct{ Err error }

// Error says why it could not.
func (e *LateError) Error() string { return "access: it is kept and written later: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LateError) Unwrap() error { return e.Err }

// lateLine is what a request used, and where that counts.
type lateLine struct {
	line    LogLine
	windows []Window
}

// late is what has to be written later.
type late struct {
	mu      sync.Mutex
	lines   []lateLine
	writing bool           // somebody does
	closed  bool           // nobody shall any more
	writers sync.WaitGroup // of which there is one at a time
	stop    context.CancelFunc
}

// settleLater keeps what a request used, unless there is too much of that, and has it written.
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

// next returns what is to be written next, and false if there is nothing, or nobody shall write any more.
func (l *late) next() (lateLine, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 || l.closed {
		l.writing = false
		return lateLine{}, false
	}
	return l.lines[0], true
}

// tried takes away what was tried first, and puts it last if it was not written: nothing gets in the way of the rest.
func (l *late) tried(written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.lines[0]
	if l.lines = l.lines[1:]; !written {
		l.lines = append(l.lines, first)
	}
}

// writeLate writes what is late, until all of it is written or ctx is done.
func (b *Book) writeLate(ctx context.Context) {
	for wait := lateWait; ; {
		l, ok := b.late.next()
		if !ok {
			return
		}
		within, cancel := context.WithTimeout(ctx, lateTime)
		err := b.Store.Settle(within, l.line, l.windows)
		cancel()
		if b.late.tried(err == nil); err == nil {
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

// Late returns how many requests have ended whose use is not written yet.
func (b *Book) Late() int {
	b.late.mu.Lock()
	defer b.late.mu.Unlock()
	return len(b.late.lines)
}

// Close waits until all that was used is written, or ctx is done, and returns how many requests are not. Nothing is written
// after that.
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
