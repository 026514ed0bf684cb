// Package deadline gives up requests that take too long and answers that are too
// large.
package deadline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Error is the reason for which an answer was given up.
type Error struct {
	Kind llm.Kind
	text string
}

func (e *Error) Error() string { return e.text }

func exceeded(kind llm.Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}

// cause is the reason for which a wait is given up. It is a number and not an
// error, because we wait thousands of times for an answer and give up at most once.
type cause uint8

const (
	notBegun cause = iota
	silent
	stalled // by Limits.Idle
	late    // by Limits.Time
)

// error returns the error for a cause.
func (e cause) error(limits llm.Limits) *Error {
	switch e {
	case silent:
		return exceeded(llm.Timeout, "the answer stopped coming")
	case stalled:
		return exceeded(llm.Stalled, "nothing of the answer came for %v", limits.Idle)
	case late:
		return exceeded(llm.TimeLimit, "the answer takes longer than %v", limits.Time)
	}
	return exceeded(llm.Timeout, "the answer did not begin in time")
}

// Watch cancels a request that takes too long, or whose answer is too large.
//
// The clock starts and stops with every piece of an answer. That does not touch the
// timer, which checks from time to time whether the wait is over.
type Watch struct {
	Context context.Context // of the request
	// Whole is set for an answer that is one document: every byte that is not blank
	// is progress. In a stream, only events are.
	Whole bool

	cancel  context.CancelCauseFunc
	since   time.Time // start of the clock; zero while it is stopped
	silence time.Duration
	limits  llm.Limits

	mu    sync.Mutex
	timer *time.Timer // nil until the first wait
	until time.Time   // end of the wait; zero while the clock is stopped
	rings time.Time   // next check of the timer; zero if there is none
	why   cause

	bytes, text, thinking, events int64
	took, waited                  time.Duration // waits for the vendor: in total, and since the last progress
}

// Timeouts are the limits of waits. Zero and less mean no limit.
type Timeouts struct {
	First   time.Duration // for the first byte of the answer
	Silence time.Duration // between two pieces of it
}

// New returns the watch of a request, which waits for its answer from now on.
func New(ctx context.Context, t Timeouts, limits llm.Limits) *Watch {
	w := &Watch{silence: t.Silence, limits: limits}
	w.Context, w.cancel = context.WithCancelCause(ctx)
	w.wait(t.First, notBegun)
	return w
}

// Begun stops the clock because the head of the answer has arrived, and returns
// the body under watch.
func (w *Watch) Begun(b io.ReadCloser) *Body {
	w.Rest()
	w.waited = 0
	return &Body{ReadCloser: b, w: w}
}

// wait starts the clock: for at most d, after which the cause is why, and for the
// rest of the limits.
func (w *Watch) wait(d time.Duration, why cause) {
	w.Rest()
	w.since = time.Now()
	nearer := func(limit, spent time.Duration, reason cause) {
		if left := max(limit-spent, 1); limit > 0 && (d <= 0 || left < d) {
			d, why = left, reason
		}
	}
	nearer(w.limits.Idle, w.waited, stalled)
	nearer(w.limits.Time, w.took, late)
	if d > 0 {
		w.set(w.since.Add(d), d, why)
	}
}

// set sets the end of the wait, which is d from now, and makes the timer check no
// later than that.
func (w *Watch) set(until time.Time, d time.Duration, why cause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.why = until, why
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(d, w.check)
	case w.rings.IsZero() || until.Before(w.rings):
		w.timer.Reset(d)
	default:
		return
	}
	w.rings = until
}

// check cancels the request if the wait is over.
func (w *Watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := time.Until(w.until)
	switch {
	case w.until.IsZero():
		w.rings = time.Time{}
	case left > 0:
		w.rings = w.until
		w.timer.Reset(left)
	default:
		w.rings = time.Time{}
		w.cancel(w.why.error(w.limits))
	}
}

// Rest stops the clock while we do not wait for the vendor.
func (w *Watch) Rest() {
	if w.since.IsZero() {
		return
	}
	w.mu.Lock()
	w.until = time.Time{}
	w.mu.Unlock()
	d := time.Since(w.since)
	w.took, w.waited, w.since = w.took+d, w.waited+d, time.Time{}
}

// Stop ends the watch and cancels the request.
func (w *Watch) Stop() {
	w.Rest()
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(nil)
}

// Body is the body of an answer under watch. The clock runs only while we wait
// for the vendor, not while the caller handles the bytes.
type Body struct {
	io.ReadCloser
	w     *Watch
	start Start
}

// Start returns the first bytes that were read.
func (b *Body) Start() []byte { return b.start.Bytes() }

// MaxStart is how many bytes a Start keeps.
const MaxStart = 120

// Start keeps the first bytes that are written to it.
type Start struct {
	bytes [MaxStart]byte
	n     int
}

// Bytes returns the bytes.
func (s *Start) Bytes() []byte { return s.bytes[:s.n] }

// Write takes bytes. It never fails.
func (s *Start) Write(b []byte) (int, error) {
	if s.n < MaxStart {
		s.n += copy(s.bytes[s.n:], b)
	}
	return len(b), nil
}

func notBlank(r rune) bool { return r > ' ' }

func (b *Body) Read(p []byte) (int, error) {
	w := b.w
	w.wait(w.silence, silent)
	n, err := b.ReadCloser.Read(p)
	b.start.Write(p[:n])
	if w.Rest(); w.Whole && bytes.ContainsFunc(p[:n], notBlank) {
		w.waited = 0
	}
	if w.bytes += int64(n); w.limits.Bytes > 0 && w.bytes > w.limits.Bytes {
		return n, exceeded(llm.ByteLimit, "the answer has more than %d bytes", w.limits.Bytes)
	}
	return n, err
}

// Count counts an event of the answer, and returns an error if a limit is exceeded.
func (w *Watch) Count(ev llm.Event) error {
	text, thinking, piece := measure(ev)
	w.events++
	w.text += int64(text)
	w.thinking += int64(thinking)
	if piece {
		w.waited = 0
	}
	l := w.limits
	switch {
	case l.Text > 0 && w.text > l.Text:
		return exceeded(llm.TextLimit, "the answer has more than %d bytes of text", l.Text)
	case l.Thinking > 0 && w.thinking > l.Thinking:
		return exceeded(llm.ThinkingLimit, "the answer has more than %d bytes of thinking", l.Thinking)
	case l.Events > 0 && w.events > l.Events:
		return exceeded(llm.EventLimit, "the answer has more than %d events", l.Events)
	}
	return nil
}

// measure returns how many bytes of text and thinking an event adds to an answer,
// and whether the event is progress. An event that only keeps the connection
// alive is not. The pieces of arguments count as text when they arrive.
func measure(ev llm.Event) (text, thinking int, piece bool) {
	switch ev := ev.(type) {
	case llm.TextDelta:
		return len(ev.Text), 0, ev.Text != "" || ev.Part != nil
	case llm.ThinkingDelta:
		return 0, len(ev.Text), ev.Text != "" || ev.Part != nil
	case llm.CallDelta:
		return len(ev.Args), 0, ev.Args != ""
	case llm.InvalidCall:
		return len(ev.Raw), 0, true
	case llm.HostedResult:
		return len(ev.Text()), 0, true
	case llm.Alternative:
		return measure(ev.Event)
	case llm.CallStart, llm.Call, llm.HostedCall, llm.Media, llm.Finish:
		return 0, 0, true
	}
	return 0, 0, false
}
