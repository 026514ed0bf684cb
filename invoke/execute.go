package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// execute runs the tool. It retries a transient failure of an idempotent tool.
func (d *batch) execute(j *job, end *ending, emit func(llm.Event)) {
	r := d.s.runner
	most := cmp.Or(r.Attempts, tool.MaxAttempts)
	var start time.Time
	for n := 1; ; n++ {
		emit(Started{j.call.ID, j.tool.Name, n})
		began := time.Now() // after emit, whose time is the caller's and not the tool's
		if n == 1 {
			j.seen.runs(began)
			if start = began; r.Now != nil {
				start = r.Now()
			}
		}
		abandoned := d.attempt(d.context(j), j, n, began, end, emit)
		end.attempts, end.status = n, journal.OK
		if again, over := d.asks(j, end, abandoned, emit); over {
			return
		} else if again {
			n--
			continue
		}
		err := end.err
		end.stopped = err != nil && errors.Is(err.Err, errTimeout)
		switch {
		case abandoned:
			end.status = journal.Abandoned
		case err != nil:
			end.status = journal.Failed
		}
		if err == nil || abandoned || n >= most || !err.Transient() || !j.tool.Effects.Has(tool.Idempotent) {
			break
		}
		wait, ok := r.delay(n, err.RetryAfter)
		if !ok || !d.s.hasTime(r.took(start)+wait) {
			break
		}
		j.seen.retry(n, wait, err)
		emit(ToolRetry{j.call.ID, j.tool.Name, n, wait, err})
		if !sleep(d.ctx, wait) {
			end.err = tool.Errorf(tool.Cancelled, "cancelled between two attempts")
			break
		}
		end.delays = append(end.delays, wait)
	}
	end.took = r.took(start)
	if end.err != nil {
		d.interrupt(j, end)
		end.err = doubtful(end.err, j.tool.Effects)
	}
}

// asks has a person answer the question that an attempt ended with, if it did. It
// reports whether the tool is to be called again with the answer, or the call is
// over or waits.
func (d *batch) asks(j *job, end *ending, abandoned bool, emit func(llm.Event)) (again, over bool) {
	if j.waits || end.fault != nil { // a held question waits for another process
		return false, true
	}
	if abandoned || end.err == nil {
		return false, false
	}
	asks := new(promptError)
	if !errors.As(end.err, &asks) {
		return false, false
	}
	if len(j.answers) >= maxPrompts {
		end.err = tool.Errorf(tool.Execution, "%s asked more than %d questions", j.tool.Name, maxPrompts)
		return false, false
	}
	over, end.fault = d.prompt(j, Question{Prompt: asks.n, Message: asks.prompt.Message, Schema: asks.prompt.Schema}, emit)
	over = over || end.fault != nil
	return !over, over
}

// maxPrompts is how many questions a tool may ask in one call.
const maxPrompts = 32

// interrupt ends a call that may change things and was told to stop as if the process
// had been killed: whether it took effect is unknown. The same applies to a call that
// ran out of time, unless repeating it does no harm.
func (d *batch) interrupt(j *job, end *ending) {
	switch {
	case end.status != journal.Failed || j.tool.Effects.Has(tool.ReadOnly):
	case end.err.Code == tool.Uncertain: // the tool reports it itself
		end.status = journal.Unknown
	case end.err.Code == tool.Cancelled && d.ctx.Err() != nil:
		end.err, end.status = uncertain(), journal.Unknown
	case end.err.Code == tool.Timeout && end.stopped && !j.tool.Effects.Has(tool.Idempotent):
		end.status = journal.Unknown
	}
}

// sleep waits, and reports whether it did so to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errTimeout is the cause of a context whose time is up.
var errTimeout = errors.New("the time is up")

// attempt runs the tool once. It sets the output and the error of end, and reports
// whether the tool was abandoned: a tool that does not stop when it is told to is
// abandoned after the grace. Its goroutine ends when the tool does, without a wait for
// it.
func (d *batch) attempt(ctx context.Context, j *job, n int, now time.Time, end *ending, emit func(llm.Event)) (abandoned bool) {
	r := d.s.runner
	timeout := cmp.Or(j.tool.Timeout, r.Timeout, 30*time.Second)
	ctx, cancel := context.WithDeadlineCause(ctx, now.Add(timeout), errTimeout)
	defer cancel()
	e := &execution{Context: ctx, name: j.tool.Name, call: j.tool.Call, args: slices.Clone(j.args), info: j.info, changed: make(chan struct{}, 1), session: d.s}
	e.info.Attempt = n
	if len(j.answers) > 0 {
		e.talk = &talk{answers: j.answers}
	}
	go e.run()
	var grace <-chan time.Time
	stop := ctx.Done()
	for waiting := true; waiting; {
		select {
		case <-e.changed:
			events, held, over := e.look()
			for _, ev := range events {
				emit(ev)
			}
			if over {
				end.out, end.err = e.read(timeout)
				return false
			}
			for _, h := range held {
				if err := d.inPlace(e, j, h, emit); err != nil {
					end.fault = err
				}
			}
		case <-stop:
			timer := time.NewTimer(cmp.Or(r.Grace, 2*time.Second))
			defer timer.Stop()
			stop, grace = nil, timer.C
		case <-grace:
			waiting = false
		}
	}
	err := interrupted(ctx, timeout)
	err.Message += "; it did not stop when told to, was abandoned, and may still be running"
	err.Recoverable, err.Strategy = false, tool.Abort
	end.out, end.err = tool.Output{}, err
	return true
}

