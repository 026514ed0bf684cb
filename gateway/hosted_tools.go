package gateway

import (
	"context"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/admin"
	"github.com/toolpost/toolpost/gateway/internal/hosttools"
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

// ownsTool reports whether the gateway runs a tool. Its calls are not shown to the client.
func (p *prepared) ownsTool(name string) bool { return p.rounds != nil && p.rounds.Owns(name) }

// ask gets an answer from the upstreams, with or without tools of the gateway.
func (p *prepared) ask(each func(llm.Event) error) error {
	if p.rounds == nil {
		return p.askChecked(p.req, each)
	}
	return p.rounds.Run(p.askChecked, func(u llm.Usage) { p.measured.usage = u }, each)
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
