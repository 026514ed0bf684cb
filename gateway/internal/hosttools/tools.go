// Package hosttools runs tools of the gateway during an answer: the model is asked, its calls run, and it is asked again
// with their results, until the answer is complete or needs the client.
package hosttools

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

// Tools are tools that the gateway runs itself for the clients of a route. The model is offered them in addition
// to the client's own tools. Their calls run during the answer, and the client sees only the text that follows. It must
// not be copied or changed once it is in use.
type Tools struct {
	// Tools returns the tools. It is called for every request, and must return the same set as long as nothing has
	// changed.
	Tools func(context.Context) (*tool.Set, error)
	// Runner defines how calls run: policy, limits, breakers. Its own tools are ignored. Nil means a zero Runner, which
	// runs only read-only tools. No person is asked during a request: without an Approve function, calls that need
	// consent are refused, and the model learns why.
	Runner *invoke.Runner
	// Record begins the record of a request whose model called such a tool; nil records nothing.
	Record func(ctx context.Context, run Run) (*journal.Recorder, error)
	// Rounds limits how often the model is asked again with results in one request; 0 means 10. After that these tools
	// are no longer offered.
	Rounds int
	// Approvals lets calls wait if the policy requires a person's approval; nil refuses them. It replaces the Approve
	// function of Runner.
	Approvals *Approvals
	// Offer limits the definitions; the zero value means 64 tools and 16,000 tokens as the upstream's vendor counts
	// them. The model finds the other tools with find_tools.
	Offer tool.SelectionBudget

	mu     sync.Mutex
	set    *tool.Set
	runner *invoke.Runner
	costs  map[string]func(llm.ToolDef) int // by upstream id
}

// Run is a request whose model has called a tool of the gateway.
type Run struct {
	ID    string // id of the request and its record
	Team  string // team of the key; "" without keys
	Route string // name in the configuration
}

// The defaults of Tools.
const (
	defaultRounds = 10
	offeredTools  = 64
	offeredCost   = 16_000
)

// current returns the runner for the current set of tools. The runner and its breakers stay the same until the set
// changes.
func (t *Tools) current(ctx context.Context) (*invoke.Runner, error) {
	set, err := t.Tools(ctx)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runner == nil || t.set != set {
		base := t.Runner
		if base == nil {
			base = new(invoke.Runner)
		}
		t.set, t.runner = set, base.With(set)
		if t.Approvals != nil {
			t.runner.Approve = t.Approvals.ask
		}
	}
	return t.runner, nil
}

// budget returns the limits of the tool definitions for an upstream.
func (t *Tools) budget(to upstream.Candidate) tool.SelectionBudget {
	b := t.Offer
	if b.Tools == 0 && b.Cost == 0 {
		b.Tools, b.Cost = offeredTools, offeredCost
	}
	m, ok := to.Opened.(*provider.Model)
	if !ok || b.CostOf != nil {
		return b
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.costs == nil || len(t.costs) > upstream.MaxOpened {
		t.costs = make(map[string]func(llm.ToolDef) int)
	}
	if t.costs[to.ID] == nil {
		t.costs[to.ID] = m.ToolCost()
	}
	b.CostOf = t.costs[to.ID]
	return b
}

// Check reports errors in the tools of a route.
func (t *Tools) Check() error {
	if t == nil || t.Approvals == nil {
		return nil
	}
	if a := t.Approvals; a.Store == nil || a.For < 0 || a.For > MaxApproval {
		return fmt.Errorf("calls that wait for a person need a store, and a time of up to %v", MaxApproval)
	}
	return nil
}

// MayChange reports whether a client is offered tools that may change something. Unavailable tools count as such.
func (t *Tools) MayChange(ctx context.Context, rights *access.Rights) bool {
	runner, err := t.current(ctx)
	if err != nil {
		return true
	}
	for own := range allowedTools(rights, runner.Set()).All() {
		if !own.Effects.Has(tool.ReadOnly) {
			return true
		}
	}
	return false
}

// request is a client's request, and the tools that the gateway runs for it. It does not change.
type request struct {
	*conversation.Scope
	tools       *Tools
	runner      *invoke.Runner
	to          upstream.Candidate        // the first candidate
	idempotency *conversation.Idempotency // nil if the request may run twice
}

// broken returns the error of a session that cannot continue.
func (r *request) broken(err error) error {
	if r.Context().Err() != nil {
		return clientio.ErrGone
	}
	return &llm.Error{Op: "gateway", Kind: llm.Server, Status: http.StatusInternalServerError, Err: fmt.Errorf("the calls of the model could not be run: %w", err)}
}

// redact removes known secret values from a result, because the upstream is another host.
func (q *request) redact(r llm.Result) llm.Result {
	secrets := q.runner.Output.Secrets
	if secrets == nil {
		return r
	}
	r.Parts = slices.Clone(r.Parts)
	for i, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			t.Text, _ = secrets.RedactValues(t.Text)
			r.Parts[i] = t
		}
	}
	return r
}
