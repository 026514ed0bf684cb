package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// TestStreamedLogProbabilitiesAreKept reads a stream of the responses format
// whose text has fields that only this format knows.
func TestStreamedLogProbabilitiesAreKept(t *testing.T) {
	const item = `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[],"logprobs":[{"token":"Hi","logprob":-0.1}]}]}`
	stream := `data: {"type":"response.created","response":{"id":"r","model":"m"}}` + "\n\n" +
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"Hi"}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":` + item + `}` + "\n\n" +
		`data: {"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[` + item + `],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n"
	codec, _ := wire.For(wire.Responses)
	var b llm.Builder
	for ev, err := range codec.DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	parts := b.Response().Message.Parts
	if len(parts) != 1 {
		t.Fatalf("%+v", parts)
	}
	text, _ := parts[0].(llm.Text)
	if text.Text != "Hi" || text.LogProbs == nil || text.LogProbs.Form != "openai" || len(text.LogProbs.Tokens) != 1 ||
		string(text.LogProbs.Tokens[0]) != `{"token":"Hi","logprob":-0.1}` {
		t.Errorf("%q with log probabilities %+v", text.Text, text.LogProbs)
	}
}

// TestStreamedCallsKeepTheirFields sends a call with a field that only the chat
// format knows through a stream.
func TestStreamedCallsKeepTheirFields(t *testing.T) {
	codec, _ := wire.For(wire.Chat)
	call := llm.Call{ID: "c1", Name: "f", Args: json.RawMessage(`{"a":1}`), Extra: llm.Extra{wire.Chat: {"provider_note": json.RawMessage(`{"x":1}`)}}}
	sent := &llm.Response{Message: llm.Assistant(call), Finish: llm.Finish{Reason: llm.ToolCalls}}
	var body bytes.Buffer
	enc := codec.NewStream(&body, format.Head{ID: "r", Model: "m"})
	for _, ev := range sent.Events() {
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	var b llm.Builder
	for ev, err := range codec.DecodeStream(&body) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	calls := b.Response().Message.Calls()
	if len(calls) != 1 || string(calls[0].Args) != `{"a":1}` || string(calls[0].Extra[wire.Chat]["provider_note"]) != `{"x":1}` {
		t.Errorf("%+v", calls)
	}
}
