package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/schema"
)

// formatParam is the parameter with which a model chooses the format of a result; see [OfferFormats].
const formatParam = "response_format"

// OfferFormats returns the tool with one more parameter, response_format, with which the model chooses a concise,
// detailed or minimal view of the result of each call. The function of the tool does not get this parameter.
// OfferFormats refuses a tool that already has a parameter of that name, because it formats its results by itself.
func OfferFormats(t Tool) (Tool, error) {
	input := t.Input
	if len(input) == 0 {
		input = noArguments
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(input, &object); err != nil {
		return Tool{}, fmt.Errorf("tool: the schema of %s is not an object: %w", t.Name, err)
	}
	properties := js.Get(input, "properties")
	if js.Get(properties, formatParam) != nil {
		return Tool{}, fmt.Errorf("tool: %s already has a parameter %s", t.Name, formatParam)
	}
	const format = `{"type":"string","enum":["concise","detailed","minimal"],"description":"how much of the result to return: concise has what matters, detailed has all of it, minimal says how much there is"}`
	var members []byte
	for k, v := range js.Members(properties) { // in their order
		members = append(append(append(js.AppendQuoted(members, k), ':'), v...), ',')
	}
	members = append(append(append([]byte("{"), members...), `"`+formatParam+`":`+format...), '}')
	object["properties"] = members
	changed, err := json.Marshal(object)
	if err != nil {
		return Tool{}, err
	}
	t.Input = schema.Schema(changed)
	if call := t.Call; call != nil {
		t.Call = func(ctx context.Context, args json.RawMessage) (Output, error) {
			rest, chosen := takeFormat(args)
			out, err := call(ctx, rest)
			if chosen != "" {
				out.Format = chosen
			}
			return out, err
		}
	}
	if preview := t.Preview; preview != nil {
		t.Preview = func(ctx context.Context, args json.RawMessage) (Preview, error) {
			rest, _ := takeFormat(args)
			return preview(ctx, rest)
		}
	}
	if bind := t.Bind; bind != nil {
		t.Bind = func(ctx context.Context, args json.RawMessage) ([]Pin, error) {
			rest, _ := takeFormat(args)
			return bind(ctx, rest)
		}
	}
	return t, nil
}

// takeFormat returns arguments without the format, and the format.
func takeFormat(args json.RawMessage) (rest json.RawMessage, format string) {
	chosen := js.Get(args, formatParam)
	if chosen == nil {
		return args, ""
	}
	rest = json.RawMessage{'{'}
	for k, v := range js.Members(args) {
		if string(k) == formatParam {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(js.AppendQuoted(rest, k), ':'), v...)
	}
	return append(rest, '}'), js.Text(chosen)
}
