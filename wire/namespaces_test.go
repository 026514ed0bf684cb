package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

const spaced = `{"model":"m","input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"c1","name":"plan","namespace":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"ok"}],
"tools":[{"type":"function","name":"plan","parameters":{"type":"object"}},{"type":"namespace","name":"shell","description":"Commands.","tools":[{"type":"function","name":"run","parameters":{"type":"object"}},{"type":"function","name":"plan","parameters":{"type":"object"}}]}],"stream":false}`

// TestNamespaces: tools of a namespace are tools like others, with names of their own; what is
// sent to a client or a vendor of the format names tool and namespace again.
func TestNamespaces(t *testing.T) {
	c := Codec{Format: Responses}
	req, _, err := c.DecodeRequest([]byte(spaced))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range req.Tools {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "plan run shell__plan" {
		t.Errorf("the tools are %s", got)
	}
	if calls := req.Messages[1].Calls(); calls[0].Name != "shell__plan" || calls[0].Extra != nil {
		t.Errorf("%+v", calls)
	}
	body, warnings, err := c.EncodeRequest(req, false)
	if err != nil || len(warnings) > 0 || !bytes.Contains(body, []byte(`"name":"plan","namespace":"shell"`)) ||
		!bytes.Contains(body, []byte(`{"type":"namespace","description":"Commands.","name":"shell","tools":[{"type":"function","name":"run"`)) || bytes.Contains(body, []byte("shell__plan")) {
		t.Errorf("%v %v %s", err, warnings, body)
	}
	if body, _, _ = (Codec{Format: Chat}).EncodeRequest(req, false); !bytes.Contains(body, []byte(`"name":"shell__plan"`)) || bytes.Contains(body, []byte(`"namespace"`)) {
		t.Errorf("in another format: %s", body)
	}

	answer := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Call{ID: "c2", Name: "run", Args: []byte("{}")}, llm.Call{ID: "c3", Name: "shell__plan", Args: []byte("{}")}, llm.Call{ID: "c4", Name: "plan", Args: []byte("{}")}}}, Finish: llm.Finish{Reason: llm.ToolCalls}}
	to := c.Answering(req)
	whole, _, err := to.EncodeResponse(answer)
	if err != nil {
		t.Fatal(err)
	}
	var streamed bytes.Buffer
	enc := to.NewStream(&streamed, Head{ID: "id", Model: "m"})
	for _, ev := range answer.Events() {
		write(t, enc, ev)
	}
	for how, body := range map[string]string{"whole": string(whole), "streamed": streamed.String()} {
		if !strings.Contains(body, `"name":"run","namespace":"shell"`) || !strings.Contains(body, `"name":"plan","namespace":"shell"`) || !strings.Contains(body, `"name":"plan","arguments"`) || strings.Contains(body, "shell__plan") {
			t.Errorf("%s: %s", how, body)
		}
	}
	for how, back := range map[string]*llm.Response{"whole": decoded(t, to, whole), "streamed": build(t, to, streamed.String())} {
		var names []string
		for _, call := range back.Message.Calls() {
			names = append(names, call.Name)
		}
		if got := strings.Join(names, " "); got != "run shell__plan plan" {
			t.Errorf("%s: %s", how, got)
		}
	}
}

func decoded(t *testing.T, c Codec, body []byte) *llm.Response {
	t.Helper()
	r, err := c.DecodeResponse(body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNamespaceOfOthers: a namespace that holds more than tools of the client stays what it is.
func TestNamespaceOfOthers(t *testing.T) {
	req, _, err := Codec{Format: Responses}.DecodeRequest([]byte(`{"model":"m","input":"go","tools":[{"type":"namespace","name":"n","tools":[{"type":"mcp","server_label":"s"}]}]}`))
	if err != nil || len(req.Tools) != 1 || req.Tools[0].Kind != llm.HostedTool {
		t.Fatalf("%v %+v", err, req)
	}
	if _, _, err := (Codec{Format: Chat}).EncodeRequest(req, false); llm.KindOf(err) != llm.Unsupported {
		t.Error(err)
	}
	out, warnings := Codec{Format: Chat}.Portable(req)
	if len(out.Tools) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "ignored namespace: the tool is not offered: ") || len(req.Tools) != 1 {
		t.Errorf("%+v %v", out.Tools, warnings)
	}
}
