package gateway

import (
	"iter"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// servedRound is one answer of the model. The client is shown it without the calls of the
// gateway's tools, without its beginning if it is not the first, and without its end.
type servedRound struct {
	s      *serving
	each   func(llm.Event) error
	first  bool
	said   bool // the client was told text
	answer llm.Builder
	hidden map[string]bool // calls that have begun
	cut    bool            // a call of the gateway's tools was cut off
	data   dataAnswer
}

func (s *serving) newRound(first bool, each func(llm.Event) error) *servedRound {
	r := &servedRound{s: s, each: each, first: first}
	r.data = dataAnswer{wanted: s.conv.Output != nil, each: r.tell}
	return r
}

// roundBreak stands between what the model said before a tool ran and what it says afterwards.
const roundBreak = "\n\n"

func (r *servedRound) take(ev llm.Event) error {
	if w, ok := ev.(llm.Warning); ok {
		if r.s.owns(w.Feature) || r.s.owns(w.Tool) { // the runtime checks these calls, and the definitions are not the client's
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

// invalid takes a call of a tool of the gateway that cannot be run as it stands. One whose arguments cannot be read goes
// to the runtime, which refuses it, and the model learns why. Of others the client is told.
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

// tell passes an event on to the client.
func (r *servedRound) tell(ev llm.Event) error {
	if text, ok := ev.(llm.TextDelta); ok && text.Text != "" {
		if r.s.said && !r.said {
			text.Text = roundBreak + text.Text
		}
		r.said, ev = true, text
	}
	return r.each(ev)
}

// wholeCalls returns the events of an answer for clients, see [emulate.WholeCalls]. Calls of the gateway's own tools are not
// for them, so none of those becomes text that they would see, unless it only repeats what the model read.
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
