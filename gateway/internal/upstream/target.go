package upstream

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Limits decide when a failing upstream is skipped, and for how long.
var Limits = breaker.Limits{Failures: 3, Cooldown: 30 * time.Second}

// MaxOpened limits the open models of an upstream, because clients choose their names.
const MaxOpened = 256

// Target is one upstream of a route.
type Target struct {
	Model  string        // id of the model; a * is replaced by the text that the * of the route matched
	Key    string        // what else identifies the upstream across configurations
	Weight int           // share of the requests
	Health time.Duration // between two health checks; 0 means none
	Drift  Drift
	Timing Timing
	// Priority orders the upstreams of a route: those with the lowest number are asked first.
	Priority int
	// MaxInFlight limits the requests at the same time; 0 means no limit.
	MaxInFlight int
	// OpenModel opens a model by its id.
	OpenModel func(id string) (llm.Model, error)
	// Local are the prefixes of ids that open something on this machine, such as a file. A client's model name must not
	// complete an id with such a prefix.
	Local []string

	*state
	mu     sync.Mutex
	opened map[string]llm.Model // by id
}

// state outlives the configuration of an upstream.
type state struct {
	busy atomic.Int64 // requests in flight
	sick atomic.Bool  // the last health check failed
	drift
	turn float64 // guarded by turns.mu

	mu     sync.Mutex
	models map[string]*modelState // by id
}

// modelState is what the requests to one model of an upstream have shown. An upstream with a * has many models, which
// fail separately.
type modelState struct {
	breaker breaker.Breaker
	pace
}

// of returns the state of a model. Clients choose the names of models, therefore the states are limited: a model that
// works is forgotten first, and above the limit all others share the state of the upstream.
func (s *state) of(id string) *modelState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.models[id]; m != nil {
		return m
	}
	if len(s.models) >= MaxOpened {
		for old, m := range s.models {
			if m.breaker.State(time.Now, Limits) == breaker.Closed {
				delete(s.models, old)
				break
			}
		}
	}
	if len(s.models) >= MaxOpened {
		id = ""
	}
	m := s.models[id]
	if m == nil {
		m = new(modelState)
		s.models[id] = m
	}
	return m
}

// each calls f for every model that was asked for.
func (s *state) each(f func(*modelState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		f(m)
	}
}

// NewTarget returns an upstream.
func NewTarget(model string) *Target {
	return &Target{Model: model, state: &state{models: make(map[string]*modelState)}, opened: make(map[string]llm.Model)}
}

// Wildcard reports whether the id of the model contains a *.
func (u *Target) Wildcard() bool { return strings.Contains(u.Model, "*") }

// IDFor returns the model id with a name in place of the *.
func (u *Target) IDFor(name string) string { return strings.Replace(u.Model, "*", name, 1) }

// Open opens the model with a name in place of the *, and returns its id.
func (u *Target) Open(name string) (m llm.Model, id string, err error) {
	id = u.Model
	if u.Wildcard() {
		if !PlainName(name) || u.opensLocal(name) {
			return nil, "", &llm.Error{Op: "gateway", Kind: llm.NotFound, Err: fmt.Errorf("%q is not a valid model name", name)}
		}
		id = u.IDFor(name)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if m, ok := u.opened[id]; ok {
		return m, id, nil
	}
	m, err = u.OpenModel(id)
	if p, ok := m.(*provider.Model); ok && err == nil {
		m = p.ForMany()
	}
	if err == nil && len(u.opened) < MaxOpened {
		u.opened[id] = m
	}
	return m, id, err
}

// opensLocal reports whether a client's name would complete an id with a prefix in Local that the route itself does not
// have.
func (u *Target) opensLocal(name string) bool {
	head, tail, _ := strings.Cut(u.Model, "*")
	id := head + name + tail
	return slices.ContainsFunc(u.Local, func(p string) bool { return strings.HasPrefix(id, p) && !strings.HasPrefix(head, p) })
}

// PlainName reports whether a client's model name may become part of an id. Such a name cannot select another host than
// the route does.
func PlainName(name string) bool {
	if name == "" || len(name) > 256 || strings.Contains(name, "//") || strings.Contains(name, "..") {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && strings.IndexByte("-._:/@+=,", c) < 0 {
			return false
		}
	}
	return true
}

// reachable reports whether the upstream would be asked now. One with a * has models that were not asked for yet.
func (u *Target) reachable() bool {
	return !u.out() && (u.Wildcard() || u.BreakerState() != breaker.Refuses)
}

// BreakerState returns the worst state of the breakers of its models, Busy the number of requests in flight, and Healthy
// the result of the last health check.
func (u *Target) BreakerState() (worst breaker.State) {
	u.each(func(m *modelState) { worst = max(worst, m.breaker.State(time.Now, u.limits())) })
	return worst
}
func (u *Target) Busy() int64   { return u.busy.Load() }
func (u *Target) Healthy() bool { return !u.sick.Load() }

// ShownID returns the id of a model without the address of its host.
func ShownID(id string) string {
	before, rest, ok := strings.Cut(id, "://")
	if !ok {
		return id
	}
	vendor, _, _ := strings.Cut(before, "+")
	_, model, _ := strings.Cut(rest, "#")
	if vendor == before { // the address has no vendor name
		return model
	}
	return vendor + "#" + model
}
