package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// ModelRoute maps a model name to the upstreams that answer.
type ModelRoute struct {
	// Model is the name that clients ask for. A name that ends in * matches all names with that prefix, and * alone
	// matches all other names. The longest match wins.
	Model string
	// From are the formats of the clients that may use the route; nil means all.
	From []string
	// Upstreams answer the requests. The least busy one is asked first, according to the weights.
	Upstreams []Upstream
	// Fallback are model names that are tried in order when no upstream can answer.
	Fallback []string
	// ThinkingRoute, LongRoute and ImageRoute are model names whose routes answer requests that ask for thinking, that
	// have more than LongOver tokens, or that have an image. Images come first, then length. The route that answers does
	// not pass a request on again. "" leaves the requests to this route, and so does a key without the right to the other.
	ThinkingRoute, LongRoute, ImageRoute string
	// LongOver is the estimated number of tokens above which a request is long; 0 means 60,000.
	LongOver int
	// Check controls the handling of calls that do not match the schema of their tool.
	Check Check
	// Tools are run by the gateway itself; nil means none.
	Tools *ServedTools
	// Timing limits how the upstreams are asked, unless an upstream has other limits.
	Timing Timing
	// Strategy orders the upstreams of the same priority; "" means Weighted.
	Strategy Strategy
	// HedgeAfter is how long an answer may take to begin before a second upstream of the route is asked at the same time. The
	// answer that begins first is used, and both are booked. Requests with tools of the vendor or the gateway, and those that
	// the vendor stores, are not sent twice. 0 means never. Answers of such routes are translated, not relayed.
	HedgeAfter time.Duration
	// MaxRequests limits the concurrent requests of the route; 0 means no limit. Requests above the limit get status
	// 429.
	MaxRequests int
	// Override replaces choices of the clients.
	Override Override
	// Cache configures the answer cache.
	Cache Cache
	// CacheMarks marks prompts for the vendor's prompt cache where the vendor has such marks and the client set none; see
	// [provider.Model.WithCacheMarks]. Such requests are not relayed.
	CacheMarks bool
	// Pass are the kinds of other endpoints that are forwarded to the first upstream that supports them, such as
	// "embeddings"; docs/gateway/endpoints.md lists them.
	Pass []string
	// PassTeam is the team that owns the vendor account of the upstreams. Its keys may use forwarded files and batches,
	// and may refer to objects stored at the vendor (files, conversations, containers). Each account has one team. If
	// it is "", clients with keys may not use these.
	PassTeam string
	// Hidden omits the name from lists of models. Clients that know the name can still use it.
	Hidden bool
	// LogBodies stores the redacted bodies of requests and answers with the request log. It requires Setup.Access.
	LogBodies bool
}

// Upstream is a model that answers requests of a route.
type Upstream struct {
	// Model is the id that Setup.Open opens. A * in it is replaced by the text that the * of the route matched.
	Model string
	// Weight is the share of requests among the upstreams of the route; 0 means 1.
	Weight int
	// Off disables the upstream: it is checked, but never asked.
	Off bool
	Way Way
	// Health is the interval of health checks; 0 turns them off. A health check costs nothing. An unhealthy upstream is
	// skipped while another is available.
	Health time.Duration
	// DriftEvery is the interval at which Setup.Agreement asks the upstream fixed questions, which cost tokens; 0 turns
	// that off. An upstream whose agreement with its first answers is below DriftBelow, from 0 to 1, is skipped while
	// another is available, until it agrees again. With a DriftBelow of 0 it is only measured.
	DriftEvery time.Duration
	DriftBelow float64
	// Timing limits how the upstream is asked. Zero fields are those of the route.
	Timing Timing
	// Priority orders the upstreams of a route. Those with the lowest number are asked first, the others when those fail.
	Priority int
	// MaxInFlight limits the requests of the upstream at the same time; 0 means no limit.
	MaxInFlight int
}

// Timing limits how an upstream is asked. It has these fields; zero means the default:
//
//	Timeout time.Duration   // of the whole answer
//	FirstByte time.Duration // of silence before the answer begins
//	Idle time.Duration      // between two pieces of an answer
//	Cooldown time.Duration  // how long an upstream that fails is skipped
//	Retries *int            // how often a request is sent again to the same upstream
type Timing = upstream.Timing

