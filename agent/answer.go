package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// The raw reasons of answers that had to be recovered, or could not be.
const (
	rawCalls      = "tool_use"                                      // calls had come before the answer broke off
	rawEmpty      = "empty-tool-routing-output"                     // neither text nor call
	rawNoResult   = "agent-sdk-no-result"                           // the answer never ended
	rawBroken     = "stream-bridge-error"                           // the stream failed
	rawStopped    = "interrupted"                                   // somebody gave up waiting
	rawStructured = "error_max_structured_output_retries"           // the vendor gave up on the schema
	rawRecovered  = "error_max_structured_output_retries_recovered" // and left a usable text
)

// answer asks the model until it gives an answer that can be used.
func (l *loop) answer(ctx context.Context, final bool) (*modelAnswer, error) {
	for {
		m, err := l.asked(ctx, final)
		if err != nil {
			return nil, err
		}
		h, err := l.readAnswer(ctx, m, l.request(final))
		again := false
		if err == nil {
			err = l.ranInside(ctx)
		}
		if err == nil {
			err = l.keepBroken(ctx, h)
		}
		if err == nil {
			again, err = l.judgeAnswer(ctx, h, final)
		}
		if err != nil {
			l.abandon(h, err)
		}
		if !again {
			return h, err
		}
	}
}

