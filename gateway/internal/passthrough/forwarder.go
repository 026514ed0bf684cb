// Package passthrough forwards requests to endpoints that are not questions to chat models: embeddings, files, images. It
// checks them, and counts what they use.
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
	team  string // whose account with the vendor the upstreams use
}

// Forwarder is a request that is forwarded to a vendor as it is.
type Forwarder struct {
	*exchange.Request
	*exchange.Response
	*admit.Client
	*admit.Demand
	Spent *admit.Spending
	Trace *upstream.Trace

	Routes  []Route // by their index
	Table   upstream.Table
	Forward func(id string) (*provider.Forwarder, error) // nil if nothing is forwarded
	Enter   func(*upstream.Route) (leave func(), err error)

	ReadBody func() ([]byte, error)
	LogBody  func(r *Route, body []byte)
	Book     func(error)

	Usage llm.Usage // that the upstream reports
}

// find returns the route of a model, nil if there is none.
func (x *Forwarder) find(model, format string) *Route {
	r := x.Table.Find(model, format)
	if r == nil {
		return nil
	}
	return &x.Routes[r.Index]
}

// NewRoute returns a route that forwards some kinds of endpoints, for an account of a team.
func NewRoute(r *upstream.Route, kinds []string, team string) Route {
	return Route{r, kinds, team}
}
