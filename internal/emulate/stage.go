package emulate

import (
	"iter"
	"slices"

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
		t := chainOf([]Stage{s}, yield)
		defer t.Stop()
		raw(t.Take)
		t.End()
	}
}

// chain are the readings of stages in order: each takes what the one before makes of an answer.
type chain struct {
	takers []Taker
	first  func(llm.Event, error) bool
	over   bool // an error came, or no more is wanted
}

func chainOf(stages []Stage, out func(llm.Event, error) bool) *chain {
	c := &chain{takers: make([]Taker, len(stages)), first: out}
	for i, stage := range slices.Backward(stages) {
		c.takers[i] = stage(c.first)
		c.first = c.takers[i].Take
	}
	return c
}

func (c *chain) Take(ev llm.Event, err error) bool {
	c.over = c.over || !c.first(ev, err) || err != nil
	return !c.over
}

func (c *chain) End() {
	if c.over {
		return
	}
	for _, t := range c.takers {
		t.End()
	}
}

func (c *chain) Stop() {
	for _, t := range c.takers {
		t.Stop()
	}
}
