// Package outcome holds the one table of what a failed model request means: whether another model may be asked for the
// same answer, and what the failure reveals about the upstream. Package refine and the gateway read it.
package outcome

import (
	"cmp"
	"errors"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
)

// Effect is what a failure means for the next request.
type Effect struct {
	Next    bool            // another model may be asked, if the answer has not begun
	Verdict breaker.Verdict // for the breaker of the upstream
	Pause   int             // how many cooldowns the upstream is left alone
}

// setup is the pause, in cooldowns, after a failure that only an operator can fix, such as a wrong key.
const setup = 10

var (
	final    = Effect{false, breaker.Reached, 1} // the request is wrong, and would be wrong everywhere
	other    = Effect{true, breaker.Reached, 1}  // this model cannot answer this request
	failed   = Effect{true, breaker.Failed, 1}   // the upstream does not work
	broken   = Effect{true, breaker.Failed, setup}
	canceled = Effect{false, breaker.Unknown, 1}
)

// byKind is the effect of an error without a more specific row below.
var byKind = map[llm.Kind]Effect{
	llm.Unknown:       other,
	llm.Invalid:       final,
	llm.Auth:          broken,
	llm.NotFound:      failed,
	llm.TooLong:       other,
	llm.Unsupported:   other,
	llm.RateLimited:   failed,
	llm.Overloaded:    failed,
	llm.Server:        failed,
	llm.Network:       failed,
	llm.Timeout:       failed,
	llm.Incomplete:    failed,
	llm.Malformed:     failed,
	llm.Refused:       other,
	llm.BrokenPromise: other,
	llm.Canceled:      canceled,
	llm.ByteLimit:     failed,
	llm.TextLimit:     failed,
	llm.ThinkingLimit: failed,
	llm.EventLimit:    failed,
	llm.TimeLimit:     failed,
	llm.Stalled:       failed,
}

// byStatus is the effect of a status whose kind alone does not decide.
var byStatus = map[int]Effect{
	409: other,  // a conflict of the vendor's own state
	413: final,  // the body is too large; the client has to shorten it
	499: failed, // the upstream gave up, not our client
}

// Of returns the effect of an error.
func Of(err error) Effect {
	if err == nil {
		return Effect{Verdict: breaker.Succeeded}
	}
	kind := llm.KindOf(err)
	var known *llm.Error
	if errors.As(err, &known) {
		if e, ok := byStatus[known.Status]; ok {
			return e
		}
		if known.Status/100 == 3 || outbound.Untrusted(known.Err) { // the address or the certificate is wrong
			return broken
		}
	}
	return byKind[kind]
}

// Limits returns the limits of a breaker with the pause after this failure.
func (e Effect) Limits(l breaker.Limits) breaker.Limits {
	l.Cooldown = cmp.Or(l.Cooldown, breaker.DefaultCooldown) * time.Duration(max(e.Pause, 1))
	return l
}
