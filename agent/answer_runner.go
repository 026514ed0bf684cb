package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// AnswerRunner runs a call for a model that calls tools while it answers, as agent programs
// with a loop of their own do. The call is validated, authorised, bounded and recorded as
// any other call of the run, and the events of that are events of the run. The result is
// what the model gets; its CallID is what the record calls the call. An error means that
// the run must not go on: the model ends its answer with it.
//
// It must be called by the goroutine that runs the model's Stream, before that returns,
// for one call at a time.
type AnswerRunner func(context.Context, llm.Call) (llm.Result, error)

type answerRunnerKey struct{}

// AnswerRunnerOf returns what runs calls for the model that is asked with ctx, nil if nobody
// does: then the calls of an answer are run after it, or by the caller of the run.
func AnswerRunnerOf(ctx context.Context) AnswerRunner {
	e, _ := ctx.Value(answerRunnerKey{}).(AnswerRunner)
	return e
}

// executing returns the context in which a model is asked. It has an [AnswerRunner] if the run
// has a function for every tool.
func (l *loop) executing(ctx context.Context, req *llm.Request) context.Context {
	l.inAnswer = nil
	if l.session == nil || l.single || len(req.Tools) == 0 || req.Choice.Mode == llm.MustNotCall {
		return ctx
	}
	return context.WithValue(ctx, answerRunnerKey{}, AnswerRunner(l.execute))
}

// executionError ends the answer of a model because its calls must not go on.
type executionError struct{ err error }

func (e *executionError) Error() string { return e.err.Error() }
func (e *executionError) Unwrap() error { return e.err }

// execute runs one call in the middle of an answer.
func (l *loop) execute(ctx context.Context, c llm.Call) (llm.Result, error) {
	c.ID, c.Hosted = l.ids.Take(c.ID), false
	if l.inAnswer == nil {
		l.inAnswer = make(map[string]bool)
	}
	l.inAnswer[c.ID] = true
	if err := l.write(ctx, kindInside, insideEntry{l.turnNo, c.ID}); err != nil {
		return llm.Result{}, &executionError{err}
	}
	result, err := l.executeNow(ctx, c)
	if err != nil {
		return result, &executionError{err}
	}
	return result, nil
}

func (l *loop) executeNow(ctx context.Context, c llm.Call) (llm.Result, error) {
	if !l.offers(c.Name) {
		return l.refuseNow(ctx, l.notOffered(c))
	}
	kept := l.results
	l.results = make(map[string]llm.Result)
	defer func() { l.results = kept }()
	a := new(acting)
	calls := []llm.Call{c}
	l.doubt(calls)
	err := l.do(ctx, a, calls)
	if errors.Is(err, errWaiting) {
		// The model is in the middle of its answer and cannot wait.
		l.done.Waiting = slices.DeleteFunc(l.done.Waiting, func(q invoke.Question) bool { return q.CallID == c.ID })
		return l.refuseNow(ctx, llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.NotAllowed,
			Problem: "a person has to decide about this call, and nobody is there now; it was not run"})
	}
	if err != nil {
		return llm.Result{}, err
	}
	if a.stopped != "" {
		e := tool.Errorf(tool.Execution, "%s", a.stopped)
		e.Recoverable, e.Strategy = false, tool.Abort
		return llm.Result{}, &AbortedError{Err: e}
	}
	if r, ok := l.results[c.ID]; ok {
		return r, nil
	}
	return llm.Result{}, cmp.Or(context.Cause(ctx), errors.New("agent: the call has no outcome"))
}

// refuseNow answers a call that cannot be run.
func (l *loop) refuseNow(ctx context.Context, c llm.InvalidCall) (llm.Result, error) {
	o, err := l.runner.Refuse(ctx, c)
	if err == nil {
		l.emit(o)
	}
	return o.Result, err
}

// replayInside plays the calls that were run while the model gave the answer of the turn.
func (r *recorded) replayInside(ctx context.Context, turn int) ([]string, error) {
	for _, id := range r.inside[turn] {
		rec := r.receipts[id]
		if rec.Call == "" {
			continue // the process ended before it was over
		}
		if _, err := r.outcome(ctx, llm.Call{ID: id, Name: rec.Tool, Args: rec.Args}); err != nil {
			return nil, err
		}
	}
	return r.inside[turn], nil
}

// ranInside marks the calls of a recorded answer that were run in it.
func (l *loop) ranInside(ctx context.Context) error {
	if l.wasInside == nil {
		return nil
	}
	ids, err := l.wasInside(ctx, l.turnNo)
	for _, id := range ids {
		if l.inAnswer == nil {
			l.inAnswer = make(map[string]bool)
		}
		l.inAnswer[id] = true
	}
	return err
}

// whyBroken is why a note was added after an answer that broke off.
const whyBroken = "broken_off"

// keepBroken keeps an answer that broke off after calls had been run in it: whoever goes
// on has to know of them.
func (l *loop) keepBroken(ctx context.Context, h *modelAnswer) error {
	if h.err == nil || len(l.inAnswer) == 0 || h.kept {
		return nil
	}
	h.kept = true
	if err := l.keep(ctx, h); err != nil {
		return err
	}
	return l.note(ctx, whyBroken, "Your answer broke off here. The calls above were made; do not make them again unless they failed. Go on from there.")
}

// additions returns what is added to the conversation after a turn, first of all what a
// process before this one left undone.
func (l *loop) additions(turn int) []llm.Message {
	more := l.more(turn)
	if l.made != "" {
		more = append([]llm.Message{llm.User(l.made)}, more...)
		l.made = ""
	}
	return more
}

// madeBefore is the note about calls that were run in an answer that is not on record:
// the process ended before the answer did. It is empty if there are none.
func (p *past) madeBefore() string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(p.inside)) {
		r, ok := p.receipts[id]
		if !ok || r.Status == journal.Refused {
			continue
		}
		line := fmt.Sprintf("%s %s: %s", r.Tool, r.Args, r.Status)
		if r.Result != nil {
			line += ": " + secret.Head(r.Result.Text(), maxTask)
		}
		lines = append(lines, line)
	}
	if lines == nil {
		return ""
	}
	return "An answer of yours was interrupted. These calls were made in it; do not make them again unless they failed:\n" + strings.Join(lines, "\n")
}
