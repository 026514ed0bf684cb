package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// several is what two formats send for three answers, side by side.
var several = []struct{ Format, stream, whole string }{
	{Chat, strings.Join([]string{
		`data: {"id":"c","model":"m","created":1,"choices":[{"index":0,"delta":{"content":"A"}},{"index":1,"delta":{"content":"B"}}]}`,
		`data: {"id":"c","model":"m","created":1,"choices":[{"index":2,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}]}`,
		`data: {"id":"c","model":"m","created":1,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`,
		`data: {"id":"c","model":"m","created":1,"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]}`,
		`data: {"id":"c","model":"m","created":1,"choices":[{"index":2,"delta":{},"finish_reason":"tool_calls"}]}`,
		`data: {"id":"c","model":"m","created":1,"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10}}`,
		"data: [DONE]\n\n"}, "\n\n"),
		`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[
			{"index":0,"message":{"role":"assistant","content":"Aa"},"finish_reason":"stop"},
			{"index":1,"message":{"role":"assistant","content":"Bb"},"finish_reason":"length"},
			{"index":2,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
			"usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10}}`},
	{Gemini, strings.Join([]string{
		`data: {"candidates":[{"index":0,"content":{"parts":[{"text":"A"}]}},{"index":1,"content":{"parts":[{"text":"B"}]}}],"modelVersion":"m","responseId":"c"}`,
		`data: {"candidates":[{"index":2,"content":{"parts":[{"functionCall":{"id":"x","name":"f","args":{}}}]}}],"modelVersion":"m","responseId":"c"}`,
		`data: {"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"MAX_TOKENS"}],"modelVersion":"m","responseId":"c"}`,
		`data: {"candidates":[{"index":2,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":9},"modelVersion":"m","responseId":"c"}` + "\n\n"}, "\n\n"),
		`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Aa"}]},"finishReason":"STOP"},
			{"index":1,"content":{"role":"model","parts":[{"text":"Bb"}]},"finishReason":"MAX_TOKENS"},
			{"index":2,"content":{"role":"model","parts":[{"functionCall":{"id":"x","name":"f","args":{}}}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":9,"totalTokenCount":10},"modelVersion":"m","responseId":"c"}`},
}

// answers writes all answers of a response in one line.
func answers(r *llm.Response) string {
	var out []string
	for _, a := range append([]*llm.Response{r}, r.Alternatives...) {
		s := a.Message.Text()
		for _, c := range a.Message.Calls() {
			s += c.Name + string(c.Args)
		}
		out = append(out, s+" "+string(a.Finish.Reason))
	}
	return strings.Join(out, "; ") + fmt.Sprint(" ", r.Finish.Usage.Output)
}

const threeAnswers = "Aa stop; Bb length; f{} tool_calls 9"

// TestSeveralAnswers: each answer is read by itself, whole and streamed, and
// written again.
func TestSeveralAnswers(t *testing.T) {
	for _, s := range several {
		c := Codec{Format: s.Format}
		whole, err := c.DecodeResponse([]byte(s.whole))
		if err != nil || answers(whole) != threeAnswers {
			t.Errorf("%s, whole: %v, %s", s.Format, err, answers(whole))
		}
		body, warnings, err := c.EncodeResponse(whole)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", s.Format, err, warnings)
		}
		if diff := cmp.Diff(parsed(t, []byte(s.whole)), parsed(t, body)); diff != "" {
			t.Errorf("%s, whole again: %s", s.Format, diff)
		}
		streamed := build(t, c, s.stream)
		if answers(streamed) != threeAnswers {
			t.Errorf("%s, streamed: %s", s.Format, answers(streamed))
		}
		var b bytes.Buffer
		enc := c.NewStream(&b, wireformat.Head{})
		events, _ := decodeAll(c, strings.NewReader(s.stream))
		for _, ev := range events {
			write(t, enc, ev)
		}
		if again := build(t, c, b.String()); answers(again) != threeAnswers || len(enc.Warnings()) > 0 {
			t.Errorf("%s, streamed again: %s %v\n%s", s.Format, answers(again), enc.Warnings(), b.String())
		}
		for _, ev := range events {
			line, err := llm.MarshalEvent(ev)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := llm.UnmarshalEvent(line); err != nil || !cmp.Equal(ev, back, same) {
				t.Errorf("%s: %v, %s", line, err, cmp.Diff(ev, back, same))
			}
		}
	}
}

