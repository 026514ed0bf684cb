// Package answerrun lets a model run calls of its run while it answers.
package answerrun

import (
	"context"

	"github.com/toolpost/toolpost/llm"
)

// Runner runs a call for a model that calls tools while it answers, such as an agent program
// with its own loop. The call is validated, authorised, bounded and recorded like any other call of
// the run, and its events are events of the run. The model gets the result; the CallID of the result
// is the id in the record. After an error the run must end: the model ends its answer with it.
//
// It must be called by the goroutine that runs the model's Stream, before that returns,
// for one call at a time.
type Runner func(context.Context, llm.Call) (llm.Result, error)

type key struct{}

// With returns a context for a model whose calls r runs.
func With(ctx context.Context, r Runner) context.Context { return context.WithValue(ctx, key{}, r) }

// Of returns the runner of calls for the model that is asked with ctx. If it is nil, the
// calls of an answer run after it, or the caller of the run runs them.
func Of(ctx context.Context) Runner {
	r, _ := ctx.Value(key{}).(Runner)
	return r
}
