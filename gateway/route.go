package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// ModelRoute leads from what clients ask for to who answers.
type ModelRoute struct {
	// Model is the name that clients ask for. One that ends in * stands for all names
	// that begin so, and * alone for every other. The longest that fits counts.
	Model string
	// From are the formats of the clients that it is for; nil means all.
	From []string
	// Upstreams answer, the least busy one first; weights count.
	Upstreams []Upstream
	// Fallback are the names of models that are asked for, one after the other, when no
	// upstream can answer.
	Fallback []string
	// Check says what becomes of calls that do not fit the schema of their tool.
	Check Check
	// Tools are run by the gateway itself; nil means none.
	Tools *ServedTools
	// MaxRequests bounds the requests that the route answers at the same time; 0 means that
	// there is no bound. One that is too many is refused with status 429.
	MaxRequests int
	// Override is what the route decides in the place of its clients.
	Override Override
	// Cache says which answers are given again.
	Cache Cache
	// Pass are the kinds of other endpoints that are passed on to the first upstream; see
	// [Kinds].
	Pass []string
	// PassTeam is the team whose account with the vendor the upstreams use: its keys may use files and batches that are passed on, and
	// name what the vendor keeps (files, conversations, containers). There is one for each account; "" means that nobody with a key may.
	PassTeam string
	// Hidden leaves the name out of lists of models. Who knows it can ask for it all the same.
	Hidden bool
	// LogBodies has what clients ask and are answered kept beside the log of requests, without the secrets that are known. It wants
	// Setup.Access.
	LogBodies bool
}

// Upstream is a model that answers.
type Upstream struct {
	// Model is the id that Setup.Open opens. A * in it stands for what the * of the route
	// stood for.
	Model string
	// Weight is its share of the requests among the upstreams of the route; 0 means 1.
	Weight int
	// Off keeps it out of the draw: it is checked, and never asked.
	Off bool
	Way Way
	// Health is how often the upstream is asked whether it is there, which costs nothing; 0
	// means never. One that is not is left alone while there is another.
	Health time.Duration
}

// Way is how an upstream is asked. The zero value leaves it to what is known of the model.
type Way struct {
	Tools provider.RouteKind // native, constrained or prompted
	Style string             // the notation that is taught
}

// Check is what becomes of calls that do not fit the schema of their tool.
type Check string

// The checks.
const (
	Annotate Check = ""    // the client is told beside the call
	CheckOff Check = "off" // nobody looks
	// Reask holds the calls of an answer until they fit: the model is told what is wrong and asked
	// again, up to twice, and then the request fails.
	Reask Check = "reask"
)

// route is a ModelRoute that is in use.
type route struct {
	ModelRoute
	prefix    string // before the *; only where star
	star      bool
	upstreams []*upstream
	inFlight  *atomic.Int64 // requests
	turns     *turns
}

// upstream is an Upstream that is in use.
type upstream struct {
	Upstream
	star bool
	*standing

	mu     sync.Mutex
	opened map[string]llm.Model // by id
}

// addRoutes makes the routes ready for use, or says everything that is wrong with them.
func (g *Gateway) addRoutes(list []ModelRoute) error {
	if len(list) == 0 {
		return errors.New("there are no routes")
	}
	var wrong []error
	for i, r := range list {
		made, problems := g.newRoute(r)
		for _, p := range problems {
			p.Route, p.Model = i, r.Model
			wrong = append(wrong, p)
		}
		g.routes = append(g.routes, made)
	}
	for _, p := range g.together() {
		wrong = append(wrong, p)
	}
	return errors.Join(wrong...)
}

