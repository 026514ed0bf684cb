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
	// ServedTools are tools that the gateway runs itself for the clients of a route. It has these fields:
	//
	//	Tools func(context.Context) (*tool.Set, error) // nil means the tools of Runner
	//	Missing func() []string                        // sources of tools that are not available
	//	Runner *invoke.Runner                          // policy, limits, breakers; nil runs read-only tools
	//	Record func(ctx context.Context, run Run) (*journal.Recorder, error) // begins a record; Run is ServedRun
	//	Rounds int               // questions with results in one request; 0 means 10
	//	Approvals *Approvals     // nil refuses calls that need a person
	//	Offer tool.Selection     // zero means 64 tools and 16,000 tokens
	ServedTools = hosttools.Tools
	// ServedRun is a request whose model has called a tool of the gateway. It has these fields:
	//
	//	ID string    // of the request and its record
	//	Team string  // of the key; "" without keys
	//	Route string // name in the configuration
	ServedRun = hosttools.Run
	// Approvals lets calls of the gateway's tools wait for a person's approval. It has these fields:
	//
	//	Store journal.Store // the records of the route's requests
	//	For time.Duration   // how long a call waits; 0 means a day
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