// Strategy is how the upstreams of a route with the same priority are ordered.
type Strategy = upstream.Strategy

// The strategies.
const (
	Weighted  = upstream.Weighted
	LeastBusy = upstream.LeastBusy
	Fastest   = upstream.Fastest
	Cheapest  = upstream.Cheapest
)

// Way is how an upstream is asked. The zero value uses the known abilities of the model.
type Way struct {
	Tools provider.RouteKind // native, constrained or prompted
	Style string             // the notation taught to the model
	Gate  emulate.Gate       // who chooses the tools of a small model
}

// Check is the handling of calls that do not match the schema of their tool.
type Check string

// The checks.
const (
	Annotate Check = ""    // the client gets a warning with the call
	CheckOff Check = "off" // calls are not checked
	// Reask holds the calls of an answer until they match: the model is told about the errors and asked again, up to
	// twice. Then the request fails.
	Reask Check = "reask"
)

// route is a ModelRoute in use.
type route struct {
	ModelRoute
	*upstream.Route
}

// routeOf returns the settings of a candidate's route.
func (g *Gateway) routeOf(c *upstream.Candidate) *route { return g.routes[c.Route.Index] }

// find returns the route of a model name for a format, nil if there is none. An empty format matches every route.
func (g *Gateway) find(name, format string) *route {
	r := g.table.Find(name, format)
	if r == nil {
		return nil
	}
	return g.routes[r.Index]
}

// addRoutes prepares the routes, or returns all errors in them.
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
		made.Index = i
		g.routes, g.table = append(g.routes, made), append(g.table, made.Route)
		g.forwards = append(g.forwards, passthrough.NewRoute(made.Route, r.Pass, r.PassTeam))
	}
	for _, p := range g.together() {
		wrong = append(wrong, p)
	}
	return errors.Join(wrong...)
}

// together reports errors in the combination of routes.
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
		g.checkTasks(r, add)
		for k, name := range r.Fallback {
			if to := g.find(name, ""); to == nil || to == r {
				add(fmt.Sprintf("fallback[%d]", k), "no other route is for its fallback %q", name)
			}
		}
	}
	return wrong
}

// sharesFiles returns a route that forwards files of another team in the same vendor account, or nil.
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

// RouteError is an error in a route of a Setup.
type RouteError struct {
	Route   int // index in Setup.Routes
	Model   string
	Setting string // path of the setting in the configuration of the command, relative to the route, like to[1].weight; "" if the error has several
	Err     error
}

// Error names the route, counted from 1.
func (e *RouteError) Error() string {
	if e.Model == "" {
		return fmt.Sprintf("route %d: %v", e.Route+1, e.Err)
	}
	name := e.Model
	if strings.ContainsFunc(name, child.IsControl) { // the text is for a terminal
		name = strconv.Quote(name)
	}
	return fmt.Sprintf("route %d (%s): %v", e.Route+1, name, e.Err)
}

// Unwrap returns the cause.
func (e *RouteError) Unwrap() error { return e.Err }

func overlap(a, b []string) bool {
	return a == nil || b == nil || slices.ContainsFunc(a, func(f string) bool { return slices.Contains(b, f) })
}

// newRoute prepares a route, and returns all errors in it.
func (g *Gateway) newRoute(r ModelRoute) (made *route, wrong []*RouteError) {
	made = &route{r, upstream.NewRoute(r.Model)}
	made.Formats, made.Fallbacks, made.Limit, made.Route.Strategy = r.From, r.Fallback, r.MaxRequests, r.Strategy
	made.Route.HedgeAfter = r.HedgeAfter
	add := func(setting string, err error) {
		if err != nil {
			wrong = append(wrong, &RouteError{Setting: setting, Err: err})
		}
	}
	switch {
	case r.Model == "":
		add("model", errors.New("it names no model; say which name clients ask for"))
	case strings.Contains(strings.TrimSuffix(r.Model, "*"), "*"):
		add("model", errors.New("a * may only stand at the end"))
	}
	r.Override.check(add)
	r.check(add)
	for i, u := range r.Upstreams {
		at := fmt.Sprintf("to[%d].", i)
		up := g.newUpstream(made, u, func(setting string, err error) { add(at+setting, err) })
		if !u.Off {
			made.Targets = append(made.Targets, up)
		}
	}
	if len(r.Upstreams) == 0 {
		add("to", errors.New("it has no upstream that is asked; say who answers, like to: [{model: ollama/qwen3:8b}]"))
	} else if len(made.Targets) == 0 {
		add("to", errors.New("it has no upstream that is asked; one without a weight, or with more than 0, is needed"))
	}
	return made, wrong
}

