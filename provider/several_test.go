package provider

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/relay"
	"github.com/toolpost/toolpost/wire"
)

// severalOf are the answers of scripts, an event of each in turn; the first ends last.
func severalOf(t *testing.T, scripts ...string) iter.Seq2[llm.Event, error] {
	var lists [][]llm.Event
	for i, src := range scripts {
		var list []llm.Event
		for ev := range script(t, src) {
			if i > 0 {
				ev = llm.Alternative{Index: i, Event: ev}
			}
			list = append(list, ev)
		}
		lists = append(lists, list)
	}
	return func(yield func(llm.Event, error) bool) {
		last := lists[0][len(lists[0])-1]
		lists[0] = lists[0][:len(lists[0])-1]
		for more := true; more; {
			more = false
			for i := range lists {
				if len(lists[i]) == 0 {
					continue
				}
				more = true
				if !yield(lists[i][0], nil) {
					return
				}
				lists[i] = lists[i][1:]
			}
		}
		yield(last, nil)
	}
}

// transcripts writes what came of each answer; an error is that of all.
func transcripts(events iter.Seq2[llm.Event, error]) (each map[int]string, failed error) {
	lists, pieces := map[int][]llm.Event{}, map[int]string{}
	for ev, err := range events {
		if err != nil {
			failed = err
			break
		}
		index, ev := relay.AnswerOf(ev)
		if d, ok := ev.(llm.CallDelta); ok {
			pieces[index] += d.Args
		}
		if c, ok := ev.(llm.Call); ok && pieces[index] != string(c.Args) {
			failed = fmt.Errorf("answer %d: the pieces %s are not the call %s", index, pieces[index], c.Args)
		}
		lists[index] = append(lists[index], ev)
	}
	each = map[int]string{}
	for i, list := range lists {
		each[i] = transcript(func(yield func(llm.Event, error) bool) {
			for _, ev := range list {
				if !yield(ev, nil) {
					return
				}
			}
		})
	}
	return each, failed
}

// What the readers mend in an answer, they mend in each of several: nulls that stand for what was left out, arguments and
// answers in an object of ours.
func TestEveryAnswerIsMended(t *testing.T) {
	list := []byte(`{"type":"array","items":{"type":"integer"}}`)
	cases := map[string]struct {
		req        llm.Request
		sent, want string
	}{
		"nulls of arguments": {llm.Request{Tools: []llm.ToolDef{{Name: "f", Schema: nullSchema}}},
			`call f {"a":"x","b":null,"maybe":null,"in":null,"list":null}` + "\nfinish tool_calls\n", `call f {"a":"x","maybe":null}` + "\nfinish tool_calls\n"},
		"wrapped arguments": {llm.Request{Tools: []llm.ToolDef{{Name: "f", Schema: list}}},
			`call f {"value":[1,2]}` + "\nfinish tool_calls\n", "call f [1,2]\nfinish tool_calls\n"},
		"nulls of the answer": {llm.Request{Output: &llm.OutputFormat{Schema: nullSchema}},
			`text {"a":"x","b":null}` + "\nfinish stop\n", "text {\"a\":\"x\"}\nfinish stop\n"},
		"a wrapped answer": {llm.Request{Output: &llm.OutputFormat{Schema: list}},
			`text {"value":[1,2]}` + "\nfinish stop\n", "text [1,2]\nfinish stop\n"},
	}
	for name, c := range cases {
		m := capable(t, "openai", wire.Chat)
		c.req.Messages, c.req.N = hello, 3
		j, err := m.plan(&c.req)
		if err != nil {
			t.Fatal(err)
		}
		got, failed := transcripts(j.answer.Pipeline().Read(severalOf(t, c.sent, c.sent, c.sent)))
		for i := range 3 {
			if got[i] != c.want || failed != nil {
				t.Errorf("%s: answer %d is\n%s%v, want\n%s", name, i, got[i], failed, c.want)
			}
		}
	}
}

// Each of several answers is held to what was asked for.
func TestEveryAnswerKeepsItsPromise(t *testing.T) {
	tools := []llm.ToolDef{{Name: "f", Schema: []byte(`{"type":"object"}`)}, {Name: "g", Schema: []byte(`{"type":"object"}`)}}
	const called, said, other = "call f {}\nfinish tool_calls\n", "text Well.\nfinish stop\n", "call g {}\nfinish tool_calls\n"
	cases := map[string]struct {
		req    llm.Request
		sent   string
		want   string // of the second answer
		broken string // the error says it
	}{
		"called":     {llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.MustCall}}, called, called, ""},
		"not called": {llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.MustCall}}, said, "text Well.\n", "answer 2: the model was to call a tool"},
		"another":    {llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "f"}}, other, "invalid g not_allowed\n", "answer 2: the model called g"},
		"two calls":  {llm.Request{Tools: tools, OneCall: true}, "call f {}\ncall g {}\nfinish tool_calls\n", "call f {}\ninvalid g not_allowed\nfinish tool_calls\n", ""},
		"bad output": {llm.Request{Output: number}, "text {}\nfinish stop\n", "text {}\n", "answer 2: the answer does not match"},
	}
	for name, c := range cases {
		m := capable(t, "openai", wire.Chat)
		c.req.Messages, c.req.N = hello, 2
		j, err := m.plan(&c.req)
		if err != nil {
			t.Fatal(err)
		}
		first := called
		if c.req.Output != nil {
			first = "text {\"n\":1}\nfinish stop\n"
		}
		got, failed := transcripts(j.answer.Pipeline().Read(severalOf(t, first, c.sent)))
		if got[1] != c.want {
			t.Errorf("%s: the second answer is\n%swant\n%s", name, got[1], c.want)
		}
		switch {
		case c.broken == "" && (failed != nil || got[0] != first):
			t.Errorf("%s: %v, the first answer is\n%s", name, failed, got[0])
		case c.broken != "" && (llm.KindOf(failed) != llm.BrokenPromise || !strings.Contains(failed.Error(), c.broken)):
			t.Errorf("%s: %v, want %s", name, failed, c.broken)
		}
	}
}

// Whoever stops to listen in the middle of several answers hears nothing more, and an error is said once, behind what was
// held back.
func TestEveryAnswerStops(t *testing.T) {
	m := capable(t, "openai", wire.Chat)
	j, err := m.plan(&llm.Request{Messages: hello, N: 2, Output: &llm.OutputFormat{Schema: nullSchema}})
	if err != nil {
		t.Fatal(err)
	}
	const sent = "text {\"a\":\"x\",\"b\":null}\nfinish stop\n"
	for n := range 5 {
		heard := 0
		for range j.answer.Pipeline().Read(severalOf(t, sent, sent)) {
			if heard++; heard > n {
				break
			}
		}
	}
	lost := &llm.Error{Op: "test", Kind: llm.Network}
	errs, text := 0, ""
	for ev, err := range j.answer.Pipeline().Read(func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Alternative{Index: 1, Event: llm.TextDelta{Text: `{"a":"x","b"`}}, nil) && yield(nil, lost)
	}) {
		if err != nil {
			errs++
			continue
		}
		if _, ev := relay.AnswerOf(ev); errs == 0 {
			text += ev.(llm.TextDelta).Text
		}
	}
	if errs != 1 || text != `{"a":"x","b"` {
		t.Errorf("%d errors behind %q", errs, text)
	}
}