// together says what is wrong with routes that each are good.
func (g *Gateway) together() (wrong []*RouteError) {
	named := make(map[string][]int, len(g.routes))
	var passing []*route
	for i, r := range g.routes {
		add := func(setting, format string, args ...any) {
			wrong = append(wrong, &RouteError{i, r.Model, setting, fmt.Errorf(format, args...)})
		}
		for _, k := range named[r.Model] {
			if r.Model != "" && overlap(r.From, g.routes[k].From) {
				add("model", "routes %d and %d are both for %s", k+1, i+1, r.Model)
				break
			}
		}
		named[r.Model] = append(named[r.Model], i)
		if other := g.sharesFiles(r, passing); other != nil {
			add("pass_team", "its files and batches are in the account of route %s, which are those of the team %q", other.Model, other.PassTeam)
		}
		if r.PassTeam != "" {
			passing = append(passing, r)
		}
		for k, name := range r.Fallback {
			if to := g.find(name, ""); to == nil || to == r {
				add(fmt.Sprintf("fallback[%d]", k), "no other route is for its fallback %q", name)
			}
		}
	}
	return wrong
}

// sharesFiles returns one of the routes that passes files of another team on, from an account that this one uses, too.
func (g *Gateway) sharesFiles(r *route, others []*route) *route {
	for _, o := range others {
		if r.PassTeam == "" || o.PassTeam == "" || r.PassTeam == o.PassTeam {
			continue
		}
		for _, u := range r.Upstreams {
			vendor, _, _ := strings.Cut(u.Model, "/")
			if slices.ContainsFunc(o.Upstreams, func(u Upstream) bool { name, _, _ := strings.Cut(u.Model, "/"); return name == vendor }) {
				return o
			}
		}
	}
	return nil
}

// RouteError is something that is wrong with a route of a Setup.
type RouteError struct {
	Route   int // its place in Setup.Routes, from 0
	Model   string
	Setting string // what is wrong, as the configuration of the command names it below the route, like to[1].weight; "" if it is no one setting
	Err     error
}

// Error names the route, counted from 1.
func (e *RouteError) Error() string {
	if e.Model == "" {
		return fmt.Sprintf("route %d: %v", e.Route+1, e.Err)
	}
	name := e.Model
	if strings.ContainsFunc(name, child.IsControl) { // it is for a terminal
		name = strconv.Quote(name)
	}
	return fmt.Sprintf("route %d (%s): %v", e.Route+1, name, e.Err)
}

// Unwrap returns the cause.
func (e *RouteError) Unwrap() error { return e.Err }

func overlap(a, b []string) bool {
	return a == nil || b == nil || slices.ContainsFunc(a, func(f string) bool { return slices.Contains(b, f) })
}

// newRoute makes a route ready for use, and says everything that is wrong with it.
func (g *Gateway) newRoute(r ModelRoute) (made *route, wrong []*RouteError) {
	made = &route{ModelRoute: r, inFlight: new(atomic.Int64), turns: new(turns)}
	made.prefix, made.star = strings.CutSuffix(r.Model, "*")
	add := func(setting string, err error) {
		if err != nil {
			wrong = append(wrong, &RouteError{Setting: setting, Err: err})
		}
	}
	switch {
	case r.Model == "":
		add("model", errors.New("it names no model; say which name clients ask for"))
	case strings.Contains(made.prefix, "*"):
		add("model", errors.New("a * may only stand at the end"))
	}
	r.Override.check(add)
	r.check(add)
	for i, u := range r.Upstreams {
		at := fmt.Sprintf("to[%d].", i)
		up := g.newUpstream(made, u, func(setting string, err error) { add(at+setting, err) })
		if !u.Off {
			made.upstreams = append(made.upstreams, up)
		}
	}
	if len(r.Upstreams) == 0 {
		add("to", errors.New("it has no upstream that is asked; say who answers, like to: [{model: ollama/qwen3:8b}]"))
	} else if len(made.upstreams) == 0 {
		add("to", errors.New("it has no upstream that is asked; one without a weight, or with more than 0, is needed"))
	}
	return made, wrong
}

