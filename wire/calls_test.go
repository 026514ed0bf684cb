package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// TestCallsWithoutPieces: a call that was started and has no pieces comes with all of its arguments, in every format.
func TestCallsWithoutPieces(t *testing.T) {
	for _, format := range Formats() {
		for _, args := range []string{`{}`, `{"a":1}`} {
			var out bytes.Buffer
			c := Codec{Format: format}
			w := c.NewStream(&out, wireformat.Head{ID: "x", Model: "m", Created: 1})
			for _, ev := range []llm.Event{
				llm.CallStart{ID: "c1", Name: "f"}, llm.Call{ID: "c1", Name: "f", Args: []byte(args)}, llm.Finish{Reason: llm.ToolCalls},
			} {
				if err := w.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			calls := build(t, c, out.String()).Message.Calls()
			if len(calls) != 1 || string(calls[0].Args) != args {
				t.Errorf("%s: %s became %v", format, args, calls)
			}
			if format == Chat && addedUp(out.String()) != "[[c1 f "+args+"]]" {
				t.Errorf("the client has %s", addedUp(out.String()))
			}
		}
	}
}

// nearly are arguments as models write them: what they mean, how doubtful that
// is, and why the case is here. An empty meaning is a call that cannot be run.
var nearly = []struct {
	args, means string
	class       llm.RepairClass
	why         string
}{
	{`{"a":1}`, `{"a":1}`, llm.Intact, "valid arguments are not touched"},
	{" {\"a\": [1, true, null, {}], \"b\": \"x\\\"y\\u00e9\"}\n", `{"a": [1, true, null, {}], "b": "x\"y\u00e9"}`, llm.Intact, "only white space around them is dropped"},
	{`{"a":1,}`, `{"a":1}`, llm.Syntax, "a trailing comma"},
	{`{"a":[1,2,],"b":"c",}`, `{"a":[1,2],"b":"c"}`, llm.Syntax, "a trailing comma in a list, and one after a string"},
	{`{'a':'b'}`, `{"a":"b"}`, llm.Syntax, "single quotes"},
	{"```json\n{\"a\":1}\n```", `{"a":1}`, llm.Syntax, "a code fence"},
	{`{a:1}`, `{"a":1}`, llm.Syntax, "a key without quotes"},
	{`{"a":True,"b":None}`, `{"a":true,"b":null}`, llm.Syntax, "the words of Python"},
	{"{\"a\":\"one\ntwo\"}", `{"a":"one\ntwo"}`, llm.Syntax, "a line break inside a string"},
	{`{"a":1}}`, `{"a":1}`, llm.Syntax, "a bracket too many"},
	{`{"a":"b"`, `{"a":"b"}`, llm.Completion, "the closing bracket is missing although the answer ended normally"},
	{`{"a":1`, ``, 0, "a number at the very end may be cut: 1 or 1000"},
	{`{"a": "x "y" z"}`, `{"a": "x \"y\" z"}`, llm.Guess, "quotes inside a string: a guess, and marked as one"},
	{`{"a":"b`, ``, 0, "the end of a string is missing: what else is, nobody knows"},
	{`no idea`, ``, 0, "text is no arguments"},
	{`[1,2,]`, ``, 0, "a list is no arguments"},
}

// repairStream is a stream of one call in pieces of n bytes.
func repairStream(t *testing.T, format, args string, n int, end llm.Reason) string {
	t.Helper()
	var b strings.Builder
	pieces := func(f func(string)) {
		for rest := args; rest != ""; {
			k := min(n, len(rest))
			quoted, _ := json.Marshal(rest[:k])
			f(string(quoted))
			rest = rest[k:]
		}
	}
	switch format {
	case Chat:
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n")
		pieces(func(p string) {
			fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":%s}}]}}]}\n\n", p)
		})
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", map[llm.Reason]string{llm.ToolCalls: "tool_calls", llm.Length: "length", llm.ContentFilter: "content_filter"}[end])
	case Messages:
		b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{}}}\n\n")
		b.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}}\n\n")
		pieces(func(p string) {
			fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%s}}\n\n", p)
		})
		b.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
		fmt.Fprintf(&b, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q},\"usage\":{}}\n\n", map[llm.Reason]string{llm.ToolCalls: "tool_use", llm.Length: "max_tokens", llm.ContentFilter: "refusal"}[end])
		b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}
	return b.String()
}

// readCall returns the call of a stream, or the reason it cannot be run, and
// checks that its deltas are its arguments.
func readCall(t *testing.T, format, stream string) (c llm.Call, bad llm.InvalidReason) {
	t.Helper()
	var deltas strings.Builder
	for ev, err := range (Codec{Format: format}).DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.CallDelta:
			deltas.WriteString(ev.Args)
		case llm.Call:
			c = ev
			if deltas.String() != string(ev.Args) {
				t.Errorf("%s: the deltas are %q, the arguments %q", format, deltas.String(), ev.Args)
			}
		case llm.InvalidCall:
			bad = ev.Reason
		}
	}
	return c, bad
}

