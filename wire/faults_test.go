package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// chunks makes a chat stream of deltas. The last may be a finish reason.
func chunks(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		if word, ok := strings.CutPrefix(d, "finish "); ok {
			fmt.Fprintf(&b, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", word)
			continue
		}
		fmt.Fprintf(&b, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	return b.String()
}

const done = "data: [DONE]\n\n"

// summary writes what matters of a stream in one line: calls, text, finish.
func summary(t *testing.T, c Codec, stream string) string {
	t.Helper()
	var out []string
	joined := map[string]string{}
	for ev, err := range c.DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			out = append(out, "error "+llm.KindOf(err).String())
			continue
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			out = append(out, "text "+ev.Text)
		case llm.CallDelta:
			joined[ev.ID] += ev.Args
		case llm.Call:
			if joined[ev.ID] != string(ev.Args) {
				t.Errorf("the deltas of %s are %q, its arguments %q", ev.ID, joined[ev.ID], ev.Args)
			}
			out = append(out, fmt.Sprintf("%s %s%s", ev.ID, ev.Name, ev.Args))
		case llm.InvalidCall:
			out = append(out, fmt.Sprintf("%s %s %s %s", ev.Reason, ev.ID, ev.Name, ev.Raw))
		case llm.Warning:
			out = append(out, string(ev.Code)+" "+ev.Feature)
		case llm.Finish:
			out = append(out, string(ev.Reason))
		}
	}
	return strings.Join(out, "; ")
}

// call is a delta with a piece of a call; every argument is JSON.
func call(index, id, name, args string) string {
	return `{"tool_calls":[{"index":` + index + `,"id":` + id + `,"function":{"name":` + name + `,"arguments":` + args + `}}]}`
}

