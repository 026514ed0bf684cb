package provider

import (
	"reflect"
	"slices"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// Text of an answer without tools needs no readers. What they are for is judged all the same.
func TestTextPassesWithoutReaders(t *testing.T) {
	asked := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
	l := newLockstep(&job{req: asked, asked: asked})
	defer l.stop()
	var heard int
	hear := func(llm.Event, error) bool { heard++; return true }
	for _, ev := range []llm.Event{llm.Start{}, llm.TextDelta{Text: "a"}, llm.KeepAlive{}, llm.TextDelta{Text: "<tool_call>"}} {
		l.verdict(l.show(ev, hear))
	}
	if l.begun || heard != 4 {
		t.Errorf("readers were started for text, or %d of 4 events were heard", heard)
	}
	l.verdict(l.show(llm.InvalidCall{ID: "1", Name: "f", Reason: llm.CutOff}, hear))
	if !l.begun {
		t.Error("a call was not shown to the readers")
	}
	if l.broken(llm.Finish{Reason: llm.Stop}) == nil {
		t.Error("an answer with half a call passes as whole")
	}
	tools := &llm.Request{Tools: []llm.ToolDef{{Name: "f"}}}
	if (&job{req: tools, asked: tools}).textPasses() {
		t.Error("text of an answer with tools is not read")
	}
}

// Readers say the same whether they are handed their events or ask for them.
func TestReadersHandedOrAsked(t *testing.T) {
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
				if j.asks {
					t.Fatal("the readers of an ordinary request cannot be handed events")
				}
				j.asks = asks
				l := newLockstep(j)
				for _, ev := range events {
					d := l.verdict(l.show(ev, func(ev llm.Event, err error) bool {
						heard[asks] = append(heard[asks], ev, err)
						return true
					}))
					heard[asks] = append(heard[asks], d)
				}
				l.stop()
			}
			if !reflect.DeepEqual(heard[false], heard[true]) {
				t.Errorf("%s, %v:\nhanded %v\nasked  %v", name, asked.Choice.Mode, heard[false], heard[true])
			}
		}
	}
}