// TestSeveralAnswersRelayed: several answers go through a relay as one does.
func TestSeveralAnswersRelayed(t *testing.T) {
	for _, s := range several {
		c := Codec{Format: s.Format}
		out, events, err := relayThrough(t, c, strings.NewReader(s.stream), passAll)
		if err != nil || out != s.stream {
			t.Fatalf("%s: %v\n%s", s.Format, err, cmp.Diff(s.stream, out))
		}
		for at := range events {
			out, _, err := relayThrough(t, c, strings.NewReader(s.stream), func(i int, ev llm.Event) wireformat.RelayDecision {
				if i == at {
					return wireformat.Replace(ev)
				}
				return wireformat.Pass
			})
			if got := build(t, c, out); err != nil || answers(got) != threeAnswers {
				t.Errorf("%s, event %d %T: %v, %s\n%s", s.Format, at, events[at], err, answers(got), out)
			}
		}
	}
}

// TestSeveralAnswersCut: an answer that is not complete makes the whole so.
func TestSeveralAnswersCut(t *testing.T) {
	c := Codec{Format: Chat}
	stream, _, _ := strings.Cut(several[0].stream, `data: {"id":"c","model":"m","created":1,"choices":[{"index":2,"delta":{},"finish`)
	_, err := decodeAll(c, strings.NewReader(stream))
	if llm.KindOf(err) != llm.Incomplete {
		t.Errorf("without the end of one answer: %v", err)
	}
	if _, err := decodeAll(c, strings.NewReader(`data: {"choices":[{"index":999999,"delta":{"content":"x"}}]}`+"\n\n")); llm.KindOf(err) != llm.Malformed {
		t.Errorf("a hostile index: %v", err)
	}
}

// TestOneAnswerOnly: a format with one answer says that it drops the others, and
// a request that it cannot ask for them.
func TestOneAnswerOnly(t *testing.T) {
	events, _ := decodeAll(Codec{Format: Chat}, strings.NewReader(several[0].stream))
	lost := func(w []llm.Warning) bool {
		return slices.ContainsFunc(w, func(w llm.Warning) bool { return w.Feature == "n" && w.Code == llm.Ignored })
	}
	for _, format := range Formats() {
		c := Codec{Format: format}
		can := c.Properties().Has(wireformat.SeveralAnswers)
		var b bytes.Buffer
		enc := c.NewStream(&b, wireformat.Head{})
		for _, ev := range events {
			write(t, enc, ev)
		}
		_, whole, err := c.EncodeResponse(&llm.Response{Alternatives: []*llm.Response{{Finish: llm.Finish{Reason: llm.Stop}}}, Finish: llm.Finish{Reason: llm.Stop}})
		if err != nil {
			t.Fatal(err)
		}
		body, asked, err := c.EncodeRequest(&llm.Request{N: 3, MaxTokens: 5, Messages: []llm.Message{llm.User("hi")}}, true)
		if err != nil {
			t.Fatal(err)
		}
		if lost(enc.Warnings()) == can || lost(whole) == can || lost(asked) == can {
			t.Errorf("%s: %v, %v, %v", format, enc.Warnings(), whole, asked)
		}
		if req, _, err := c.DecodeRequest(body); err != nil || (req.N == 3) != can {
			t.Errorf("%s: asked for %d: %v", format, req.N, err)
		}
	}
}

