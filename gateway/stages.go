package gateway

import (
	"strings"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// stages returns the gateway's stages of an answer, which follow those of the model: calls become whole, and white space
// around them is dropped.
func (p *prepared) stages() emulate.Answer {
	var list []emulate.Stage
	if p.holds {
		list = append(list, readableCalls)
	}
	whole := emulate.WholeCallsStage(nil)
	if p.rounds != nil {
		whole = p.rounds.WholeCalls
	}
	return emulate.Answer{Caller: append(list, whole, trimSpace)}
}

// filter is a stage that looks at one event at a time.
type filter func(ev llm.Event, err error) bool

func (f filter) Take(ev llm.Event, err error) bool { return f(ev, err) }
func (filter) End()                                {}
func (filter) Stop()                               {}

// readableCalls is the stage that turns complete calls with unreadable arguments into calls with a string argument. They
// match no schema, so the model is told about them and asked again. Doubtful calls are held.
func readableCalls(out func(llm.Event, error) bool) emulate.Taker {
	return filter(func(ev llm.Event, err error) bool {
		switch bad, ok := ev.(llm.InvalidCall); {
		case !ok || err != nil:
		case bad.Call != nil:
			ev = heldCall{bad}
		case bad.Reason != llm.CutOff && bad.Reason != llm.Unconfirmed && bad.ID != "" && bad.Name != "":
			ev = llm.Call{ID: bad.ID, Name: bad.Name, Args: js.AppendQuoted(nil, bad.Raw), Provenance: bad.Provenance}
		}
		return out(ev, err)
	})
}

// heldCall is a doubtful call, until the model was asked whether it means the call.
type heldCall struct{ llm.InvalidCall }

// trimSpace is the stage that drops white space that is the only text before, between or after calls. Such text is left
// over when calls are parsed from text, and some clients would show it as the answer. White space within text stays.
func trimSpace(out func(llm.Event, error) bool) emulate.Taker {
	return &spaceTrimmer{out: out}
}

type spaceTrimmer struct {
	filter
	out      func(llm.Event, error) bool
	held     []llm.Event // white space since the last call, while there was no other text
	speaking bool
}

// Take takes an event.
func (s *spaceTrimmer) Take(ev llm.Event, err error) bool {
	if err != nil {
		return s.out(ev, err)
	}
	switch ev := ev.(type) {
	case llm.TextDelta:
		if !s.speaking && ev.Part == nil && strings.TrimSpace(ev.Text) == "" {
			s.held = append(s.held, ev)
			return true
		}
		s.speaking = true
		for _, space := range s.held {
			if !s.out(space, nil) {
				return false
			}
		}
		s.held = nil
	case llm.Call, llm.CallStart, llm.InvalidCall:
		s.held, s.speaking = nil, false
	}
	return s.out(ev, err)
}