// execution is one run of a tool, on a separate goroutine. Its variables are fields to
// keep the goroutine's stack small: growing the stack takes longer than a small tool
// does.
type execution struct {
	context.Context // of the tool, except for the values in Value

	name string
	call func(context.Context, json.RawMessage) (tool.Output, error)
	args json.RawMessage
	info tool.Info

	session *Session

	changed chan struct{} // has an element if events or over has changed
	mu      sync.Mutex
	talk    *talk // nil if the tool neither says nor asks anything, as most do
	over    bool  // the tool has returned; what follows is for the reader then

	ended bool // the tool returned, without a panic or Goexit
	out   tool.Output
	err   error
}

// talk is what a tool says and is told while it runs.
type talk struct {
	events []llm.Event   // not yielded yet
	room   chan struct{} // wakes a tool that waits for room for an event; nil if it never did
	// answers are those to the questions that the tool asked in earlier runs of
	// the same call.
	answers []journal.Approval
	held    []*heldQuestion // not asked yet
}

// talking returns the talk, which there is from now on. The caller holds mu.
func (e *execution) talking() *talk {
	if e.talk == nil {
		e.talk = new(talk)
	}
	return e.talk
}

func (e *execution) run() {
	defer e.finish()
	e.out, e.err = e.call(e, e.args)
	e.ended = true
}

// finish is deferred: a tool may panic, or call runtime.Goexit.
func (e *execution) finish() {
	if !e.ended {
		if p := recover(); p != nil {
			e.err = tool.Panicked(e.name, p)
		} else {
			e.err = tool.Errorf(tool.Execution, "%s ended its goroutine without a result", e.name)
		}
	}
	e.mu.Lock()
	e.over = true
	e.mu.Unlock()
	e.poke()
}

// poke has the goroutine that waits for the tool look again.
func (e *execution) poke() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// look takes the events and the held questions of the tool, and reports whether it has returned.
func (e *execution) look() (events []llm.Event, held []*heldQuestion, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.talk
	if t == nil {
		return nil, nil, e.over
	}
	events, t.events = t.events, nil
	held, t.held = t.held, nil
	if len(events) > 0 && t.room != nil {
		select {
		case t.room <- struct{}{}:
		default:
		}
	}
	return events, held, e.over
}

// read returns the tool's output and error, both within the bounds on size.
func (e *execution) read(timeout time.Duration) (tool.Output, *tool.Error) {
	held(&e.out)
	if e.err == nil {
		return e.out, nil
	}
	// The tool's error says only that its context ended; the cause of the
	// context says whether that was the timeout or a cancellation.
	if e.Err() != nil && (errors.Is(e.err, context.Canceled) || errors.Is(e.err, context.DeadlineExceeded)) {
		err := interrupted(e, timeout)
		err.Err = errors.Join(context.Cause(e), e.err)
		return e.out, err
	}
	err := tool.FromError(e.err)
	if len(err.Message) > failedBytes {
		c := *err
		c.Message, c.Err = secret.Head(c.Message, failedBytes)+notHeld(len(c.Message)), nil
		err = &c
	}
	return e.out, err
}

// held cuts the text of an output to heldBytes in all.
// Only the text that is kept is hashed, recorded and shown.
func held(out *tool.Output) {
	room, parts := heldBytes, out.Parts
	for i, p := range parts {
		t, ok := p.(llm.Text)
		if !ok {
			continue
		}
		if room -= len(t.Text); room < 0 {
			parts = slices.Clone(parts)
			kept := secret.Head(t.Text, max(0, len(t.Text)+room))
			out.Omitted += int64(len(t.Text) - len(kept))
			parts[i] = llm.Text{Text: kept + notHeld(len(t.Text))}
			room = 0
		}
	}
	out.Parts = parts
}

func notHeld(n int) string {
	return fmt.Sprintf("\n[the tool returned %d bytes here, which is more than is kept]", n)
}

// interrupted is the error of a call that was told to stop.
func interrupted(ctx context.Context, timeout time.Duration) *tool.Error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return tool.Errorf(tool.Timeout, "no result after %s", timeout)
	}
	return tool.Errorf(tool.Cancelled, "cancelled while it ran")
}

// promptError is the error for a tool whose question has no answer yet. The tool must
// return it.
type promptError struct {
	n      int
	prompt tool.Prompt
	alone  bool
}

// Nobody reports whether no person could answer. A tool that does not need an answer
// may then continue.
func (e *promptError) Nobody() bool { return e.alone }

func (e *promptError) Error() string { return "a person has to answer first: " + e.prompt.Message }

// heldQuestion is a question whose tool waits for the answer.
type heldQuestion struct {
	ctx    context.Context // ends when the tool does not wait any more
	prompt tool.Prompt
	reply  chan heldReply // has room for it
}