// faults are what servers get wrong about calls and ends.
var faults = []struct{ why, in, want string }{
	{"index 0 for all parallel calls: the id decides",
		chunks(call("0", `"a"`, `"f"`, `"{\"x\":1}"`), call("0", `"b"`, `"f"`, `"{\"x\":2}"`), "finish tool_calls") + done,
		`a f{"x":1}; b f{"x":2}; tool_calls`},
	{"index 0 for all, arguments in pieces without id",
		chunks(call("0", `"a"`, `"f"`, `""`), call("0", `null`, `null`, `"{}"`), call("0", `"b"`, `"g"`, `""`), call("0", `null`, `null`, `"{\"y\":2}"`), "finish tool_calls") + done,
		`a f{}; b g{"y":2}; tool_calls`},
	{"neither id nor index: order and completeness decide",
		chunks(call("null", `null`, `"f"`, `"{\"x\":1}"`), call("null", `null`, `"f"`, `"{\"x\":2}"`), "finish tool_calls") + done,
		`call_1 f{"x":1}; call_2 f{"x":2}; tool_calls`},
	{"the id and the name in every piece",
		chunks(call("0", `"a"`, `"f"`, `"{\"x\""`), call("0", `"a"`, `"f"`, `":1}"`), "finish tool_calls") + done,
		`a f{"x":1}; tool_calls`},
	{"pieces of two calls in turn",
		chunks(call("0", `"a"`, `"f"`, `"{\"x\""`), call("1", `"b"`, `"g"`, `"{\"y\""`), call("0", `null`, `null`, `":1}"`), call("1", `null`, `null`, `":2}"`), "finish tool_calls") + done,
		`a f{"x":1}; b g{"y":2}; tool_calls`},
	{"two calls with one id are still two",
		chunks(call("0", `"a"`, `"f"`, `"{}"`), call("1", `"a"`, `"f"`, `"{\"x\":1}"`), "finish tool_calls") + done,
		`a f{}; corrected id; call_1 f{"x":1}; tool_calls`},
	{"pieces for an index where nothing began",
		chunks(call("0", `"a"`, `"f"`, `""`), call("5", `null`, `null`, `"{\"x\""`), call("5", `null`, `null`, `":1}"`), "finish tool_calls") + done,
		`corrected index; a f{"x":1}; tool_calls`},
	{"a hostile index costs nothing",
		chunks(call("2147483647", `"a"`, `"f"`, `"{}"`), "finish tool_calls") + done,
		`a f{}; tool_calls`},
	{"arguments as an object",
		chunks(call("0", `"a"`, `"f"`, `{"x":1}`), "finish tool_calls") + done,
		`a f{"x":1}; tool_calls`},
	{"a call without a name cannot be run",
		chunks(call("0", `"a"`, `null`, `"{}"`), "finish tool_calls") + done,
		`unknown_tool a  {}; tool_calls`},
	{"arguments that are not JSON",
		chunks(call("0", `"a"`, `"f"`, `"no idea"`), "finish tool_calls") + done,
		`bad_arguments a f no idea; tool_calls`},
	{"arguments that are nearly JSON",
		chunks(call("0", `"a"`, `"f"`, `"{x:1,}"`), "finish tool_calls") + done,
		`a f{"x":1}; tool_calls`},
	{"length wins over tool_calls, and the last call is cut even if it parses",
		chunks(call("0", `"a"`, `"f"`, `"{\"x\":1}"`), call("1", `"b"`, `"f"`, `"{\"x\":2}"`), "finish length") + done,
		`a f{"x":1}; truncated b f {"x":2}; length`},
	{"stop beside calls is corrected",
		chunks(call("0", `"a"`, `"f"`, `"{}"`), "finish stop") + done,
		`a f{}; corrected finish reason; tool_calls`},
	{"tool_calls without a call is corrected",
		chunks(`{"content":"hi"}`, "finish tool_calls") + done,
		`text hi; corrected finish reason; stop`},
	{"no [DONE]", chunks(`{"content":"hi"}`, "finish stop"), `text hi; stop`},
	{"no finish reason, but [DONE]", chunks(`{"content":"hi"}`) + done, `text hi; corrected finish reason; stop`},
	{"no end at all", chunks(`{"content":"hi"}`, call("0", `"a"`, `"f"`, `"{}"`)), `text hi; truncated a f {}; error incomplete`},
	{"an event that is not JSON", chunks(`{"content":"hi"}`) + "data: oops\n\n" + done, `text hi; error malformed`},
	{"an error as a bare line", chunks(`{"content":"hi"}`) + `{"error":{"message":"boom","type":"server_error"}}` + "\n\n", `text hi; error server`},
	{"an error instead of a stream", `{"error":{"message":"no key","code":"invalid_api_key"}}`, `error auth`},
	{"an answer instead of a stream",
		"\r\n" + `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, `text hi; stop`},
	{"an unknown finish reason", chunks(`{"content":"hi"}`, "finish tired") + done, `text hi; other`},
	{"nothing", "", `error incomplete`},
	{"only keep-alives", ": ping\n\n: ping\n\n", `error incomplete`},
	{"the wrong type", `data: {"choices":[{"index":0,"delta":{"content":5}}]}` + "\n\n", `error malformed`},
	{"the function_call of old",
		chunks(`{"function_call":{"name":"f","arguments":""}}`, `{"function_call":{"arguments":"{}"}}`, "finish function_call") + done, `call_1 f{}; tool_calls`},
}

func TestFaults(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, f := range faults {
		attacks++
		if got := summary(t, Codec{Format: Chat}, f.in); got != f.want {
			t.Errorf("%s:\n got %s\nwant %s", f.why, got, f.want)
		}
	}
}

// TestBounds: an endless answer is an error, not a full memory.
func TestBounds(t *testing.T) {
	var many []string
	for i := range codec.MaxCalls + 1 {
		many = append(many, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}]}`, i, i))
	}
	if got := summary(t, Codec{Format: Chat}, chunks(many...)); !strings.HasSuffix(got, "error malformed") {
		t.Errorf("too many calls: %.100s", got[max(0, len(got)-100):])
	}
	var blocks strings.Builder
	for i := range codec.MaxBlocks + 1 {
		fmt.Fprintf(&blocks, "data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"text\"}}\n\n", i)
	}
	if got := summary(t, Codec{Format: Messages}, blocks.String()); got != "error malformed" {
		t.Errorf("too many blocks: %.100s", got)
	}
}