// check reports errors in the settings of a route other than its name and upstreams.
func (r ModelRoute) check(add func(string, error)) {
	add("pass", passthrough.CheckKinds(r.Pass))
	add("tools", r.Tools.Check())
	if r.Check != Annotate && r.Check != CheckOff && r.Check != Reask {
		add("check", fmt.Errorf("there is no check %q; there are off and reask, and without one the client is told", r.Check))
	}
	if r.Cache.For < 0 || r.Cache.For > maxCachedFor {
		add("cache", fmt.Errorf("answers can be given again for up to %v, and this says %v", maxCachedFor, r.Cache.For))
	}
	if r.Cache.Tools && r.Cache.For == 0 {
		add("cache_tools", errors.New("it is for cache, which the route does not have"))
	}
	checkTiming(r.Timing, add)
	r.checkLong(add)
	if r.HedgeAfter < 0 {
		add("hedge_after", fmt.Errorf("%v is less than 0", r.HedgeAfter))
	}
	if r.Strategy != Weighted && !slices.Contains(upstream.Strategies, r.Strategy) {
		add("strategy", fmt.Errorf("unknown strategy %q; the strategies are weighted, least_busy, fastest and cheapest", r.Strategy))
	}
	if r.MaxRequests < 0 {
		add("max_requests", fmt.Errorf("%d is less than 0", r.MaxRequests))
	}
	if r.From != nil && len(r.From) == 0 {
		add("from", errors.New("the list is empty, so the route serves no format; leave it out to mean all formats"))
	}
	for i, format := range r.From {
		if err := formats.Check(format, wire.Formats()...); err != nil {
			add(fmt.Sprintf("from[%d]", i), err)
		}
	}
}

// checkTiming reports negative limits.
func checkTiming(t Timing, add func(string, error)) {
	for setting, d := range map[string]time.Duration{"timeout": t.Timeout, "first_byte": t.FirstByte, "idle": t.Idle, "cooldown": t.Cooldown} {
		if d < 0 {
			add(setting, fmt.Errorf("%v is less than 0", d))
		}
	}
	if t.Retries != nil && (*t.Retries < 0 || *t.Retries > maxRetries) {
		add("retries", fmt.Errorf("%d is not between 0 and %d", *t.Retries, maxRetries))
	}
}

// maxRetries limits the retries of a failed request to an upstream.
const maxRetries = 10

// maxWeight limits the weight of an upstream.
const maxWeight = 1_000_000

// misnamed returns an error if the name of an upstream cannot be valid.
func (r *route) misnamed(model string) error {
	switch {
	case model == "":
		return errors.New("it names no model; say who answers, like ollama/qwen3:8b")
	case strings.Contains(model, "?") && !strings.Contains(model, "://"):
		return errors.New("a name of a model has no ? in it; put keys into variables, because metrics, warnings and the log show the names of upstreams")
	case strings.Contains(model, "*") && !r.Wildcard():
		return fmt.Errorf("the * of %s matches nothing: the name of the route has none", model)
	}
	return nil
}

