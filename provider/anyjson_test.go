package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// closedEmpty returns the schemas in a JSON document that only {} fits, also in texts that are JSON.
func closedEmpty(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		props, _ := v["properties"].(map[string]any)
		if v["additionalProperties"] == false && len(props) == 0 {
			found = append(found, fmt.Sprint(v))
		}
		for _, sub := range v {
			found = append(found, closedEmpty(sub)...)
		}
	case []any:
		for _, sub := range v {
			found = append(found, closedEmpty(sub)...)
		}
	case string:
		var inner any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
			return closedEmpty(inner)
		}
	}
	return found
}

// openModels are models of every kind of vendor and host, by how they are asked for an answer that is JSON.
func openModels(t *testing.T) map[string]*Model {
	t.Helper()
	models := map[string]*Model{}
	c := new(Client)
	for _, id := range []string{"openai/gpt-4.1", "openai/gpt-5", "anthropic/claude-sonnet-4-5", "anthropic/claude-3-haiku-20240307", "gemini/gemini-2.5-pro",
		"gemini/gemini-3-pro-preview", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "ollama/qwen3:8b", "ollama/llama3:8b", "ollama/smollm2:135m", "mistral/mistral-large-latest",
		"deepseek/deepseek-chat", "http://127.0.0.1:1/v1#nobody-knows-me"} {
		models[id] = opened(t, c, id)
	}
	yes, no := catalog.Answer{Support: catalog.Yes}, catalog.Answer{Support: catalog.No}
	for _, field := range []string{jsonSchemaField, structuredField, "response_format", formatField} {
		for name, native := range map[string]catalog.Answer{"native": yes, "taught": no} {
			for _, size := range []int64{0, 1e9} {
				id, format := "http://127.0.0.1:1/v1#"+field+name, wire.Chat
				if field == formatField {
					id, format = "ollama/"+name, wire.Ollama
				}
				info := catalog.Model{ID: catalog.ID{Raw: id, Size: size}, Kind: "chat", Wire: format, NativeTools: native, Constrain: field}
				models[fmt.Sprint(id, size)] = opened(t, &Client{Catalog: catalog.Default().With(info)}, id)
			}
		}
	}
	return models
}

// An answer that may be any JSON object is never asked for as an object that has nothing in it: not with thinking, nor beside
// tools, nor where the schema says that it takes everything.
func TestAnyJSONStaysOpen(t *testing.T) {
	for id, m := range openModels(t) {
		for _, s := range []string{"", `{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":"object","additionalProperties":true}`} {
			for _, thinking := range []*llm.Reasoning{nil, {Effort: "low"}} {
				for _, tools := range [][]llm.ToolDef{nil, {lookup}} {
					req := &llm.Request{Messages: []llm.Message{llm.User("some JSON, please")}, Output: &llm.OutputFormat{Name: "x", Schema: json.RawMessage(s)}, Reasoning: thinking, Tools: tools, MaxTokens: 2000}
					body, warnings := planned(t, m, req)
					var doc any
					if err := json.Unmarshal([]byte(body), &doc); err != nil {
						t.Fatal(err)
					}
					if found := closedEmpty(doc); len(found) > 0 {
						t.Errorf("%s, schema %q, thinking %v, %d tools: %v in %s", id, s, thinking != nil, len(tools), found, body)
					}
					if s == "" && len(warned(warnings, "strict")) > 0 {
						t.Errorf("%s: %v", id, warnings)
					}
					if grammar, ok := doc.(map[string]any)["grammar"].(string); ok && strings.Contains(grammar, `root ::= "{" "}"`) {
						t.Errorf("%s: %s", id, grammar)
					}
				}
			}
		}
	}
}

// Where the host has a word for any JSON, it is that.
func TestAnyJSONOfOllama(t *testing.T) {
	m := opened(t, new(Client), "ollama/qwen3:8b")
	for _, thinking := range []*llm.Reasoning{nil, {Effort: "low"}, {Off: true}} {
		body, _ := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, Output: &llm.OutputFormat{}, Reasoning: thinking})
		if !strings.Contains(body, `"format":"json"`) {
			t.Errorf("thinking %v: %s", thinking, body)
		}
	}
}

// A schema that takes every object loses nothing where it is not strict: to ask for it strictly is no error.
func TestStrictAnswersOfAnyObject(t *testing.T) {
	for _, id := range []string{"openai/gpt-5", "openai/gpt-4.1", "anthropic/claude-sonnet-4-5"} {
		out := &llm.OutputFormat{Name: "x", Strict: true, Schema: json.RawMessage(`{"type":"object"}`)}
		body, warnings := planned(t, opened(t, new(Client), id), &llm.Request{Messages: []llm.Message{llm.User("hi")}, Output: out, MaxTokens: 99})
		if strings.Contains(body, `"strict":true`) || slices.ContainsFunc(warnings, func(w llm.Warning) bool { return w.Code == llm.Degraded }) {
			t.Errorf("%s: %s, %v", id, body, warnings)
		}
	}
}

// A tool, or a parameter, that takes any object is not closed, and what was asked for in vain is said.
func TestToolsThatTakeAnyObject(t *testing.T) {
	free := []llm.ToolDef{
		{Name: "whole", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "part", Schema: json.RawMessage(`{"type":"object","properties":{"data":{"type":"object"}},"required":["data"]}`)},
		{Name: "list", Schema: json.RawMessage(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object"}}},"required":["rows"]}`)},
	}
	for id, m := range openModels(t) {
		for _, strict := range []*bool{nil, ptr(true), ptr(false)} {
			for _, def := range free {
				def.Strict = strict
				body, warnings := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("put a=1 into " + def.Name)}, Tools: []llm.ToolDef{def}, Choice: llm.ToolChoice{Mode: llm.MustCall}, MaxTokens: 100})
				var doc any
				if err := json.Unmarshal([]byte(body), &doc); err != nil {
					t.Fatal(err)
				}
				if found := closedEmpty(doc); len(found) > 0 || strings.Contains(body, `"strict":true`) {
					t.Errorf("%s, %s: %v in %s", id, def.Name, found, body)
				}
				if (planner{Model: m}).strict() && strict != nil && *strict && len(warned(warnings, "strict")) != 1 {
					t.Errorf("%s, %s: %v", id, def.Name, warnings)
				}
			}
		}
	}
}

// A vendor that takes only closed schemas is not sent an open one: the answer is the arguments of a tool that nothing holds.
func TestOpenAnswersOfClosedVendors(t *testing.T) {
	m := opened(t, new(Client), "anthropic/claude-sonnet-4-5")
	for s, native := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"integer"}}}`:                                            true,
		`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"}}`:   false,
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                                             false,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}}}},"required":["a"]}`:      false,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`:        true,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object"}}},"required":["l"]}`:   false,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}},"required":["l"]}`:  true,
		`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}}}}`:   false,
		`{"type":"object","properties":{"m":{"type":["object","null"],"additionalProperties":false}}}`:       true,
		`{"type":"object","properties":{"m":{"type":"object","patternProperties":{"a":{"type":"string"}}}}}`: false,
	} {
		body, warnings := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, Output: &llm.OutputFormat{Schema: json.RawMessage(s)}, MaxTokens: 100})
		if strings.Contains(body, `"output_config"`) != native || strings.Contains(body, `"emit_output"`) == native || !native && (strings.Contains(body, `"strict"`) || len(warned(warnings, "output")) == 0) {
			t.Errorf("%s: %s, %v", s, body, warnings)
		}
	}
}
