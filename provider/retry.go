package provider

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// RetryPolicy is how often and how patiently a request is sent again that the
// vendor could not begin to answer. It is the only place where HTTP requests
// are repeated. Zero fields are the defaults.
type RetryPolicy struct {
	Attempts int           // in all; default 3, less than 2 means once
	Initial  time.Duration // before the second; default 1 s, doubled each time
	Max      time.Duration // never longer; default 30 s; a vendor that asks for more is not asked again
}

// waits returns the waits of a context, with those of the client in place of zero fields.
func (m *Model) waits(ctx context.Context, whole bool) requestctx.Waits {
	w, first := requestctx.WaitsOf(ctx), 5*time.Minute
	if whole { // nothing comes until all of it is there
		first = 30 * time.Minute
	}
	return requestctx.Waits{
		First:    cmp.Or(w.First, orDefault(m.client.Timeouts.First, first)),
		Silence:  cmp.Or(w.Silence, orDefault(m.client.Timeouts.Silence, 2*time.Minute)),
		Attempts: cmp.Or(w.Attempts, m.client.Retry.attempts()),
	}
}

// RequestRetry is the event that a request failed and will be sent again.
type RequestRetry struct {
	Attempt int           `json:"attempt"` // that failed, from 1
	Of      int           `json:"of"`
	Wait    time.Duration `json:"wait_ns"`
	Kind    llm.Kind      `json:"kind"`
	Status  int           `json:"status,omitempty"` // with which the vendor refused it; 0 if it did not answer
	Problem string        `json:"problem"`
}

// EventType returns "request_retry". Retries of tools are another event.
func (RequestRetry) EventType() string { return "request_retry" }

func (r RetryPolicy) attempts() int {
	if r.Attempts == 0 {
		return 3
	}
	return max(1, r.Attempts)
}

// wait is how long to wait after the n-th failure, counted from 1: what the
// vendor asked for, else twice as long each time; a quarter of chance keeps
// clients apart. It reports false if that is too long.
func (r RetryPolicy) wait(n int, e *llm.Error, p requestctx.Patience, chance float64) (time.Duration, bool) {
	base, limit := r.Initial, r.Max
	if base <= 0 {
		base = time.Second
	}
	if limit <= 0 {
		limit = 30 * time.Second
	}
	d := min(base<<min(n-1, 20), limit)
	if after := e.RetryAfter; after > 0 {
		if after > limit || p == requestctx.Brief && (e.Kind == llm.RateLimited || after > d) {
			return 0, false
		}
		d = after
	}
	return d + time.Duration(chance*0.25*float64(d)), p != requestctx.Once
}

// retryable reports whether the same request may be sent again: the vendor
// was busy or broken, or the connection was.
func retryable(e *llm.Error) bool {
	switch {
	case e.Kind == llm.Auth, e.Kind == llm.Canceled, e.Kind == llm.Unsupported:
		return false
	case e.Status == 0:
		return e.Kind.Transient()
	}
	return e.Status == 408 || e.Status == 429 || e.Status >= 500
}

// send asks the vendor and yields its answer. What fails before the first
// event is sent again.
func (m *Model) send(ctx context.Context, j *job) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		body, warnings, err := j.codec.EncodeRequest(j.req, !j.whole)
		if err != nil {
			yield(nil, err)
			return
		}
		body, foreign := m.client.redactBody(&m.target, body)
		for _, w := range slices.Concat(warnings, m.client.overheard(&m.target), foreign) {
			if !yield(w, nil) {
				return
			}
		}
		if j.whole && !m.client.Whole {
			m.persistWhole(ctx, j, body, yield)
			return
		}
		m.persist(ctx, j, body, yield)
	}
}

// persist sends a request until it is answered, or may not be sent again.
func (m *Model) persist(ctx context.Context, j *job, body []byte, yield func(llm.Event, error) bool) {
	seen := observing.CallOf(ctx)
	for n := 1; ; n++ {
		if seen != nil {
			seen.Attempts++
		}
		err, began := m.once(ctx, j, body, yield)
		if err == nil || !m.again(ctx, n, err, began, yield) {
			return
		}
	}
}

// again reports whether a request that failed for the n-th time is to be sent again, and waits until then. If it is
// not, it has said why.
func (m *Model) again(ctx context.Context, n int, err *llm.Error, began bool, yield func(llm.Event, error) bool) bool {
	policy, most, seen := m.client.Retry, m.waits(ctx, false).Attempts, observing.CallOf(ctx)
	wait, soon := policy.wait(n, err, requestctx.PatienceOf(ctx), rand.Float64())
	if began || n >= most || !retryable(err) || !soon {
		yield(nil, err)
		return false
	}
	if seen != nil {
		seen.Retries = append(seen.Retries, observe.Retry{Attempt: seen.Attempts, At: time.Now(), Wait: wait, Why: err.Kind.String()})
	}
	if !yield(RequestRetry{Attempt: n, Of: most, Wait: wait, Kind: err.Kind, Status: err.Status, Problem: err.Error()}, nil) {
		return false
	}
	stop := sleep(ctx, wait)
	if stop != nil {
		yield(nil, &llm.Error{Op: m.vendor.Name, Kind: llm.KindOf(stop), Err: errors.Join(stop, err)})
	}
	return stop == nil
}

// sleep waits for d, but not beyond the end of ctx: if that comes first, it
// does not wait at all.
func sleep(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
