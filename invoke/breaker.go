package invoke

import (
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/tool"
)

// counts are the error codes that count as failures of the tool itself.
var counts = map[tool.Code]bool{tool.Timeout: true, tool.RateLimit: true, tool.Network: true, tool.Execution: true}

// pass is the permission to run a tool once.
type pass struct {
	r *Runner
	breaker.Pass
}

// admit returns a pass, or an error if the breaker refuses the tool for now.
func (r *Runner) admit(name string) (pass, *tool.Error) {
	if r.Breaker.Off {
		return pass{}, nil
	}
	p, open := r.breakerOf(name).Enter(r.now, r.Breaker.limits())
	if open == nil {
		return pass{r, p}, nil
	}
	e := tool.Errorf(tool.Network, "%s failed %d times in a row and is left alone for a while", name, open.Failures)
	e.RetryAfter = max(open.Wait, time.Second)
	e.Fix = "Do not call this tool for now. Go on with another one, or without."
	return pass{}, e
}

func (b Breaker) limits() breaker.Limits {
	return breaker.Limits{Failures: b.Failures, Cooldown: b.Cooldown}
}

// breakerOf returns the breaker of a tool.
func (r *Runner) breakerOf(name string) *breaker.Breaker {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.breakers[name]
	if b == nil {
		if r.breakers == nil {
			r.breakers = make(map[string]*breaker.Breaker)
		}
		b = new(breaker.Breaker)
		r.breakers[name] = b
	}
	return b
}

// done takes note of how the call ended.
func (p pass) done(err *tool.Error) {
	switch {
	case err == nil:
		p.end(breaker.Succeeded)
	case err.Code == tool.Cancelled:
		p.end(breaker.Unknown)
	case counts[err.Code]:
		p.end(breaker.Failed)
	default:
		p.end(breaker.Reached)
	}
}

// drop gives back a pass that was not used.
func (p pass) drop() { p.end(breaker.Unknown) }

func (p pass) end(v breaker.Verdict) {
	if p.r != nil {
		p.Done(v, p.r.now, p.r.Breaker.limits())
	}
}
