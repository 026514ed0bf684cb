package refine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/toolpost/toolpost/internal/typed"
	"github.com/toolpost/toolpost/llm"
)

// CallsError reports that the model called tools instead of giving its answer. It is not a
// failure: the owner of the tools runs the calls, adds their results to the conversation and asks
// again, as package agent does.
type CallsError struct {
	Response *llm.Response // the whole answer, with the calls
}

// Error names the tools.
func (e *CallsError) Error() string {
	names := ""
	for _, c := range e.Response.Message.Calls() {
		names += " " + c.Name
	}
	for _, c := range e.Response.Invalid {
		names += " " + cmp.Or(c.Name, "?")
	}
	return "refine: the model called tools instead of answering:" + names
}

// Into asks m for a T and returns it: valid by the schema of T, or by that of
// req.Output if it has one, decoded, and accepted by each of checks. [Structured]
// describes how the answer is read and corrected. tries is the number of requests
// in total; 0 means 3. The budget of req, if it has one, limits that further.
//
// A check may be a method of T: Into(ctx, m, req, 3, Order.Validate). The model is told its error,
// and also the error of a type that decodes itself and refuses the value.
//
// Members that req.Output allows and T does not have are ignored. An object with only such members
// is refused.
//
// If req offers tools and the model calls one, the error is a *[CallsError]
// with the calls.
func Into[T any](ctx context.Context, m llm.Model, req *llm.Request, tries int, checks ...func(T) error) (T, error) {
	var zero T
	for v, err := range Stream(ctx, m, req, tries, checks...) {
		if err != nil {
			return zero, err
		}
		if v.Whole {
			return v.Value, nil
		}
	}
	return zero, &llm.Error{Op: "refine.Into", Kind: llm.Incomplete, Err: fmt.Errorf("the answer ended early")}
}

// Growing is a value while it is written.
type Growing[T any] struct {
	Value T
	// Whole reports that the value is complete and valid. Before that it holds the part that has been
	// written, which may be invalid.
	Whole bool
	JSON  json.RawMessage
}

// Stream is Into that also yields the value while it is written. The last one
// is whole, unless there is an error.
func Stream[T any](ctx context.Context, m llm.Model, req *llm.Request, tries int, checks ...func(T) error) iter.Seq2[Growing[T], error] {
	return func(yield func(Growing[T], error) bool) {
		out, err := typed.Output[T](req.Output)
		if err != nil {
			yield(Growing[T]{}, &llm.Error{Op: "refine.Into", Kind: llm.Invalid, Err: err})
			return
		}
		req := req.Clone()
		req.Output = out
		recoveries := cmp.Or(max(tries, 0), defaultRecoveries+1) - 1
		if recoveries == 0 {
			recoveries = -1
		}
		var b llm.Builder
		for ev, err := range Structured(m, recoveries, typed.Check(checks...)).Stream(ctx, req) {
			if err != nil {
				yield(Growing[T]{}, err)
				return
			}
			b.Add(ev)
			if p, ok := ev.(Partial); ok {
				if v, err := typed.Decode[T](p.Value); err == nil && !yield(Growing[T]{Value: v, JSON: p.Value}, nil) {
					return
				}
			}
		}
		resp := b.Response()
		if len(resp.Message.Calls())+len(resp.Invalid) > 0 {
			yield(Growing[T]{}, &CallsError{resp})
			return
		}
		raw := json.RawMessage(resp.Message.Text())
		v, err := typed.Decode[T](raw)
		if err != nil {
			yield(Growing[T]{}, &llm.Error{Op: "refine.Into", Kind: llm.Malformed, Err: err})
			return
		}
		yield(Growing[T]{Value: v, Whole: true, JSON: raw}, nil)
	}
}
