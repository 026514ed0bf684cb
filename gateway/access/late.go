package access

import (
	"context"
	"fmt"
	"sync"
	"time"
)

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

// lateLine is the usage of a request and the windows that count it.
type lateLine struct {
	line    LogLine
	windows []Window
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
		err := b.Store.Settle(within, l.line, l.windows)
		cancel()
		if b.late.tried(err == nil); err == nil {
			b.release(l.line.ID)
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
