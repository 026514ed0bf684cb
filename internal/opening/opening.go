// Package opening holds back the beginning of an answer.
package opening

import "github.com/toolpost/toolpost/llm"

// Opening holds the events back that belong to an answer which has not begun, such as
// its [llm.Start]: if the answer fails and the model is asked again, they are dropped with
// it, and a stream has only one Start. Warnings, keep-alives and the events of other
// packages are not part of the answer and are never held. The zero value is ready for
// one answer.
type Opening struct {
	begun  bool
	events []llm.Event  // that are held
	one    [1]llm.Event // where Next returns an event of its own
}

// Next takes an event of the answer and returns the events to pass on now. The result
// is valid until the next call.
func (o *Opening) Next(ev llm.Event) []llm.Event {
	begins, belongs := llm.Begins(ev), true
	switch ev.(type) {
	case llm.Start, llm.TextRead, llm.PartEnd, llm.UnknownEvent, llm.TextDelta, llm.ThinkingDelta, llm.Alternative:
	case llm.Finish: // an answer without content is whole
		begins = true
	case llm.Retract:
		*o = Opening{}
		belongs = false
	default:
		belongs = begins
	}
	if o.begun || !belongs {
		o.one[0] = ev
		return o.one[:]
	}
	o.events = append(o.events, ev)
	if !begins {
		return nil
	}
	held := o.events
	o.begun, o.events = true, nil
	return held
}

// Begun reports whether the answer has begun, or is whole, and was not retracted.
func (o *Opening) Begun() bool { return o.begun }

// Held returns the events that are held back, for an answer that counts although it
// never began.
func (o *Opening) Held() []llm.Event { return o.events }
