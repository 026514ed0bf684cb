package emulate

import (
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// Stage begins to read one answer; what it makes of the events goes to out. A Stage is a [Reader] for
// those who are handed events and cannot be asked for the next: no coroutine has to wait for them.
type Stage func(out func(llm.Event, error) bool) Taker

// Taker is handed the events of one answer.
type Taker interface {
	// Take takes an event, or the error that ends the answer. It reports whether more is wanted.
	Take(ev llm.Event, err error) bool
	// End says that the answer is over.
	End()
	// Stop lets go of what the reading holds. It can be called at any time, and has to be.
	Stop()
}

// Read is the Reader of a stage.
func (s Stage) Read(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := s(yield)
		defer t.Stop()
		for ev, err := range raw {
			if !t.Take(ev, err) || err != nil {
				return
			}
		}
		t.End()
	}
}

// chainOf returns the stages as one: each reads what the one before it makes of an answer.
func chainOf(stages ...Stage) Stage {
	return func(out func(llm.Event, error) bool) Taker {
		c := make(chain, len(stages))
		for i := len(stages) - 1; i >= 0; i-- {
			c[i] = stages[i](out)
			out = c[i].Take
		}
		return c
	}
}

// chain are the readings of stages in order.
type chain []Taker

func (c chain) Take(ev llm.Event, err error) bool { return c[0].Take(ev, err) }

func (c chain) End() {
	for _, t := range c {
		t.End()
	}
}

func (c chain) Stop() {
	for _, t := range c {
		t.Stop()
	}
}