// newUpstream makes an upstream of a route ready for use.
func (g *Gateway) newUpstream(r *route, u Upstream, add func(setting string, err error)) *upstream.Target {
	up, way := upstream.NewTarget(u.Model), r.WayOf(u)
	up.Weight, up.Health, up.Local = max(u.Weight, 1), u.Health, g.settings.Inside
	up.Timing, up.Priority, up.MaxInFlight = u.Timing.Or(r.Timing), u.Priority, u.MaxInFlight
	checkTiming(u.Timing, add)
	up.Drift = upstream.Drift{Every: u.DriftEvery, Below: u.DriftBelow, Agreement: g.settings.Agreement}
	checkDrift(&u, up, add)
	if u.MaxInFlight < 0 {
		add("max_in_flight", fmt.Errorf("%d is less than 0", u.MaxInFlight))
	}
	if u.Weight < 0 || u.Weight > maxWeight {
		add("weight", fmt.Errorf("the weight of %s is %d; it can be 0, which keeps it out of the draw, to %d", u.Model, u.Weight, maxWeight))
	}
	if !slices.Contains([]provider.RouteKind{"", provider.Native, provider.Constrained, provider.Prompted}, u.Way.Tools) {
		add("tools", fmt.Errorf("%s cannot be asked for calls in the way %q; there are native, constrained and prompted", u.Model, u.Way.Tools))
		way.Tools = ""
	}
	if err := checkDialect(u.Way.Style); err != nil {
		add("style", err)
		way.Style = ""
	}
	if up.Key = fmt.Sprintf("%q %q", way.Tools, way.Style); way.Gate != "" {
		up.Key += " gate " + string(way.Gate)
	}
	up.OpenModel = func(id string) (llm.Model, error) { return g.settings.Open(id, way) }
	if u.Health < 0 || u.Health > 0 && (up.Wildcard() || u.Health < time.Second) {
		add("health", fmt.Errorf("%s cannot be asked every %v whether it is there: that needs a second or more, and a name without *", u.Model, u.Health))
	}
	if err := r.misnamed(u.Model); err != nil {
		add("model", err)
		return up
	}
	if up.Wildcard() {
		var wrong *provider.AddressError
		if _, err := up.OpenModel(up.IDFor("x")); errors.As(err, &wrong) {
			add("model", err) // the address is invalid for every name
		}
		return up
	}
	m, _, err := up.Open("")
	if err != nil && !(llm.KindOf(err) == llm.Unsupported && len(r.Pass) > 0) {
		add("model", err) // a model without chat may still serve other endpoints
		return up
	}
	if _, ok := m.(upstream.Checker); !ok && u.Health > 0 {
		add("health", fmt.Errorf("%s cannot be asked whether it is there", u.Model))
	}
	return up
}

// minDrift is the shortest interval of drift checks, which cost tokens.
const minDrift = time.Minute

// checkDrift reports what is wrong with the settings of drift checks.
func checkDrift(u *Upstream, up *upstream.Target, add func(setting string, err error)) {
	switch {
	case u.DriftEvery != 0 && u.DriftEvery < minDrift:
		add("drift_every", fmt.Errorf("%v is less than %v", u.DriftEvery, minDrift))
	case u.DriftEvery > 0 && up.Wildcard():
		add("drift_every", fmt.Errorf("%s has no single model that can be asked; drift needs a name without *", u.Model))
	case u.DriftEvery > 0 && up.Drift.Agreement == nil:
		add("drift_every", errors.New("this program has no questions for drift checks"))
	case !(u.DriftBelow >= 0 && u.DriftBelow <= 1):
		add("drift_below", fmt.Errorf("%v is not a share from 0 to 1", u.DriftBelow))
	case u.DriftBelow > 0 && u.DriftEvery == 0:
		add("drift_below", errors.New("it needs drift_every, the interval of the checks"))
	}
}

// models lists the models of routes that clients of the format may use. Hidden routes and wildcards are omitted.
func (x *chain) models() []vendorapi.Model {
	list := []vendorapi.Model{}
	for _, r := range x.routes {
		if slices.ContainsFunc(x.Readers(), r.IsFor) && x.MaySee(r.Model, r.Model) && !r.Wildcard() && !r.Hidden && !slices.ContainsFunc(list, func(m vendorapi.Model) bool { return m.Name == r.Model }) {
			list = append(list, x.describe(r, r.Model))
		}
	}
	return list
}

// describe returns the known properties of a model.
func (g *Gateway) describe(r *route, name string) vendorapi.Model {
	out := vendorapi.Model{Name: name, Owner: "toolpost", Since: g.since, Tools: true} // models without native tools are taught to use them
	m, _, err := r.Targets[0].Open(r.Rest(name))
	if known, ok := m.(*provider.Model); ok && err == nil {
		info := known.Info()
		out.Context, out.Output, out.Thinks = info.ContextWindow, info.MaxOutput, info.Reasoning.Support == catalog.Yes
	}
	return out
}
