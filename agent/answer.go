package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/internal/advice"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// answer asks the model until it gives a usable answer.
func (l *loop) answer(ctx context.Context, final bool) (*modelAnswer, error) {
	q := &asker{l, final}
	for {
		m, err := q.model(ctx)
		if err != nil {
			return nil, err
		}
		h, err := q.readAnswer(ctx, m, q.request())
		again := false
		if err == nil {
			err = l.recallCallsInAnswer(ctx)
		}
		if err == nil {
			err = l.keepBroken(ctx, h)
		}
		if err == nil {
			again, err = q.judge(ctx, h)
		}
		if err != nil {
			q.abandon(h, err)
		}
		if !again {
			return h, err
		}
	}
}

// model returns the model of the next request. Package refine repeats the request if the answer is
// unusable. The loop understands retracted events.
func (q *asker) model(ctx context.Context) (llm.Model, error) {
	m, _ := q.turnModel()
	m, err := q.raise(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := q.fit(ctx, true); err != nil {
		return nil, err
	}
	q.turn.asked = m
	m = q.effects.ask(m, func() llm.CallIDs { return llm.CallIDs{New: q.ids.New, Known: q.ids.Taken} })
	if observe.From(ctx) != nil {
		m = observing.Model(m, q.turn.model)
	}
	m = q.stronger(m)
	if q.turn.settings.Output != nil {
		m = refine.Structured(m, q.recoveries(), q.valueChecks(ctx)...)
	}
	return q.guard(&refine.Retrier{Model: q.salvaging(m), Attempts: q.Limits.Budget + 1, Retract: true}), nil
}

// checkEntry is a value that [Agent.Check] refused.
type checkEntry struct {
	Turn  int          `json:"turn"`
	Value journal.Hash `json:"value"`
	Error string       `json:"error"`
}

// maxRefusal limits the error of a check, for the record and for the model.
const maxRefusal = 2000

// valueChecks returns the check of structured answers, if there is one. What it refuses is recorded.
func (q *asker) valueChecks(ctx context.Context) []func(json.RawMessage) error {
	if q.agent != nil && q.agent.Check == nil {
		return nil
	}
	return []func(json.RawMessage) error{func(value json.RawMessage) error { return q.checkValue(ctx, value) }}
}

func (q *asker) checkValue(ctx context.Context, value json.RawMessage) error {
	d := q.decision(kindCheck)
	var err error
	if d.value, err = journal.HashJSON(value); err != nil {
		return err
	}
	var made error // by the hook, for callers that compare it
	e, err := decide(ctx, q.effects, d, func() (*checkEntry, error) {
		_, made = guarded(ctx, q.loop, hookCheck, func() (any, error) { return nil, q.agent.Check(value) })
		if made == nil || errors.As(made, new(*AbortedError)) || errors.As(made, new(*llm.Error)) || errors.Is(made, context.Canceled) || errors.Is(made, context.DeadlineExceeded) {
			return nil, made
		}
		e := &checkEntry{q.turn.n, d.value, q.redact(made.Error()).Cut(maxRefusal)}
		return e, q.write(ctx, kindCheck, e)
	})
	switch {
	case err != nil:
		return &llm.Error{Op: "agent", Kind: llm.KindOf(err), Err: err}
	case e == nil:
		return nil
	case made != nil && made.Error() == e.Error:
		return made
	}
	return errors.New(e.Error)
}

// recoveries is how often a structured answer may be asked for again. The budget
// counts, too.
func (q *asker) recoveries() int {
	if q.Limits.Budget == 0 {
		return -1
	}
	return q.Limits.Budget
}

// request returns the question of the turn.
func (q *asker) request() *llm.Request {
	req := q.turn.settings.Clone()
	req.System, req.Messages, req.Tools = q.turn.system, q.turn.conversation(q.messages), q.turn.tools
	req.RetryBudget, req.Echoes = q.budget, q.requestEchoes()
	if q.final && len(q.turn.tools) > 0 {
		req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	}
	return req
}

// judge decides whether an answer can be used, when asking again is over.
// It reports whether to ask another question.
func (q *asker) judge(ctx context.Context, h *modelAnswer) (again bool, err error) {
	switch {
	case h.err != nil:
		return q.failed(ctx, h)
	case len(h.calls)+len(h.invalid) > 0 && q.callerRuns:
		return q.sendBack(ctx, h)
	case len(h.calls)+len(h.invalid) > 0:
		return false, nil
	case q.turn.settings.Choice.Mode == llm.MustCall && !q.final:
		return q.refused(ctx, h)
	case h.empty():
		return q.silent(ctx, h)
	}
	return false, nil
}

// failed decides about an answer that ended with an error.
func (q *asker) failed(ctx context.Context, h *modelAnswer) (again bool, err error) {
	kind := llm.KindOf(h.err)
	var inside *executionError
	switch {
	case ctx.Err() != nil || kind == llm.Canceled:
		return false, cmp.Or(ctx.Err(), h.err)
	case errors.As(h.err, &inside):
		return false, inside.err
	case kind == llm.BrokenPromise && q.turn.settings.Choice.Mode == llm.MustCall && !q.final:
		return q.refused(ctx, h)
	case kind == llm.TooLong:
		if less, err := q.refusedAsTooLong(ctx); less || err != nil {
			return less, err
		}
		h.err = &llm.Error{Op: "agent", Kind: llm.TooLong, Err: fmt.Errorf("%s; that is longer than %s can take: %w", (&reducer{loop: q.loop}).sizeReport(), q.turn.modelName(), h.err)}
	}
	return q.modelFailed(ctx, q.blame(h.err), h)
}

// blame describes the failure of a model, with advice for a person.
func (q *asker) blame(err error) *tool.Error {
	e := *tool.FromError(err)
	if llm.KindOf(err) == llm.BrokenPromise {
		e = *tool.Errorf(tool.ModelRefusal, "%s did not do what was asked: %w", q.turn.modelName(), err)
	}
	e.Fix = advice.For(err, advice.ThePerson)
	return &e
}

// refused ends the turn of a model that was to call a tool and did not, although
// it was told.
func (q *asker) refused(ctx context.Context, h *modelAnswer) (again bool, err error) {
	h.err = nil // however it was noticed, this is what it is
	e := tool.Errorf(tool.ModelRefusal, "%s was told to call %s and did not", q.turn.modelName(), cmp.Or(q.turn.settings.Choice.Name, "a tool"))
	e.Fix = advice.For(e, advice.ThePerson)
	return q.modelFailed(ctx, e, h)
}

// silent ends the turn of a model that said nothing.
func (q *asker) silent(ctx context.Context, h *modelAnswer) (again bool, err error) {
	if h.finish.Reason == llm.ContentFilter {
		return q.modelFailed(ctx, q.blame(&llm.Error{Op: "agent", Kind: llm.Refused, Err: errors.New("the answer was filtered, and nothing is left of it")}), h)
	}
	why := "Tool routing produced no tool call or text response."
	if h.finish.Reason == llm.Length {
		why += " The limit of tokens was reached before the answer began."
	}
	h.finish.Reason, h.finish.Raw = Failed, rawEmpty
	e := tool.Errorf(tool.ModelRefusal, "%s", why)
	e.Err = &llm.Error{Op: "agent", Kind: llm.BrokenPromise, Code: rawEmpty, Err: errors.New(why)}
	e.Fix = advice.For(e, advice.ThePerson)
	q.done.Text = why
	return q.modelFailed(ctx, e, h)
}

// abandon keeps what a failed turn has said, for Done.
func (q *asker) abandon(h *modelAnswer, err error) {
	if h.kept {
		q.done.Text = h.message.Text()
	} else if !h.empty() && len(h.message.Parts) > 0 {
		q.messages = append(q.messages, h.message)
		q.done.Text = h.message.Text()
	}
	q.done.Invalid = h.invalid
	q.done.Finish = h.finish
	if h.finish.Reason == Failed {
		return
	}
	q.done.Finish.Reason = Failed
	var failed *llm.Error
	var because *tool.Error
	switch {
	case llm.KindOf(err) == llm.Canceled:
		q.done.Finish.Raw = rawStopped
	case errors.As(err, &failed) && failed.Code != "":
		q.done.Finish.Raw = failed.Code
	case h.err == nil && errors.As(err, &because):
		q.done.Finish.Raw = string(because.Code)
	case h.err != nil:
		q.done.Finish.Raw = rawBroken
	}
}

// modelFailed ends the turn of a model that gave no usable answer, unless
// somebody knows how to go on.
func (q *asker) modelFailed(ctx context.Context, e *tool.Error, h *modelAnswer) (again bool, err error) {
	point := Checkpoint{Cause: ModelFailed, Error: e, Raw: q.redact(h.message.Text()).Cut(maxTask), Options: []Action{Retry, Manual, Abort}}
	choice, err := q.checkpoint(ctx, point, nil)
	if err != nil {
		return false, err
	}
	switch choice.Action {
	case Retry:
		q.renew()
		return true, nil
	case Manual:
		q.renew()
		if err := q.keep(ctx, h, &q.turn); err != nil {
			return false, err
		}
		return true, q.note(ctx, whyManual, choice.Text)
	case Abort:
		if q.asks {
			return false, &AbortedError{Err: e}
		}
	}
	if h.err != nil {
		return false, h.err
	}
	return false, fmt.Errorf("agent: %s: %w", q.turn.modelName(), e)
}