// TestNativeRepairs: arguments of native calls are repaired as those of calls in
// text are, in any pieces, with the class of the repair; and what was cut off
// stays cut off.
func TestNativeRepairs(t *testing.T) {
	for _, format := range []string{Chat, Messages} {
		for _, c := range nearly {
			for n := 1; n <= len(c.args); n++ {
				got, bad := readCall(t, format, repairStream(t, format, c.args, n, llm.ToolCalls))
				if string(got.Args) != c.means || got.Provenance.Worst() != c.class || got.Provenance.Source() != llm.NativeSource || (c.means == "") != (bad == llm.BadArguments) {
					t.Errorf("%s, %s, in pieces of %d: %s (%v), reason %q, want %s (%v)", format, c.why, n, got.Args, got.Provenance.Repairs, bad, c.means, c.class)
				}
			}
			if c.class == llm.Intact {
				continue
			}
			if got, bad := readCall(t, format, repairStream(t, format, c.args, 3, llm.Length)); bad != llm.CutOff {
				t.Errorf("%s, %s, out of tokens: %s, reason %q", format, c.why, got.Args, bad)
			}
		}
	}
}

// TestArgumentsThatAreNoObject: in formats that take objects only, arguments that are something else stand in an object, and are the same in a
// stream, however it is cut, as in one piece. What was cut off is not closed.
func TestArgumentsThatAreNoObject(t *testing.T) {
	for _, format := range []string{Messages, Converse, Gemini, Ollama, Chat, Responses} {
		codec, _ := For(format)
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
				enc := codec.NewStream(&b, wireformat.Head{Model: "m"})
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
	codec, _ := For(Messages)
	var b bytes.Buffer
	enc := codec.NewStream(&b, wireformat.Head{Model: "m"})
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

// TestCallsOfInterruptedAnswers: the last call of an answer that its vendor did not complete is cut off, whatever the word for it is: free text
// shows no end, and arguments that can be read may lack their last members. A word that nobody knows says nothing about arguments that are whole.
func TestCallsOfInterruptedAnswers(t *testing.T) {
	const function = `{"id":"c1","type":"function","function":{"name":"remove","arguments":"{\"path\":\"a\"}"}}`
	const empty = `{"id":"c1","type":"function","function":{"name":"remove","arguments":""}}`
	const free = `{"id":"c1","type":"custom","custom":{"name":"patch","input":"*** Delete File: impor"}}`
	for _, test := range []struct {
		word, call string
		whole      bool
	}{
		{"tool_calls", function, true}, {"tool_calls", empty, true}, {"tool_calls", free, true}, {"stop", free, true},
		{"length", function, false}, {"length", free, false},
		{"content_filter", function, false}, {"content_filter", empty, false}, {"content_filter", free, false}, {"sensitive", free, false},
		{"insufficient_system_resource", function, false}, {"error", function, false}, {"abort", empty, false}, {"network_error", free, false}, {"cancelled", free, false},
		{"done", function, true}, {"done", free, false},
	} {
		document := fmt.Sprintf(`{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[%s]},"finish_reason":%q}]}`, test.call, test.word)
		checkCall(t, Chat, document, test.whole)
	}
}

// TestItemsThatAreIncomplete: a call that its vendor calls incomplete is no call, whatever the answer's status is.
func TestItemsThatAreIncomplete(t *testing.T) {
	const function = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"remove","arguments":"{\"path\":\"a\"}","status":%q}`
	const free = `{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"patch","input":"*** Delete File: impor","status":%q}`
	for _, item := range []string{function, free} {
		for _, end := range []string{`"completed"`, `"incomplete","incomplete_details":{"reason":"max_output_tokens"}`, `"incomplete","incomplete_details":{"reason":"content_filter"}`,
			`"incomplete","incomplete_details":{"reason":"power_cut"}`, `"incomplete","incomplete_details":null`} {
			for status, whole := range map[string]bool{"completed": true, "incomplete": false} {
				checkCall(t, Responses, fmt.Sprintf(`{"id":"r1","object":"response","created_at":1,"status":%s,"model":"m","output":[%s]}`, end, fmt.Sprintf(item, status)), whole)
			}
		}
	}
}

func checkCall(t *testing.T, format, document string, whole bool) {
	t.Helper()
	codec, _ := For(format)
	r, err := codec.DecodeResponse([]byte(document))
	if err != nil {
		t.Errorf("%s: %v", document, err)
		return
	}
	cut := len(r.Message.Calls()) == 0 && len(r.Invalid) == 1 && r.Invalid[0].Reason == llm.CutOff
	if whole == cut || whole && len(r.Message.Calls()) != 1 {
		t.Errorf("whole = %t, want %t: %s", !cut, whole, document)
	}
}
