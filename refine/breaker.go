package refine

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/internal/outcome"
	"github.com/toolpost/toolpost/llm"
)

// Breaker keeps questions away from a model that keeps failing: after Failures
// in a row it is left alone for Cooldown; then one question may try, and its
// answer decides. Only failures of the vendor count, also in the middle of an
// answer, and not those of the request; a question that the caller gave up says
// nothing. It is safe for concurrent use and must not be copied.
type Breaker struct {
	Model    llm.Model
	Failures int           // 0 means 5
	Cooldown time.Duration // 0 means 60 s
	Now      func() time.Time

	state breaker.Breaker
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
		end := outcome.Effect{Verdict: breaker.Unknown}
		defer func() { pass.Done(end.Verdict, b.now, end.Limits(limits)) }()
		for ev, err := range b.Model.Stream(ctx, req) {
			if err != nil && ctx.Err() == nil {
				end = outcome.Of(err)
			} else if _, ok := ev.(llm.Finish); ok {
				end = outcome.Of(nil)
			}
			if !yield(ev, err) {
				return
			}
		}
		if end.Verdict == breaker.Unknown && ctx.Err() == nil {
			end.Verdict = breaker.Failed // the answer just stopped
		}
	}
}

func (b *Breaker) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}
