package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/internal/typed"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Executor runs a tool that is described elsewhere. Its input is a JSON object
// that matches the tool's schema. A string it returns is the result; anything
// else becomes JSON.
type Executor func(ctx context.Context, input json.RawMessage) (any, error)

// Bind gives tools their functions. It returns the tools with a function as a set to
// run, and the others for Agent.Caller. To hand over a function is to consent
// to its use, unless a policy refuses. An executor without a tool is an error.
func Bind(defs []llm.ToolDef, executors map[string]Executor) (own *tool.Set, caller []llm.ToolDef, err error) {
	unused := maps.Clone(executors)
	var tools []tool.Tool
	for _, d := range defs {
		run, ok := executors[d.Name]
		if !ok || run == nil {
			caller = append(caller, d)
			continue
		}
		delete(unused, d.Name)
		tools = append(tools, tool.Tool{
			Name: d.Name, Description: d.Description, Input: d.Schema, Examples: d.Examples, Origin: tool.Program,
			Call: func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
				v, err := run(ctx, args)
				return output(v), err
			},
		})
	}
	if len(unused) > 0 {
		return nil, nil, fmt.Errorf("agent: executors without a tool: %v", slices.Sorted(maps.Keys(unused)))
	}
	own, err = tool.NewSet(tools...)
	return own, caller, err
}

// output returns what an executor returned as the output of a tool.
func output(v any) tool.Output {
	switch v := v.(type) {
	case nil:
		return tool.Output{}
	case string:
		return tool.Text(v)
	case tool.Output:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return tool.Text(fmt.Sprint(v))
	}
	return tool.Text(string(b))
}

// Into asks a for a T: it runs a conversation, whose answer has to match the schema of T, or that
// of Request.Output if it has one. The model may call the tools of a before it answers. An answer
// that does not match, or that [Agent.Check] or one of checks refuses, is asked for again, as
// [refine.Into] describes. [Agent.RetryBudget] limits how often in a row.
func Into[T any](ctx context.Context, a *Agent, msgs []llm.Message, checks ...func(T) error) (T, Done, error) {
	var none T
	out, err := typed.Output[T](a.Request.Output)
	if err != nil {
		return none, Done{}, &llm.Error{Op: "agent.Into", Kind: llm.Invalid, Err: err}
	}
	b := *a
	b.Request.Output, b.Check = out, both(typed.Check(checks...), a.Check)
	done, err := b.Ask(ctx, msgs...)
	switch {
	case err != nil:
		return none, done, err
	case len(done.Value) == 0:
		return none, done, &llm.Error{Op: "agent.Into", Kind: llm.Incomplete, Err: errors.New(cmp.Or(noValue[done.Status], "the run ended without an answer"))}
	}
	v, err := typed.Decode[T](done.Value)
	if err != nil {
		return none, done, &llm.Error{Op: "agent.Into", Kind: llm.Malformed, Err: err}
	}
	return v, done, nil
}

// both returns the check that first and second, which may be nil, accept a value.
func both(first, second func(json.RawMessage) error) func(json.RawMessage) error {
	if second == nil {
		return first
	}
	return func(value json.RawMessage) error {
		if err := first(value); err != nil {
			return err
		}
		return second(value)
	}
}
