package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
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
func (l *loop) answer(ctx context.Context, final bool) (*heard, error) {
	for {
		m, _ := l.models(l.turnNo)
		m, err := l.raise(ctx, m)
		if err != nil {
			return nil, err
		}
		if err := l.fit(ctx); err != nil {
			return nil, err
		}
		if l.rec != nil {
			m = l.rec.Model(m)
		}
		m = l.stronger(m)
		if l.question.Output != nil {
			m = refine.Structured(m, l.recoveries())
		}
		h := l.hear(ctx, m, l.request(final))
		again, err := l.mend(ctx, h, final)
		if err != nil {
			l.abandon(h, err)
		}
		if !again {
			return h, err
		}
	}
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
	req := l.question.Clone()
	req.System, req.Messages, req.Tools = l.System, l.messages, l.offered
	req.Choice, req.Budget = l.choice, l.budget
	if final && len(l.offered) > 0 {
		req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	}
	return req
}

// mend decides whether an answer can be used, and makes what there is usable.
// It reports whether to ask again.
//
// What counts comes in this order: calls of the answer; calls in an envelope
// that is its whole text; its text. Only then is it empty.
func (l *loop) mend(ctx context.Context, h *heard, final bool) (again bool, err error) {
	switch {
	case h.err != nil:
		return l.mendError(ctx, h, final)
	case len(h.calls)+len(h.invalid) > 0 && l.single:
		return l.sendBack(ctx, h)
	case len(h.calls)+len(h.invalid) > 0:
		return false, nil
	case l.choice.Mode == llm.MustCall && !final:
		return l.demand(ctx, h)
	case h.empty():
		return l.wake(ctx, h)
	case !final && l.toolMode():
		if name := onlyCall(h.message.Text()); name != "" && !l.doubted && l.budget.Take() {
			l.doubted = true // if it says so again, that is its answer
			return true, l.suspect(ctx, h, name)
		}
	}
	return false, nil
}

// onlyCall returns the name of the tool if a text is a call and nothing else.
func onlyCall(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasSuffix(text, "```") && !strings.HasSuffix(text, "}") && !strings.HasSuffix(text, "]") {
		return ""
	}
	name := ""
	var p dialect.Parser
	for ev, err := range p.Parse(dialect.Whole(text)) {
		switch ev := ev.(type) {
		case llm.Call:
			name = ev.Name
		case llm.TextDelta:
			if strings.TrimSpace(ev.Text) != "" {
				return ""
			}
		}
		if err != nil {
			return ""
		}
	}
	return name
}

// suspect answers a model whose whole answer is a call that could not be taken
// for one: of something that is not there, or written as text by a model that
// has another way. A call lost in silence is worse than a question too many.
func (l *loop) suspect(ctx context.Context, h *heard, name string) error {
	problem, fix := fmt.Sprintf("there is no tool called %q", name), "The tools are "+strings.Join(l.some(maxNames), ", ")+". Call one of them by exactly its name, or answer in words."
	if l.offers(name) {
		problem, fix = fmt.Sprintf("a call of %s was written as text", name), "Call the tool itself, or answer in words."
	}
	l.emit(Recovery{Attempt: l.budget.Used(), Max: l.Limits.Budget, Cause: refine.Validation, Error: problem})
	if err := l.keep(ctx, h); err != nil {
		return err
	}
	return l.note(ctx, string(refine.Validation), "Your answer looks like a call of "+name+", but "+problem+". "+fix)
}

// maxNames bounds the names a model is told at once.
const maxNames = 20

// mendError decides about an answer that ended with an error. Calls that were
// complete by then count.
func (l *loop) mendError(ctx context.Context, h *heard, final bool) (again bool, err error) {
	var failed *llm.Error
	if !errors.As(h.err, &failed) {
		failed = &llm.Error{Kind: llm.KindOf(h.err), Err: h.err}
	}
	kind := failed.Kind
	switch {
	case ctx.Err() != nil || kind == llm.Canceled:
		return false, cmp.Or(ctx.Err(), h.err)
	case len(h.calls) > 0 && kind != llm.TooLong:
		l.emit(llm.Warning{Code: llm.Compatibility, Feature: "stream", Detail: "the answer broke off after complete calls, which count: " + h.err.Error()})
		h.finish.Reason, h.finish.Raw, h.err = llm.ToolCalls, rawCalls, nil
		return false, nil
	case failed.Code == rawStructured && !h.empty():
		h.finish.Reason, h.finish.Raw, h.err = llm.Stop, rawRecovered, nil
		return false, nil
	case kind == llm.BrokenPromise && l.choice.Mode == llm.MustCall && !final:
		return l.demand(ctx, h)
	case kind == llm.TooLong:
		if cut, err := l.shorten(ctx); cut || err != nil {
			return cut, err
		}
		h.err = &llm.Error{Op: "agent", Kind: llm.TooLong, Err: fmt.Errorf("the conversation is longer than %s can take, also with its old results cut: %w", l.name(), h.err)}
	case askAgain[kind] && l.budget.Take():
		l.emit(Retry{Attempt: l.budget.Used(), Max: l.Limits.Budget + 1, Cause: kind.String(), Error: h.err.Error()})
		return true, nil
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

// askAgain are the errors after which the same question is asked again. Those
// that package provider retries are not among them.
var askAgain = map[llm.Kind]bool{llm.Incomplete: true, llm.Malformed: true, llm.BrokenPromise: true}

// demand answers a model that should have called a tool and did not: it is
// corrected once.
func (l *loop) demand(ctx context.Context, h *heard) (again bool, err error) {
	what := "a tool"
	if l.choice.Name != "" {
		what = l.choice.Name
	}
	if l.nudged || !l.budget.Take() {
		h.err = nil // however it was noticed, this is what it is
		e := tool.Errorf(tool.ModelRefusal, "%s was told to call %s and did not", l.name(), what)
		e.Fix = tool.Advice(e, tool.ThePerson)
		return l.modelFailed(ctx, e, h)
	}
	l.nudged = true
	if err := l.keep(ctx, h); err != nil {
		return false, err
	}
	text := "You did not call " + what + ", and this task cannot be done without. Call " + what + " now; write nothing else."
	l.emit(Recovery{Attempt: 1, Max: 1, Cause: refine.Refusal, Error: "no tool was called"})
	return true, l.note(ctx, string(refine.Refusal), text)
}

// wake answers a model that said nothing.
func (l *loop) wake(ctx context.Context, h *heard) (again bool, err error) {
	switch {
	case h.finish.Reason == llm.ContentFilter:
		return l.modelFailed(ctx, l.blame(&llm.Error{Op: "agent", Kind: llm.Refused, Err: errors.New("the answer was filtered, and nothing is left of it")}), h)
	case h.finish.Reason != llm.Length && l.budget.Take():
		l.emit(Recovery{Attempt: l.budget.Used(), Max: l.Limits.Budget, Cause: refine.Empty, Error: "Response was empty."})
		return true, l.note(ctx, string(refine.Empty), "Your last answer was empty. Answer the request, or call a tool if you need one.")
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
func (l *loop) abandon(h *heard, err error) {
	if !h.empty() && len(h.message.Parts) > 0 {
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
func (l *loop) modelFailed(ctx context.Context, e *tool.Error, h *heard) (again bool, err error) {
	point := Checkpoint{Cause: ModelFailed, Error: e, Raw: clip(h.message.Text(), maxTask), Options: []Action{TryAgain, Manual, Abort}}
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
	l.nudged, l.doubted, l.raised, l.step = false, false, false, ""
}
