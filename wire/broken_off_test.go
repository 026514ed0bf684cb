package wire_test

import (
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

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
		checkCall(t, wire.Chat, document, test.whole)
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
				checkCall(t, wire.Responses, fmt.Sprintf(`{"id":"r1","object":"response","created_at":1,"status":%s,"model":"m","output":[%s]}`, end, fmt.Sprintf(item, status)), whole)
			}
		}
	}
}

func checkCall(t *testing.T, format, document string, whole bool) {
	t.Helper()
	codec, _ := wire.For(format)
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
