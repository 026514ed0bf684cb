package provider

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// byStatus is what a status means whatever the body says. For the others the
// vendor's code and words decide.
var byStatus = map[int]llm.Kind{
	401: llm.Auth, 403: llm.Auth, 408: llm.Timeout, 413: llm.TooLong, 429: llm.RateLimited,
	502: llm.Server, 503: llm.Overloaded, 504: llm.Timeout, 529: llm.Overloaded,
}

// byCode is where a vendor's code says more than the status: waiting does not
// help against these.
var byCode = map[int]map[string]llm.Kind{
	429: {"insufficient_quota": llm.Auth, "billing_error": llm.Auth, "billing_hard_limit_reached": llm.Auth},
	403: {"content_filter": llm.Refused, "content_policy_violation": llm.Refused},
}

// classify gives an error its kind: from the status, then from the vendor's
// code.
func classify(e *llm.Error, body []byte) {
	if kind, ok := byStatus[e.Status]; ok {
		e.Kind = kind
	}
	if kind, ok := byCode[e.Status][e.Code]; ok {
		e.Kind = kind
	}
	if e.Status >= 500 && e.Kind == llm.Invalid {
		e.Kind = llm.Server
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = retryAfter(body)
	}
}

// retryAfter reads how long to wait from the body of an error, in seconds,
// wherever vendors put it.
func retryAfter(body []byte) time.Duration {
	type hint struct {
		After any `json:"retry_after"`
		Milli any `json:"retry_after_ms"`
	}
	var doc struct {
		hint
		Error struct {
			hint
			Metadata hint `json:"metadata"`
		} `json:"error"`
	}
	var shape *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &doc); err != nil && !errors.As(err, &shape) {
		return 0
	}
	for _, h := range []hint{doc.hint, doc.Error.hint, doc.Error.Metadata} {
		if d := seconds(h.After, 1); d > 0 {
			return d
		}
		if d := seconds(h.Milli, 1000); d > 0 {
			return d
		}
	}
	return 0
}

// seconds reads a number of which so many are a second. What makes no sense
// is 0.
func seconds(v any, per float64) time.Duration {
	f, ok := v.(float64)
	if s, text := v.(string); text {
		ok = json.Unmarshal([]byte(s), &f) == nil
	}
	f /= per
	if !ok || math.IsNaN(f) || f <= 0 || f > 1e8 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}

func asLLM(err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Op: "probe", Kind: llm.Unknown, Err: err}
}
