package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A client of the Responses API is asked there at OpenAI, and a hosted tool chooses the format in which the vendor runs it. A
// format that the id names, or that is the only one of a model, stays.
func TestFormatOfARequest(t *testing.T) {
	search := llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch}
	for _, c := range []struct {
		id, client, want string
		tools            []llm.ToolDef
	}{
		{"openai/gpt-4.1", wire.Responses, wire.Responses, nil},
		{"openai/gpt-5", wire.Responses, wire.Responses, nil},
		{"openai/gpt-5.5", wire.Responses, wire.Responses, nil},
		{"openai/gpt-5", wire.Chat, wire.Responses, nil}, // where its thinking can be handed back
		{"openai/gpt-4.1", wire.Chat, wire.Chat, nil},
		{"openai/gpt-4.1", wire.Messages, wire.Chat, nil},
		{"openai/o3-pro", wire.Chat, wire.Responses, nil},
		{"openai/gpt-4o", wire.Chat, wire.Responses, []llm.ToolDef{search}},
		{"openai/gpt-4o", wire.Messages, wire.Responses, []llm.ToolDef{search}},
		{"openai/gpt-4o-search-preview", wire.Responses, wire.Chat, nil},
		{"openai/gpt-4o-search-preview", wire.Chat, wire.Chat, []llm.ToolDef{search}},
		{"openai+chat:gpt-4o", wire.Responses, wire.Chat, nil},
		{"openai+chat:gpt-4o", wire.Chat, wire.Chat, []llm.ToolDef{search}},
		{"openai+http://127.0.0.1:1/v1#gpt-4.1", wire.Responses, wire.Chat, nil},
		{"anthropic/claude-sonnet-4-5", wire.Responses, wire.Messages, nil},
		{"groq/openai/gpt-oss-120b", wire.Responses, wire.Chat, nil},
	} {
		m := opened(t, &Client{}, c.id).For(c.client, &llm.Request{Tools: c.tools})
		if m.wire != c.want {
			t.Errorf("%s for a client of %s with %d tools: %s, want %s", c.id, c.client, len(c.tools), m.wire, c.want)
		}
	}
	if err := opened(t, &Client{}, "openai/gpt-4o").RunsHosted(search); err != nil {
		t.Error(err)
	}
	body, _ := planned(t, opened(t, &Client{}, "openai/gpt-4o").forTools([]llm.ToolDef{search}), &llm.Request{Messages: []llm.Message{llm.User("q")}, Tools: []llm.ToolDef{search}})
	if !strings.Contains(body, `"type":"web_search"`) || !strings.Contains(body, `"input":`) {
		t.Error(body)
	}
}