// check says what is wrong with the settings of a route beside its name and its upstreams.
func (r ModelRoute) check(add func(string, error)) {
	add("pass", checkPass(r.Pass))
	add("tools", r.Tools.check())
	if r.Check != Annotate && r.Check != CheckOff && r.Check != Reask {
		add("check", fmt.Errorf("there is no check %q; there are off and reask, and without one the client is told", r.Check))
	}
	if r.Cache.For < 0 || r.Cache.For > maxCachedFor {
		add("cache", fmt.Errorf("answers can be given again for up to %v, and this says %v", maxCachedFor, r.Cache.For))
	}
	if r.Cache.Tools && r.Cache.For == 0 {
		add("cache_tools", errors.New("it is for cache, which the route does not have"))
	}
	if r.MaxRequests < 0 {
		add("max_requests", fmt.Errorf("%d is less than 0", r.MaxRequests))
	}
	if r.From != nil && len(r.From) == 0 {
		add("from", errors.New("the list is empty, so the route is for nobody; leave it out to mean all formats"))
	}
	for i, format := range r.From {
		if err := formats.Check(format); err != nil {
			add(fmt.Sprintf("from[%d]", i), err)
		}
	}
}

// maxWeight bounds the weight of an upstream.
const maxWeight = 1_000_000

// misnamed says what is wrong with the name of an upstream, whoever has models of that name.
func (r *route) misnamed(model string) error {
	switch {
	case model == "":
		return errors.New("it names no model; say who answers, like ollama/qwen3:8b")
	case strings.Contains(model, "?") && !strings.Contains(model, "://"):
		return errors.New("a name of a model has no ? in it; keys stand in variables, because the names of upstreams are told in metrics, warnings and the log")
	case strings.Contains(model, "*") && !r.star:
		return fmt.Errorf("the * of %s stands for nothing: the name of the route has none", model)
	}
	return nil
}

// newUpstream makes an upstream of a route ready for use.
func (g *Gateway) newUpstream(r *route, u Upstream, add func(setting string, err error)) *upstream {
	up := &upstream{Upstream: u, standing: new(standing), star: strings.Contains(u.Model, "*"), opened: make(map[string]llm.Model)}
	up.Weight, up.Way = max(u.Weight, 1), r.WayOf(u)
	if u.Weight < 0 || u.Weight > maxWeight {
		add("weight", fmt.Errorf("the weight of %s is %d; it can be 0, which keeps it out of the draw, to %d", u.Model, u.Weight, maxWeight))
	}
	if !slices.Contains([]provider.RouteKind{"", provider.Native, provider.Constrained, provider.Prompted}, u.Way.Tools) {
		add("tools", fmt.Errorf("%s cannot be asked for calls in the way %q; there are native, constrained and prompted", u.Model, u.Way.Tools))
		up.Way.Tools = ""
	}
	if err := checkDialect(u.Way.Style); err != nil {
		add("style", err)
		up.Way.Style = ""
	}
	if u.Health < 0 || u.Health > 0 && (up.star || u.Health < time.Second) {
		add("health", fmt.Errorf("%s cannot be asked every %v whether it is there: that needs a second or more, and a name without *", u.Model, u.Health))
	}
	if err := r.misnamed(u.Model); err != nil {
		add("model", err)
		return up
	}
	if up.star {
		var wrong *provider.AddressError
		if _, err := g.settings.Open(strings.Replace(u.Model, "*", "x", 1), up.Way); errors.As(err, &wrong) {
			add("model", err) // whatever the * stands for
		}
		return up
	}
	m, err := up.open(&g.settings, "")
	if err != nil && !(llm.KindOf(err) == llm.Unsupported && len(r.Pass) > 0) {
		add("model", err) // one that is no chat model may still serve other endpoints
		return up
	}
	if _, ok := m.(checker); !ok && u.Health > 0 {
		add("health", fmt.Errorf("%s cannot be asked whether it is there", u.Model))
	}
	return up
}

// find returns the route for a name, and nil if there is none. Without a format it is
// for any.
func (g *Gateway) find(name, format string) *route {
	var best *route
	for _, r := range g.routes {
		if format != "" && !r.isFor(format) {
			continue
		}
		switch {
		case !r.star && r.Model == name:
			return r
		case r.star && strings.HasPrefix(name, r.prefix) && (best == nil || len(r.prefix) > len(best.prefix)):
			best = r
		}
	}
	return best
}

