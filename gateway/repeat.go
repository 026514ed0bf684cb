package gateway

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Clients send a request again when its answer is late or lost. Where the gateway runs tools, that
// must not do things twice.

// The headers of requests that may come again.
const (
	// IdempotencyHeader names a request: another one of the same name is the same request. It is
	// answered as that was, and refused with status 409 until then.
	IdempotencyHeader = "Idempotency-Key"
	// ReplayHeader is the id of the request whose answer is given again.
	ReplayHeader = "Toolpost-Replay-Of"
)

// The bounds of what is known of requests that may come again.
const (
	maxIdempotencyKey = 255
	maxOpenRuns       = 20_000
	openRunLife       = time.Hour      // after a request that ended without an answer
	replayLife        = 24 * time.Hour // of an answer
)

// repeats are the requests that must not be run again.
type repeats struct {
	mu      sync.Mutex
	open    map[cacheKey]openRun
	answers cache // to requests with a name
}

// openRun is a request that may have changed something and has no answer.
type openRun struct {
	run   string
	until time.Time // zero while it is being answered
}

// repeat is what a request to a route with tools is known by.
type repeat struct {
	name     cacheKey // that the client gave it, or that of its words
	words    cacheKey
	named    bool
	intended bool // a tool may have changed something
	answered bool // the model has said all
	waits    bool // a call waits for a person, so another answer comes later
}

// repeated reports whether a request was answered as the one that it repeats, or why it is refused.
func (x *exchange) repeated(r *route, body []byte) (bool, error) {
	if r.Tools == nil {
		return false, nil
	}
	words := x.keyOf(r, body)
	x.repeat = &repeat{name: words, words: words}
	key := x.r.Header.Get(IdempotencyHeader)
	if len(key) > maxIdempotencyKey {
		return false, x.notAgain(http.StatusBadRequest, fmt.Sprintf("the header %s is longer than %d bytes", IdempotencyHeader, maxIdempotencyKey))
	}
	if key != "" {
		x.repeat.named, x.repeat.name = true, sha256.Sum256(fmt.Appendf(nil, "%q %q", x.owner, key))
	}
	found, run := x.repeats.begin(x.repeat, x.id)
	switch {
	case run != "":
		return false, x.underWay(run)
	case found == nil:
		if x.repeat.named && x.outlet.copy == nil {
			x.outlet.copy, x.outlet.most = new(bytes.Buffer), maxCached
		}
		return false, nil
	case found.words != words:
		return false, x.notAgain(http.StatusUnprocessableEntity, fmt.Sprintf("the %s was given to another request (%s)", IdempotencyHeader, found.header.Get(ReplayHeader)))
	}
	x.repeat = nil
	x.replay(found)
	return true, nil
}

// underWay is the error of a request whose like is being answered or has ended badly.
func (x *exchange) underWay(run string) error {
	return x.notAgain(http.StatusConflict, fmt.Sprintf("the same request (%s) is being answered, or has ended without an answer after a tool may have changed something; its record says what was done. "+
		"To have this one run all the same, send it with another %s", run, IdempotencyHeader))
}

// notAgain is the error of a request that is not run. Clients that try again on their own are told
// not to.
func (x *exchange) notAgain(status int, why string) error {
	x.repeat = nil
	x.w.Header().Set("X-Should-Retry", "false")
	return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: status, Err: fmt.Errorf("%s", why)}
}

// replay gives an answer again.
func (x *exchange) replay(found *cached) {
	header := x.w.Header()
	for name, values := range found.header {
		header[name] = slices.Clone(values)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun, x.upstream = true, found.header.Get(UpstreamHeader)
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(found.body) // a client that is gone needs no answer
}

// begin returns the answer to a request of the same name, or the id of one that has none yet. If there is
// neither, a name is taken by this one.
func (p *repeats) begin(r *repeat, run string) (*cached, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if o, ok := p.open[r.name]; ok && (o.until.IsZero() || now.Before(o.until)) {
		return nil, o.run
	}
	if !r.named {
		return nil, ""
	}
	if found := p.answers.get(r.name, now); found != nil {
		return found, ""
	}
	p.hold(r.name, openRun{run: run})
	return nil, ""
}

// claimRun has nobody else run the same request, before calls of it that may change something. Of two
// that come at once, one is refused.
func (s *serving) claimRun(calls []llm.Call) error {
	changes := slices.ContainsFunc(calls, func(c llm.Call) bool {
		t, ok := s.set.Lookup(c.Name)
		return ok && t.Effects&tool.ReadOnly == 0
	})
	if r := s.x.repeat; changes && r != nil {
		if run := s.x.repeats.claim(r.name, s.x.id); run != "" {
			return s.x.underWay(run)
		}
	}
	return nil
}

// claim takes a name for a run, or returns the id of the one that has it.
func (p *repeats) claim(key cacheKey, run string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, ok := p.open[key]; ok && o.run != run && (o.until.IsZero() || time.Now().Before(o.until)) {
		return o.run
	}
	p.hold(key, openRun{run: run})
	return ""
}

// release gives a name back that a run has.
func (p *repeats) release(key cacheKey, run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[key].run == run {
		delete(p.open, key)
	}
}

// hold notes an open run; it wants p.mu.
func (p *repeats) hold(key cacheKey, o openRun) {
	if p.open == nil {
		p.open = make(map[cacheKey]openRun)
	}
	if len(p.open) >= maxOpenRuns {
		p.sweep()
	}
	p.open[key] = o
}

// sweep makes room: it forgets what is over, and if that is nothing, all that has ended; it wants
// p.mu.
func (p *repeats) sweep() {
	now, before := time.Now(), len(p.open)
	for key, o := range p.open {
		if !o.until.IsZero() && now.After(o.until) {
			delete(p.open, key)
		}
	}
	if len(p.open) < before {
		return
	}
	for key, o := range p.open {
		if !o.until.IsZero() {
			delete(p.open, key)
		}
	}
}

// settled ends what repeated began.
func (x *exchange) settled(err error) {
	r := x.repeat
	if r == nil {
		return
	}
	p, ok := &x.repeats, err == nil && r.answered // a handler that was aborted has no error
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, held := p.open[r.name]; held && o.run == x.id {
		if !ok && r.intended {
			o.until = time.Now().Add(openRunLife)
			p.open[r.name] = o
			return
		}
		delete(p.open, r.name)
	}
	if !ok || !r.named || r.waits || x.outlet.copy == nil || x.outlet.status != http.StatusOK {
		return
	}
	header := x.keptHeader()
	header.Set(ReplayHeader, x.id)
	p.answers.put(&cached{key: r.name, until: time.Now().Add(replayLife), header: header, body: x.outlet.copy.Bytes(), words: r.words})
}
