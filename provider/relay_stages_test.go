package provider

import (
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/relay"
)

// The stages return the same events whether they are handed their events or ask for
// them.
func TestStagesHandedOrAsked(t *testing.T) {
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{{Name: "f", Schema: []byte(`{"type":"object"}`)}}}
	forced := *req
	forced.Choice = llm.ToolChoice{Mode: llm.MustCall}
	call := []llm.Event{llm.CallStart{ID: "1", Name: "f"}, llm.CallDelta{ID: "1", Args: `{}`}, llm.Call{ID: "1", Name: "f", Args: []byte(`{}`)}}
	text := func(pieces ...string) (list []llm.Event) {
		for _, p := range pieces {
			list = append(list, llm.TextDelta{Text: p})
		}
		return list
	}
	answers := map[string][]llm.Event{
		"nothing":         {llm.Finish{Reason: llm.Stop}},
		"text":            append(text("Hello", ", ", "you."), llm.Finish{Reason: llm.Stop}),
		"call":            append(slices.Clone(call), llm.Finish{Reason: llm.ToolCalls}),
		"text and call":   append(append(text("Well: "), call...), llm.Finish{Reason: llm.ToolCalls}),
		"call in text":    append(text("<tool_", `call>{"name": "f", "argum`, `ents": {}}</tool_call>`), llm.Finish{Reason: llm.Stop}),
		"half a call":     append(text(`<tool_call>{"name": "f"`), llm.Finish{Reason: llm.Length}),
		"invalid":         {llm.InvalidCall{ID: "1", Name: "f", Raw: "{", Reason: llm.CutOff}, llm.Finish{Reason: llm.Length}},
		"thinking":        {llm.ThinkingDelta{Text: `<tool_call>{"name": "f", "arguments": {}}</tool_call>`}, llm.Finish{Reason: llm.Stop}},
		"no end":          text("Hello"),
		"after the end":   {llm.Finish{Reason: llm.Stop}, llm.TextDelta{Text: "more"}},
		"finish, no call": {llm.TextDelta{Text: "a"}, llm.Finish{Reason: llm.ToolCalls}},
	}
	m, err := (&Client{Route: Native, Vendors: map[string]Vendor{"up": {BaseURL: "http://127.0.0.1:1/v1", Wires: []string{"chat"}}}}).Open("up/m")
	if err != nil {
		t.Fatal(err)
	}
	for name, events := range answers {
		for _, asked := range []*llm.Request{req, &forced} {
			heard := map[bool][]any{}
			for _, asks := range []bool{false, true} {
				j, err := m.(*Model).planned(asked, true)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := j.answer.Pipeline().Push(nil); !ok {
					t.Fatal("the stages of an ordinary request cannot be handed events")
				}
				if asks { // a Reader that changes nothing
					j.answer.Tokens = func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] { return raw }
				}
				l := relay.New(j.answer, j.asked, j.req)
				for _, ev := range events {
					d := l.Decide(l.Show(ev, func(ev llm.Event, err error) bool {
						heard[asks] = append(heard[asks], ev, err)
						return true
					}))
					heard[asks] = append(heard[asks], d)
				}
				l.Stop()
			}
			if !reflect.DeepEqual(heard[false], heard[true]) {
				t.Errorf("%s, %v:\nhanded %v\nasked  %v", name, asked.Choice.Mode, heard[false], heard[true])
			}
		}
	}
}
