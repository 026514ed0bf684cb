package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestArgumentsThatAreNoObject: in formats that take objects only, arguments that are something else stand in an object, and are the same in a
// stream, however it is cut, as in one piece. What was cut off is not closed.
func TestArgumentsThatAreNoObject(t *testing.T) {
	for _, format := range []string{wire.Messages, wire.Converse, wire.Gemini, wire.Ollama, wire.Chat, wire.Responses} {
		codec, _ := wire.For(format)
		for _, args := range []string{`["Rome"]`, ` [1, 2]`, `"Rome"`, `7`, `null`, `{"city":"Rome"}`, ` {"city": "Rome"}`} {
			call := llm.Call{ID: "c1", Name: "f", Args: json.RawMessage(args)}
			body, _, err := codec.EncodeResponse(&llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, Finish: llm.Finish{Reason: llm.ToolCalls}})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := codec.DecodeResponse(body)
			if err != nil {
				t.Fatal(err)
			}
			want := compact(t, whole.Message.Calls()[0].Args)
			for cut := range args {
				var b bytes.Buffer
				enc := codec.NewStream(&b, wire.Head{Model: "m"})
				for _, ev := range []llm.Event{llm.Start{ID: "a"}, llm.CallStart{ID: "c1", Name: "f"}, llm.CallDelta{ID: "c1", Args: args[:cut]}, llm.CallDelta{ID: "c1", Args: args[cut:]}, call, llm.Finish{Reason: llm.ToolCalls}} {
					if err := enc.Write(ev); err != nil {
						t.Fatal(err)
					}
				}
				var got llm.Builder
				for ev, err := range codec.DecodeStream(bytes.NewReader(b.Bytes())) {
					if err != nil {
						t.Fatalf("%s, %s cut at %d: %v", format, args, cut, err)
					}
					got.Add(ev)
				}
				calls := got.Response().Message.Calls()
				if len(calls) != 1 || compact(t, calls[0].Args) != want {
					t.Errorf("%s, %s cut at %d: %+v, want %s", format, args, cut, calls, want)
				}
			}
		}
	}
	codec, _ := wire.For(wire.Messages)
	var b bytes.Buffer
	enc := codec.NewStream(&b, wire.Head{Model: "m"})
	for _, ev := range []llm.Event{llm.Start{ID: "a"}, llm.CallStart{ID: "c1", Name: "f"}, llm.CallDelta{ID: "c1", Args: `["Ro`}, llm.InvalidCall{ID: "c1", Name: "f", Raw: `["Ro`, Reason: llm.CutOff}, llm.Finish{Reason: llm.Length}} {
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Contains(b.Bytes(), []byte(`"partial_json":"{\"input\":[\"Ro"`)) || bytes.Contains(b.Bytes(), []byte(`"partial_json":"}"`)) {
		t.Errorf("half a call is closed: %s", b.Bytes())
	}
}

func compact(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out.String()
}
