package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// rewritten reads a stream and writes it anew in the same format.
func rewritten(t *testing.T, format, lines string) (out []byte, warnings []llm.Warning) {
	t.Helper()
	c := wire.Codec{Format: format}
	var b bytes.Buffer
	enc := c.NewStream(&b, wire.Head{ID: "a", Model: "m", Created: 1})
	for ev, err := range c.DecodeStream(bytes.NewReader(framed(t, format, []byte(lines)))) {
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := ev.(llm.Warning); ok {
			warnings = append(warnings, w)
		}
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes(), append(warnings, enc.Warnings()...)
}

// messagesStream is a stream with one block.
func messagesStream(block, deltas string) string {
	return `data: {"type":"message_start","message":{"id":"a","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":` + block + "}\n\n" + deltas +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
}

func messagesDelta(delta string) string {
	return `data: {"type":"content_block_delta","index":0,"delta":` + delta + "}\n\n"
}

// responsesStream is a stream of the events about an item, and of its end.
func responsesStream(item, end string) string {
	return `data: {"type":"response.created","response":{"id":"r","model":"m"}}` + "\n\n" + item +
		`data: {"type":"response.` + end + "}}\n\n"
}

// Members that nobody knows go back to their place in a stream that is written anew, without a warning.
func TestUnknownMembersOfStreamsKeepTheirPlace(t *testing.T) {
	said := `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":"Hi"}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","role":"assistant","status":"completed"%s,"content":[{"type":"output_text","text":"Hi","annotations":[]%s}]}}` + "\n\n"
	called := `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":""%[1]s}}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{}","status":"completed"%[1]s}}` + "\n\n"
	const zq = `,"zq":1`
	completed := `completed","response":{"id":"r","model":"m","status":"completed","output":[]`
	for _, tt := range []struct{ format, stream, want string }{
		{wire.Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"Hi","zq":1}],"role":"model"},"finishReason":"STOP"}]}`, `{"text":"Hi","zq":1}`},
		{wire.Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"Hm","thought":true,"zq":1},{"text":"Hi"}],"role":"model"},"finishReason":"STOP"}]}`, `{"text":"Hm","thought":true,"zq":1}`},
		{wire.Gemini, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{},"zq":1}}],"role":"model"},"finishReason":"STOP"}]}`, `"args":{},"zq":1}`},
		{wire.Messages, messagesStream(`{"type":"text","text":"","zq":1}`, messagesDelta(`{"type":"text_delta","text":"Hi"}`)), `"content_block":{"type":"text","text":"","zq":1}`},
		{wire.Messages, messagesStream(`{"type":"thinking","thinking":"","signature":"","zq":1}`, messagesDelta(`{"type":"thinking_delta","thinking":"Hm"}`)+messagesDelta(`{"type":"signature_delta","signature":"s"}`)),
			`"content_block":{"type":"thinking","thinking":"","signature":"","zq":1}`},
		{wire.Messages, messagesStream(`{"type":"redacted_thinking","data":"d","zq":1}`, ""), `"content_block":{"type":"redacted_thinking","data":"d","zq":1}`},
		{wire.Messages, strings.Replace(messagesStream(`{"type":"tool_use","id":"c","name":"f","input":{},"zq":1}`, messagesDelta(`{"type":"input_json_delta","partial_json":"{}"}`)), "end_turn", "tool_use", 1),
			`"content_block":{"type":"tool_use","id":"c","name":"f","input":{},"zq":1}`},
		{wire.Messages, strings.Replace(messagesStream(`{"type":"text","text":""}`, messagesDelta(`{"type":"text_delta","text":"Hi"}`)), `{"type":"message_stop"}`, `{"type":"message_stop","zq":1}`, 1), `{"type":"message_stop","zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(said, zq, ""), completed), `"status":"completed","zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(said, "", zq), completed), `{"type":"output_text","text":"Hi","annotations":[],"zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(called, zq), completed), `"arguments":"{}","id":"i","status":"completed","zq":1}`},
		{wire.Responses, responsesStream(fmt.Sprintf(said, "", ""), `incomplete","response":{"id":"r","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens","zq":1},"output":[]`), `"incomplete_details":{"reason":"max_output_tokens","zq":1}`},
		{wire.Converse, "event messageStart {\"role\":\"assistant\"}\n" + `event contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"c","name":"f","zq":1}}}` + "\nevent contentBlockStop {\"contentBlockIndex\":0}\nevent messageStop {\"stopReason\":\"tool_use\"}\nevent metadata {\"usage\":{\"inputTokens\":1,\"outputTokens\":1,\"totalTokens\":2}}\n",
			`"toolUse":{"toolUseId":"c","name":"f","zq":1}`},
	} {
		out, warnings := rewritten(t, tt.format, tt.stream)
		for _, w := range warnings {
			if strings.Contains(w.Feature, "zq") {
				t.Errorf("%s, %s: %v", tt.format, tt.want, w)
			}
		}
		if !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: no %s in %s", tt.format, tt.want, out)
		}
	}
}

