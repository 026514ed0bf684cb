package refine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/wire"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// tape is a model that plays one list of events per question. An error ends it.
type tape struct {
	takes [][]any
	asked []*llm.Request
}

func (m *tape) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	take := m.takes[min(len(m.asked), len(m.takes)-1)]
	m.asked = append(m.asked, req.Clone())
	return func(yield func(llm.Event, error) bool) {
		for _, x := range take {
			ev, _ := x.(llm.Event)
			err, _ := x.(error)
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// heard writes a stream in one line.
func heard(events iter.Seq2[llm.Event, error]) string {
	var b strings.Builder
	for ev, err := range events {
		if b.Len() > 0 {
			b.WriteString(" ")
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			b.WriteString(ev.Text)
		case llm.Start:
			b.WriteString("<" + ev.ID)
		case llm.Finish:
			fmt.Fprintf(&b, "%s/%d>", ev.Reason, ev.Usage.Output)
		case refine.AnswerRetry:
			fmt.Fprintf(&b, "(%s %d/%d)", ev.Cause, ev.Attempt, ev.Max)
		case refine.Recovery:
			fmt.Fprintf(&b, "(%s %d/%d +%d)", ev.Cause, ev.Attempt, ev.Max, len(ev.Added))
		case nil:
			b.WriteString("!" + llm.KindOf(err).String())
		default:
			b.WriteString(ev.EventType())
		}
	}
	return b.String()
}

var (
	lost    = broken(llm.Incomplete)
	promise = broken(llm.BrokenPromise)
	stop    = llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Output: 1}}
	good    = []any{llm.Start{ID: "b"}, text("fine"), stop}
)

func text(s string) llm.TextDelta { return llm.TextDelta{Text: s} }

// TestAgain: what is asked again, when, and what the caller hears of it.
func TestAgain(t *testing.T) {
	whole := call("f", `{}`)
	must := llm.ToolChoice{Mode: llm.MustCall}
	for _, c := range []struct {
		why      string
		first    []any
		choice   llm.ToolChoice
		plain    string // without Retract
		retracts string // with it
	}{
		{"nothing is wrong", good, llm.ToolChoice{}, "<b fine stop/1>", "<b fine stop/1>"},
		{"lost before anything came", []any{llm.Start{ID: "a"}, llm.Warning{}, llm.KeepAlive{}, lost}, llm.ToolChoice{},
			"warning keep_alive (incomplete 1/3) <b fine stop/1>", "warning keep_alive (incomplete 1/3) <b fine stop/1>"},
		{"lost in the middle", []any{llm.Start{ID: "a"}, text("ha"), text("lf"), lost}, llm.ToolChoice{},
			"<a ha lf !incomplete", "<a ha lf retract (incomplete 1/3) <b fine stop/1>"},
		{"thinking can be seen", []any{llm.ThinkingDelta{Text: "hm"}, lost}, llm.ToolChoice{},
			"thinking_delta !incomplete", "thinking_delta retract (incomplete 1/3) <b fine stop/1>"},
		{"a call that is not complete", []any{llm.CallStart{ID: "1", Name: "f"}, lost}, llm.ToolChoice{},
			"call_start !incomplete", "call_start retract (incomplete 1/3) <b fine stop/1>"},
		{"a complete call may have been run", []any{llm.CallStart{ID: "1", Name: "f"}, whole, lost}, llm.ToolChoice{},
			"call_start call !incomplete", "call_start call !incomplete"},
		{"empty", []any{llm.Start{ID: "a"}, stop}, llm.ToolChoice{},
			"(empty 1/2 +1) <b fine stop/2>", "(empty 1/2 +1) <b fine stop/2>"},
		{"blank", []any{text(" \n"), stop}, llm.ToolChoice{},
			" \n stop/1>", " \n retract (empty 1/2 +1) <b fine stop/2>"},
		{"out of tokens is not empty", []any{llm.Finish{Reason: llm.Length}}, llm.ToolChoice{}, "length/0>", "length/0>"},
		{"filtered is not empty", []any{llm.Finish{Reason: llm.ContentFilter}}, llm.ToolChoice{}, "content_filter/0>", "content_filter/0>"},
		{"a broken promise", []any{text("no"), promise}, llm.ToolChoice{},
			"no !broken_promise", "no retract (broken_promise 1/3) <b fine stop/1>"},
		{"a missing call is asked for once", []any{text("no"), stop}, must,
			"no stop/1>", "no retract (refusal 1/1 +2) <b fine stop/2>"},
		{"a missing call that the provider noticed", []any{promise}, must,
			"(refusal 1/1 +1) <b fine stop/1>", "(refusal 1/1 +1) <b fine stop/1>"},
		{"errors for others", []any{broken(llm.Overloaded)}, llm.ToolChoice{}, "!overloaded", "!overloaded"},
	} {
		for _, retract := range []bool{false, true} {
			want := map[bool]string{false: c.plain, true: c.retracts}[retract]
			req := ask()
			req.Choice = c.choice
			m := &refine.Retrier{Model: &tape{takes: [][]any{c.first, good}}, Retract: retract}
			if got := heard(m.Stream(t.Context(), req)); got != want {
				t.Errorf("%s, retract %v:\n got %s\nwant %s", c.why, retract, got, want)
			}
		}
	}
}

