// Package upstream decides who answers a request: it finds the route of a model, orders the upstreams of the route, and
// asks the next one when one fails.
package upstream

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Route leads from a model name to the upstreams that may answer.
type Route struct {
	// Name is the model name that clients use. If it ends in *, it matches all names with that prefix.
	Name      string
	Index     int      // position in the configuration
	Formats   []string // of the clients that may use it; nil means all
	Fallbacks []string // names of other routes
	Limit     int      // of requests at the same time; 0 means none
	Targets   []*Target

	prefix   string // of Name, before the *
	wildcard bool
	inFlight *atomic.Int64 // requests
	turns    *turns
}

// NewRoute returns a route without upstreams.
func NewRoute(name string) *Route {
	r := &Route{Name: name, inFlight: new(atomic.Int64), turns: new(turns)}
	r.prefix, r.wildcard = strings.CutSuffix(name, "*")
	return r
}

// Wildcard reports whether the name of the route ends in *.
func (r *Route) Wildcard() bool { return r.wildcard }

// Rest returns the part of a model name that the * of the route matches.
func (r *Route) Rest(name string) string { return strings.TrimPrefix(name, r.prefix) }

// IsFor reports whether clients of a format may use the route.
func (r *Route) IsFor(format string) bool {
	return r.Formats == nil || slices.Contains(r.Formats, format)
}

// RetryAfter is the wait before refused clients may try again.
const RetryAfter = time.Second

// Enter counts a request as in flight until leave is called. It returns an error if the route is at its limit.
func (r *Route) Enter() (leave func(), err error) {
	if n := r.inFlight.Add(1); r.Limit > 0 && n > int64(r.Limit) {
		r.inFlight.Add(-1)
		return nil, &llm.Error{
			Op: "gateway", Kind: llm.RateLimited, Status: http.StatusTooManyRequests, RetryAfter: RetryAfter,
			Err: fmt.Errorf("%d requests to %s are being answered already", r.Limit, r.Name),
		}
	}
	return func() { r.inFlight.Add(-1) }, nil
}

// InOrder returns the upstreams in the order in which they are asked. First are the upstreams with no more requests in
// flight than their share by weight, in turns. The others follow, the least busy for its weight first.
func (r *Route) InOrder() []*Target {
	if len(r.Targets) == 1 {
		return r.Targets
	}
	type place struct {
		*Target
		busy, next float64
	}
	list := make([]place, len(r.Targets))
	all, weights := 1.0, 0.0
	r.turns.mu.Lock()
	for i, u := range r.Targets {
		list[i] = place{u, float64(u.busy.Load() + 1), max(u.turn+1/float64(u.Weight), r.turns.now)}
		all, weights = all+list[i].busy-1, weights+float64(u.Weight)
	}
	r.turns.mu.Unlock()
	for i, p := range list {
		share := all * float64(p.Weight) / weights
		if p.busy <= math.Ceil(share-1e-9) {
			list[i].busy = 0
		} else {
			list[i].busy /= float64(p.Weight)
		}
	}
	slices.SortStableFunc(list, func(a, b place) int { return cmp.Or(cmp.Compare(a.busy, b.busy), cmp.Compare(a.next, b.next)) })
	out := make([]*Target, len(list))
	for i, p := range list {
		out[i] = p.Target
	}
	return out
}

// turns divide the requests of a route among its upstreams by weight. Each request moves the turn of its upstream forward,
// by less for a greater weight. An upstream that was unused for a while does not catch up.
type turns struct {
	mu  sync.Mutex // guards now and the turns of the upstreams
	now float64    // the turn of the last upstream that was asked
}

// took counts a request to an upstream.
func (r *Route) took(u *Target) {
	if len(r.Targets) == 1 {
		return
	}
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	u.turn = max(u.turn+1/float64(u.Weight), r.turns.now)
	r.turns.now = u.turn
}

// Table is the list of all routes.
type Table []*Route

// Find returns the route of a model name, nil if there is none. An exact name wins over wildcards, and the longest
// wildcard over others. An empty format matches every route.
func (t Table) Find(name, format string) *Route {
	var best *Route
	for _, r := range t {
		if format != "" && !r.IsFor(format) {
			continue
		}
		switch {
		case !r.wildcard && r.Name == name:
			return r
		case r.wildcard && strings.HasPrefix(name, r.prefix) && (best == nil || len(r.prefix) > len(best.prefix)):
			best = r
		}
	}
	return best
}

// TakeOver shares the state of an earlier table: requests in flight, turns, breakers and health of routes and upstreams
// in both.
func (t Table) TakeOver(before Table) {
	for _, r := range t {
		for _, old := range before {
			if r.Name != old.Name || !slices.Equal(r.Formats, old.Formats) {
				continue
			}
			r.inFlight, r.turns = old.inFlight, old.turns
			for _, u := range r.Targets {
				if i := slices.IndexFunc(old.Targets, func(o *Target) bool { return o.Model == u.Model && o.Key == u.Key }); i >= 0 {
					u.state = old.Targets[i].state
				}
			}
		}
	}
}

// Reachable reports whether any upstream would be asked now.
func (t Table) Reachable() bool {
	return slices.ContainsFunc(t, func(r *Route) bool { return slices.ContainsFunc(r.Targets, (*Target).reachable) })
}

// Candidate is an upstream that may answer a request.
type Candidate struct {
	Route *Route
	*Target
	Opened llm.Model
	ID     string // of the opened model
}

// maxFallbacks limits how many routes a request may fall back to.
const maxFallbacks = 8

// Candidates returns the upstreams that may answer for a name, in the order in which they are asked: first those of the
// route, then those of its fallbacks that may allows. It returns an error if none can be opened.
func (t Table) Candidates(first *Route, name, format string, may func(*Route) bool) (list []Candidate, err error) {
	seen := map[*Route]bool{}
	add := func(r *Route, name string) {
		seen[r] = true
		for _, u := range r.InOrder() {
			m, id, problem := u.Open(r.Rest(name))
			if problem != nil {
				err = Wrap(problem, problem)
				continue
			}
			list = append(list, Candidate{r, u, m, id})
		}
	}
	add(first, name)
	for _, other := range first.Fallbacks {
		if r := t.Find(other, format); r != nil && !seen[r] && len(seen) <= maxFallbacks && may(r) {
			add(r, other)
		}
	}
	if len(list) == 0 {
		return nil, err
	}
	return list, nil
}
