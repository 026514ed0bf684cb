package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// asMessages reads a request of the messages format.
func asMessages(t *testing.T, body string) *llm.Request {
	t.Helper()
	req, _, err := wire.Codec{Format: wire.Messages}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// Tools that the vendor knows by their type reach it as they are, of a known version or of none, also beside tools that have to be
// changed for it: it refuses members beside a type that are not of that type.
func TestDefinedToolsAreNotDescribedToTheirVendor(t *testing.T) {
	m := opened(t, new(Client), "anthropic/claude-sonnet-4-5")
	for _, tool := range []string{
		`{"name":"bash","type":"bash_20250124"}`, `{"name":"bash","type":"bash_20990101"}`, `{"name":"edit","type":"text_editor_20990101"}`,
		`{"name":"c","display_height_px":100,"display_width_px":100,"type":"computer_20251124"}`, `{"name":"memory","type":"memory_20990101"}`,
		`{"type":"mcp_toolset","mcp_server_name":"x"}`,
	} {
		body, warnings := planned(t, m, asMessages(t, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[`+tool+`,{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}]}`))
		if !strings.Contains(body, `"tools":[`+tool+`,{"name":"f"`) || strings.Count(body, "input_schema") != 1 || len(warnings) > 0 {
			t.Errorf("%s: %s, %v", tool, body, warnings)
		}
	}
}

// Models of other vendors, and those that are taught in words, are told what such a tool takes, once.
func TestNewerVersionsAreToldElsewhere(t *testing.T) {
	for id, m := range openModels(t) {
		if strings.HasPrefix(id, "anthropic/") {
			continue
		}
		body, warnings := planned(t, m, asMessages(t, `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"restart the shell with bash, please"}],"tool_choice":{"type":"any"},"tools":[{"name":"bash","type":"bash_20990101"}]}`))
		if told := warned(warnings, "bash_20990101"); len(told) != 1 || !strings.Contains(told[0], "bash_20250124") || !strings.Contains(body, "restart") {
			t.Errorf("%s: %v, %s", id, warnings, body)
		}
	}
}

// Several hosted tools may have one name, like one for each server; two functions may not.
func TestHostedToolsOfOneName(t *testing.T) {
	m := opened(t, new(Client), "openai/gpt-5")
	mcp := func(label string) llm.ToolDef {
		return llm.ToolDef{Name: "mcp", Kind: llm.HostedTool, Hosted: &llm.HostedConfig{Type: "mcp", Options: map[string]json.RawMessage{"server_label": json.RawMessage(`"` + label + `"`)}}}
	}
	req := &llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{mcp("a"), mcp("b")}}
	if body, _ := planned(t, m, req); strings.Count(body, `"type":"mcp"`) != 2 {
		t.Error(body)
	}
	for _, tools := range [][]llm.ToolDef{{{Name: "mcp"}, mcp("a")}, {mcp("a"), {Name: "mcp"}}, {{Name: "f"}, {Name: "f"}}} {
		req.Tools = tools
		if _, err := m.plan(req); llm.KindOf(err) != llm.Invalid {
			t.Errorf("%v: %v", tools, err)
		}
	}
}
