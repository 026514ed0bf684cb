package provider

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// emulation makes a model without tools call them.
type emulation struct {
	route *Route
	info  catalog.Model
	model *Model
}

// rewrite returns the request without tools, in words that teach them, and the
// reader that finds the calls in the answer.
func (e emulation) rewrite(req *llm.Request) (*llm.Request, reader, []llm.Warning, error) {
	out := req.Clone()
	out.Tools, out.Choice, out.OneCall = nil, llm.ToolChoice{}, false
	if e.route.Kind == Text {
		err := inText(out, e.route.Dialect, "")
		return out, nil, nil, err
	}
	prompt, err := dialect.Prompt(dialect.PromptOptions{
		Style: e.route.Style, Tools: req.Tools, Choice: req.Choice, Context: e.info.ContextWindow, Family: e.info.ID.Root(),
		Parallel: !req.OneCall && e.info.ParallelTools.Support != catalog.No, Constrained: e.route.Kind == Constrained,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	e.route.Dialect = prompt.Dialect
	if err := inText(out, prompt.Dialect, prompt.Results); err != nil {
		return nil, nil, nil, err
	}
	out.System = strings.TrimSpace(out.System + "\n\n" + prompt.System)
	out.Stop = append(out.Stop, prompt.Stop...)
	if prompt.Envelope != nil {
		constrain(out, e.route.Constrain, prompt.Envelope)
	}
	tools := functions(req.Tools)
	if req.Choice.Mode == llm.MustNotCall {
		tools = []llm.ToolDef{}
	}
	read := textCalls{parser: dialect.Parser{Tools: tools, Dialect: prompt.Dialect}, prefix: "call_", first: countCalls(req)}.read
	warning := llm.Warning{Code: llm.Emulated, Feature: "tools", Detail: "the tools are taught in a prompt: " + e.route.String()}
	return out, read, []llm.Warning{warning}, nil
}

// constrain has the host hold the answer to a schema.
func constrain(req *llm.Request, field string, schema json.RawMessage) {
	switch field {
	case "json_schema", "structured_outputs":
		value := schema
		if field == "structured_outputs" {
			value = append(append([]byte(`{"json":`), schema...), '}')
		}
		req.Extra = req.Extra.Clone()
		if req.Extra == nil {
			req.Extra = llm.Extra{}
		}
		if req.Extra["chat"] == nil {
			req.Extra["chat"] = map[string]json.RawMessage{}
		}
		req.Extra["chat"][field] = value
	default:
		req.Output = &llm.Output{Name: "answer", Schema: schema}
	}
}

// inText writes the calls and results of the history as text.
func inText(req *llm.Request, name, results string) error {
	for i, m := range req.Messages {
		var said []llm.Part
		var answers []llm.Result
		changed := false
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				text, err := dialect.Render(cmp.Or(name, "json_fence"), p)
				if err != nil {
					text, err = dialect.Render("json_fence", p)
				}
				if err != nil {
					return err
				}
				said, changed = append(said, llm.Text{Text: text}), true
			case llm.Result:
				answers, changed = append(answers, p), true
			default:
				said = append(said, p)
			}
		}
		if len(answers) > 0 {
			_, text := dialect.WrapResults(results, answers)
			said = append([]llm.Part{llm.Text{Text: text}}, said...)
			req.Messages[i].Role = llm.RoleUser
		}
		if changed {
			req.Messages[i].Parts = said
		}
	}
	return nil
}
