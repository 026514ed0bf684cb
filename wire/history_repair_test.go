package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
)

// sentOn translates a request as providers do, which heal its history first.
func sentOn(t *testing.T, from, to, body string) (string, []llm.Warning) {
	t.Helper()
	req, stream, err := Codec{Format: from}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	healed, changed := history.Repair(req.Messages, to)
	req.Messages = healed
	out, warnings, err := Codec{Format: to}.EncodeRequest(req, stream)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), append(changed, warnings...)
}

func lostNames(warnings []llm.Warning) []string {
	var list []string
	for _, w := range warnings {
		list = append(list, w.Feature)
	}
	return list
}

// unknownInHistory are requests with a member zq_x that no format knows, in a message or an item of their history.
var unknownInHistory = []struct{ name, Format, body string }{
	{"results", Messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},
		{"role":"user","zq_x":1,"content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]}]}`},
	{"results before a message", Messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},
		{"role":"user","zq_x":1,"content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]},{"role":"user","content":"b"}]}`},
	{"results", Converse, `{"modelId":"m","messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},
		{"role":"user","zq_x":1,"content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"r"}]}}]}]}`},
	{"results", Gemini, `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},
		{"role":"user","zq_x":1,"parts":[{"functionResponse":{"name":"f","response":{"output":"r"}}}]}]}`},
	{"call", Responses, `{"model":"m","input":[{"role":"user","content":"a"},{"type":"function_call","id":"fc_1","status":"completed","zq_x":1,"call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"r"}]}`},
	{"text", Responses, `{"model":"m","input":[{"role":"user","content":"a"},{"type":"message","id":"msg_1","status":"completed","zq_x":1,"role":"assistant","content":[{"type":"output_text","text":"b"}]},{"role":"user","content":"c"}]}`},
	{"reasoning", Responses, `{"model":"m","input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","zq_x":1,"summary":[{"type":"summary_text","text":"t"}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`},
	{"an answer to no call", Messages, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"user","zq_x":1,"content":[{"type":"tool_result","tool_use_id":"c9","content":"r"}]}]}`},
}

// What a message or an item of the history says that nobody knows goes back to the same format, and others warn about it. What
// is no signature is not called one.
func TestRepairKeepsUnknownFields(t *testing.T) {
	for _, tt := range unknownInHistory {
		for _, to := range Formats() {
			out, warnings := sentOn(t, tt.Format, to, tt.body)
			sent, named := strings.Contains(out, `"zq_x":1`), slices.Contains(lostNames(warnings), "zq_x")
			orphan := strings.HasPrefix(tt.name, "an answer")
			if sent == named || sent != (tt.Format == to && !orphan) {
				t.Errorf("%s of %s → %s: sent %t, named %t: %s, %v", tt.name, tt.Format, to, sent, named, out, warnings)
			}
			if !orphan && slices.Contains(lostNames(warnings), "history") {
				t.Errorf("%s of %s → %s: %v", tt.name, tt.Format, to, warnings)
			}
			_, warnings = sentOn(t, tt.Format, to, strings.Replace(tt.body, `"zq_x":1,`, "", 1))
			if slices.Contains(lostNames(warnings), "zq_x") {
				t.Errorf("%s of %s → %s without it: %v", tt.name, tt.Format, to, warnings)
			}
		}
	}
}

// Messages that are joined keep what both say, and warn if that differs.
func TestMergedMessagesKeepUnknownFields(t *testing.T) {
	const body = `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}},{"type":"tool_use","id":"c2","name":"f","input":{}}]},
		{"role":"user","zq_x":1,"zq_y":1,"content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]},{"role":"user","zq_y":2,"zq_z":1,"content":[{"type":"tool_result","tool_use_id":"c2","content":"r"}]},
		{"role":"user","zq_u":1,"content":"b"}]}`
	out, warnings := sentOn(t, Messages, Messages, body)
	if !strings.Contains(out, `"zq_u":1,"zq_x":1,"zq_y":1,"zq_z":1}`) || !slices.Equal(lostNames(warnings), []string{"zq_y"}) {
		t.Errorf("%s, %v", out, warnings)
	}
}
