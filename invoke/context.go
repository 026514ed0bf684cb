package invoke

import (
	"context"
	"encoding/json"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// An execution is the context of its tool, and the [tool.Runtime] in it.

// Value implements [context.Context], like [tool.WithRuntime].
func (e *execution) Value(key any) any {
	if key == (*tool.Runtime)(nil) {
		return e
	}
	return e.Context.Value(key)
}

// Info implements [tool.Runtime].
func (e *execution) Info() tool.Info { return e.info }

// mostNews is how many events of a tool wait for somebody to read them.
const mostNews = 64

// Report implements [tool.Runtime].
func (e *execution) Report(p tool.Progress) { e.put(Progress{e.info.Call, e.name, p}) }

// Emit implements [tool.Runtime].
func (e *execution) Emit(ctx context.Context, ev llm.Event) {
	e.mu.Lock()
	t := e.talking()
	if t.room == nil {
		t.room = make(chan struct{}, 1)
	}
	room := t.room
	e.mu.Unlock()
	for !e.put(ev) {
		select {
		case <-room:
		case <-ctx.Done():
			return
		case <-e.Done():
			return
		}
	}
}

// put adds an event if there is room for it, and reports whether there is.
func (e *execution) put(ev llm.Event) bool {
	e.mu.Lock()
	t := e.talking()
	room := len(t.events) < mostNews
	if room {
		t.events = append(t.events, ev)
	}
	e.mu.Unlock()
	e.poke()
	return room
}

// Ask implements [tool.Runtime]. A question that was answered before gets that
// answer; any other ends the attempt, unless the tool holds it.
func (e *execution) Ask(ctx context.Context, p tool.Prompt) (json.RawMessage, error) {
	e.mu.Lock()
	answers := e.talking().answers
	e.mu.Unlock()
	for _, a := range answers {
		if a.Asked == p.Message {
			return a.Value, nil
		}
	}
	if p.Held && e.session.runner.Approve != nil {
		return e.hold(ctx, p)
	}
	return nil, &promptError{len(answers) + 1, p, e.session.runner.Approve == nil}
}

type heldReply struct {
	value json.RawMessage
	err   error
}

// hold gives a question to the goroutine that runs the call, and waits for the answer.
func (e *execution) hold(ctx context.Context, p tool.Prompt) (json.RawMessage, error) {
	h := &heldQuestion{ctx, p, make(chan heldReply, 1)}
	e.mu.Lock()
	e.talking().held = append(e.talking().held, h)
	e.mu.Unlock()
	e.poke()
	select {
	case r := <-h.reply:
		return r.value, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-e.Done():
		return nil, context.Cause(e)
	}
}
