package agent

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// salvaging makes broken answers of m usable. An answer that broke off after complete calls ends
// with these calls. An answer in which the vendor gave up on a schema ends with its text. An answer
// without an end marker ends with an error. Calls of tools that are not offered are invalid.
func (q *asker) salvaging(m llm.Model) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			s := &salvage{l: q.loop, yield: yield}
			for ev, err := range m.Stream(ctx, req) {
				if err != nil {
					s.fail(ctx, err)
					return
				}
				if !s.take(ev) {
					return
				}
			}
			if !s.finished && !s.stopped {
				s.fail(ctx, &llm.Error{Op: "agent", Kind: llm.Incomplete, Code: rawNoResult, Err: errors.New("the answer ended without its end marker")})
			}
		}
	})
}

// salvage is one answer.
type salvage struct {
	l        *loop
	yield    func(llm.Event, error) bool
	calls    int  // that are complete
	said     bool // text that is not blank
	finished bool
	stopped  bool
}

// take passes an event on and reports whether to go on.
func (s *salvage) take(ev llm.Event) bool {
	switch e := ev.(type) {
	case llm.TextDelta:
		s.said = s.said || strings.TrimSpace(e.Text) != ""
	case llm.Retract:
		s.said = false
	case llm.Call:
		if s.l.tools.Withheld[e.Name] {
			ev = s.l.tools.notOffered(e, s.l.turn.tools)
			break
		}
		s.calls++
	case llm.InvalidCall:
		s.said = true
	case llm.Finish:
		if e.Reason == "" {
			return true
		}
		s.finished = true
	}
	s.stopped = !s.yield(ev, nil)
	return !s.stopped
}

// fail ends an answer that ended with an error.
func (s *salvage) fail(ctx context.Context, err error) {
	kind := llm.KindOf(err)
	var failed *llm.Error
	switch {
	case ctx.Err() != nil || kind == llm.Canceled:
	case s.calls > 0 && kind != llm.TooLong:
		w := llm.Warning{Code: llm.Compatibility, Feature: "stream", Detail: "the answer broke off after complete calls, which count: " + err.Error()}
		if s.yield(w, nil) {
			s.yield(llm.Finish{Reason: llm.ToolCalls, Raw: rawCalls}, nil)
		}
		return
	case errors.As(err, &failed) && failed.Code == rawStructured && s.said:
		s.yield(llm.Finish{Reason: llm.Stop, Raw: rawRecovered}, nil)
		return
	}
	s.yield(nil, err)
}
