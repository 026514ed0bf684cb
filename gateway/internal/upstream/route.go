// Package upstream decides who answers a request: it finds the route of a model, orders the upstreams of the route, and
// asks the next one when one fails.
package upstream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
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
	Strategy  Strategy // in which order the upstreams are asked
	// HedgeAfter is the wait for an answer to begin after which a second upstream is asked at the same time; 0 means never.
	HedgeAfter time.Duration
	Targets    []*Target

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

// Busy returns the error for a request above a limit of requests at the same time.
func Busy(name string, limit int) error {
	return &llm.Error{
		Op: "gateway", Kind: llm.RateLimited, Status: http.StatusTooManyRequests, RetryAfter: RetryAfter,
		Err: fmt.Errorf("%d requests to %s are being answered already", limit, name),
	}
}

// Enter counts a request as in flight until leave is called. It returns an error if the route is at its limit.
func (r *Route) Enter() (leave func(), err error) {
	if n := r.inFlight.Add(1); r.Limit > 0 && n > int64(r.Limit) {
		r.inFlight.Add(-1)
		return nil, Busy(r.Name, r.Limit)
	}
	return func() { r.inFlight.Add(-1) }, nil
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

	model *modelState
	whole bool          // the answer came as one document
	took  time.Duration // until the answer began; 0 if it did not
	cut   time.Duration // how long we waited for an answer that did not begin; 0 if it failed in another way
}

// maxFallbacks limits how many routes a request may fall back to.
const maxFallbacks = 8

// Candidates returns the upstreams that may answer for a name, in the order in which they are asked: first those of the
// route, then those of its fallbacks that may allows. It returns an error if none can be opened.
func (t Table) Candidates(first *Route, name, format string, may func(*Route) bool) (list []Candidate, err error) {
	seen := map[*Route]bool{}
	add := func(r *Route, name string) {
		seen[r] = true
		first := len(list)
		for _, u := range r.Targets {
			m, id, problem := u.Open(r.Rest(name))
			if problem != nil {
				err = Wrap(problem, problem)
				continue
			}
			list = append(list, Candidate{Route: r, Target: u, Opened: m, ID: id, model: u.of(id)})
		}
		r.order(list[first:])
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
