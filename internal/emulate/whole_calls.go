package emulate

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// WholeCallsStage returns a stage for clients that run everything that
// looks like a call. The pieces of a call are held until it is complete. A call that
// cannot be run, because it was truncated, is an echo or names no tool, becomes the
// text that the model wrote. Calls for which passes reports true are passed on as they
// arrive; a nil passes holds all. An answer without any remaining call does not end
// with the reason ToolCalls. Each of several answers is handled like this.
func WholeCallsStage(passes func(id string) bool) Stage {
	return func(out func(llm.Event, error) bool) Taker { return &wholeCalls{yield: out, passes: passes} }
}

type wholeCalls struct {
	yield  func(llm.Event, error) bool
	passes func(id string) bool
	held   map[string]llm.CallStart // calls that have begun, by id
	calls  int                      // that were passed on
	cut    bool                     // a call was cut off
	others alternatives
}

// Take takes an event.
func (w *wholeCalls) Take(ev llm.Event, err error) bool {
	if err != nil {
		w.others.fail(err)
		w.yield(nil, err)
		return false
	}
	return w.take(ev)
}

// End has nothing to add: a call that is not whole is none.
func (w *wholeCalls) End() {}

// Stop lets go of the other answers.
func (w *wholeCalls) Stop() { w.others.stop() }

func (w *wholeCalls) take(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.CallStart:
		if w.passes != nil && w.passes(ev.ID) {
			w.calls++
			break
		}
		if w.held == nil {
			w.held = make(map[string]llm.CallStart)
		}
		w.held[ev.ID] = ev
		return true
	case llm.CallDelta:
		if _, ok := w.held[ev.ID]; ok {
			return true
		}
	case llm.Call, llm.InvalidCall, llm.Finish:
		return w.conclude(ev)
	case llm.Alternative:
		return w.other(ev)
	}
	return w.yield(ev, nil)
}

// other takes an event of an answer after the first.
func (w *wholeCalls) other(ev llm.Alternative) bool {
	return w.others.take(ev, WholeCallsStage(w.passes), w.yield)
}

// conclude takes the end of a call or of the answer.
func (w *wholeCalls) conclude(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.Call:
		start, ok := w.held[ev.ID]
		if !ok {
			break
		}
		delete(w.held, ev.ID)
		w.calls++
		return w.yield(start, nil) && w.yield(llm.CallDelta{ID: ev.ID, Args: string(ev.Args)}, nil) && w.yield(ev, nil)
	case llm.InvalidCall:
		return w.invalid(ev)
	case llm.Finish:
		if ev.Reason != llm.ToolCalls || w.calls > 0 {
			break
		}
		if ev.Reason, ev.Raw = llm.Stop, ""; w.cut {
			ev.Reason = llm.Length
		}
		return w.yield(ev, nil)
	}
	return w.yield(ev, nil)
}

// invalid shows a call that cannot be run as what the model wrote.
func (w *wholeCalls) invalid(ev llm.InvalidCall) bool {
	w.cut = w.cut || ev.Reason == llm.CutOff
	if w.passes != nil && w.passes(ev.ID) {
		return w.yield(ev, nil)
	}
	delete(w.held, ev.ID)
	text := ev.Raw
	if ev.Provenance.Source() == llm.NativeSource && ev.Name != "" { // Raw has only the arguments
		text = asWritten(ev)
	}
	warning := llm.Warning{Code: llm.SuspectedCall, Feature: cmp.Or(ev.Name, "call"), Detail: "a call that cannot be run is shown as text: " + ev.Problem}
	if text == "" {
		warning.Detail = ev.Problem
	}
	return w.yield(warning, nil) && w.yield(llm.TextDelta{Text: text}, nil)
}

// asWritten writes a call that a vendor delivered in the form of a call in text. A
// truncated call stays open.
func asWritten(c llm.InvalidCall) string {
	name, _ := json.Marshal(c.Name) // a string
	args, end := strings.TrimSpace(c.Raw), "}"
	switch {
	case args == "" && c.Reason != llm.CutOff:
		args = "{}"
	case !json.Valid([]byte(args)):
		end = ""
	}
	return `{"name": ` + string(name) + `, "arguments": ` + args + end
}
