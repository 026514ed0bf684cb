package refine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/toolpost/toolpost/internal/opening"
	"github.com/toolpost/toolpost/internal/outcome"
	"github.com/toolpost/toolpost/llm"
)

// Fallback asks the first model and, if it fails before it has said anything,
// the next. Each change is a warning. An error that the next model cannot help
// against, a wrong request or a caller who gave up, ends the stream at once, as
// does one after the answer has begun; put [Whole] around a model to have
// it held back until it is whole. The last model's error is returned together with
// those of the others.
//
//	m := refine.Fallback(refine.Whole(&refine.Breaker{Model: first}), second) // also in the middle of an answer
func Fallback(models ...llm.Model) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var failures []error
			for i, m := range models {
				begun, err := begin(m.Stream(ctx, req), yield)
				if err == nil {
					return
				}
				failures = append(failures, fmt.Errorf("model %d: %w", i+1, err))
				if begun || i == len(models)-1 || !outcome.Of(err).Next || ctx.Err() != nil {
					yield(nil, errors.Join(failures...))
					return
				}
				if !yield(llm.Warning{Code: llm.Degraded, Feature: "model", Detail: "model " + strconv.Itoa(i+1) + " failed, so the next one is asked: " + err.Error()}, nil) {
					return
				}
			}
			yield(nil, &llm.Error{Op: "refine.Fallback", Kind: llm.Invalid, Err: errors.New("there are no models")})
		}
	})
}

// begin passes a stream on and reports whether the answer has begun. If the reader stops, the
// error is nil.
func begin(events iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) (begun bool, failed error) {
	var opening opening.Opening
	for ev, err := range events {
		if err != nil {
			return opening.Begun(), err
		}
		for _, ev := range opening.Next(ev) {
			if !yield(ev, nil) {
				return opening.Begun(), nil
			}
		}
	}
	return opening.Begun(), nil
}
