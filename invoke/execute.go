package invoke

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// execute runs the tool, again if its failure is transient and running it again
// is harmless.
func (s *Session) execute(ctx context.Context, j *job, emit func(llm.Event)) ending {
	r := s.runner
	start := r.now()
	most := cmp.Or(r.Attempts, tool.MaxAttempts)
	var end ending
	for n := 1; ; n++ {
		emit(Started{j.call.ID, j.tool.Name, n})
		out, err, abandoned := r.attempt(ctx, j)
		end.out, end.err, end.attempts, end.status = out, err, n, journal.OK
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
		if !ok {
			break
		}
		emit(Retrying{j.call.ID, j.tool.Name, n, wait, err})
		if !sleep(ctx, wait) {
			break
		}
		end.delays = append(end.delays, wait)
	}
	end.took = r.took(start)
	if end.err != nil {
		end.err = doubtful(end.err, j.tool)
	}
	return end
}

// mayHaveActed reports whether a failure may have come after the effect, so
// that whoever repeats the call may do it twice.
func mayHaveActed(e *tool.Error, t tool.Tool) bool {
	return !t.Effects.Has(tool.Idempotent) && (e.Code == tool.Timeout || e.Code == tool.Network || e.Code == tool.Cancelled)
}

// doubtful changes the advice about such a failure.
func doubtful(e *tool.Error, t tool.Tool) *tool.Error {
	if !mayHaveActed(e, t) {
		return e
	}
	c := *e
	if c.Recoverable {
		c.Strategy = tool.Escalate
	}
	c.Fix = "It may have taken effect all the same. 1. Find out whether it did, with a tool that only reads. 2. Call it again only if it did not."
	return &c
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

// attempt runs the tool once. A tool that goes on when it was told to stop is
// abandoned after the grace: its goroutine ends when the tool does, and nobody
// waits for it.
func (r *Runner) attempt(ctx context.Context, j *job) (tool.Output, *tool.Error, bool) {
	timeout := cmp.Or(j.tool.Timeout, r.Timeout, 30*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	done := make(chan returned, 1)
	go func() {
		var v returned
		ended := false
		defer func() {
			if !ended { // the tool called runtime.Goexit
				v.err = tool.Errorf(tool.Execution, "%s ended its goroutine without a result", j.tool.Name)
			}
			done <- v
		}()
		v.out, v.err = j.tool.Run(ctx, slices.Clone(j.args))
		ended = true
	}()
	select {
	case v := <-done:
		return v.read(ctx, timeout)
	case <-ctx.Done():
	}
	grace := time.NewTimer(cmp.Or(r.Grace, 2*time.Second))
	defer grace.Stop()
	select {
	case v := <-done:
		return v.read(ctx, timeout)
	case <-grace.C:
	}
	e := interrupted(ctx, timeout)
	e.Message += "; it did not stop when told to, was abandoned, and may still be running"
	e.Recoverable, e.Strategy = false, tool.Abort
	return tool.Output{}, e, true
}

type returned struct {
	out tool.Output
	err error
}

// read makes of what a tool returned what the rest needs.
func (v returned) read(ctx context.Context, timeout time.Duration) (tool.Output, *tool.Error, bool) {
	if v.err == nil {
		return v.out, nil, false
	}
	// A tool reports its cancelled context in its own words; whose fault it
	// was is known here.
	if ctx.Err() != nil && (errors.Is(v.err, context.Canceled) || errors.Is(v.err, context.DeadlineExceeded)) {
		e := interrupted(ctx, timeout)
		e.Err = v.err
		return v.out, e, false
	}
	return v.out, tool.FromError(v.err), false
}

// interrupted is the error of a call that was told to stop.
func interrupted(ctx context.Context, timeout time.Duration) *tool.Error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return tool.Errorf(tool.Timeout, "no result after %s", timeout)
	}
	return tool.Errorf(tool.Cancelled, "cancelled while it ran")
}
