package refine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Breaker keeps questions away from a model that keeps failing: after Failures
// in a row it is left alone for Cooldown; then one question may try, and its
// answer decides. Only failures of the vendor count, not those of the request.
// It is safe for concurrent use and must not be copied.
type Breaker struct {
	Model    llm.Model
	Failures int           // 0 means 5
	Cooldown time.Duration // 0 means 60 s
	Now      func() time.Time

	mu     sync.Mutex
	failed int       // in a row
	until  time.Time // when the next question may try
	trying bool      // one is trying
}

// unwell are the errors that say something about the vendor.
var unwell = map[llm.Kind]bool{
	llm.RateLimited: true, llm.Overloaded: true, llm.Server: true, llm.Network: true, llm.Timeout: true, llm.Incomplete: true, llm.Malformed: true,
}

// Stream asks the model unless it is being left alone: then the error is of
// kind Overloaded and says when to come again.
func (b *Breaker) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := b.enter(); err != nil {
			yield(nil, err)
			return
		}
		failed := false
		defer func() { b.leave(failed) }()
		for ev, err := range b.Model.Stream(ctx, req) {
			failed = err != nil && unwell[llm.KindOf(err)]
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (b *Breaker) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}

func (b *Breaker) enter() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < cmp.Or(b.Failures, 5) {
		return nil
	}
	if left := b.until.Sub(b.now()); left > 0 || b.trying {
		return &llm.Error{Op: "refine.Breaker", Kind: llm.Overloaded, RetryAfter: max(left, 0), Err: fmt.Errorf("the model failed %d times in a row and is left alone", b.failed)}
	}
	b.trying = true
	return nil
}

func (b *Breaker) leave(failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	if !failed {
		b.failed = 0
		return
	}
	b.failed++
	b.until = b.now().Add(cmp.Or(b.Cooldown, time.Minute))
}
