package refine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/llm"
)

// Breaker keeps questions away from a model that keeps failing: after Failures
// in a row it is left alone for Cooldown; then one question may try, and its
// answer decides. Only failures of the vendor count, not those of the request,
// and a question that the caller gave up says nothing. It is safe for
// concurrent use and must not be copied.
type Breaker struct {
	Model    llm.Model
	Failures int           // 0 means 5
	Cooldown time.Duration // 0 means 60 s
	Now      func() time.Time

	state breaker.Breaker
}

// unwell are the errors that say something about the vendor.
var unwell = map[llm.Kind]bool{
	llm.RateLimited: true, llm.Overloaded: true, llm.Server: true, llm.Network: true, llm.Timeout: true, llm.Incomplete: true, llm.Malformed: true,
	llm.ByteLimit: true, llm.TextLimit: true, llm.ThinkingLimit: true, llm.EventLimit: true, llm.TimeLimit: true, llm.Stalled: true,
}

// Unwrap returns the model that is asked.
func (b *Breaker) Unwrap() llm.Model { return b.Model }

// Stream asks the model unless it is being left alone: then the error is of
// kind Overloaded and says when to come again.
func (b *Breaker) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		limits := breaker.Limits{Failures: b.Failures, Cooldown: b.Cooldown}
		pass, open := b.state.Enter(b.now, limits)
		if open != nil {
			yield(nil, &llm.Error{Op: "refine.Breaker", Kind: llm.Overloaded, RetryAfter: open.Wait, Err: fmt.Errorf("the model failed %d times in a row and is left alone", open.Failures)})
			return
		}
		end := breaker.Unknown
		defer func() { pass.Done(end, b.now, limits) }()
		for ev, err := range b.Model.Stream(ctx, req) {
			if err != nil {
				end = verdictOn(ctx, err)
			} else if _, ok := ev.(llm.Finish); ok {
				end = breaker.Succeeded
			}
			if !yield(ev, err) {
				return
			}
		}
		if end == breaker.Unknown && ctx.Err() == nil {
			end = breaker.Failed // the answer just stopped
		}
	}
}

// verdictOn is what an error says about the vendor.
func verdictOn(ctx context.Context, err error) breaker.Verdict {
	switch kind := llm.KindOf(err); {
	case kind == llm.Canceled || ctx.Err() != nil:
		return breaker.Unknown
	case unwell[kind]:
		return breaker.Failed
	}
	return breaker.Reached
}

func (b *Breaker) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}
