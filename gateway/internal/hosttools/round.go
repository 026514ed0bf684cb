package hosttools

import (
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// round is one answer of the model. The client sees it without the calls of the gateway's tools, without its
// start unless it is the first, and without its end.
type round struct {
	s      *Rounds
	each   func(llm.Event) error
	first  bool
	said   bool // the client got text
	answer llm.Builder
	hidden map[string]bool // ids of started calls that the client does not see
	cut    bool            // a call of the gateway's tools was truncated
	data   exchange.DataAnswer
}

func (s *Rounds) newRound(first bool, each func(llm.Event) error) *round {
	r := &round{s: s, each: each, first: first}
	r.data = exchange.NewDataAnswer(s.conv.Output != nil, r.tell)
	return r
}

// roundBreak separates the text before a tool call from the text after it.
const roundBreak = "\n\n"

func (r *round) take(ev llm.Event) error {
	if w, ok := ev.(llm.Warning); ok {
		if r.s.offer.owns(w.Feature) || r.s.offer.owns(w.Tool) { // the runtime checks these calls, and the client does not know their definitions
			return nil
		}
		return r.each(w)
	}
	if bad, ok := ev.(llm.InvalidCall); ok && bad.Reason != llm.Echoed && r.s.offer.owns(bad.Name) {
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
		if r.s.offer.owns(ev.Name) {
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
		if !ev.Hosted && r.s.offer.owns(ev.Name) {
			return nil
		}
	case llm.Finish:
		return nil
	}
	return r.data.Show(ev)
}

// invalid handles an invalid call of a gateway tool. A call with unreadable arguments goes to the runtime, which
// refuses it and tells the model why. Other calls become warnings to the client.
func (r *round) invalid(bad llm.InvalidCall) error {
	c := llm.Call{ID: bad.ID, Name: bad.Name, Args: js.AppendQuoted(nil, bad.Raw), Provenance: bad.Provenance}
	if bad.Reason == llm.BadArguments {
		r.answer.Add(c)
		return nil
	}
	r.cut = r.cut || bad.Reason == llm.CutOff
	r.s.reports.notRun(c, bad.Problem)
	return nil
}

// tell passes an event to the client.
func (r *round) tell(ev llm.Event) error {
	if text, ok := ev.(llm.TextDelta); ok && text.Text != "" {
		if r.s.said && !r.said {
			text.Text = roundBreak + text.Text
		}
		r.said, ev = true, text
	}
	return r.each(ev)
}

// WholeCalls is [emulate.WholeCallsStage] for the rounds of a request. Calls of the gateway's tools never become visible
// text, unless the text only repeats what the model read.
func (s *Rounds) WholeCalls(out func(llm.Event, error) bool) emulate.Taker {
	own := make(map[string]bool)
	return &ownCalls{emulate.WholeCallsStage(func(id string) bool { return own[id] })(out), own, s.offer}
}

// ownCalls notes the ids of calls of the gateway's tools.
type ownCalls struct {
	emulate.Taker
	own   map[string]bool
	offer *offer
}

// Take takes an event.
func (o *ownCalls) Take(ev llm.Event, err error) bool {
	switch ev := ev.(type) {
	case llm.CallStart:
		o.own[ev.ID] = o.offer.owns(ev.Name)
	case llm.InvalidCall:
		o.own[ev.ID] = ev.Reason != llm.Echoed && o.offer.owns(ev.Name)
	}
	return o.Taker.Take(ev, err)
}
