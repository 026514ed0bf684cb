package invoke

import (
	"cmp"
	"time"

	"github.com/toolpost/toolpost/tool"
)

// Breaker keeps calls away from a tool that keeps failing: after Failures in a
// row, 5 unless set, it is left alone for Cooldown, 60 s unless set; then one
// call may try, and its result decides. Off turns it off. Only failures of the
// tool count, not those of the model: wrong arguments, missing permission,
// things that do not exist.
type Breaker struct {
	Off      bool
	Failures int
	Cooldown time.Duration
}

// breaker is the state of one tool. The Runner's lock guards it.
type breaker struct {
	failures int // in a row
	until    time.Time
	probing  bool
}

// counts are the codes that speak against a tool.
var counts = map[tool.Code]bool{tool.Timeout: true, tool.RateLimit: true, tool.Network: true, tool.Execution: true}

// pass is the permission to run a tool once.
type pass struct {
	r     *Runner
	name  string
	probe bool
}

// admit returns a pass, or why the tool is left alone for now.
func (r *Runner) admit(name string) (pass, *tool.Error) {
	if r.Breaker.Off {
		return pass{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.breakers[name]
	if b == nil || b.failures < cmp.Or(r.Breaker.Failures, 5) {
		return pass{r, name, false}, nil
	}
	now := r.now()
	if !b.probing && !now.Before(b.until) {
		b.probing = true
		return pass{r, name, true}, nil
	}
	e := tool.Errorf(tool.Network, "%s failed %d times in a row and is left alone for a while", name, b.failures)
	e.RetryAfter = max(b.until.Sub(now), time.Second)
	e.Fix = "Do not call this tool for now. Go on with another one, or without."
	return pass{}, e
}

// done takes note of how the call ended.
func (p pass) done(err *tool.Error) {
	if p.r == nil {
		return
	}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	b := p.r.breakers[p.name]
	if err == nil || !counts[err.Code] {
		if b != nil && (err == nil || p.probe) {
			delete(p.r.breakers, p.name)
		}
		return
	}
	if b == nil {
		if p.r.breakers == nil {
			p.r.breakers = make(map[string]*breaker)
		}
		b = new(breaker)
		p.r.breakers[p.name] = b
	}
	b.failures++
	if p.probe {
		b.probing = false
	}
	b.until = p.r.now().Add(cmp.Or(p.r.Breaker.Cooldown, 60*time.Second))
}

// drop gives back a pass that was not used.
func (p pass) drop() {
	if !p.probe {
		return
	}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if b := p.r.breakers[p.name]; b != nil {
		b.probing = false
	}
}
