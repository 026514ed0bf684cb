package refine

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// DefaultAttempts is how often a question is asked in total where nobody says
// otherwise.
const DefaultAttempts = 3

// Retry asks m again if its answer breaks off, cannot be read, or does not do
// what the request demands; attempts is how often in total, 0 means 3. Errors
// that package provider retries are not among them. A model that broke a
// promise is told so.
//
// An answer is held back until it is whole, so that a broken one leaves no
// trace but a [AnswerRetry] event, or the error if it was the last. Package agent
// asks again without holding back.
func Retry(m llm.Model, attempts int) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			most := cmp.Or(max(attempts, 0), DefaultAttempts)
			req := budgeted(req, most-1)
			for attempt := 1; ; attempt++ {
				events, resp, err := hold(ctx, m, req)
				if err == nil {
					deliver(events, nil, yield)
					return
				}
				if attempt == most || !asksAgain[llm.KindOf(err)] || ctx.Err() != nil || !req.Budget.Take() {
					yield(nil, err)
					return
				}
				if !yield(AnswerRetry{Attempt: attempt, Max: most, Cause: llm.KindOf(err).String(), Error: err.Error()}, nil) {
					return
				}
				if llm.KindOf(err) == llm.BrokenPromise {
					req = followUp(req, resp, "Your last answer did not do what was asked: "+cause(err)+" Answer again and do it.")
				}
			}
		}
	})
}

// asksAgain are the errors that asking again may help against and that nobody
// below has tried to.
var asksAgain = map[llm.Kind]bool{llm.Incomplete: true, llm.Malformed: true, llm.BrokenPromise: true}

// cause returns what an error is about, without where it happened.
func cause(err error) string {
	var e *llm.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error() + "."
	}
	return err.Error() + "."
}

// budgeted returns req with a budget: its own if it has one.
func budgeted(req *llm.Request, n int) *llm.Request {
	if req.Budget != nil {
		return req
	}
	c := *req
	c.Budget = llm.NewRetryBudget(n)
	return &c
}

// hold reads an answer to its end.
func hold(ctx context.Context, m llm.Model, req *llm.Request) ([]llm.Event, *llm.Response, error) {
	var events []llm.Event
	var b llm.Builder
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			return events, b.Response(), err
		}
		events = append(events, ev)
		b.Add(ev)
	}
	return events, b.Response(), nil
}

// deliver yields what was held, and the error it ended with.
func deliver(events []llm.Event, err error, yield func(llm.Event, error) bool) {
	for _, ev := range events {
		if !yield(ev, nil) {
			return
		}
	}
	if err != nil {
		yield(nil, err)
	}
}

// followUp returns req with what the model said and what is to be said about
// it. Only text goes back: a call without its result would make the
// conversation invalid.
func followUp(req *llm.Request, said *llm.Response, text string) *llm.Request {
	next := req.Clone()
	if t := said.Message.Text(); t != "" {
		next.Messages = append(next.Messages, llm.Assistant(llm.Text{Text: t}))
	}
	next.Messages = append(next.Messages, llm.Note(text))
	return next
}
