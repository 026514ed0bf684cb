package emulate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/llm"
)

// A small model that gives its final answer is shown what the tools returned, and may say anything where any JSON is asked for.
func TestSmallModelsAnswerFromResults(t *testing.T) {
	req := &llm.Request{
		Messages: []llm.Message{
			llm.User("What is the weather in Paris?"),
			llm.Assistant(llm.Call{ID: "c1", Name: "weather", Args: json.RawMessage(`{"city":"Paris"}`)}),
			llm.Results(llm.Result{CallID: "c1", Name: "weather", Parts: []llm.Part{llm.Text{Text: "21 degrees, sunny"}}}),
		},
		Tools:  []llm.ToolDef{{Name: "weather", Description: "Weather of a city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}},
		Output: &llm.OutputFormat{},
	}
	plan, err := emulate.Emulation{Size: 1e9, Decider: smallmodel.Wording{}, Host: emulate.OutputHost}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	last := plan.Request.Messages[len(plan.Request.Messages)-1]
	if text := last.Text(); last.Role != llm.RoleUser || strings.Count(text, "21 degrees, sunny") != 1 || !strings.Contains(text, emulate.FinalTool) {
		t.Errorf("%s is told %q", last.Role, text)
	}
	if s := string(plan.Request.Output.Schema); strings.Contains(s, `"additionalProperties":false`) {
		t.Errorf("the answer is held to %s", s)
	}
}

// An object whose names are free may have lists and objects in it, unless the conversation says what a value may be.
func TestFreeObjectsHoldAnything(t *testing.T) {
	req := &llm.Request{
		Messages: []llm.Message{llm.User("Store it.")}, Choice: llm.ToolChoice{Mode: llm.MustCall},
		Tools: []llm.ToolDef{{Name: "store", Schema: json.RawMessage(`{"type":"object","properties":{"data":{"type":"object"}},"required":["data"]}`)}},
	}
	plan, err := emulate.Emulation{Style: "json", Host: emulate.OutputHost}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(plan.Request.Output.Schema), `"data":{"type":"object","additionalProperties":`)
	if !strings.HasPrefix(data, `{"anyOf":[`) || !strings.Contains(data, `"type":"array"`) || !strings.Contains(data, `"type":"object"`) {
		t.Errorf("held to %s", plan.Request.Output.Schema)
	}
}
