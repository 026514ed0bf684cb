package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// startOf returns the start of a stream and fails if it is not the first event.
func startOf(t *testing.T, c Codec, stream string) llm.Start {
	t.Helper()
	for ev, err := range c.DecodeStream(strings.NewReader(stream)) {
		start, ok := ev.(llm.Start)
		if err != nil || !ok {
			t.Fatalf("%s begins with %#v, %v", c.Format, ev, err)
		}
		return start
	}
	t.Fatalf("%s: no event", c.Format)
	return llm.Start{}
}

// TestStartIsPassedOn: what a vendor says before its answer is what the client
// of the same format reads before its own.
func TestStartIsPassedOn(t *testing.T) {
	for _, test := range []struct{ Format, stream string }{
		{Messages, `data: {"type":"message_start","message":{"id":"msg_7","model":"m","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"},
		{Chat, `data: {"choices":[{"index":0,"delta":{"content":"hi"}}],"created":1700000000,"id":"c7","model":"m"}` + "\n\n" + chunks("finish stop") + done},
		{Responses, `data: {"type":"response.created","response":{"id":"resp_7","model":"m","created_at":1700000000}}` + "\n\n" +
			`data: {"type":"response.completed","response":{"id":"resp_7","model":"m","created_at":1700000000,"status":"completed","output":[]}}` + "\n\n"},
		{Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"responseId":"r7","modelVersion":"m","usageMetadata":{"promptTokenCount":5}}` + "\n\n"},
		{Ollama, `{"message":{"content":"hi"},"created_at":"2025-01-01T00:00:00Z","model":"m","done":false}` + "\n" + `{"done":true,"done_reason":"stop"}` + "\n"},
	} {
		c := Codec{Format: test.Format}
		want := startOf(t, c, test.stream)
		if want.Model != "m" || want.ID == "" && test.Format != Ollama {
			t.Errorf("%s: %+v", test.Format, want)
		}
		var b bytes.Buffer
		enc := c.NewStream(&b, wireformat.Head{})
		for ev, err := range c.DecodeStream(strings.NewReader(test.stream)) {
			if err != nil {
				t.Fatal(test.Format, err)
			}
			write(t, enc, ev)
		}
		if diff := cmp.Diff(want, startOf(t, c, b.String())); diff != "" {
			t.Errorf("%s: %s\n%s", test.Format, diff, b.String())
		}
	}
}

// TestEveryAnswerHasAnID: an answer of a model that gave no id and no time gets
// both, another id each time, whole and streamed.
func TestEveryAnswerHasAnID(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		if !c.Properties().AnswerIDs {
			continue
		}
		ids := map[string]bool{}
		for range 2 {
			var b bytes.Buffer
			enc := c.NewStream(&b, wireformat.Head{})
			write(t, enc, llm.TextDelta{Text: "hi"})
			write(t, enc, llm.Finish{Reason: llm.Stop})
			streamed := startOf(t, c, b.String())
			body, _, err := c.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "hi"}), Finish: llm.Finish{Reason: llm.Stop}})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := c.DecodeResponse(body)
			if err != nil {
				t.Fatal(err)
			}
			ids[streamed.ID], ids[whole.Start.ID] = true, true
			timed := format == Chat || format == Responses
			if timed && (streamed.Created.Unix() < 1e9 || whole.Start.Created.Unix() < 1e9) {
				t.Errorf("%s: created %v, %v", format, streamed.Created, whole.Start.Created)
			}
		}
		if len(ids) != 4 || ids[""] {
			t.Errorf("%s: ids %v", format, ids)
		}
	}
}

// TestKeepAlive: what vendors send while nothing comes is an event, and every
// format that has a place for it says it in its own way.
func TestKeepAlive(t *testing.T) {
	for _, test := range []struct{ Format, stream string }{
		{Chat, ": OPENROUTER PROCESSING\n\n" + chunks(`{"content":"hi"}`) + `data: {"id":"c","choices":[]}` + "\n\ndata:\n\n" + chunks("finish stop") + done},
		{Messages, ": hm\n\n" + `data: {"type":"message_start","message":{"id":"m"}}` + "\n\nevent: ping\n" + `data: {"type":"ping"}` + "\n\n: hm\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"},
		{Responses, ": hm\n\n" + `data: {"type":"response.created","response":{"id":"r"}}` + "\n\n" + `data: {"type":"keepalive","sequence_number":1}` + "\n\n: hm\n\n" +
			`data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}` + "\n\n"},
		{Ollama, "\n" + `{"message":{"content":"hi"},"done":false}` + "\n\n\n" + `{"done":true}` + "\n"},
	} {
		c := Codec{Format: test.Format}
		var b bytes.Buffer
		enc := c.NewStream(&b, wireformat.Head{})
		alive := 0
		for ev, err := range c.DecodeStream(strings.NewReader(test.stream)) {
			if err != nil {
				t.Fatal(test.Format, err)
			}
			if _, ok := ev.(llm.KeepAlive); ok {
				alive++
			}
			write(t, enc, ev)
		}
		again := strings.Count(transcript(t, c, &b), `"keep_alive"`)
		want := 3
		if test.Format == Ollama {
			want = 0 // a blank line is an error to its clients
		}
		if alive != 3 || again != want {
			t.Errorf("%s: %d keep-alives, %d written", test.Format, alive, again)
		}
	}
}

// TestKeepAliveWithoutComments: Google's clients for Go and Python take a comment for a broken event, and pass over empty
// lines, before the first event and after it.
func TestKeepAliveWithoutComments(t *testing.T) {
	var b bytes.Buffer
	enc := Codec{Format: Gemini}.NewStream(&b, wireformat.Head{})
	for _, ev := range []llm.Event{llm.KeepAlive{}, llm.TextDelta{Text: "hi"}, llm.KeepAlive{}, llm.Finish{Reason: llm.Stop}} {
		write(t, enc, ev)
	}
	said := 0
	for _, event := range strings.Split(b.String(), "\n\n") {
		switch {
		case event == "":
		case strings.HasPrefix(event, "data: {"):
			said++
		default:
			t.Errorf("%q is no event", event)
		}
	}
	if !strings.HasPrefix(b.String(), "\n\n") || said == 0 || strings.Count(b.String(), "\n\n\n\n") != 1 {
		t.Errorf("%q", b.String())
	}
}
