package agent

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// empty reports whether nothing was said or asked for.
func (h *modelAnswer) empty() bool {
	return len(h.calls)+len(h.invalid) == 0 && strings.TrimSpace(h.message.Text()) == ""
}

// readAnswer asks the model and passes its events on.
func (q *asker) readAnswer(ctx context.Context, m llm.Model, req *llm.Request) (*modelAnswer, error) {
	e := &answerReader{l: q.loop, names: make(map[string]string)}
	for ev, err := range m.Stream(q.executing(ctx, req), req) {
		if err != nil {
			e.h.err = err
			break
		}
		if err := e.take(ctx, ev); err != nil {
			return &e.h, err
		}
		if q.events.abandoned {
			e.h.err = context.Canceled
			break
		}
	}
	e.h.message = e.b.Response().Message
	if e.h.finish.Reason != "" && e.usage.IsZero() { // it was asked once
		q.window.counted(e.h.finish.Usage)
	}
	if e.h.finish.Reason != "" {
		e.usage = e.h.finish.Usage
	} else if e.h.err == nil {
		e.h.err = context.Cause(ctx)
	}
	q.spending.asked(q.turn.asked, q.turn.model, e.usage)
	return &e.h, nil
}

// answerReader builds a modelAnswer from the events of a model.
type answerReader struct {
	l     *loop
	b     llm.Builder
	h     modelAnswer
	names map[string]string // ids of the open calls: theirs to ours
	usage llm.Usage         // of answers that do not count
}

// take follows an event. The error is one of the record.
func (e *answerReader) take(ctx context.Context, ev llm.Event) error {
	switch ev := ev.(type) {
	case llm.CallStart:
		ev.ID = e.name(ev.ID)
		e.pass(ev)
	case llm.CallDelta:
		if id, ok := e.names[ev.ID]; ok {
			ev.ID = id
		}
		e.l.emit(ev)
	case llm.Call:
		ev.ID = e.close(ev.ID)
		e.h.calls = append(e.h.calls, ev)
		e.pass(ev)
	case llm.InvalidCall:
		e.invalid(ev)
	case llm.Finish:
		e.h.finish = ev
	case llm.Retract:
		e.forget()
		e.l.emit(ev)
	case refine.AnswerRetry:
		e.forget()
		e.usage = ev.Usage
		e.l.emit(ev)
	case refine.Recovery:
		e.forget()
		e.usage = ev.Usage
		e.l.emit(ev)
		return e.l.added(ctx, ev)
	case refine.Partial:
		e.l.best = ev.Value
		e.pass(ev)
	case llm.TextRead: // for those who read the text
	default:
		e.pass(ev)
	}
	return nil
}

// forget drops the answer so far, because it does not count.
func (e *answerReader) forget() {
	e.b, e.h = llm.Builder{}, modelAnswer{}
	clear(e.names)
}

// added keeps what asking again added to the conversation.
func (l *loop) added(ctx context.Context, r refine.Recovery) error {
	for _, m := range r.Added {
		var err error
		if m.Role == llm.RoleAssistant {
			err = l.keep(ctx, &modelAnswer{message: m}, &l.turn)
		} else {
			err = l.note(ctx, string(r.Cause), m.Text())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass adds an event to the answer and yields it.
func (e *answerReader) pass(ev llm.Event) {
	e.b.Add(ev)
	e.l.emit(ev)
}

// invalid keeps the text of the model in the conversation: as a call if possible, else as text in
// the model's own dialect. Arguments that are not JSON cannot be sent back as a call, and as text
// they would teach the model to write calls as text. The note about the problem quotes them.
func (e *answerReader) invalid(c llm.InvalidCall) {
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

// name gives a call that begins a unique id.
func (e *answerReader) name(id string) string {
	ours := e.l.newID(id)
	e.names[id] = ours
	return ours
}

// close returns the id of a call that is complete.
func (e *answerReader) close(id string) string {
	ours, ok := e.names[id]
	if !ok {
		return e.l.newID(id)
	}
	delete(e.names, id)
	return ours
}

// asCall returns a call that cannot be run as a call that can be shown: its
// arguments are JSON, only the tool does not exist or was not allowed.
func asCall(c llm.InvalidCall) (llm.Call, bool) {
	var args map[string]json.RawMessage
	if c.Name == "" || c.Provenance.Dialect != "" || c.Reason == llm.CutOff || json.Unmarshal([]byte(c.Raw), &args) != nil {
		return llm.Call{}, false
	}
	return llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Raw), Provenance: c.Provenance}, true
}
