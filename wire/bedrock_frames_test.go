package wire

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

// frames returns a stream as Amazon sends it.
func frames(t *testing.T, list ...eventstream.Frame) string {
	t.Helper()
	var out []byte
	var err error
	for _, f := range list {
		if out, err = eventstream.Append(out, f); err != nil {
			t.Fatal(err)
		}
	}
	return string(out)
}

// chunk is a frame with an event of the messages format, with the padding that
// Amazon adds.
func chunk(event string) eventstream.Frame {
	payload := `{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(event)) + `","p":"abcdefgh"}`
	return eventstream.Frame{Kind: eventstream.Event, Name: codec.ChunkEvent, Payload: []byte(payload)}
}

// TestBedrockFrames reads what Bedrock's InvokeModelWithResponseStream sends, however
// the stream is cut.
func TestBedrockFrames(t *testing.T) {
	begin := chunk(`{"type":"message_start","message":{"model":"claude","id":"msg_bdrk_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":12,"output_tokens":1}}}`)
	text := []eventstream.Frame{
		chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		chunk("{\n\"type\":\"content_block_delta\",\n\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}"),
		chunk(`{"type":"content_block_stop","index":0}`),
	}
	end := []eventstream.Frame{
		chunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`),
		chunk(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":12,"outputTokenCount":3,"invocationLatency":9,"firstByteLatency":5}}`),
	}
	half := append([]eventstream.Frame{begin}, text...)
	c := Codec{Format: Messages, Quirks: messages.OnBedrock()}
	for name, v := range map[string]struct {
		stream string
		text   string
		kind   llm.Kind
		words  string
	}{
		"whole":            {frames(t, append(half[:len(half):len(half)], end...)...), "Hi", 0, ""},
		"throttled":        {frames(t, append(half[:len(half):len(half)], eventstream.Frame{Kind: eventstream.Exception, Name: "throttlingException", Payload: []byte(`{"message":"Too many tokens, please wait"}`)})...), "Hi", llm.RateLimited, "please wait"},
		"overloaded":       {frames(t, eventstream.Frame{Kind: eventstream.Exception, Name: "serviceUnavailableException", Payload: []byte(`{"message":"busy"}`)}), "", llm.Overloaded, "busy"},
		"a failure":        {frames(t, begin, eventstream.Frame{Kind: eventstream.Failure, Name: "InternalServerException", Message: "it broke"}), "", llm.Server, "it broke"},
		"no base64":        {frames(t, eventstream.Frame{Kind: eventstream.Event, Name: codec.ChunkEvent, Payload: []byte(`{"bytes":"%%"}`)}), "", llm.Malformed, "base64"},
		"nothing in it":    {frames(t, eventstream.Frame{Kind: eventstream.Event, Name: codec.ChunkEvent, Payload: []byte(`{}`)}), "", llm.Malformed, "base64"},
		"cut off":          {frames(t, half...)[:200], "", llm.Incomplete, ""},
		"damaged":          {strings.Replace(frames(t, half...), "chunk", "chunX", 1), "", llm.Malformed, ""},
		"a document":       {`{"type":"message","id":"m","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, "Hi", 0, ""},
		"an unknown event": {frames(t, append(half[:len(half):len(half)], append([]eventstream.Frame{{Kind: eventstream.Event, Name: "later", Payload: []byte(`{}`)}}, end...)...)...), "Hi", 0, ""},
	} {
		want := transcript(t, c, strings.NewReader(v.stream))
		for i := range len(v.stream) {
			if got := transcript(t, c, &twoReads{v.stream[:i], v.stream[i:]}); got != want {
				t.Fatalf("%s, cut at %d:\n%s\nwhole:\n%s", name, i, got, want)
			}
		}
		var b llm.Builder
		var last error
		for ev, err := range c.DecodeStream(strings.NewReader(v.stream)) {
			if last = err; err == nil {
				b.Add(ev)
			}
		}
		if got := b.Response().Message.Text(); got != v.text || (last != nil) != (v.kind != 0) || last != nil && (llm.KindOf(last) != v.kind || !strings.Contains(last.Error(), v.words)) {
			t.Errorf("%s: %q, %v (%s)", name, got, last, llm.KindOf(last))
		}
	}
}

// TestBedrockFramesRelay: a relay of such a stream is a stream that says the same.
func TestBedrockFramesRelay(t *testing.T) {
	c := Codec{Format: Messages, Quirks: messages.OnBedrock()}
	stream := encodeStream(t, c, newGen(Messages, 3).response())
	for _, cut := range []int{0, 1, len(stream) / 2} {
		var out strings.Builder
		if err := c.Relay(&out, &twoReads{stream[:cut], stream[cut:]}, nil); err != nil {
			t.Fatal(err)
		}
		if want, got := transcript(t, c, strings.NewReader(stream)), transcript(t, c, strings.NewReader(out.String())); got != want {
			t.Errorf("relayed:\n%s\nupstream:\n%s", got, want)
		}
	}
	var out strings.Builder
	if err := c.Relay(&out, strings.NewReader(stream[:len(stream)/2]), nil); llm.KindOf(err) != llm.Incomplete {
		t.Errorf("half a stream: %v", err)
	}
}

// TestBedrockFramesErrors: a response that is no success says what it is in Amazon's
// words, for clients and as a server.
func TestBedrockFramesErrors(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	c := Codec{Format: Messages, Quirks: messages.OnBedrock()}
	for _, kind := range []llm.Kind{llm.RateLimited, llm.Auth, llm.Overloaded, llm.NotFound, llm.Timeout} {
		attacks++
		err := &llm.Error{Kind: kind}
		status, body := c.EncodeError(err)
		if got := c.DecodeError(status, c.ErrorHeader(err), body); got.Kind != kind || !strings.HasSuffix(got.Code, "Exception") {
			t.Errorf("%s: %d %s is %s %q", kind, status, body, got.Kind, got.Code)
		}
	}
}
