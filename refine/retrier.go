package refine

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/opening"
	"github.com/toolpost/toolpost/llm"
)

// defaultAttempts is the default number of requests in total.
const defaultAttempts = 3

// Retrier asks a model again if its answer is unusable: it broke off, cannot be read, is empty, or
// does not do what the request demands. It does not repeat what package provider retries; an error
// that may pass, such as an overloaded vendor, counts as broken off once the answer has begun. Each
// new request is taken from the budget of the request, and reported by an [AnswerRetry] or a
// [Recovery].
//
// Answers are passed on while they arrive. The model is therefore asked again only before a part
// of the answer has been passed on, or later if Retract is set: then an [llm.Retract] comes
// first. After a complete call it is never asked again. If it cannot be asked again, the answer
// counts unchanged, with the error that ended it.
type Retrier struct {
	Model llm.Model
	// Attempts is how often the model is asked in total; 0 means 3.
	Attempts int
	// Retract reports that the reader of the stream understands llm.Retract.
	Retract bool
	// Reasons are the cases in which the model is asked again, in the order in
	// which they are looked for; nil means those of [Reasons].
	Reasons []RetryReason
}

// Retry asks m again in the cases of [Reasons]; attempts is how often in total,
// 0 means 3. It passes the answer on as it comes, so an answer that breaks off
// in its middle ends with the error it ended with. Put [Whole] around m to have
// it held back until it is known to be good.
func Retry(m llm.Model, attempts int) llm.Model { return &Retrier{Model: m, Attempts: attempts} }

// Unwrap returns the model that is asked.
func (a *Retrier) Unwrap() llm.Model { return a.Model }

// Stream asks the model until its answer counts, or cannot be asked for again.
func (a *Retrier) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		most := cmp.Or(max(a.Attempts, 0), defaultAttempts)
		req := budgeted(req, most-1)
		reasons := a.Reasons
		if reasons == nil {
			reasons = defaultReasons
		}
		q := &questioning{most: most, retract: a.Retract, yield: yield}
		for {
			said := q.listen(a.Model.Stream(ctx, req))
			if q.stopped {
				return
			}
			q.usage = q.usage.Add(said.resp.Finish.Usage)
			if found, ok := find(reasons, req, said.resp, asCut(said.err, said.begun)); ok {
				if next, ok := q.again(ctx, req, said, found); ok {
					req = next
					continue
				}
			}
			if !q.stopped {
				said.resp.Finish.Usage = q.usage
				q.end(said)
			}
			return
		}
	}
}

// attempt is one answer, which has been passed on but for its end.
type attempt struct {
	resp     *llm.Response
	err      error // what it ended with; nil if it is complete
	finished bool  // with an llm.Finish
	opening  opening.Opening
	begun    bool // something of it was passed on
	called   bool // a complete call was
}

// questioning is the state of one request until it has an answer that counts.
// It is the one place that decides, counts and reports that a question is asked
// again.
type questioning struct {
	most    int // questions in total
	asked   int // questions that failed
	retract bool
	once    map[RecoveryCause]bool
	usage   llm.Usage // of all answers
	yield   func(llm.Event, error) bool
	stopped bool // the reader has stopped
}

func (q *questioning) emit(ev llm.Event) bool {
	if !q.stopped && !q.yield(ev, nil) {
		q.stopped = true
	}
	return !q.stopped
}

// listen passes an answer on. Its beginning is held back until something of the
// answer comes, and its end until it is known whether it counts.
func (q *questioning) listen(events iter.Seq2[llm.Event, error]) *attempt {
	said := new(attempt)
	var b llm.Builder
	for ev, err := range events {
		if err != nil {
			said.err = err
			break
		}
		b.Add(ev)
		if !q.pass(said, ev) {
			break
		}
	}
	said.resp, said.begun = b.Response(), said.opening.Begun()
	return said
}

// pass passes an event on and reports whether to go on.
func (q *questioning) pass(said *attempt, ev llm.Event) bool {
	switch ev.(type) {
	case llm.Finish:
		said.finished = true
		return true
	case llm.Call, llm.HostedCall: // a call is not repeated
		said.called = true
	}
	return q.emitAll(said.opening.Next(ev))
}

