package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/llm"
)

// TestEnvelopeGrammar: each text means calls, text, or itself.
func TestEnvelopeGrammar(t *testing.T) {
	for _, c := range []struct{ name, text, means string }{
		{"canonical", `{"type":"tool-calls","calls":[{"toolName":"bash","input":{"c":"ls"}}]}`, `bash {"c":"ls"}`},
		{"two", `{"type":"tool-calls","calls":[{"toolName":"bash","input":{}},{"toolName":"weather","input":{"x":1}}]}`, `bash {} weather {"x":1}`},
		{"no calls", `{"type":"tool-calls","calls":[]}`, "itself"},
		{"text", `{"type":"text","text":"안녕하세요"}`, "text 안녕하세요"},
		{"empty text", `{"type":"text","text":""}`, "itself"},
		{"7.3 legacy with parameters", `{"tool":"bash","parameters":{"c":"ls"}}`, `bash {"c":"ls"}`},
		{"legacy with arguments", `{"toolName":"bash","arguments":{"c":"ls"}}`, `bash {"c":"ls"}`},
		{"the first name wins", `{"tool":"bash","toolName":"weather","input":{"n":1}}`, `bash {"n":1}`},
		{"several inputs: nobody knows which is meant", `{"tool":"bash","arguments":{"n":3},"parameters":{"n":2},"input":{"n":1}}`, "itself"},
		{"no input: a tool that needs none, called in doubt", `{"tool":"bash"}`, `bash {}`},
		{"legacy list", `{"tool_calls":[{"tool":"bash","input":{}},{"nonsense":1},{"tool":"weather","input":{}}]}`, `bash {} weather {}`},
		{"legacy list with nothing left", `{"tool_calls":[{"nonsense":1}]}`, "itself"},
		{"a fence", "```json\n{\"tool\":\"bash\",\"input\":{}}\n```", `bash {}`},
		{"a fence on one line", "```{\"tool\":\"bash\",\"input\":{}}```", `bash {}`},
		{"not the whole text", `{"tool":"bash","input":{}} and more`, "itself"},
		{"text before it", `Sure: {"tool":"bash","input":{}}`, "itself"},
		{"not offered", `{"tool":"Bob","input":{}}`, "itself"},
		{"not JSON", `{"tool":"bash","input":{`, "itself"},
		{"an array", `[{"tool":"bash","input":{}}]`, "itself"},
		{"name is no string", `{"tool":7,"input":{}}`, "itself"},
	} {
		for chunk := range 4 {
			m := says(c.text)
			m.chunk = chunk
			l := run(t, modes(m, "bash", "weather")["caller"], "go")
			var got []string
			for _, call := range l.done.Calls {
				got = append(got, call.Name, string(call.Args))
			}
			means := strings.Join(got, " ")
			switch {
			case means == "" && l.done.Text == c.text:
				means = "itself"
			case means == "":
				means = "text " + l.done.Text
			}
			if means != c.means || l.err != nil {
				t.Errorf("%s, in pieces of %d: means %s, want %s, error %v", c.name, chunk, means, c.means, l.err)
			}
		}
	}
}

