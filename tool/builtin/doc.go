// Package builtin holds the tools that come with Toolpost: files below one
// folder, commands, web pages and web search.
//
// They are ordinary values of package tool. Tools that only read files may run
// without a policy. Tools that write, execute or reach the network do nothing
// until a policy allows them. Commands and network tools are not even offered
// unless the program asks for them.
//
// The arguments are a model's text and are not trusted: paths cannot leave the
// folder, a shell never parses commands, and addresses of the machine's own
// network are refused at the moment of connecting.
package builtin

import (
	"context"
	"encoding/json"

	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// define makes a tool from a function that takes its arguments as a struct.
func define[In any](t tool.Tool, input string, example string, fn func(context.Context, In) (tool.Output, error)) tool.Tool {
	t.Input = schema.Schema(input)
	t.Origin = tool.Builtin
	t.Source = "builtin"
	t.Examples = []json.RawMessage{json.RawMessage(example)}
	t.Call = typed(t.Name, fn)
	return t
}

// previewed returns t with a preview, which takes the arguments as a struct, too.
func previewed[In any](t tool.Tool, fn func(context.Context, In) (tool.Preview, error)) tool.Tool {
	t.Preview = typed(t.Name, fn)
	return t
}

// bound returns t with its pins, from a function that takes the arguments as a struct, too.
func bound[In any](t tool.Tool, fn func(context.Context, In) ([]tool.Pin, error)) tool.Tool {
	t.Bind = typed(t.Name, fn)
	return t
}

// typed returns fn as a function of arguments in JSON.
func typed[In, Out any](name string, fn func(context.Context, In) (Out, error)) func(context.Context, json.RawMessage) (Out, error) {
	return func(ctx context.Context, raw json.RawMessage) (Out, error) {
		var in In
		if err := schema.Decode(raw, &in); err != nil {
			var none Out
			return none, tool.Errorf(tool.Validation, "the arguments of %s cannot be read: %v", name, err)
		}
		return fn(ctx, in)
	}
}