func (q *questioning) emitAll(events []llm.Event) bool {
	for _, ev := range events {
		if !q.emit(ev) {
			return false
		}
	}
	return true
}

// end passes on the end of an answer that counts.
func (q *questioning) end(said *attempt) {
	switch {
	case !q.emitAll(said.opening.Held()):
	case said.err != nil:
		q.yield(nil, said.err)
	case said.finished:
		q.yield(said.resp.Finish, nil)
	}
}

// again decides whether to ask again, reports it, and returns the next request.
func (q *questioning) again(ctx context.Context, req *llm.Request, said *attempt, f Defect) (*llm.Request, bool) {
	q.asked++
	switch {
	case ctx.Err() != nil || q.asked >= q.most || said.called || said.begun && !q.retract || f.once && q.once[f.Cause]:
		return nil, false
	case !req.RetryBudget.Take():
		return nil, false
	case said.begun && !q.emit(llm.Retract{Why: f.Problem}):
		return nil, false
	}
	if q.once == nil {
		q.once = make(map[RecoveryCause]bool)
	}
	q.once[f.Cause] = true
	next, added := f.followUp(req, said.resp)
	return next, q.emit(f.event(req.RetryBudget, added, q.usage))
}

// event says that the question is asked again.
func (f Defect) event(b *llm.RetryBudget, added []llm.Message, usage llm.Usage) llm.Event {
	n, most := b.Used(), b.Used()+b.Left()
	if f.RetryCause != "" {
		return AnswerRetry{Attempt: n, Max: most + 1, Cause: f.RetryCause, Error: f.Problem, Usage: usage}
	}
	if f.once {
		n, most = 1, 1
	}
	if f.aside {
		added = nil
	}
	return Recovery{Attempt: n, Max: most, Cause: f.Cause, Error: f.Problem, Usage: usage, Added: added}
}

// followUp returns the next request, and the messages that it adds to the last one: the text of
// the model, if the model should see it, and the correction. Calls are left out: a call without
// its result would make the conversation invalid.
func (f Defect) followUp(req *llm.Request, said *llm.Response) (*llm.Request, []llm.Message) {
	if f.Tell == "" {
		return req, nil
	}
	var added []llm.Message
	if f.Keep {
		m := llm.Message{Role: llm.RoleAssistant}
		for _, p := range said.Message.Parts {
			if _, call := p.(llm.Call); !call {
				m.Parts = append(m.Parts, p)
			}
		}
		if len(m.Parts) > 0 {
			added = append(added, m)
		}
	}
	added = append(added, llm.Note(f.Tell))
	next := req.Clone()
	next.Messages = append(next.Messages, added...)
	return next, added
}

// cause returns what an error is about, without where it happened. An error that
// was written down and read again has the same cause.
func cause(err error) string {
	text, kind := err.Error(), strings.ReplaceAll(llm.KindOf(err).String(), "_", " ")+": "
	if i := strings.LastIndex(text, kind); i >= 0 {
		text = text[i+len(kind):]
	}
	return text + "."
}

// budgeted returns req with a budget: its own if it has one.
func budgeted(req *llm.Request, n int) *llm.Request {
	if req.RetryBudget != nil {
		return req
	}
	c := *req
	c.RetryBudget = llm.NewRetryBudget(n)
	return &c
}

// Whole holds the answers of m back until they are whole. Models around it can
// then ask again, or ask another model, however late an answer fails. An error that may pass, in the middle of an
// answer, counts as broken off.
func Whole(m llm.Model) llm.Model {
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var events []llm.Event
			for ev, err := range m.Stream(ctx, req) {
				if err != nil {
					yield(nil, asCut(err, slices.ContainsFunc(events, llm.Begins)))
					return
				}
				events = append(events, ev)
			}
			deliver(events, nil, yield)
		}
	})
}

// deliver yields the events that were held back, and the error that ended the answer.
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
