package emulate

import "github.com/toolpost/toolpost/llm"

// otherAnswers are the readings of the answers after the first, by index: each is read by itself, as the first is.
type otherAnswers map[int]Taker

// take hands an event of such an answer to its reading, which begin begins. What it says goes to out as events of that
// answer; warnings are about all of them. How many there can be is bounded where answers are decoded.
func (o *otherAnswers) take(ev llm.Alternative, begin Stage, out func(llm.Event, error) bool) bool {
	t := (*o)[ev.Index]
	if t == nil {
		if *o == nil {
			*o = make(otherAnswers)
		}
		t = begin(func(said llm.Event, err error) bool { // an error is that of the first answer, which says it
			return err == nil && out(ofAnswer(ev.Index, said), nil)
		})
		(*o)[ev.Index] = t
	}
	if !t.Take(ev.Event, nil) {
		return false
	}
	if _, last := ev.Event.(llm.Finish); last {
		t.End()
	}
	return true
}

// ofAnswer returns an event as one of the answer with that index.
func ofAnswer(index int, ev llm.Event) llm.Event {
	switch ev.(type) {
	case llm.Warning, llm.TextRead, llm.KeepAlive:
		return ev
	}
	return llm.Alternative{Index: index, Event: ev}
}

// fail tells the readings that all is lost: what they hold back is said before the error is.
func (o otherAnswers) fail(err error) {
	for _, t := range o {
		t.Take(nil, err)
	}
}

// stop stops the readings.
func (o otherAnswers) stop() {
	for _, t := range o {
		t.Stop()
	}
}
