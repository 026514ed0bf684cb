package provider

import (
	"context"
	"time"

	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/llm"
)

// RetryPolicy is how often and how patiently a request is sent again that the
// vendor could not begin to answer. It is the only place where HTTP requests
// are repeated. Zero fields are the defaults.
type RetryPolicy struct {
	Attempts int           // in all; default 3, less than 2 means once
	Initial  time.Duration // before the second; default 1 s, doubled each time
	Max      time.Duration // never longer; default 30 s; a vendor that asks for more is not asked again
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