// Whatever comes, an event has been passed on before the next one is asked for:
// nothing is held back but the beginning and the end.
func TestAgainStreams(t *testing.T) {
	given := 0
	m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for given = 1; given <= 100; given++ {
				if !yield(text("x"), nil) {
					return
				}
			}
			yield(stop, nil)
		}
	})
	heard := 0
	for ev := range refine.Retry(m, 3).Stream(t.Context(), ask()) {
		if _, ok := ev.(llm.TextDelta); ok {
			if heard++; heard != given {
				t.Fatalf("event %d came after %d were given", heard, given)
			}
		}
	}
	if heard != 100 {
		t.Errorf("heard %d", heard)
	}
}

// However late an answer breaks off, what a caller has at the end is one whole
// answer and nothing of the broken one, or an error.
func TestAgainLeavesNoTrace(t *testing.T) {
	whole := []any{llm.Start{ID: "a"}, llm.ThinkingDelta{Text: "t"}, text("one"), llm.PartEnd{}, text("two"), llm.CallStart{ID: "1", Name: "f"},
		llm.CallDelta{ID: "1", Args: "{}"}, call("f", "{}"), llm.Finish{Reason: llm.ToolCalls}}
	for cut := range whole {
		for _, retract := range []bool{false, true} {
			first := append(append([]any{}, whole[:cut]...), lost)
			m := &refine.Retrier{Model: &tape{takes: [][]any{first, good}}, Retract: retract}
			resp, err := llm.Generate(t.Context(), m, ask())
			switch {
			case err == nil && resp.Message.Text() != "fine":
				t.Errorf("cut at %d, retract %v: %q", cut, retract, resp.Message.Text())
			case err == nil && (len(resp.Message.Parts) != 1 || resp.Start.ID != "b"):
				t.Errorf("cut at %d, retract %v: something is left: %+v", cut, retract, resp)
			case retract && cut < 8 && err != nil:
				t.Errorf("cut at %d: %v", cut, err)
			case !retract && cut < 2 && err != nil:
				t.Errorf("cut at %d, before anything was seen: %v", cut, err)
			case !retract && cut >= 2 && err == nil:
				t.Errorf("cut at %d: asked again after something was seen", cut)
			}
		}
	}
}

// A caller that stops listening is not asked anything more.
func TestAgainStops(t *testing.T) {
	for n := range 5 {
		m := &tape{takes: [][]any{{text("a"), lost}, good}}
		left := n
		for range (&refine.Retrier{Model: m, Retract: true}).Stream(t.Context(), ask()) {
			if left--; left < 0 {
				break
			}
		}
		if n < 3 && len(m.asked) != 1 {
			t.Errorf("stopped after %d events, and asked %d times", n+1, len(m.asked))
		}
	}
}

// What a model is told, and what the caller may keep of it.
func TestAgainTells(t *testing.T) {
	m := &tape{takes: [][]any{{llm.ThinkingDelta{Text: "t"}, text("I will not."), stop}, good}}
	req := ask()
	req.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "f"}
	var added []llm.Message
	for ev := range (&refine.Retrier{Model: m, Retract: true}).Stream(t.Context(), req) {
		if r, ok := ev.(refine.Recovery); ok {
			added = r.Added
		}
	}
	if len(added) != 2 || added[0].Text() != "I will not." || added[1].Text() != "You did not call f, and this task cannot be done without. Call f now; write nothing else." {
		t.Fatalf("added %v", added)
	}
	if got := m.asked[1].Messages; len(got) != 3 || got[2].Text() != added[1].Text() || len(req.Messages) != 1 {
		t.Errorf("asked %v", got)
	}
}

// A reason of one's own stands beside the others, and no reason is asked for
// more often than the budget allows.
func TestAgainReasons(t *testing.T) {
	rude := refine.RetryReason{Find: func(_ *llm.Request, said *llm.Response, err error) (refine.Defect, bool) {
		return refine.Defect{Cause: "rude", Problem: "it was rude", Tell: "Be kind.", Keep: true}, err == nil && said.Message.Text() == "no"
	}}
	m := &tape{takes: [][]any{{text("no"), stop}}}
	a := &refine.Retrier{Model: m, Retract: true, Reasons: append(refine.Reasons(), rude), Attempts: 10}
	req := ask()
	req.RetryBudget = llm.NewRetryBudget(2)
	if got := heard(a.Stream(t.Context(), req)); got != "no retract (rude 1/2 +2) no retract (rude 2/2 +2) no stop/3>" {
		t.Errorf("got %s", got)
	}
	m.asked = nil
	a.Reasons[len(a.Reasons)-1].Once = true
	req.RetryBudget = llm.NewRetryBudget(9)
	if got := heard(a.Stream(t.Context(), req)); got != "no retract (rude 1/1 +2) no stop/2>" {
		t.Errorf("once: got %s", got)
	}
}

// A codec cannot take back what it wrote: the stream ends with an error, in
// every format.
func TestCodecsCannotRetract(t *testing.T) {
	for _, format := range wire.Formats() {
		codec, _ := wire.For(format)
		var out strings.Builder
		s := codec.NewStream(&out, wireformat.Head{ID: "x", Model: "m"})
		m := &refine.Retrier{Model: &tape{takes: [][]any{{text("half"), lost}, good}}, Retract: true}
		var failed error
		for ev, err := range m.Stream(t.Context(), ask()) {
			if err != nil {
				t.Fatal(err)
			}
			if failed = s.Write(ev); failed != nil {
				break
			}
		}
		var e *llm.Error
		if !errors.As(failed, &e) || e.Kind != llm.Incomplete {
			t.Errorf("%s: got %v", format, failed)
		}
		if strings.Contains(out.String(), "fine") || !strings.Contains(out.String(), "taken back") {
			t.Errorf("%s: the client reads %s", format, out.String())
		}
	}
}
