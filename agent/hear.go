package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
)

// heard is an answer of the model, whole or as far as it came.
type heard struct {
	message llm.Message
	calls   []llm.Call // to be run, in order
	invalid []llm.InvalidCall
	finish  llm.Finish
	err     error
}

// empty reports whether nothing was said or asked for.
func (h *heard) empty() bool {
	return len(h.calls)+len(h.invalid) == 0 && strings.TrimSpace(h.message.Text()) == ""
}

// hear asks the model and passes on what it says. Text that may turn out to be
// an envelope of calls is held back until that is known, so that no envelope is
// ever shown as text.
func (l *loop) hear(ctx context.Context, m llm.Model, req *llm.Request) *heard {
	e := &ear{l: l, names: make(map[string]string), decided: req.Choice.Mode == llm.MustNotCall || !l.toolMode()}
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			e.h.err = err
			break
		}
		e.take(ev)
		if l.abandoned {
			e.h.err = context.Canceled
			break
		}
	}
	e.flush()
	e.h.message = e.b.Response().Message
	l.done.Usage = l.done.Usage.Add(e.h.finish.Usage)
	if e.h.err == nil && e.h.finish.Reason == "" {
		e.h.err = ctx.Err()
		if e.h.err == nil {
			e.h.err = &llm.Error{Op: "agent", Kind: llm.Incomplete, Code: "agent-sdk-no-result", Err: fmt.Errorf("the answer ended without its end marker")}
		}
	}
	return &e.h
}

// toolMode reports whether text may be a call: there is a tool that takes
// arguments, and it may be called. A structured answer is JSON anyway.
func (l *loop) toolMode() bool {
	return l.choice.Mode != llm.MustNotCall && l.question.Output == nil &&
		slices.ContainsFunc(l.offered, func(d llm.ToolDef) bool { return d.Kind != llm.HostedTool })
}

// ear turns the events of a model into an answer.
type ear struct {
	l       *loop
	b       llm.Builder
	h       heard
	names   map[string]string // ids of the open calls: theirs to ours
	held    strings.Builder
	decided bool // no text is held back any more
}

func (e *ear) take(ev llm.Event) {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if e.hold(ev) {
			return
		}
	case llm.CallStart:
		e.release()
		ev.ID = e.name(ev.ID)
		e.pass(ev)
		return
	case llm.CallDelta:
		if id, ok := e.names[ev.ID]; ok {
			ev.ID = id
		}
		e.l.emit(ev)
		return
	case llm.Call:
		e.call(ev)
		return
	case llm.InvalidCall:
		e.invalid(ev)
		return
	case llm.Finish:
		e.h.finish = ev
		return
	case Partial:
		e.l.best = ev.Value
	}
	e.pass(ev)
}

// pass adds an event to the answer and yields it.
func (e *ear) pass(ev llm.Event) {
	e.b.Add(ev)
	e.l.emit(ev)
}

func (e *ear) call(c llm.Call) {
	if e.l.Lanes.Withheld[c.Name] {
		e.invalid(llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.UnknownTool,
			Problem: fmt.Sprintf("there is no tool called %q", c.Name), Nearest: near.Names(c.Name, e.l.some(len(e.l.offered)), 3), Provenance: c.Provenance})
		return
	}
	e.release()
	c.ID = e.close(c.ID)
	e.h.calls = append(e.h.calls, c)
	e.pass(c)
}

// invalid keeps what the model wrote in the conversation: as the call it is if
// that can be written, else as text in the model's own dialect. Arguments that
// are no JSON cannot be sent back as a call, and as text they would teach the
// model to write calls as text; the note about the problem quotes them.
func (e *ear) invalid(c llm.InvalidCall) {
	e.release()
	c.ID = e.close(c.ID)
	e.h.invalid = append(e.h.invalid, c)
	if call, ok := asCall(c); ok {
		e.b.Add(call)
	} else if c.Provenance.Dialect != "" && c.Raw != "" {
		e.b.Add(llm.PartEnd{})
		e.b.Add(llm.TextDelta{Text: c.Raw})
		e.b.Add(llm.PartEnd{})
	}
	e.l.emit(c)
}

// name gives a call that begins an id of its own.
func (e *ear) name(id string) string {
	ours := e.l.unique(id)
	e.names[id] = ours
	return ours
}

// close returns the id of a call that is complete.
func (e *ear) close(id string) string {
	ours, ok := e.names[id]
	if !ok {
		return e.l.unique(id)
	}
	delete(e.names, id)
	return ours
}

// unique returns id if no call of the conversation has it, else a new one.
func (l *loop) unique(id string) string {
	fresh := l.ids.Take(id)
	if fresh != id {
		l.minted = append(l.minted, fresh)
	}
	return fresh
}

// hold keeps text back that may be the beginning of an envelope, and reports
// whether it did.
func (e *ear) hold(ev llm.TextDelta) bool {
	if e.decided || ev.Part != nil {
		e.release()
		return false
	}
	e.held.WriteString(ev.Text)
	start := strings.TrimLeft(e.held.String(), " \t\r\n")
	if start == "" || start[0] == '{' || strings.HasPrefix("```", start[:min(len(start), 3)]) {
		return true
	}
	e.release()
	return true
}

// release passes on the text that was held back: it is text.
func (e *ear) release() {
	e.decided = true
	if e.held.Len() > 0 {
		e.pass(llm.TextDelta{Text: e.held.String()})
		e.held.Reset()
	}
}

// flush decides about held text at the end of the answer.
func (e *ear) flush() {
	text := e.held.String()
	if text == "" {
		return
	}
	env, ok := readEnvelope(text, e.l.offers)
	if !ok {
		e.release()
		return
	}
	e.held.Reset()
	e.decided = true
	if env.text != "" {
		e.pass(llm.TextDelta{Text: env.text})
	}
	for _, c := range env.calls {
		c.ID = e.name("")
		delete(e.names, "")
		e.l.emit(llm.CallStart{ID: c.ID, Name: c.Name})
		e.l.emit(llm.CallDelta{ID: c.ID, Args: string(c.Args)})
		e.h.calls = append(e.h.calls, c)
		e.pass(c)
	}
	if len(env.calls) > 0 && (e.h.finish.Reason == llm.Stop || e.h.finish.Reason == llm.OtherReason) {
		e.h.finish.Reason = llm.ToolCalls
	}
}

// some returns the names of the first n tools that are offered.
func (l *loop) some(n int) []string {
	var names []string
	for _, d := range l.offered[:min(len(l.offered), n)] {
		names = append(names, d.Name)
	}
	return names
}

// offers reports whether a function tool of that name is offered.
func (l *loop) offers(name string) bool {
	for _, d := range l.offered {
		if d.Name == name && d.Kind != llm.HostedTool {
			return true
		}
	}
	return false
}
