package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
