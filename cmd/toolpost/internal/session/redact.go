package session

import (
	"context"
	"iter"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
)

// Redact wraps m to redact secrets in its text and thinking. A key that a server repeats must not reach the screen.
// It holds back the end of a chunk that may be the start of a secret, until the next chunk arrives.
func Redact(m llm.Model, secrets []string) llm.Model {
	if len(secrets) == 0 || m == nil {
		return m
	}
	set := secret.NewSet(secrets...)
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			w := &redactor{set: set, yield: yield}
			for ev, err := range m.Stream(ctx, req) {
				if !w.event(ev, err) || err != nil {
					return
				}
			}
			w.flush()
		}
	})
}

// redactor processes one answer.
type redactor struct {
	set      *secret.Set
	yield    func(llm.Event, error) bool
	held     []byte
	thinking bool // held is thinking
	warned   bool
	stopped  bool // the caller stopped reading
}

// pass yields an event and reports whether the caller still reads.
func (w *redactor) pass(ev llm.Event, err error) bool {
	w.stopped = w.stopped || !w.yield(ev, err)
	return !w.stopped
}

func (w *redactor) event(ev llm.Event, err error) bool {
	switch d := ev.(type) {
	case llm.TextDelta:
		if d.Part == nil && err == nil {
			return w.piece(d.Text, false)
		}
	case llm.ThinkingDelta:
		if d.Part == nil && err == nil {
			return w.piece(d.Text, true)
		}
	case llm.KeepAlive:
		return w.pass(ev, err)
	}
	if !w.flush() {
		return false
	}
	switch d := ev.(type) {
	case llm.TextDelta:
		d.Text = w.redact([]byte(d.Text))
		ev = d
	case llm.ThinkingDelta:
		d.Text = w.redact([]byte(d.Text))
		ev = d
	}
	return w.pass(ev, err)
}

// piece passes on text that cannot be part of a secret.
func (w *redactor) piece(text string, thinking bool) bool {
	if thinking != w.thinking && !w.flush() {
		return false
	}
	w.thinking = thinking
	clean := w.redact(append(w.held, text...))
	n := len(clean) - w.set.Held([]byte(clean))
	w.held = []byte(clean[n:])
	return w.send(clean[:n])
}

// flush passes on the held text, which is not a secret.
func (w *redactor) flush() bool {
	text := string(w.held)
	w.held = nil
	return w.send(text)
}

func (w *redactor) send(text string) bool {
	switch {
	case text == "":
		return !w.stopped
	case w.thinking:
		return w.pass(llm.ThinkingDelta{Text: text}, nil)
	}
	return w.pass(llm.TextDelta{Text: text}, nil)
}

// redact removes secrets from text and warns once.
func (w *redactor) redact(text []byte) string {
	out, n := w.set.Redact(text)
	if n > 0 && !w.warned {
		w.warned = true
		w.pass(llm.Warning{Code: llm.Stripped, Feature: "answer", Detail: "the answer held a key of this program, which was taken out"}, nil)
	}
	return string(out)
}
