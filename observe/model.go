package observe

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// claim is held by the model of package provider that fills in a ModelCall.
type claim struct{ taken atomic.Bool }

type callKey struct{}

// CallOf returns the question that ctx belongs to, for those who know more about
// it; nil outside of one, and if nobody observes. Only the goroutine that answers
// the question may use it.
func CallOf(ctx context.Context) *ModelCall {
	c, _ := ctx.Value(callKey{}).(*ModelCall)
	return c
}

// Model returns m with every question observed as one to the model of that id.
// Models of package provider observe themselves; inside of m they only add what
// they know. A model that asks several others at the same time is one ModelCall
// with more of them inside.
func Model(m llm.Model, id string) llm.Model {
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		o := From(ctx)
		if o == nil {
			return m.Stream(ctx, req)
		}
		return func(yield func(llm.Event, error) bool) { watch(ctx, o, id, req, m.Stream, yield) }
	})
}

// Question answers req by stream, for a model that knows how it is asked: it finds
// the ModelCall to fill in with [CallOf]. That is the one that ctx belongs to, if
// there is one and no other model is at work on it.
func Question(ctx context.Context, id string, req *llm.Request, stream func(context.Context, *llm.Request) iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) {
	if c := CallOf(ctx); c != nil && c.claim.taken.CompareAndSwap(false, true) {
		defer c.claim.taken.Store(false)
		for ev, err := range stream(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
		return
	}
	watch(ctx, From(ctx), id, req, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		CallOf(ctx).claim.taken.Store(true)
		return stream(ctx, req)
	}, yield)
}

// watch observes the answer to a question.
func watch(ctx context.Context, o Observer, id string, req *llm.Request, stream func(context.Context, *llm.Request) iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) {
	p := placeOf(ctx)
	c := &ModelCall{Run: p.run, Turn: p.turn, Model: id, Request: req}
	ctx, _ = begin(context.WithValue(ctx, callKey{}, c), o, c)
	var b llm.Builder
	var failed error
	over := false
	defer func() { // also if whoever listens panics
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
			over = c.see(ev) || over
		}
		if !yield(ev, err) {
			return
		}
	}
}

// see takes what an event says about the question. It reports whether the answer is
// complete.
func (c *ModelCall) see(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallStart, llm.Call, llm.InvalidCall, llm.Media, llm.HostedCall:
		if c.First == 0 {
			c.First = time.Since(c.Began)
		}
	case llm.Finish:
		c.ID, c.Answered, c.Finish, c.Usage = ev.ID, ev.Model, ev.Reason, ev.Usage
		return true
	}
	return false
}