// probed are streams with log probabilities.
var probed = []struct{ Format, stream string }{
	{Chat, `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":{"content":[{"token":"Hi","logprob":-0.5,"bytes":[72,105],"top_logprobs":[]}],"refusal":null}}]}` + "\n\n" +
		`data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"!"},"logprobs":{"content":[{"token":"!","logprob":-1,"bytes":null,"top_logprobs":[]}]}}]}` + "\n\n" + chunks("finish stop") + done},
	{Responses, `data: {"type":"response.created","response":{"id":"r","model":"m"}}` + "\n\n" +
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}` + "\n\n" +
		`data: {"type":"response.content_part.added","output_index":0,"content_index":0,"item_id":"m","part":{"type":"output_text","text":"","annotations":[]}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"Hi","logprobs":[{"token":"Hi","logprob":-0.5,"bytes":[72,105],"top_logprobs":[]}]}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"!","logprobs":[{"token":"!","logprob":-1,"bytes":null,"top_logprobs":[]}]}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi!","annotations":[],"logprobs":[{"token":"Hi","logprob":-0.5,"bytes":[72,105],"top_logprobs":[]},{"token":"!","logprob":-1,"bytes":null,"top_logprobs":[]}]}]}}` + "\n\n" +
		`data: {"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[]}}` + "\n\n"},
	{Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"logprobsResult":{"topCandidates":[{"candidates":[{"token":"Hi","logProbability":-0.5}]}],"chosenCandidates":[{"token":"Hi","logProbability":-0.5}]}}]}` + "\n\n" +
		`data: {"candidates":[{"content":{"parts":[{"text":"!"}]},"logprobsResult":{"chosenCandidates":[{"token":"!","logProbability":-1}]},"finishReason":"STOP"}]}` + "\n\n"},
}

// TestLogProbs: the log probabilities of a stream stay with their text, are
// written again, streamed and whole, and are missed elsewhere.
func TestLogProbs(t *testing.T) {
	for _, s := range probed {
		c := Codec{Format: s.Format}
		r := build(t, c, s.stream)
		text, _ := r.Message.Parts[0].(llm.Text)
		if len(r.Message.Parts) != 1 || text.Text != "Hi!" || text.LogProbs == nil || len(text.LogProbs.Tokens) != 2 || !strings.Contains(string(text.LogProbs.Tokens[1]), `"!"`) {
			t.Fatalf("%s: %+v", s.Format, r.Message.Parts)
		}
		stream := encodeStream(t, c, r)
		again, _ := build(t, c, stream).Message.Parts[0].(llm.Text)
		if diff := cmp.Diff(text.LogProbs, again.LogProbs, same); diff != "" {
			t.Errorf("%s, streamed: %s\n%s", s.Format, diff, stream)
		}
		var b bytes.Buffer
		enc := c.NewStream(&b, wireformat.Head{})
		events, _ := decodeAll(c, strings.NewReader(s.stream))
		for _, ev := range events {
			write(t, enc, ev)
		}
		again, _ = build(t, c, b.String()).Message.Parts[0].(llm.Text)
		if diff := cmp.Diff(text.LogProbs, again.LogProbs, same); diff != "" || len(enc.Warnings()) > 0 {
			t.Errorf("%s, in pieces: %s %v\n%s", s.Format, diff, enc.Warnings(), b.String())
		}
		body, warnings, err := c.EncodeResponse(r)
		if err != nil || len(warnings) > 0 {
			t.Fatal(s.Format, err, warnings)
		}
		whole, err := c.DecodeResponse(body)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ = whole.Message.Parts[0].(llm.Text); !cmp.Equal(text.LogProbs, again.LogProbs, same) {
			t.Errorf("%s, whole: %+v\n%s", s.Format, again.LogProbs, body)
		}
		_, warnings, _ = Codec{Format: Messages}.EncodeResponse(r)
		if !slices.ContainsFunc(warnings, func(w llm.Warning) bool { return w.Feature == "logprobs" }) {
			t.Errorf("%s → messages: %v", s.Format, warnings)
		}
		if body, _, err := c.EncodeRequest(&llm.Request{Messages: []llm.Message{llm.User("a"), r.Message, llm.User("b")}}, false); err != nil || bytes.Contains(body, []byte(`"Hi"`)) && s.Format != Responses {
			t.Errorf("%s: a request holds log probabilities: %v %s", s.Format, err, body)
		}
	}
}

// TestUnknownEvents: what nobody knows goes on to a client of the same format,
// and is a warning for others.
func TestUnknownEvents(t *testing.T) {
	for _, s := range []struct{ Format, stream, want string }{
		{Messages, `data: {"type":"message_start","message":{"id":"m"}}` + "\n\n" + "event: vibes\n" + `data: {"type":"vibes","mood":[1, 2]}` + "\n\n" +
			`data: {"type":"content_block_start","index":4,"content_block":{"type":"text","text":""}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"Hi"}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":4,"delta":{"type":"glow_delta","glow":7}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":4}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"context_management":{"x":1}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
			`"mood":[1, 2]|"index":0,"delta":{"type":"glow_delta","glow":7}|"output_tokens":0},"context_management":{"x":1}`},
		{Responses, `data: {"type":"response.created","response":{"id":"r"}}` + "\n\n" + `data: {"type":"response.vibes","sequence_number":55,"mood":1}` + "\n\n" +
			`data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}` + "\n\n", `event: response.vibes|"sequence_number":2,"mood":1`},
		{Chat, chunks(`{"content":"a","glow":1}`, `{"content":"b","glow":2}`, `{"glow":3}`, "finish stop") + done, `"delta":{"glow":1}|"delta":{"glow":2}|"delta":{"glow":3}`},
		{Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"glow":1}]}` + "\n\n" + `data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"glow":2,"finishReason":"STOP"}]}` + "\n\n", `"glow":1|"glow":2`},
		{Ollama, `{"model":"m","message":{"content":"a","glow":1},"done":false}` + "\n" + `{"model":"m","message":{"content":"b","glow":2},"done":true}` + "\n", `"glow":1|"glow":2`},
	} {
		events, err := decodeAll(Codec{Format: s.Format}, strings.NewReader(s.stream))
		if err != nil {
			t.Fatal(s.Format, err)
		}
		for _, to := range Formats() {
			var b bytes.Buffer
			enc := Codec{Format: to}.NewStream(&b, wireformat.Head{})
			for _, ev := range events {
				write(t, enc, ev)
			}
			if to != s.Format {
				if len(enc.Warnings()) == 0 {
					t.Errorf("%s → %s: nothing says that something is lost", s.Format, to)
				}
				continue
			}
			rest := b.String()
			for want := range strings.SplitSeq(s.want, "|") {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("%s: no %s in its place in\n%s", s.Format, want, b.String())
				}
				rest = after
			}
			if _, err := decodeAll(Codec{Format: to}, &b); err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
		for _, ev := range events {
			if line, err := llm.MarshalEvent(ev); err != nil || !json.Valid(line) {
				t.Errorf("%v: %s", err, line)
			}
		}
	}
}

// Chunks that repeat what stands around their choices are read as those that do not.
func TestChunksThatRepeat(t *testing.T) {
	chunk := func(head, delta, tail string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","created":1790000000,"model":"m",` + head + `"choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]` + tail + "}\n\n"
	}
	deltas := []string{`{"role":"assistant","content":"a"}`, `{"content":"b"}`, `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":"{"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`}
	for _, around := range [][2][]string{
		{{"", "", "", ""}, {"", "", "", ""}},
		{{`"service_tier":"x",`, `"service_tier":"x",`, `"service_tier":"y",`, `"service_tier":"x",`}, {"", "", "", ""}},
		{{"", "", "", ""}, {`,"usage":null`, `,"usage":null`, `,"usage":{"prompt_tokens":3,"completion_tokens":4}`, `,"usage":null`}},
		{{"", "", "", ""}, {`,"choices":[]`, "", `,"choices":[]`, ""}},
	} {
		var plain, padded strings.Builder
		for i, d := range deltas {
			plain.WriteString(chunk(around[0][i], d, around[1][i]))
			padded.WriteString(chunk(around[0][i], d, fmt.Sprintf(`%s,"obfuscation":"%d"`, around[1][i], i)))
		}
		const end = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
		read := func(text string) (events []llm.Event) {
			for ev, err := range (Codec{Format: Chat}).DecodeStream(strings.NewReader(text + end)) {
				if err != nil {
					t.Error(err)
				}
				events = append(events, ev)
			}
			return events
		}
		if a, b := read(plain.String()), read(padded.String()); !cmp.Equal(a, b) {
			t.Errorf("around %q:\n%+v\nand padded\n%+v", around, a, b)
		}
	}
}