// asked returns the model of the next question. Package refine asks it again
// where its answer is no use; the loop understands what is taken back.
func (l *loop) asked(ctx context.Context, final bool) (llm.Model, error) {
	m, _ := l.turnModel()
	m, err := l.raise(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := l.fit(ctx, true); err != nil {
		return nil, err
	}
	l.askedModel = m
	if !l.wasRead {
		m = emulate.ReadCalls(m, func() llm.CallIDs { return llm.CallIDs{New: l.ids.New, Known: l.ids.Taken} })
	}
	if l.rec != nil { // what is on record has been read
		m = l.rec.Model(m)
	}
	if observe.From(ctx) != nil {
		m = observe.Model(m, l.model)
	}
	m = l.stronger(m)
	if l.now.question.Output != nil {
		m = refine.Structured(m, l.recoveries())
	}
	return &refine.Again{Model: l.salvaging(m), Attempts: l.Limits.Budget + 1, Retract: true}, nil
}

// recoveries is how often a structured answer may be asked for again. The budget
// counts, too.
func (l *loop) recoveries() int {
	if l.Limits.Budget == 0 {
		return -1
	}
	return l.Limits.Budget
}

// request returns the question of the turn.
func (l *loop) request(final bool) *llm.Request {
	req := l.now.question.Clone()
	req.System, req.Messages, req.Tools = l.now.system, l.conversation(), l.now.tools
	req.Budget = l.budget
	if final && len(l.now.tools) > 0 {
		req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	}
	return req
}

// judgeAnswer decides whether an answer can be used, when asking again is over.
// It reports whether to ask another question.
func (l *loop) judgeAnswer(ctx context.Context, h *modelAnswer, final bool) (again bool, err error) {
	switch {
	case h.err != nil:
		return l.failed(ctx, h, final)
	case len(h.calls)+len(h.invalid) > 0 && l.single:
		return l.sendBack(ctx, h)
	case len(h.calls)+len(h.invalid) > 0:
		return false, nil
	case l.now.question.Choice.Mode == llm.MustCall && !final:
		return l.refused(ctx, h)
	case h.empty():
		return l.silent(ctx, h)
	}
	return false, nil
}

// failed decides about an answer that ended with an error.
func (l *loop) failed(ctx context.Context, h *modelAnswer, final bool) (again bool, err error) {
	kind := llm.KindOf(h.err)
	var inside *executionError
	switch {
	case ctx.Err() != nil || kind == llm.Canceled:
		return false, cmp.Or(ctx.Err(), h.err)
	case errors.As(h.err, &inside):
		return false, inside.err
	case kind == llm.BrokenPromise && l.now.question.Choice.Mode == llm.MustCall && !final:
		return l.refused(ctx, h)
	case kind == llm.TooLong:
		if less, err := l.refusedAsTooLong(ctx); less || err != nil {
			return less, err
		}
		h.err = &llm.Error{Op: "agent", Kind: llm.TooLong, Err: fmt.Errorf("%s; that is longer than %s can take: %w", l.remains(), l.name(), h.err)}
	}
	return l.modelFailed(ctx, l.blame(h.err), h)
}

// blame says what a model did wrong, and what a person can do about it.
func (l *loop) blame(err error) *tool.Error {
	e := *tool.FromError(err)
	if llm.KindOf(err) == llm.BrokenPromise {
		e = *tool.Errorf(tool.ModelRefusal, "%s did not do what was asked: %w", l.name(), err)
	}
	e.Fix = tool.Advice(err, tool.ThePerson)
	return &e
}

// refused ends the turn of a model that was to call a tool and did not, although
// it was told.
func (l *loop) refused(ctx context.Context, h *modelAnswer) (again bool, err error) {
	h.err = nil // however it was noticed, this is what it is
	e := tool.Errorf(tool.ModelRefusal, "%s was told to call %s and did not", l.name(), cmp.Or(l.now.question.Choice.Name, "a tool"))
	e.Fix = tool.Advice(e, tool.ThePerson)
	return l.modelFailed(ctx, e, h)
}

// silent ends the turn of a model that said nothing.
func (l *loop) silent(ctx context.Context, h *modelAnswer) (again bool, err error) {
	if h.finish.Reason == llm.ContentFilter {
		return l.modelFailed(ctx, l.blame(&llm.Error{Op: "agent", Kind: llm.Refused, Err: errors.New("the answer was filtered, and nothing is left of it")}), h)
	}
	why := "Tool routing produced no tool call or text response."
	if h.finish.Reason == llm.Length {
		why += " The limit of tokens was reached before the answer began."
	}
	h.finish.Reason, h.finish.Raw = Failed, rawEmpty
	e := tool.Errorf(tool.ModelRefusal, "%s", why)
	e.Err = &llm.Error{Op: "agent", Kind: llm.BrokenPromise, Code: rawEmpty, Err: errors.New(why)}
	e.Fix = tool.Advice(e, tool.ThePerson)
	l.done.Text = why
	return l.modelFailed(ctx, e, h)
}

// abandon keeps what a failed turn has said, for Done.
func (l *loop) abandon(h *modelAnswer, err error) {
	if h.kept {
		l.done.Text = h.message.Text()
	} else if !h.empty() && len(h.message.Parts) > 0 {
		l.messages = append(l.messages, h.message)
		l.done.Text = h.message.Text()
	}
	l.done.Invalid = h.invalid
	l.done.Finish = h.finish
	if h.finish.Reason == Failed {
		return
	}
	l.done.Finish.Reason = Failed
	var failed *llm.Error
	var because *tool.Error
	switch {
	case llm.KindOf(err) == llm.Canceled:
		l.done.Finish.Raw = rawStopped
	case errors.As(err, &failed) && failed.Code != "":
		l.done.Finish.Raw = failed.Code
	case h.err == nil && errors.As(err, &because):
		l.done.Finish.Raw = string(because.Code)
	case h.err != nil:
		l.done.Finish.Raw = rawBroken
	}
}

// modelFailed ends the turn of a model that gave no usable answer, unless
// somebody knows how to go on.
func (l *loop) modelFailed(ctx context.Context, e *tool.Error, h *modelAnswer) (again bool, err error) {
	point := Checkpoint{Cause: ModelFailed, Error: e, Raw: l.redact(h.message.Text()).Cut(maxTask), Options: []Action{TryAgain, Manual, Abort}}
	choice, err := l.checkpoint(ctx, point, nil)
	if err != nil {
		return false, err
	}
	switch choice.Action {
	case TryAgain:
		l.renew()
		return true, nil
	case Manual:
		l.renew()
		if err := l.keep(ctx, h); err != nil {
			return false, err
		}
		return true, l.note(ctx, whyManual, choice.Text)
	case Abort:
		if l.person != nil {
			return false, &AbortedError{Err: e}
		}
	}
	if h.err != nil {
		return false, h.err
	}
	return false, fmt.Errorf("agent: %s: %w", l.name(), e)
}

// renew fills the budget: the run has got further.
func (l *loop) renew() {
	l.budget = llm.NewRetryBudget(l.Limits.Budget)
	l.raised, l.step = false, ""
}
