package emulate_test

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// ranBefore is a conversation in which a vendor has run a search, beside a call of the program's own.
func ranBefore(tools ...llm.ToolDef) *llm.Request {
	return &llm.Request{Tools: tools, Messages: []llm.Message{
		llm.User("Who won?"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Text{Text: "I look it up."},
			llm.Call{ID: "h1", Name: llm.WebSearch, Args: []byte(`{"query":"who won"}`), Hosted: true},
			llm.Result{CallID: "h1", Name: llm.WebSearch, Hosted: true, Parts: []llm.Part{llm.Text{Text: "found"}}},
			llm.Call{ID: "c1", Name: "note", Args: []byte(`{"text":"blue"}`)},
		}},
		{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c1", Name: "note", Parts: []llm.Part{llm.Text{Text: "noted"}}}}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "h2", Name: llm.WebSearch, Args: []byte(`{}`), Hosted: true}, llm.Result{CallID: "h2", Name: llm.WebSearch, Hosted: true}}},
		llm.User("And then?"),
	}}
}

// Calls that a vendor ran are left out of what a model is asked that is taught its tools, and a warning says so; a plan made
// for them was an error.
func TestHostedCallsOfTheHistoryAreLeftOut(t *testing.T) {
	note := llm.ToolDef{Name: "note", Description: "Notes a text.", Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
	for name, e := range map[string]emulate.Emulation{"plain": {}, "hermes": {Family: "qwen"}, "apart": {Apart: true}, "xml": {Style: "xml"}} {
		for _, tools := range [][]llm.ToolDef{nil, {note}} {
			t.Run(fmt.Sprintf("%s with %d tools", name, len(tools)), func(t *testing.T) {
				req := ranBefore(tools...)
				plan, err := e.Plan(req)
				if err != nil {
					t.Fatal(err)
				}
				checkLeftOut(t, plan.Request, plan.Warnings)
				if !reflect.DeepEqual(req, ranBefore(tools...)) {
					t.Error("the request was changed")
				}
				var asked *llm.Request
				inner := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
					asked = req
					return func(yield func(llm.Event, error) bool) {
						_ = yield(llm.TextDelta{Text: "Red."}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
					}
				})
				resp, err := llm.Generate(t.Context(), e.Around(inner), ranBefore(tools...))
				if err != nil || resp.Message.Text() != "Red." {
					t.Fatal(resp, err)
				}
				checkLeftOut(t, asked, resp.Warnings)
			})
		}
	}
}

// checkLeftOut checks what a model is asked of ranBefore.
func checkLeftOut(t *testing.T, asked *llm.Request, warnings []llm.Warning) {
	t.Helper()
	said := fmt.Sprintf("%+v", asked.Messages)
	for _, want := range []string{"I look it up.", "blue", "noted", "And then?"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	if strings.Contains(said, "who won") || strings.Contains(said, "found") {
		t.Errorf("what a vendor ran is in %s", said)
	}
	n := 0
	for _, w := range warnings {
		if strings.Contains(w.Detail, "4 calls and results of tools that a vendor ran are left out") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it is said %d times in %+v", n, warnings)
	}
}
