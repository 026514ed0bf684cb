package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnknownPartsOfResults: a part of a result that only its format knows goes back to that format as it came, and is named
// where the model speaks another; nothing stands in its place.
func TestUnknownPartsOfResults(t *testing.T) {
	converseRequest := func(content string) string {
		return `{"modelId":"m","messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":` + content + `}}]}],"inferenceConfig":{"maxTokens":9}}`
	}
	messagesRequest := func(content string) string {
		return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":` + content + `}]}]}`
	}
	for _, test := range []struct{ Format, body, block, name, path string }{
		{Converse, converseRequest(`[{"text":"a"},{"searchResult":{"source":"s"}}]`), `{"searchResult":{"source":"s"}}`, "searchResult", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"hologram":{"x":1}}]`), `{"hologram":{"x":1}}`, "hologram", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"toolUse":{"toolUseId":"z","name":"g","input":{}}}]`), `{"toolUse":{"toolUseId":"z","name":"g","input":{}}}`, "toolUse", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"toolResult":{"toolUseId":"z","content":[{"text":"in"}]}}]`), `{"toolResult":{"toolUseId":"z","content":[{"text":"in"}]}}`, "toolResult", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"reasoningContent":{"reasoningText":{"text":"hm"}}}]`), `{"reasoningContent":{"reasoningText":{"text":"hm"}}}`, "reasoningContent", "messages.2.content.0.toolResult.content.1"},
		{Messages, messagesRequest(`[{"type":"text","text":"a"},{"type":"hologram","x":1}]`), `{"type":"hologram","x":1}`, "hologram", "messages.2.content.0.content.1"},
	} {
		req, _, err := Codec{Format: test.Format}.DecodeRequest([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", test.block, err)
			continue
		}
		for _, to := range Formats() {
			out, warnings, err := Codec{Format: to}.EncodeRequest(req, false)
			if err != nil {
				t.Fatal(err)
			}
			if to == test.Format {
				if got := string(at(out, test.path)); got != canonicalJSON(t, test.block) {
					t.Errorf("%s went back as %s", test.block, got)
				}
				continue
			}
			if !strings.Contains(fmt.Sprint(warnings), test.name) {
				t.Errorf("%s → %s: no warning names it: %v", test.block, to, warnings)
			}
			for path, want := range map[string]string{
				Gemini: "contents.2.parts.0.functionResponse.response.output", Ollama: "messages.2.content",
			} {
				if got := string(at(out, want)); to == path && got != `"a"` {
					t.Errorf("%s → %s: the result is %s", test.block, to, got)
				}
			}
		}
	}
}
