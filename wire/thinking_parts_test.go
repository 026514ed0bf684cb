package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestThinkingInContent: parts of the content that are thinking, as Mistral has them, are thinking in an answer in one piece and
// in a stream, where the last piece of thinking may stand in one list with the first text.
func TestThinkingInContent(t *testing.T) {
	c := Codec{Format: Chat}
	whole, err := c.DecodeResponse([]byte(`{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[
		{"type":"thinking","thinking":[{"type":"text","text":"one "},{"type":"text","text":"two"}],"closed":true,"signature":null},{"type":"text","text":"said"}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	thought := func(s string, closed bool) string {
		return fmt.Sprintf(`{"type":"thinking","thinking":[{"type":"text","text":%q}],"closed":%v}`, s, closed)
	}
	streamed := build(t, c, chunkOf(`{"role":"assistant","content":""}`)+chunkOf(`{"content":[`+thought("one ", false)+`]}`)+chunkOf(`{"content":[`+thought("tw", false)+`]}`)+
		chunkOf(`{"content":[`+thought("o", true)+`,{"type":"text","text":"sa"}]}`)+chunkOf(`{"content":"id"}`)+chunksEnd)
	for what, r := range map[string]*llm.Response{"whole": whole, "streamed": streamed} {
		if len(r.Message.Parts) != 2 {
			t.Errorf("%s: %+v", what, r.Message.Parts)
			continue
		}
		first, ok := r.Message.Parts[0].(llm.Thinking)
		if !ok || first.Text != "one two" || len(first.Extra) > 0 || r.Message.Text() != "said" {
			t.Errorf("%s: %+v", what, r.Message.Parts)
		}
	}
}

// TestThinkingPartsGoBack: a host that has thinking in its content gets it back there, in its place, and other hosts do not.
func TestThinkingPartsGoBack(t *testing.T) {
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi"), {Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "hm"}, llm.Text{Text: "said"}, llm.Call{ID: "c1", Name: "f", Args: []byte("{}")}}},
		{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c1", Name: "f", Parts: []llm.Part{llm.Text{Text: "ok"}}}}}}}
	const want = `"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}],"closed":true},{"type":"text","text":"said"}]`
	for _, parts := range []bool{false, true} {
		c := Codec{Format: Chat, Quirks: Quirks{ThinkingParts: parts}}
		body, warnings, err := c.EncodeRequest(req, false)
		if err != nil || strings.Contains(string(body), want) != parts || strings.Contains(string(body), "hm") != parts || (len(warnings) == 0) != parts {
			t.Errorf("%v: %v, %v\n%s", parts, err, warnings, body)
		}
		if !parts {
			continue
		}
		back, _, err := c.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := c.EncodeRequest(back, false)
		if err != nil || string(again) != string(body) {
			t.Errorf("%v, %s is written again as\n%s", err, body, again)
		}
	}
}

// TestThinkingOfInstructions: instructions that show how to think, as Mistral recommends, stay as they are.
func TestThinkingOfInstructions(t *testing.T) {
	const content = `[{"type":"text","text":"Draft first."},{"type":"thinking","thinking":[{"type":"text","text":"Your thoughts."}]}]`
	c := Codec{Format: Chat, Quirks: Quirks{ThinkingParts: true}}
	req, _, err := c.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"system","content":` + content + `},{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := c.EncodeRequest(req, false)
	if err != nil || !strings.Contains(string(body), content) {
		t.Errorf("%v\n%s", err, body)
	}
}
