// Package passthrough forwards requests to endpoints other than those of chat models, such as embeddings, files and
// images. It checks the requests and counts their usage.
package passthrough

import (
	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Route is a route, with the kinds of endpoints that it forwards.
type Route struct {
	*upstream.Route
	kinds []string
	team  string // owner of the vendor account that the upstreams use
}

// Forwarder is a request that is forwarded to a vendor unchanged.
type Forwarder struct {
	*exchange.Request
	*exchange.Response
	*admit.Client
	*admit.Demand
	Spent *admit.Spending
	Trace *upstream.Trace

	Routes  []Route // in the order of their index
	Table   upstream.Table
	Forward func(id string) (*provider.Forwarder, error) // nil if forwarding is off
	Enter   func(*upstream.Route) (leave func(), err error)

	ReadBody func() ([]byte, error)
	LogBody  func(r *Route, body []byte)
	Book     func(error)

	Usage llm.Usage // as the upstream reports it
}

// find returns the route of a model, or nil.
func (x *Forwarder) find(model, format string) *Route {
	r := x.Table.Find(model, format)
	if r == nil {
		return nil
	}
	return &x.Routes[r.Index]
}

// NewRoute returns a route that forwards some kinds of endpoints to an account of a team.
func NewRoute(r *upstream.Route, kinds []string, team string) Route {
	return Route{r, kinds, team}
}
