package upstream

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// Strategy is how the upstreams of a route with the same priority are ordered.
type Strategy string

// The strategies. Ties are decided by turns, according to the weights.
const (
	Weighted  Strategy = ""           // in turns by weight; an upstream that is busier than its share comes later
	LeastBusy Strategy = "least_busy" // fewest requests in flight for its weight
	Fastest   Strategy = "fastest"    // shortest median time to the first token; unmeasured upstreams come first
	Cheapest  Strategy = "cheapest"   // lowest price; unknown prices come last
)

// Strategies are the names of all strategies.
var Strategies = []Strategy{"weighted", LeastBusy, Fastest, Cheapest}

// order sorts the candidates of the route: by priority, and within a priority by the strategy.
func (r *Route) order(list []Candidate) {
	if len(list) < 2 {
		return
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(a.Priority, b.Priority) })
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(c Candidate) bool { return c.Priority != list[0].Priority })
		if n < 0 {
			n = len(list)
		}
		r.rank(list[:n])
		list = list[n:]
	}
}

// rank sorts candidates of the same priority by the strategy, and then by their turns.
func (r *Route) rank(list []Candidate) {
	type place struct {
		Candidate
		score, next float64
	}
	places := make([]place, len(list))
	r.turns.mu.Lock()
	for i, c := range list {
		places[i] = place{c, 0, max(c.turn+1/float64(c.Weight), r.turns.now)}
	}
	r.turns.mu.Unlock()
	all, weights := 1.0, 0.0
	for _, c := range list {
		all, weights = all+float64(c.busy.Load()), weights+float64(c.Weight)
	}
	now := time.Now()
	for i, c := range list {
		busy := float64(c.busy.Load()+1) / float64(c.Weight)
		switch r.Strategy {
		case LeastBusy:
			places[i].score = busy
		case Fastest:
			places[i].score = float64(c.model.median(now))
		case Cheapest:
			places[i].score = price(c.Opened)
		default:
			if share := all * float64(c.Weight) / weights; busy*float64(c.Weight) > math.Ceil(share-1e-9) {
				places[i].score = busy
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.next, b.next)) })
	for i, p := range places {
		list[i] = p.Candidate
	}
}

// usual is the usage by which prices are compared.
var usual = llm.Usage{Input: 3000, Output: 1000}

// price returns the price of a usual request, or infinity if it is unknown.
func price(m llm.Model) float64 {
	var info catalog.Model
	if known := VendorModel(m); known != nil {
		info = known.Info()
	}
	if cost, known := info.Price.Cost(usual); known {
		return float64(cost)
	}
	return math.Inf(1)
}

// InOrder returns the upstreams of the route in the order in which they are asked for a model.
func (r *Route) InOrder(name string) []*Target {
	list := make([]Candidate, len(r.Targets))
	for i, u := range r.Targets {
		list[i] = Candidate{Target: u, model: u.of(u.IDFor(name))}
	}
	r.order(list)
	out := make([]*Target, len(list))
	for i, c := range list {
		out[i] = c.Target
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
