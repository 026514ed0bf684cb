package catalog

import (
	"strings"
	"testing"
)

const modelsDev = `{
  "anthropic": {"id": "anthropic", "name": "Anthropic", "models": {
    "claude-next": {"id": "claude-next", "tool_call": true, "reasoning": true, "limit": {"context": 500000, "output": 9000}}}},
  "reseller": {"models": {
    "claude-next": {"id": "claude-next", "tool_call": false, "reasoning": true, "limit": {"context": 600000, "output": 8000}}}}}`

const liteLLM = `{
  "sample_spec": {"litellm_provider": "one of …", "mode": "one of …", "max_input_tokens": "max input tokens"},
  "claude-next": {"litellm_provider": "anthropic", "mode": "chat", "supports_function_calling": true, "supports_parallel_function_calling": true, "supports_tool_choice": true, "max_input_tokens": 400000.0},
  "some-embedder": {"litellm_provider": "x", "mode": "embedding"}}`

func TestImport(t *testing.T) {
	both := Default()
	for _, text := range []string{modelsDev, liteLLM} {
		next, err := both.Import(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if both = next; text == modelsDev {
			if m := both.Lookup("Claude-Next"); m.NativeTools.Support != No || m.ContextWindow != 500000 || m.MaxOutput != 8000 {
				t.Errorf("two providers disagree, so the strictest stands: %+v", m)
			}
		}
	}
	m := both.Lookup("claude-next")
	if m.NativeTools.Support != No || m.ParallelTools.Support != Yes || m.ContextWindow != 400000 {
		t.Errorf("the strictest of both: %+v", m)
	}
	if got := m.ToolChoiceRequired.String(); got != "yes unless thinking" {
		t.Errorf("a plain yes took the condition away: %s", got)
	}
	if m.Wire != "messages" {
		t.Error("what no database says comes from the rules")
	}
	for _, bad := range []string{"", "[]", "null", "{}", `{"a": 1}`, `{"a": {"mode": "chat"}}`, "<html>"} {
		if _, err := Default().Import(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
