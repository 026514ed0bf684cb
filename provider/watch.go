package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// limitError is why an answer was given up.
type limitError struct {
	kind llm.Kind
	text string
}

func (e *limitError) Error() string { return e.text }

func beyond(kind llm.Kind, format string, args ...any) *limitError {
	return &limitError{kind, fmt.Sprintf(format, args...)}
}

// patienceEnd is why a request is given up for which was waited too long. It is a number and no error, because an
// answer is waited for thousands of times and given up at most once.
type patienceEnd uint8

const (
	notBegun patienceEnd = iota
	silent
	stalled // by Limits.Idle
	late    // by Limits.Time
)

// error says why.
func (e patienceEnd) error(limits llm.Limits) *limitError {
	switch e {
	case silent:
		return beyond(llm.Timeout, "the answer stopped coming")
	case stalled:
		return beyond(llm.Stalled, "nothing of the answer came for %v", limits.Idle)
	case late:
		return beyond(llm.TimeLimit, "the answer takes longer than %v", limits.Time)
	}
	return beyond(llm.Timeout, "the answer did not begin in time")
}

// watch gives a request up that takes too long or whose answer is too large.
//
// Its clock is started and stopped with every piece of an answer, so that does not touch the timer:
// the timer looks now and then whether the time of what is waited for is over.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	since   time.Time // when the clock was started; zero while it rests
	silence time.Duration
	limits  llm.Limits
	whole   bool // the answer is one document: every byte of it is a piece, but for blanks, which say only that somebody is there

	mu    sync.Mutex
	timer *time.Timer // nil until something is waited for
	until time.Time   // how long is waited; zero while the clock rests
	rings time.Time   // when the timer looks next; zero if it does not
	why   patienceEnd

	bytes, text, thinking, events int64
	took, waited                  time.Duration // for the vendor: in all, and since the last piece of the answer
}

func (c *Client) watch(ctx context.Context, limits llm.Limits) *watch {
	w := &watch{silence: orDefault(c.Timeouts.Silence, 2*time.Minute), limits: limits.Or(c.Limits).Or(llm.DefaultLimits)}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.wait(orDefault(c.Timeouts.First, 5*time.Minute), notBegun)
	return w
}

// wait starts the clock while we wait for the vendor: for at most d, which if it
// is over means why, and for what is left of the limits.
func (w *watch) wait(d time.Duration, why patienceEnd) {
	w.rest()
	w.since = time.Now()
	nearer := func(limit, spent time.Duration, reason patienceEnd) {
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

// set says how long is waited, which is d from now, and has the timer look no later than that.
func (w *watch) set(until time.Time, d time.Duration, why patienceEnd) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.why = until, why
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(d, w.look)
	case w.rings.IsZero() || until.Before(w.rings):
		w.timer.Reset(d)
	default:
		return
	}
	w.rings = until
}

// look gives the request up if its time is over.
func (w *watch) look() {
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

// rest stops the clock: the vendor is not waited for.
func (w *watch) rest() {
	if w.since.IsZero() {
		return
	}
	w.mu.Lock()
	w.until = time.Time{}
	w.mu.Unlock()
	d := time.Since(w.since)
	w.took, w.waited, w.since = w.took+d, w.waited+d, time.Time{}
}

func (w *watch) stop() {
	w.rest()
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(nil)
}

// body is a response that is watched. The clock runs only while we wait for the
// vendor, not while the caller thinks about what came.
type body struct {
	io.ReadCloser
	w     *watch
	start startOf // what it begins with
}

func notBlank(r rune) bool { return r > ' ' }

func (b *body) Read(p []byte) (int, error) {
	w := b.w
	w.wait(w.silence, silent)
	n, err := b.ReadCloser.Read(p)
	b.start.add(p[:n])
	if w.rest(); w.whole && bytes.ContainsFunc(p[:n], notBlank) {
		w.waited = 0
	}
	if w.bytes += int64(n); w.limits.Bytes > 0 && w.bytes > w.limits.Bytes {
		return n, beyond(llm.ByteLimit, "the answer has more than %d bytes", w.limits.Bytes)
	}
	return n, err
}

// count adds an event of the answer and returns an error if it is one too many.
func (w *watch) count(ev llm.Event) error {
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
		return beyond(llm.TextLimit, "the answer has more than %d bytes of text", l.Text)
	case l.Thinking > 0 && w.thinking > l.Thinking:
		return beyond(llm.ThinkingLimit, "the answer has more than %d bytes of thinking", l.Thinking)
	case l.Events > 0 && w.events > l.Events:
		return beyond(llm.EventLimit, "the answer has more than %d events", l.Events)
	}
	return nil
}

// measure returns how many bytes of text and of thinking an event adds to an
// answer, and whether it is a piece of one: what only says that the vendor is
// still there is none. The arguments of a call count as they come.
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
