package observing

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// asked is a model call, and whether a model of package provider fills it in.
type asked struct {
	call  *observe.ModelCall
	taken atomic.Bool
}

type callKey struct{}

// CallOf returns the model call that ctx belongs to. A lower layer may add to it. It is nil outside of a
// model call and without an observer. Only the goroutine that answers the call may use it.
func CallOf(ctx context.Context) *observe.ModelCall {
	if a := askedOf(ctx); a != nil {
		return a.call
	}
	return nil
}

func askedOf(ctx context.Context) *asked {
	a, _ := ctx.Value(callKey{}).(*asked)
	return a
}

// Model returns m with each call observed as a [observe.ModelCall] of the model with that id. Models of package provider
// observe themselves; inside of m they only add their details. A model that asks several others at the same time
// is one ModelCall with nested ones.
func Model(m llm.Model, id string) llm.Model {
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		o := observe.From(ctx)
		if o == nil {
			return m.Stream(ctx, req)
		}
		return func(yield func(llm.Event, error) bool) { watch(ctx, o, id, req, m.Stream, yield) }
	})
}

// Question answers req by stream, for a model that fills in its own ModelCall, which it gets from [CallOf]. That is
// the ModelCall of ctx, or a nested one if ctx has none or another model already fills it in.
func Question(ctx context.Context, id string, req *llm.Request, stream func(context.Context, *llm.Request) iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) {
	if a := askedOf(ctx); a != nil && a.taken.CompareAndSwap(false, true) {
		defer a.taken.Store(false)
		for ev, err := range stream(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
		return
	}
	watch(ctx, observe.From(ctx), id, req, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		askedOf(ctx).taken.Store(true)
		return stream(ctx, req)
	}, yield)
}

// watch observes a model call.
func watch(ctx context.Context, o observe.Observer, id string, req *llm.Request, stream func(context.Context, *llm.Request) iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) {
	p := placeOf(ctx)
	c := &observe.ModelCall{Run: p.run, Turn: p.turn, Model: id, Request: req}
	ctx, _ = begin(context.WithValue(ctx, callKey{}, &asked{call: c}), o, c)
	var b llm.Builder
	var failed error
	over := false
	defer func() { // also if yield panics
		if failed == nil && !over {
			failed = context.Canceled
		}
		r := b.Response()
		c.Message, c.Invalid = r.Message, len(r.Invalid)
		if !over {
			c.ID, c.Answered, c.Usage = r.Start.ID, r.Start.Model, r.Start.Usage
		}
		End(ctx, c, failed)
	}()
	for ev, err := range stream(ctx, req) {
		if err != nil {
			failed = err
		} else {
			b.Add(ev)
			over = see(c, ev) || over
		}
		if !yield(ev, err) {
			return
		}
	}
}

// see updates the call from an event. It reports whether the answer is complete.
func see(c *observe.ModelCall, ev llm.Event) bool {
	if c.First == 0 && llm.Begins(ev) {
		c.First = time.Since(c.Began)
	}
	end, over := ev.(llm.Finish)
	if over {
		c.ID, c.Answered, c.Finish, c.Usage = end.ID, end.Model, end.Reason, end.Usage
	}
	return over
}
