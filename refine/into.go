package refine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
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
		req, err := asking[T](req)
		if err != nil {
			yield(Growing[T]{}, err)
			return
		}
		recoveries := cmp.Or(max(tries, 0), defaultRecoveries+1) - 1
		if recoveries == 0 {
			recoveries = -1
		}
		var b llm.Builder
		for ev, err := range Structured(m, recoveries, decodes(checks)).Stream(ctx, req) {
			if err != nil {
				yield(Growing[T]{}, err)
				return
			}
			b.Add(ev)
			if p, ok := ev.(Partial); ok {
				if g, err := decode[T](p.Value); err == nil && !yield(g, nil) {
					return
				}
			}
		}
		resp := b.Response()
		if len(resp.Message.Calls())+len(resp.Invalid) > 0 {
			yield(Growing[T]{}, &CallsError{resp})
			return
		}
		g, err := decode[T](json.RawMessage(resp.Message.Text()))
		if err != nil {
			yield(Growing[T]{}, &llm.Error{Op: "refine.Into", Kind: llm.Malformed, Err: err})
			return
		}
		g.Whole = true
		yield(g, nil)
	}
}

// decodes returns the check that a value can be decoded and passes checks.
func decodes[T any](checks []func(T) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		g, err := decode[T](raw)
		if err == nil {
			err = foreign[T](raw)
		}
		for i := 0; err == nil && i < len(checks); i++ {
			err = checks[i](g.Value)
		}
		return err
	}
}

func decode[T any](raw json.RawMessage) (Growing[T], error) {
	g := Growing[T]{JSON: raw}
	err := schema.DecodeKnown(raw, &g.Value)
	return g, err
}

// foreign refuses an object that has members and none that T knows: it would be
// a zero T. A schema of the caller may have members that T leaves out, but not
// only such.
func foreign[T any](raw json.RawMessage) error {
	s, err := schema.For[T]()
	if err != nil {
		return nil // T has no schema that lists its members
	}
	known := schema.ShapeOf(s).Properties()
	if len(known) == 0 {
		return nil
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(raw, &has) != nil || len(has) == 0 || slices.ContainsFunc(known, func(name string) bool { _, ok := has[name]; return ok }) {
		return nil
	}
	var v T
	if schema.Decode(raw, &v) == nil {
		return nil // fields that the schema does not tell
	}
	return fmt.Errorf("the object has none of the members %s", strings.Join(known[:min(len(known), maxNames)], ", "))
}

// asking returns req with the schema of T, unless it has one.
func asking[T any](req *llm.Request) (*llm.Request, error) {
	if req.Output != nil && len(req.Output.Schema) > 0 {
		return req, nil
	}
	s, err := schema.For[T]()
	if err != nil {
		return nil, &llm.Error{Op: "refine.Into", Kind: llm.Invalid, Err: err}
	}
	c := *req
	out := llm.OutputFormat{Name: outputName(reflect.TypeFor[T]())}
	if req.Output != nil {
		out = *req.Output
	}
	out.Schema = s
	c.Output = &out
	return &c, nil
}

// outputName returns a name that vendors accept.
func outputName(t reflect.Type) string {
	name := []rune(t.Name())
	for i, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9' || r == '_' {
			continue
		}
		name[i] = '_'
	}
	if len(name) == 0 || len(name) > 64 {
		return "output"
	}
	return string(name)
}
