package llm

// Begins reports whether ev begins an answer: it is a piece of text or thinking, media,
// or a call or its beginning. All other events, also those of other packages, may come
// before an answer that never begins. Until an answer has begun, a wrapper of a model
// may ask again, or ask another model; see [Opening].
func Begins(ev Event) bool {
	switch ev := ev.(type) {
	case TextDelta:
		return ev.Text != "" || ev.Part != nil
	case ThinkingDelta:
		return ev.Text != "" || ev.Part != nil
	case Media, CallStart, CallDelta, Call, InvalidCall, HostedCall, HostedResult:
		return true
	case Alternative:
		return Begins(ev.Event)
	}
	return false
}

// Opening holds the events back that belong to an answer which has not begun, such as
// its [Start]: if the answer fails and the model is asked again, they are dropped with
// it, and a stream has only one Start. Warnings, keep-alives and the events of other
// packages are not part of the answer and are never held. The zero value is ready for
// one answer.
type Opening struct {
	begun  bool
	events []Event  // that are held
	one    [1]Event // where Next returns an event of its own
}

// Next takes an event of the answer and returns the events to pass on now. The result
// is valid until the next call.
func (o *Opening) Next(ev Event) []Event {
	begins, belongs := Begins(ev), true
	switch ev.(type) {
	case Start, TextRead, PartEnd, UnknownEvent, TextDelta, ThinkingDelta, Alternative:
	case Finish: // an answer without content is whole
		begins = true
	case Retract:
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
func (o *Opening) Held() []Event { return o.events }