// TestRecoveryPrecedence: what counts when several things came, or
// not everything did.
func TestRecoveryPrecedence(t *testing.T) {
	text := func(s string) llm.Part { return llm.Text{Text: s} }
	env := `{"tool":"bash","input":{"from":"envelope"}}`
	for _, c := range []struct {
		name        string
		says        line
		calls, text string
		reason      llm.Reason
		raw         string
		code        string // of the error
	}{
		{"2 before 5: calls before an envelope", line{parts: []llm.Part{text(env), call("1", "bash", `{"from":"stream"}`)}}, `{"from":"stream"}`, env, llm.ToolCalls, "", ""},
		{"5: the text is an envelope of calls", line{parts: []llm.Part{text(env)}}, `{"from":"envelope"}`, "", llm.ToolCalls, "", ""},
		{"5: the text is an envelope of text", line{parts: []llm.Part{text(`{"type":"text","text":"hi"}`)}}, "", "hi", llm.Stop, "", ""},
		{"6: text", line{parts: []llm.Part{text("hi")}}, "", "hi", llm.Stop, "", ""},
		{"8: nothing", line{parts: []llm.Part{text("  ")}}, "", "Tool routing produced no tool call or text response.", agent.Failed, "empty-tool-routing-output", "empty-tool-routing-output"},
		{"7.3 error_max_turns after a call", line{parts: []llm.Part{call("toolu_stream_1", "bash", `{}`)}, err: failed(llm.Unknown, "error_max_turns")}, `{}`, "", llm.ToolCalls, "tool_use", ""},
		{"7.3 no result after a call", line{parts: []llm.Part{call("toolu_stream_1", "bash", `{}`)}, finish: llm.Finish{Raw: "none"}}, `{}`, "", llm.ToolCalls, "tool_use", ""},
		{"an envelope before an error", line{parts: []llm.Part{text(env)}, err: failed(llm.Incomplete, "")}, `{"from":"envelope"}`, "", llm.ToolCalls, "tool_use", ""},
		{"structured retries, text", line{parts: []llm.Part{text("hi")}, err: failed(llm.Unknown, "error_max_structured_output_retries")}, "", "hi", llm.Stop, "error_max_structured_output_retries_recovered", ""},
		{"structured retries, nothing", line{err: failed(llm.Unknown, "error_max_structured_output_retries")}, "", "", agent.Failed, "error_max_structured_output_retries", "error_max_structured_output_retries"},
		{"another error keeps its word", line{parts: []llm.Part{text("half")}, err: failed(llm.Unknown, "error_during_execution")}, "", "half", agent.Failed, "error_during_execution", "error_during_execution"},
		{"an exception", line{parts: []llm.Part{text("half")}, err: errors.New("boom")}, "", "half", agent.Failed, "stream-bridge-error", ""},
		{"no result at all", line{finish: llm.Finish{Raw: "none"}}, "", "", agent.Failed, "agent-sdk-no-result", "agent-sdk-no-result"},
		{"length stays length", line{parts: []llm.Part{text("half")}, finish: llm.Finish{Reason: llm.Length, Raw: "max_tokens"}}, "", "half", llm.Length, "max_tokens", ""},
		{"an unclosed call is no call", line{invalid: []llm.InvalidCall{{ID: "1", Name: "bash", Raw: `{"c":"l`, Reason: llm.CutOff, Problem: "cut off"}}, finish: llm.Finish{Reason: llm.Length}}, "", "", llm.Length, "", ""},
	} {
		for _, mode := range []string{"whole", "streamed"} {
			m := says(c.says)
			if mode == "streamed" {
				m.chunk = 2
			}
			l := run(t, modes(m, "bash")["caller"], "go")
			calls := ""
			for _, call := range l.done.Calls {
				calls += string(call.Args)
			}
			f := l.done.Finish
			if calls != c.calls || l.done.Text != c.text || f.Reason != c.reason || f.Raw != c.raw {
				t.Errorf("%s, %s: calls %q, text %q, finish %s %q", c.name, mode, calls, l.done.Text, f.Reason, f.Raw)
			}
			var e *llm.Error
			if errors.As(l.err, &e); (l.err != nil) != (c.reason == agent.Failed) || c.code != "" && e.Code != c.code {
				t.Errorf("%s, %s: error %v", c.name, mode, l.err)
			}
		}
	}
}

func TestEnvelopeVectors(t *testing.T) {
	a := modes(says(`{"type":"tool-calls","calls":[{"toolName":"bash","input":{}}]}`), "bash")["caller"]
	a.NewID = func() string { return "fixed-tool-call-id" }
	if l := run(t, a, "go"); len(l.done.Calls) != 1 || l.done.Calls[0].ID != "fixed-tool-call-id" {
		t.Errorf("got %+v", l.done.Calls)
	}
	a = modes(says(line{parts: []llm.Part{call("toolu_stream_1", "bash", `{}`)}, finish: llm.Finish{Raw: "none"}}), "bash")["caller"]
	if l := run(t, a, "go"); l.err != nil || l.done.Calls[0].ID != "toolu_stream_1" {
		t.Errorf("got %+v, error %v", l.done.Calls, l.err)
	}
}