// What many events say is told once, and texts are told once, too.
func TestStraysAreToldOnce(t *testing.T) {
	for format, stream := range map[string]string{
		wire.Messages:  messagesStream(`{"type":"text","text":""}`, strings.Repeat(messagesDelta(`{"type":"text_delta","text":"Hi.","zq":1}`), 100)),
		wire.Responses: responsesStream(strings.Repeat(`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":"Hi.","zq":1}`+"\n\n", 100), `completed","response":{"id":"r","model":"m","status":"completed","output":[]`),
		wire.Converse: strings.Repeat(`event contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Hi.","zq":1}}`+"\n", 100) +
			"event messageStop {\"stopReason\":\"end_turn\"}\nevent metadata {\"usage\":{\"inputTokens\":1,\"outputTokens\":1,\"totalTokens\":2}}\n",
	} {
		out, warnings := rewritten(t, format, stream)
		told := 0
		for _, w := range warnings {
			if strings.HasSuffix(w.Feature, ".zq") {
				told++
			}
		}
		texts := 0
		for ev, err := range (wire.Codec{Format: format}).DecodeStream(bytes.NewReader(out)) {
			if d, ok := ev.(llm.TextDelta); ok && err == nil && d.Text == "Hi." {
				texts++
			}
		}
		if told != 1 || texts != 100 {
			t.Errorf("%s: told %d times, %d texts: %v", format, told, texts, warnings)
		}
	}
}

// TestStraysAreBounded: a stream whose events each have another member is not kept whole.
func TestStraysAreBounded(t *testing.T) {
	var deltas strings.Builder
	for i := range 5000 {
		deltas.WriteString(messagesDelta(fmt.Sprintf(`{"type":"text_delta","text":"a","m%d":1}`, i)))
	}
	_, warnings := rewritten(t, wire.Messages, messagesStream(`{"type":"text","text":""}`, deltas.String()))
	if n := len(warnings); n != 65 || !strings.Contains(fmt.Sprint(warnings), "more members") {
		t.Errorf("%d warnings: %v", n, warnings)
	}
}

// The vendor's own word for the end stays in a stream that is written anew, and goes to nobody else.
func TestOwnFinishReasonsStayInStreams(t *testing.T) {
	stream := `data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: f(","index":0}]}` + "\n\n"
	if out, _ := rewritten(t, wire.Gemini, stream); !strings.Contains(string(out), `"finishReason":"MALFORMED_FUNCTION_CALL"`) {
		t.Errorf("%s", out)
	}
	var b bytes.Buffer
	enc := wire.Codec{Format: wire.Chat}.NewStream(&b, wire.Head{})
	for ev, err := range (wire.Codec{Format: wire.Gemini}).DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(b.String(), "MALFORMED_FUNCTION_CALL") {
		t.Errorf("%s", b.String())
	}
}

// TestRelaysPassStrays: what passes as it came is not warned about.
func TestRelaysPassStrays(t *testing.T) {
	stream := messagesStream(`{"type":"text","text":"","zq":1}`, messagesDelta(`{"type":"text_delta","text":"Hi","zq":1}`))
	var out bytes.Buffer
	c := wire.Codec{Format: wire.Messages}
	err := c.Relay(&out, strings.NewReader(stream), func(ev llm.Event) wire.RelayDecision {
		if w, ok := ev.(llm.Warning); ok {
			t.Error(w)
		}
		return wire.Pass
	})
	if err != nil || out.String() != stream {
		t.Errorf("%v, %s", err, out.String())
	}
}

// Some servers tell the citations of a text with the complete item alone.
func TestCitationsOfCompleteItems(t *testing.T) {
	const cited = `{"type":"url_citation","start_index":0,"end_index":2,"url":"https://e.org","title":"E"}`
	added := `data: {"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation_index":0,"item_id":"i","annotation":` + cited + "}\n\n"
	for _, event := range []string{"", added} {
		out, warnings := rewritten(t, wire.Responses, responsesStream(
			`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}`+"\n\n"+
				`data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"i","delta":"Hi"}`+"\n\n"+event+
				`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[`+cited+`]}]}}`+"\n\n",
			`completed","response":{"id":"r","model":"m","status":"completed","output":[]`))
		if n := bytes.Count(out, []byte(`"response.output_text.annotation.added"`)); n != 1 || len(warnings) > 0 {
			t.Errorf("%d citations, %v: %s", n, warnings, out)
		}
	}
}
