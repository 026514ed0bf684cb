package realmodel

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// open opens the model in a format. The name says nothing: what it is, the
// server has to say.
func open(t *testing.T, url, format string, whole bool) llm.Model {
	t.Helper()
	c := &provider.Client{HTTP: Client, Whole: whole, Vendors: map[string]provider.Vendor{"llamacpp": {Wires: []string{format}}}}
	m, err := c.Open("llamacpp+" + url + "/v1#any")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// request is a question at temperature 0. An answer in text need not be long.
func request(q Question) *llm.Request {
	zero := 0.0
	return &llm.Request{Messages: q.Messages, Tools: q.Tools, Temperature: &zero, MaxTokens: 80}
}

// TestTen is the short form of the figures: a model that was never taught to
// call tools calls the right ones, with arguments that are always valid.
func TestTen(t *testing.T) {
	url := serve(t)
	model := open(t, url, wire.Chat, false)
	right, compared := 0, 0
	for _, q := range Ten() {
		r, err := llm.Generate(context.Background(), model, request(q.Question))
		if err != nil {
			t.Fatalf("%s: %v", q.ID, err)
		}
		calls := r.Message.Calls()
		if !SameNames(calls, q.Want) || !q.Valid(calls) {
			t.Errorf("%s: calls %s, want %v; %v", q.ID, show(calls), q.Want, r.Warnings)
		}
		if len(q.Want) == 0 && strings.TrimSpace(r.Message.Text()) == "" {
			t.Errorf("%s: neither a call nor text", q.ID)
		}
		if q.Args != nil && len(calls) == 1 {
			compared++
			var got map[string]any
			if json.Unmarshal(calls[0].Args, &got) == nil && reflect.DeepEqual(got, q.Args) {
				right++
			} else {
				t.Logf("%s: %s, a person would say %v", q.ID, show(calls), q.Args)
			}
		}
	}
	t.Logf("arguments right in %d of %d calls", right, compared)
	if right*2 < compared {
		t.Errorf("arguments right in %d of %d calls: less than half", right, compared)
	}
}

// TestPromises keeps the promises of a choice in every format, streamed or not.
func TestPromises(t *testing.T) {
	url := serve(t)
	q := Ten()[3] // one short argument
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages} {
		for _, whole := range []bool{false, true} {
			t.Run(format+map[bool]string{false: " streamed", true: " whole"}[whole], func(t *testing.T) {
				model := open(t, url, format, whole)
				req := request(q.Question)
				req.Choice.Mode = llm.MustCall
				r, err := llm.Generate(context.Background(), model, req)
				if err != nil || !SameNames(r.Message.Calls(), q.Want) || !q.Valid(r.Message.Calls()) || r.Finish.Reason != llm.ToolCalls {
					t.Errorf("a demanded call: %s, %v, %v", show(r.Message.Calls()), r.Finish.Reason, err)
				}
				req.Choice, req.MaxTokens = llm.ToolChoice{Mode: llm.MustNotCall}, 5
				r, err = llm.Generate(context.Background(), model, req)
				if err != nil || len(r.Message.Calls())+len(r.Invalid) > 0 || r.Message.Text() == "" {
					t.Errorf("no call allowed: %s, %v", show(r.Message.Calls()), err)
				}
			})
		}
	}
}

// TestCutOff is a call that the limit cuts: it must not be one, whatever the
// server calls such an answer.
func TestCutOff(t *testing.T) {
	url := serve(t)
	for _, format := range []string{wire.Chat, wire.Responses} {
		req := request(Ten()[2].Question)
		req.MaxTokens = 6
		r, err := llm.Generate(context.Background(), open(t, url, format, true), req)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Message.Calls()) > 0 || len(r.Invalid) != 1 || r.Invalid[0].Reason != llm.CutOff || r.Finish.Reason != llm.Length {
			t.Errorf("%s: calls %s, invalid %+v, finish %v", format, show(r.Message.Calls()), r.Invalid, r.Finish.Reason)
		}
	}
}

// TestAnswersAfterResults gives a result back: the model must answer in words
// and not call for ever.
func TestAnswersAfterResults(t *testing.T) {
	url := serve(t)
	model := open(t, url, wire.Chat, false)
	req := request(Question{Messages: []llm.Message{llm.User("What is the weather in Oslo?")}, Tools: Tools()})
	r, err := llm.Generate(context.Background(), model, req)
	if err != nil || len(r.Message.Calls()) != 1 {
		t.Fatalf("calls %s, %v", show(r.Message.Calls()), err)
	}
	call := r.Message.Calls()[0]
	req.Messages = append(req.Messages, r.Message, llm.Results(llm.Result{CallID: call.ID, Name: call.Name, Parts: []llm.Part{llm.Text{Text: "Snow, minus 7 degrees"}}}))
	r, err = llm.Generate(context.Background(), model, req)
	if err != nil || len(r.Message.Calls()) > 0 || !strings.Contains(strings.ToLower(r.Message.Text()), "snow") {
		t.Errorf("calls %s, text %q, %v", show(r.Message.Calls()), r.Message.Text(), err)
	}
	t.Logf("it said %q", r.Message.Text())
}

// TestOutput has the answer held to a schema through the same bounds.
func TestOutput(t *testing.T) {
	url := serve(t)
	req := request(Question{Messages: []llm.Message{llm.User("Extract the person: Anna Berg, 34 years old, lives in Turin and likes chess and hiking.")}})
	req.MaxTokens = 400
	req.Output = &llm.OutputFormat{Name: "person", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":150},"city":{"type":"string"},"hobbies":{"type":"array","items":{"type":"string"}}},"required":["name","age","city","hobbies"],"additionalProperties":false}`)}
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages} {
		r, err := llm.Generate(context.Background(), open(t, url, format, false), req)
		if err != nil { // provider holds the answer to the schema
			t.Errorf("%s: %q, %v", format, r.Message.Text(), err)
		}
		t.Logf("%s: %s", format, r.Message.Text())
	}
}

func show(calls []llm.Call) string {
	var b strings.Builder
	for _, c := range calls {
		b.WriteString(c.Name + string(c.Args) + " ")
	}
	return b.String()
}
