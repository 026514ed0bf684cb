package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
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
	enc := to.NewStream(&streamed, format.Head{ID: "id", Model: "m"})
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

// TestNamespaceNamesAreUnique: a name that is made of namespace and tool is not one that a tool of the client has already, and what is kept
// of a conversation is named anew by a request that has other names for the same tools.
func TestNamespaceNamesAreUnique(t *testing.T) {
	const space = `{"type":"namespace","name":"shell","tools":[{"type":"function","name":"plan","parameters":{"type":"object"}}]}`
	const crowded = `{"model":"m","input":"go","tools":[{"type":"function","name":"plan"},{"type":"function","name":"shell__plan"},` + space + `]}`
	c := Codec{Format: Responses}
	req, _, err := c.DecodeRequest([]byte(crowded))
	if err != nil || len(req.Tools) != 3 || req.Tools[2].Name != "shell__plan_" {
		t.Fatalf("%v %+v", err, req)
	}
	said := []llm.Message{llm.Assistant(llm.Call{ID: "c1", Name: "shell__plan_", Args: []byte("{}")}, llm.Call{ID: "c2", Name: "plan", Args: []byte("{}")}), llm.Results(llm.Result{CallID: "c1", Name: "shell__plan_"})}
	kept := c.Answering(req).WithNamespaces(said)
	alone, _, err := c.DecodeRequest([]byte(`{"model":"m","input":"go","tools":[` + space + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, of := range map[string]*llm.Request{"shell__plan_": req, "plan": alone} {
		flat := c.Answering(of).WithoutNamespaces(kept)
		call, _ := flat[0].Parts[0].(llm.Call)
		res, _ := flat[1].Parts[0].(llm.Result)
		if call.Name != want || res.Name != want || call.Extra != nil {
			t.Errorf("%s: %+v %+v", want, call, res)
		}
	}
	if call, _ := said[0].Parts[0].(llm.Call); call.Name != "shell__plan_" || call.Extra != nil {
		t.Errorf("the messages were changed: %+v", call)
	}
}

// TestNamespaceResultsOfOneID: what is kept of a conversation has the name of its own call in each result, where calls of several
// turns or of one turn have the same id, in a namespace or not.
func TestNamespaceResultsOfOneID(t *testing.T) {
	const tools = `{"model":"m","input":"go","tools":[{"type":"function","name":"plan"},` +
		`{"type":"namespace","name":"shell","tools":[{"type":"function","name":"plan","parameters":{"type":"object"}},{"type":"function","name":"run","parameters":{"type":"object"}}]}]}`
	c := Codec{Format: Responses}
	req, _, err := c.DecodeRequest([]byte(tools))
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string) llm.Call {
		return llm.Call{ID: "c1", Name: name, Args: json.RawMessage("{}")}
	}
	result := llm.Result{CallID: "c1"}
	for name, test := range map[string]struct {
		Format []llm.Message
		want   []string
	}{
		"two turns":         {[]llm.Message{llm.Assistant(call("shell__plan")), llm.Results(result), llm.Assistant(call("run")), llm.Results(result)}, []string{"shell__plan", "run"}},
		"one turn":          {[]llm.Message{llm.Assistant(call("shell__plan"), call("run")), llm.Results(result, result)}, []string{"shell__plan", "run"}},
		"one of a client's": {[]llm.Message{llm.Assistant(call("shell__plan")), llm.Results(result), llm.Assistant(call("plan")), llm.Results(llm.Result{CallID: "c1", Name: "plan"})}, []string{"shell__plan", "plan"}},
		"a client's first":  {[]llm.Message{llm.Assistant(call("plan"), call("run")), llm.Results(llm.Result{CallID: "c1", Name: "plan"}, result)}, []string{"plan", "run"}},
		"a second result":   {[]llm.Message{llm.Assistant(call("shell__plan")), llm.Results(result, result)}, []string{"shell__plan", "shell__plan"}},
	} {
		codec := c.Answering(req)
		var got []string
		for _, m := range codec.WithoutNamespaces(codec.WithNamespaces(test.Format)) {
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok {
					got = append(got, r.Name)
				}
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: the results are of %v, not %v", name, got, test.want)
		}
	}
}
