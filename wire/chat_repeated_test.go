package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// addedUp returns the id, name and arguments of each call as clients have them that add up the pieces of every text of a
// call with the same index, as OpenAI's own library for Python does.
func addedUp(stream string) string {
	var calls [][3]string
	for line := range strings.Lines(stream) {
		doc, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || doc == "[DONE]" {
			continue
		}
		for choice := range js.Elements(js.Get([]byte(doc), "choices")) {
			for el := range js.Elements(js.Get(js.Get(choice, "delta"), "tool_calls")) {
				n, _ := js.Int(js.Get(el, "index"))
				for len(calls) <= int(n) {
					calls = append(calls, [3]string{})
				}
				f := js.Get(el, "function")
				for k, v := range [][]byte{js.Get(el, "id"), js.Get(f, "name"), js.Get(f, "arguments")} {
					calls[n][k] += js.Text(v)
				}
			}
		}
	}
	return fmt.Sprint(calls)
}

func chunkOf(delta string) string {
	return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}

const chunksEnd = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"

// TestRepeatedNames: a server that says the id or the name of a call in each of its pieces is relayed so that clients that add
// up the pieces have each once. One that says them once is relayed byte for byte.
func TestRepeatedNames(t *testing.T) {
	first := chunkOf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`)
	for name, test := range map[string]struct {
		pieces []string
		same   bool
	}{
		"once":             {[]string{`{"index":0,"function":{"arguments":"{\"a\""}}`, `{"index":0,"function":{"arguments":":1}"}}`}, true},
		"empty":            {[]string{`{"index":0,"id":"","function":{"name":"","arguments":"{\"a\""}}`, `{"index":0,"id":null,"function":{"name":null,"arguments":":1}"}}`}, true},
		"both":             {[]string{`{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\""}}`, `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":":1}"}}`}, false},
		"the name":         {[]string{`{"index":0,"function":{"name":"f","arguments":"{\"a\""}}`, `{"index":0,"function":{"name":"f","arguments":":1}"}}`}, false},
		"the id":           {[]string{`{"index":0,"id":"c1","function":{"arguments":"{\"a\""}}`, `{"index":0,"id":"c1","function":{"arguments":":1}"}}`}, false},
		"without a piece":  {[]string{`{"index":0,"id":"c1","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"a\":1}"}}`}, false},
		"with the last":    {[]string{`{"index":0,"function":{"arguments":"{\"a\":1"}}`, `{"index":0,"id":"c1","function":{"name":"f","arguments":"}"}}`}, false},
		"behind arguments": {[]string{`{"index":0,"function":{"arguments":"{\"a\":1}"}}`, `{"index":0,"id":"c1","function":{"name":"f","arguments":""}}`}, false},
	} {
		stream := first
		for _, p := range test.pieces {
			stream += chunkOf(`{"tool_calls":[` + p + `]}`)
		}
		second := strings.NewReplacer(`"index":0,"id":"c1"`, `"index":1,"id":"c2"`, `"tool_calls":[{"index":0`, `"tool_calls":[{"index":1`, `"id":"c1"`, `"id":"c2"`)
		stream += second.Replace(stream) + chunksEnd
		var out bytes.Buffer
		c := Codec{Format: Chat}
		if err := c.Relay(&out, strings.NewReader(stream), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := addedUp(out.String()), `[[c1 f {"a":1}] [c2 f {"a":1}]]`; got != want {
			t.Errorf("%s: the client has %s, not %s, from\n%s", name, got, want, out.String())
		}
		if same := out.String() == stream; same != test.same {
			t.Errorf("%s: relayed byte for byte: %t", name, same)
		}
		if r := build(t, c, stream); fmt.Sprint(len(r.Message.Calls())) != "2" {
			t.Errorf("%s: %d calls", name, len(r.Message.Calls()))
		}
	}
}

// TestThinkingDetailsOfOneTurn: the details of what a model thought in several places of a turn are one list; a member that is
// there twice is read once, so half of the signatures would be lost.
func TestThinkingDetailsOfOneTurn(t *testing.T) {
	c := Codec{Format: Chat, Vendor: "openrouter/chat"}
	detail := func(text string, n int) llm.State {
		return llm.State{Vendor: c.Vendor, Data: json.RawMessage(fmt.Sprintf(`{"reasoning_details":[{"type":"reasoning.text","text":%q,"index":%d}]}`, text, n))}
	}
	turn := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: "one", State: detail("one", 0)}, llm.Text{Text: "A"}, llm.Thinking{Text: "two", State: detail("two", 1)}, llm.Text{Text: "B"},
	}}
	request, _, err := c.EncodeRequest(&llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi"), turn}}, false)
	if err != nil {
		t.Fatal(err)
	}
	answer, _, err := c.EncodeResponse(&llm.Response{Message: turn, Finish: llm.Finish{Reason: llm.Stop}})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"index":0,"text":"one","type":"reasoning.text"},{"index":1,"text":"two","type":"reasoning.text"}]`
	for path, body := range map[string][]byte{"messages.1.reasoning_details": request, "choices.0.message.reasoning_details": answer} {
		if got := string(at(body, path)); got != want || strings.Count(string(body), `"reasoning_details"`) != 1 {
			t.Errorf("%s of %s is %s", path, body, got)
		}
	}
}