// converseFrames writes frames as the golden files show them.
func converseFrames(t *testing.T, lines ...string) string {
	t.Helper()
	return string(streamBytes(t, Converse, []byte(strings.Join(lines, "\n"))))
}

// TestConverseFaults: what goes wrong in frames.
func TestConverseFaults(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	const (
		start = `event messageStart {"role":"assistant"}`
		text  = `event contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"hi"}}`
		end   = `event messageStop {"stopReason":"end_turn"}`
		tool  = `event contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`
		args  = `event contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`
		stop  = `event contentBlockStop {"contentBlockIndex":0}`
		again = `event contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"b","name":"g"}}}`
		calls = `event messageStop {"stopReason":"tool_use"}`
	)
	for _, f := range []struct{ why, in, want string }{
		{"no metadata", converseFrames(t, start, text, end), `text hi; stop`},
		{"no end", converseFrames(t, start, text), `text hi; error incomplete`},
		{"nothing", "", `error incomplete`},
		{"all blocks have the index 0", converseFrames(t, start, tool, args, stop, again, args, stop, calls), `a f{}; b g{}; tool_calls`},
		{"a piece of a call that never began is no call", converseFrames(t, start, args, stop, end), `stop`},
		{"end_turn beside calls is corrected", converseFrames(t, tool, args, end), `a f{}; corrected finish reason; tool_calls`},
		{"an unknown event is passed over", converseFrames(t, start, `event somethingNew {"a":1}`, text, end), `text hi; stop`},
		{"an unknown reason", converseFrames(t, start, text, `event messageStop {"stopReason":"tired"}`), `text hi; other`},
		{"a payload that is not JSON", converseFrames(t, start, text, `event contentBlockDelta oops`), `text hi; error malformed`},
		{"bytes that are no frame", converseFrames(t, start, text) + "data: hello, this is another protocol\n\n", `text hi; error malformed`},
		{"a damaged frame", strings.Replace(converseFrames(t, start, text, end), "hi", "ho", 1), `error malformed`},
		{"the wrong type", converseFrames(t, `event contentBlockDelta {"contentBlockIndex":0,"delta":{"text":5}}`), `error malformed`},
		{"an unknown exception", converseFrames(t, start, `exception newException {"message":"boom"}`), `error server`},
		{"an answer instead of a stream", `{"output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"end_turn","usage":{},"metrics":{}}`, `text hi; stop`},
		{"an error instead of a stream", `{"__type":"AccessDeniedException","message":"no"}`, `error auth`},
	} {
		attacks++
		if got := summary(t, Codec{Format: Converse}, f.in); got != f.want {
			t.Errorf("%s:\n got %s\nwant %s", f.why, got, f.want)
		}
	}
	many := make([]string, codec.MaxBlocks+2)
	for i := range many {
		many[i] = fmt.Sprintf(`event contentBlockDelta {"contentBlockIndex":%d,"delta":{}}`, i)
	}
	if got := summary(t, Codec{Format: Converse}, converseFrames(t, many...)); got != "error malformed" {
		t.Errorf("too many blocks: %.100s", got)
	}
}

