package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/llm"
)

// Watch gives an upstream up that takes too long, and records how fast it answers. Use [NewWatch] to create one.
type Watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	to     *Candidate
	start  time.Time
	first  time.Duration // wait for the beginning of the answer; 0 means without a limit
	begin  *time.Timer   // nil without a limit, and once the answer has begun
	end    *time.Timer   // nil without a limit
	whole  bool
	begun  bool
	took   time.Duration // until the answer began; 0 if it has not
}

// NewWatch returns the context for a request to an upstream, and its watch. If others is true, another upstream can be
// asked. Whole reports that the client waits for the whole answer.
func NewWatch(ctx context.Context, to *Candidate, others, whole bool) (context.Context, *Watch) {
	patience := requestctx.Brief // the client does its own retries
	if others && to.Timing.Retries == nil {
		patience = requestctx.Once
	}
	w := &Watch{to: to, start: time.Now(), first: to.FirstByte(others, whole), whole: whole}
	ctx = requestctx.WithPatience(ctx, patience)
	if t := to.Timing; t.Retries != nil || t.FirstByte > 0 || t.Idle > 0 {
		waits := requestctx.Waits{First: t.FirstByte, Silence: t.Idle}
		if t.Retries != nil {
			waits.Attempts = *t.Retries + 1
		}
		ctx = requestctx.WithWaits(ctx, waits)
	}
	if whole && w.first == 0 && to.Timing.Idle == 0 { // else the stream shows whether the upstream is alive
		ctx = requestctx.WithWhole(ctx)
	}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if w.first > 0 {
		w.begin = time.AfterFunc(w.first, func() { w.cancel(late("the answer did not begin within %v", w.first)) })
	}
	if limit := to.Timing.Timeout; limit > 0 {
		w.end = time.AfterFunc(limit, func() { w.cancel(late("the answer took longer than %v", limit)) })
	}
	return w.ctx, w
}

// lateError is the reason for which a watch gives an upstream up.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }

func late(format string, args ...any) error { return &lateError{fmt.Sprintf(format, args...)} }

// Saw takes an event of the answer. Any event restarts the wait for the beginning of the answer.
func (w *Watch) Saw(ev llm.Event) {
	if w.begun {
		return
	}
	w.saw(ev)
}

// saw is not inlined: its part of the stack would be held with every event of a stream.
//
//go:noinline
func (w *Watch) saw(ev llm.Event) {
	if _, last := ev.(llm.Finish); !last && !llm.Begins(ev) {
		if w.begin != nil && w.begin.Stop() {
			w.begin.Reset(w.first)
		}
		return
	}
	w.begun = true
	if w.begin != nil {
		w.begin.Stop()
	}
	w.took = time.Since(w.start)
	w.to.Began(w.took, w.whole)
}

// Took returns how long the answer took to begin, or 0 if it has not begun or has no beginning of its own because it
// arrives as a whole.
func (w *Watch) Took() time.Duration {
	if w.whole {
		return 0
	}
	return w.took
}

// Stop ends the watch and cancels the request.
func (w *Watch) Stop() {
	for _, t := range []*time.Timer{w.begin, w.end} {
		if t != nil {
			t.Stop()
		}
	}
	w.cancel(nil)
}

// Err returns the error of a request that the watch may have given up. The trace is the one of the request.
func (w *Watch) Err(err error, trace *Trace) error {
	var why *lateError
	if err == nil || !errors.As(context.Cause(w.ctx), &why) {
		return err
	}
	if w.begun {
		return &llm.Error{Op: "gateway", Kind: llm.Timeout, Err: why}
	}
	w.to.Cut(time.Since(w.start))
	return &llm.Error{Op: "gateway", Kind: llm.Timeout, Err: &lateError{why.text + trace.progress()}}
}

// Limited returns the request with the limits of the upstream.
func (c *Candidate) Limited(req *llm.Request) *llm.Request {
	if c.Timing.Idle == 0 {
		return req
	}
	out := *req
	out.Limits.Idle = c.Timing.Idle
	return &out
}
