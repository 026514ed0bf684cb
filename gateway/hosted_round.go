package gateway

import (
	"iter"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// servedRound is one answer of the model. The client sees it without the calls of the gateway's tools, without its
// start unless it is the first, and without its end.
type servedRound struct {
	s      *serving
	each   func(llm.Event) error
	first  bool
	said   bool // the client got text
	answer llm.Builder
	hidden map[string]bool // ids of started calls that the client does not see
	cut    bool            // a call of the gateway's tools was truncated
	data   dataAnswer
}

func (s *serving) newRound(first bool, each func(llm.Event) error) *servedRound {
	r := &servedRound{s: s, each: each, first: first}
	r.data = dataAnswer{wanted: s.conv.Output != nil, each: r.tell}
	return r
}

// roundBreak separates the text before a tool call from the text after it.
const roundBreak = "\n\n"

func (r *servedRound) take(ev llm.Event) error {
	if w, ok := ev.(llm.Warning); ok {
		if r.s.owns(w.Feature) || r.s.owns(w.Tool) { // the runtime checks these calls, and the client does not know their definitions
			return nil
		}
		return r.each(w)
	}
	if bad, ok := ev.(llm.InvalidCall); ok && bad.Reason != llm.Echoed && r.s.owns(bad.Name) {
		return r.invalid(bad)
	}
	r.answer.Add(ev)
	switch ev := ev.(type) {
	case llm.Start:
		if !r.first {
			return nil
		}
		r.s.start = ev
	case llm.CallStart:
		if r.s.owns(ev.Name) {
			if r.hidden == nil {
				r.hidden = map[string]bool{}
			}
			r.hidden[ev.ID] = true
			return nil
		}
	case llm.CallDelta:
		if r.hidden[ev.ID] {
			return nil
		}
	case llm.Call:
		if !ev.Hosted && r.s.owns(ev.Name) {
			return nil
		}
	case llm.Finish:
		return nil
	}
	return r.data.show(ev)
}

// invalid handles an invalid call of a gateway tool. A call with unreadable arguments goes to the runtime, which
// refuses it and tells the model why. Other calls become warnings to the client.
func (r *servedRound) invalid(bad llm.InvalidCall) error {
	c := llm.Call{ID: bad.ID, Name: bad.Name, Args: js.AppendQuoted(nil, bad.Raw), Provenance: bad.Provenance}
	if bad.Reason == llm.BadArguments {
		r.answer.Add(c)
		return nil
	}
	r.cut = r.cut || bad.Reason == llm.CutOff
	r.s.notRun(c, bad.Problem)
	return nil
}

// tell passes an event to the client.
func (r *servedRound) tell(ev llm.Event) error {
	if text, ok := ev.(llm.TextDelta); ok && text.Text != "" {
		if r.s.said && !r.said {
			text.Text = roundBreak + text.Text
		}
		r.said, ev = true, text
	}
	return r.each(ev)
}

// wholeCalls returns the events of an answer for clients; see [emulate.WholeCalls]. Calls of the gateway's tools never
// become visible text, unless the text only repeats what the model read.
func (x *chain) wholeCalls(events iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	if x.serving == nil {
		return emulate.WholeCalls(events, nil)
	}
	own := make(map[string]bool)
	noted := func(yield func(llm.Event, error) bool) {
		for ev, err := range events {
			switch ev := ev.(type) {
			case llm.CallStart:
				own[ev.ID] = x.serving.owns(ev.Name)
			case llm.InvalidCall:
				own[ev.ID] = ev.Reason != llm.Echoed && x.serving.owns(ev.Name)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
	return emulate.WholeCalls(noted, func(id string) bool { return own[id] })
}
