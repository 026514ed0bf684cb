// Package observing reports the steps of a program to the observer of its context; see package observe. It also carries
// the position in a distributed trace.
package observing

import (
	"context"
	"time"

	"github.com/toolpost/toolpost/observe"
)

type placeKey struct{}

// place is where in a run a context belongs.
type place struct {
	run  string
	turn int
}

func placeOf(ctx context.Context) place {
	p, _ := ctx.Value(placeKey{}).(*place)
	if p == nil {
		return place{}
	}
	return *p
}

// BeginRequest tells the observer of ctx about a request, like BeginRun.
func BeginRequest(ctx context.Context, r observe.Request) (context.Context, *observe.Request) {
	o := observe.From(ctx)
	if o == nil {
		return ctx, nil
	}
	own := r
	return begin(ctx, o, &own)
}

// BeginRun tells the observer of ctx about a run. Without one it returns nil,
// and [End] does nothing with that.
func BeginRun(ctx context.Context, r observe.Run) (context.Context, *observe.Run) {
	o := observe.From(ctx)
	if o == nil {
		return ctx, nil
	}
	ctx = context.WithValue(ctx, placeKey{}, &place{run: r.ID})
	own := r // a copy only if it is observed
	return begin(ctx, o, &own)
}

// BeginTurn tells the observer of ctx about a turn, like BeginRun.
func BeginTurn(ctx context.Context, t observe.Turn) (context.Context, *observe.Turn) {
	o := observe.From(ctx)
	if o == nil {
		return ctx, nil
	}
	ctx = context.WithValue(ctx, placeKey{}, &place{run: t.Run, turn: t.N})
	own := t
	return begin(ctx, o, &own)
}

// BeginTool tells the observer of ctx about a call, like BeginRun. The run and the
// turn are those of ctx, if c does not name them.
func BeginTool(ctx context.Context, c observe.ToolCall) (context.Context, *observe.ToolCall) {
	o := observe.From(ctx)
	if o == nil {
		return ctx, nil
	}
	own, p := c, placeOf(ctx)
	if c.Run == "" {
		own.Run = p.run
	}
	if c.Turn == 0 {
		own.Turn = p.turn
	}
	return begin(ctx, o, &own)
}

// begin starts the clock of a step.
func begin[S observe.Step](ctx context.Context, o observe.Observer, s S) (context.Context, S) {
	s.Timing().Began = time.Now()
	var in context.Context
	if !told(func() { in = o.Begin(ctx, s) }) {
		in = observe.With(ctx, nil)
	}
	if in == nil {
		in = ctx
	}
	return in, s
}

// told calls an observer and reports whether it returned. It recovers a panic, which must not end the observed work.
func told(call func()) (ok bool) {
	defer func() {
		if !ok {
			_ = recover()
		}
	}()
	call()
	return true
}

// End tells the observer of ctx, which is the context that the step's Begin
// returned, that the step is over.
func End(ctx context.Context, s observe.Step, err error) {
	o := observe.From(ctx)
	if o == nil {
		return
	}
	span := s.Timing()
	span.Took, span.Err = time.Since(span.Began), err
	told(func() { o.End(ctx, s) })
}
