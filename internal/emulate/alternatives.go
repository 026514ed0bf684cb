package emulate

import (
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// alternatives are the readings of the answers after the first, by index: each is read by itself, as the first is.
type alternatives struct {
	readings map[int]Taker
	failed   bool // the error of the first answer ends them all
}

// take hands an event of such an answer to its reading, which begin begins. What it says goes to out as events of that
// answer; warnings and errors are about all of them. How many there can be is bounded where answers are decoded.
func (o *alternatives) take(ev llm.Alternative, begin Stage, out func(llm.Event, error) bool) bool {
	t := o.readings[ev.Index]
	if t == nil {
		if o.readings == nil {
			o.readings = make(map[int]Taker)
		}
		t = begin(func(said llm.Event, err error) bool {
			if err != nil { // that of the first answer is said by it
				return !o.failed && out(nil, err)
			}
			return out(ofAnswer(ev.Index, said), nil)
		})
		o.readings[ev.Index] = t
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
func (o *alternatives) fail(err error) {
	o.failed = true
	for _, t := range o.readings {
		t.Take(nil, err)
	}
}

// stop stops the readings.
func (o *alternatives) stop() {
	for _, t := range o.readings {
		t.Stop()
	}
}

// eachAnswer returns a Reader that reads each answer of several as r reads one.
func eachAnswer(r Reader) Reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var others alternatives
			defer others.stop()
			stopped := false
			say := func(ev llm.Event, err error) bool {
				stopped = stopped || !yield(ev, err) || err != nil
				return !stopped
			}
			first := func(yield func(llm.Event, error) bool) {
				for ev, err := range raw {
					if other, is := ev.(llm.Alternative); is && err == nil {
						if !others.take(other, asStage(r), say) {
							return
						}
						continue
					}
					if err != nil {
						others.fail(err)
					}
					if stopped || !yield(ev, err) {
						return
					}
				}
			}
			for ev, err := range r(first) {
				if stopped || !say(ev, err) {
					return
				}
			}
		}
	}
}

// asStage returns the stage of a reader that asks for its events: it waits for them in a coroutine.
func asStage(r Reader) Stage {
	return func(out func(llm.Event, error) bool) Taker {
		w := &coroutine{out: out}
		w.wake, w.stop = iter.Pull(func(idle func(struct{}) bool) {
			raw := func(yield func(llm.Event, error) bool) {
				for idle(struct{}{}) && !w.ended {
					if !yield(w.ev, w.err) || w.err != nil {
						return
					}
				}
			}
			for ev, err := range r(raw) {
				if !out(ev, err) || err != nil {
					return
				}
			}
		})
		w.wake()
		return w
	}
}

// coroutine is a reader that waits for what it is handed.
type coroutine struct {
	out   func(llm.Event, error) bool
	ev    llm.Event
	err   error
	ended bool
	wake  func() (struct{}, bool)
	stop  func()
}

// Take resumes the reader with an event. Events after the end are passed on unchanged.
func (w *coroutine) Take(ev llm.Event, err error) bool {
	if w.ended {
		return w.out(ev, err)
	}
	w.ev, w.err = ev, err
	_, more := w.wake()
	return more
}

// End lets the reader return the events that it holds.
func (w *coroutine) End() {
	w.ended = true
	w.wake()
}

// Stop ends the coroutine.
func (w *coroutine) Stop() { w.stop() }
