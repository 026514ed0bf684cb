package wire_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
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
	if got := string(text.Extra[wire.Responses]["logprobs"]); text.Text != "Hi" || got != `[{"token":"Hi","logprob":-0.1}]` {
		t.Errorf("%q with log probabilities %s", text.Text, got)
	}
}
