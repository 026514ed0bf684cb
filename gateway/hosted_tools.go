package gateway

import (
	"context"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/admin"
	"github.com/toolpost/toolpost/gateway/internal/hosttools"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
)

// The tools that a gateway runs itself; see [ModelRoute.Tools].
type (
	// ServedTools are tools that the gateway runs itself for the clients of a route.
	ServedTools = hosttools.Tools
	// ServedRun is a request whose model has called a tool of the gateway.
	ServedRun = hosttools.Run
	// Approvals lets calls of the gateway's tools wait for a person's approval.
	Approvals = hosttools.Approvals
)

// offerTools prepares the tools of a route for a request.
func (x *chain) offerTools(to upstream.Candidate, req *llm.Request) (err error) {
	if t := x.routeOf(&to).Tools; t != nil {
		x.rounds, err = hosttools.New(t, &x.Scope, x.idempotency, to, req)
	}
	return err
}

// ownsTool reports whether the gateway runs a tool. Its calls are not shown to the client.
func (x *chain) ownsTool(name string) bool { return x.rounds != nil && x.rounds.Owns(name) }

// question gets an answer from the upstreams, with or without tools of the gateway.
func (x *chain) question(ways []upstream.Candidate, req *llm.Request, each func(llm.Event) error) error {
	if x.rounds == nil {
		return x.askChecked(ways, req, each)
	}
	ask := func(req *llm.Request, each func(llm.Event) error) error { return x.askChecked(ways, req, each) }
	return x.rounds.Run(ask, func(u llm.Usage) { x.usage = u }, each)
}

// waitingTools returns the tools of a route whose calls may wait, or nil if the route refuses them.
func (g *Gateway) waitingTools(model string) *ServedTools {
	i := slices.IndexFunc(g.routes, func(r *route) bool { return r.Model == model && r.Tools != nil && r.Tools.Approvals != nil })
	if i < 0 {
		return nil
	}
	return g.routes[i].Tools
}

// waitingDesk gives administrators access to the waiting calls of the setup that is served now.
type waitingDesk struct{ live *Live }

func (d waitingDesk) desk() *hosttools.Desk {
	g := d.live.now.Load()
	return &hosttools.Desk{Store: g.stateStore, Tools: g.waitingTools}
}

// Waiting implements [admin.Approvals].
func (d waitingDesk) Waiting(ctx context.Context) (any, error) { return d.desk().Waiting(ctx) }

// Decide implements [admin.Approvals].
func (d waitingDesk) Decide(ctx context.Context, id string, by admin.Decision) (any, error) {
	return d.desk().Decide(ctx, id, by)
}