// TestLostConnection: the cause of a lost stream is kept.
func TestLostConnection(t *testing.T) {
	src := io.MultiReader(strings.NewReader(chunks(`{"content":"hi"}`)), brokenReader{context.Canceled})
	var last error
	for _, err := range (Codec{Format: Chat}).DecodeStream(src) {
		last = err
	}
	if llm.KindOf(last) != llm.Incomplete || !errors.Is(last, context.Canceled) {
		t.Errorf("%v", last)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

// TestStopListening: whoever breaks out of a stream gets no more events.
func TestStopListening(t *testing.T) {
	for _, format := range Formats() {
		stream := encodeLossy(t, Codec{Format: format}, newGen(Chat, 3).response())
		n := 0
		for range (Codec{Format: format}).DecodeStream(strings.NewReader(stream)) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d events after a break", format, n)
		}
	}
}

// TestDoneIsNoAnswer: [DONE] alone ends no answer, and in a format with another
// finish marker it does not stand for that marker.
func TestDoneIsNoAnswer(t *testing.T) {
	for _, test := range []struct{ Format, stream, want string }{
		{Chat, done, "error incomplete"},
		{Chat, ": hm\n\n" + done, "error incomplete"},
		{Messages, done, "error incomplete"},
		{Messages, `data: {"type":"message_start","message":{"id":"m"}}` + "\n\n" + done, "error incomplete"},
		{Messages, `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + done, "stop"},
		{Gemini, done, "error incomplete"},
		{Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}` + "\n\n" + done, "text hi; error incomplete"},
		{Gemini, `data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}` + "\n\n" + done, "text hi; stop"},
		{Responses, done, "error incomplete"},
		{Responses, `data: {"type":"response.created","response":{"id":"r"}}` + "\n\n" + done, "error incomplete"},
	} {
		if got := summary(t, Codec{Format: test.Format}, test.stream); got != test.want {
			t.Errorf("%s %q:\n got %s\nwant %s", test.Format, test.stream, got, test.want)
		}
	}
}

// An empty list of arguments is what some languages write for an empty object.
func TestEmptyListsOfArguments(t *testing.T) {
	for format, in := range map[string]string{
		Messages: `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":[ ]}]}]}`,
		Gemini:   `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":[]}}]}]}`,
		Converse: `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":[]}}]}]}`,
		Ollama:   `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[]}}]}]}`,
	} {
		req, _, err := (Codec{Format: format}).DecodeRequest([]byte(in))
		if err != nil || string(req.Messages[0].Calls()[0].Args) != "{}" {
			t.Errorf("%s: %+v %v", format, req, err)
		}
	}
}

// TestWrongRequests: an error names the field.
func TestWrongRequests(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, f := range []struct{ Format, in, want string }{
		{Chat, `{"messages":[{"role":"user","content":5}]}`, `messages[0].content must be a string or an array of parts`},
		{Chat, `{"messages":[{"role":"king","content":"x"}]}`, `messages[0].role must be a role`},
		{Chat, `{"messages":[],"temperature":"hot"}`, `temperature must be a number`},
		{Chat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%%"}}]}]}`, `image_url.url must be a data URL`},
		{Chat, `[]`, `not a JSON object`},
		{Chat, `{"a":`, `not JSON`},
		{Chat, ``, `empty`},
		{Messages, `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"%"}}]}]}`, `source.data must be base64`},
		{Messages, `{"messages":[{"content":"x"}]}`, `messages[0] must be a message with a role`},
		{Responses, `{"input":[{"role":"pope","content":"x"}]}`, `input[0] must be an item with a type or a message with a role`},
		{Gemini, `{"contents":[{"role":"bot","parts":[]}]}`, `contents[0].role must be user or model`},
		{Ollama, `{"messages":"hi"}`, `messages must be an array`},
		{Converse, `{"messages":[{"role":"bot","content":[]}]}`, `messages[0].role must be user, assistant or system`},
		{Converse, `{"messages":[{"role":"user","content":"x"}]}`, `messages[0].content must be an array`},
		{Converse, `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"%"}}}]}]}`, `source.bytes must be base64`},
		{Converse, `{"toolConfig":{"tools":[{"cachePoint":{"type":"default"}}]}}`, `toolConfig.tools[0] must be a tool`},
		{Converse, `{"toolConfig":{"toolChoice":{"none":{}}}}`, `toolConfig.toolChoice must be auto, any or tool`},
		{Converse, `{"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{"}}}}}`, `must be a JSON schema as a string`},
		{Messages, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":[1]}]}]}`, `content[0].input must be an object`},
		{Gemini, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":"x"}}]}]}`, `functionCall.args must be an object`},
		{Converse, `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":5}}]}]}`, `toolUse.input must be an object`},
		{Ollama, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[1]}}]}]}`, `function.arguments must be an object`},
		{Ollama, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}]}`, `function.arguments must be an object`},
		{"morse", `{}`, `no format is called "morse"`},
	} {
		attacks++
		_, _, err := (Codec{Format: f.Format}).DecodeRequest([]byte(f.in))
		if err == nil || !strings.Contains(err.Error(), f.want) || llm.KindOf(err) != llm.Invalid {
			t.Errorf("%s %s:\n got %v\nwant %s", f.Format, f.in, err, f.want)
		}
	}
}