// isFor reports whether a route is for clients of a format.
func (r *route) isFor(format string) bool { return r.From == nil || slices.Contains(r.From, format) }

// maxOpened bounds the models that an upstream keeps open: clients choose their names.
const maxOpened = 256

// open opens the upstream for what the * of its route stands for.
func (u *upstream) open(s *Setup, star string) (llm.Model, error) {
	id := u.Model
	if u.star {
		if !plainName(star) || !u.mayName(star, s.Inside) {
			return nil, &llm.Error{Op: "gateway", Kind: llm.NotFound, Err: fmt.Errorf("%q is no name of a model", star)}
		}
		id = strings.Replace(id, "*", star, 1)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if m, ok := u.opened[id]; ok {
		return m, nil
	}
	m, err := s.Open(id, u.Way)
	if p, ok := m.(*provider.Model); ok && err == nil {
		m = p.ForMany()
	}
	if err == nil && len(u.opened) < maxOpened {
		u.opened[id] = m
	}
	return m, err
}

// mayName reports whether a client's name may stand for the *: it does not reach inside if the route does not.
func (u *upstream) mayName(star string, inside []string) bool {
	head, tail, _ := strings.Cut(u.Model, "*")
	id := head + star + tail
	return !slices.ContainsFunc(inside, func(p string) bool { return strings.HasPrefix(id, p) && !strings.HasPrefix(head, p) })
}

// plainName reports whether a name of a client's may become part of an id. It must not
// be able to name another host than the route does.
func plainName(name string) bool {
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

// inOrder returns the upstreams of a route in the order in which they are asked. Those come first that have no more
// requests at the moment than their weight gives them of all, by turns; then the others, the least busy for its weight first.
func (r *route) inOrder() []*upstream {
	if len(r.upstreams) == 1 {
		return r.upstreams
	}
	type place struct {
		*upstream
		busy, next float64
	}
	list := make([]place, len(r.upstreams))
	all, weights := 1.0, 0.0
	r.turns.mu.Lock()
	for i, u := range r.upstreams {
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
	out := make([]*upstream, len(list))
	for i, p := range list {
		out[i] = p.upstream
	}
	return out
}

// turns share the requests of a route among its upstreams, each as many as its weight says: every request moves the
// turn of the one that is asked on, by less the more it weighs. One that was left alone for a while does not make up for it.
type turns struct {
	mu  sync.Mutex // of now and of the turns of the upstreams
	now float64    // the turn to which the last request has moved its upstream
}

// taken counts a request to an upstream.
func (r *route) taken(u *upstream) {
	if len(r.upstreams) == 1 {
		return
	}
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	u.turn = max(u.turn+1/float64(u.Weight), r.turns.now)
	r.turns.now = u.turn
}

// models are those that the routes name for clients of the list's format and that are not hidden. A name that ends in * is none.
func (x *exchange) models() []vendorapi.Model {
	list := []vendorapi.Model{}
	for _, r := range x.routes {
		if slices.ContainsFunc(x.Readers(), r.isFor) && x.mayKnow(r, r.Model) && !r.star && !r.Hidden && !slices.ContainsFunc(list, func(m vendorapi.Model) bool { return m.Name == r.Model }) {
			list = append(list, x.describe(r, r.Model))
		}
	}
	return list
}

// describe says what is known of a model.
func (g *Gateway) describe(r *route, name string) vendorapi.Model {
	out := vendorapi.Model{Name: name, Owner: "toolpost", Since: g.since, Tools: true} // which are taught to those that have none
	m, err := r.upstreams[0].open(&g.settings, strings.TrimPrefix(name, r.prefix))
	if known, ok := m.(*provider.Model); ok && err == nil {
		info := known.Info()
		out.Context, out.Output, out.Thinks = info.ContextWindow, info.MaxOutput, info.Reasoning.Support == catalog.Yes
	}
	return out
}

// limits are those after which an upstream is left alone for a while.
var limits = breaker.Limits{Failures: 3, Cooldown: 30 * time.Second}
