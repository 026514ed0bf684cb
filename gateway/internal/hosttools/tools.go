// Package hosttools runs tools of the gateway during an answer: the model is asked, its calls run, and it is asked again
// with their results, until the answer is complete or needs the client.
package hosttools

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
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
	// changed. Nil means the tools of Runner.
	Tools func(context.Context) (*tool.Set, error)
	// Missing returns the names of sources of tools that are not available, such as MCP servers; nil means none. Clients are
	// warned about them.
	Missing func() []string
	// Runner defines how calls run: policy, limits, breakers. Its own tools count if Tools is nil. Nil means a zero Runner, which
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
	Offer tool.Selection

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

// offered returns the tools, which may be nil.
func (t *Tools) offered(ctx context.Context) (*tool.Set, error) {
	switch {
	case t.Tools != nil:
		return t.Tools(ctx)
	case t.Runner != nil:
		return t.Runner.Tools, nil
	}
	return nil, nil
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
	set, err := t.offered(ctx)
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
		t.set, t.runner = set, base.With(set.ByMeaning())
		if t.Approvals != nil {
			t.runner.Approve = t.Approvals.ask
		}
	}
	return t.runner, nil
}

// budget returns the limits of the tool definitions for an upstream.
func (t *Tools) budget(to upstream.Candidate) tool.Selection {
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

// offer is the choice of tools that the model is offered. It stays the same in every round, except for tools that the
// model finds.
type offer struct {
	set    *tool.Set     // all tools that the client may use
	kept   *tool.Set     // tools offered from the start; same as set if all are
	found  []string      // tools that the model found
	hidden []string      // tools of the route that the client's key may not use
	client []llm.ToolDef // the client's tools
}

// mayRun reports whether a key may use a tool of the gateway. Tools that find tools or read results are always allowed.
func mayRun(rights *access.Rights, name string) bool {
	return rights == nil || name == invoke.ReaderName || name == tool.FinderName || rights.Key.AllowsTool(name)
}

// allowedTools returns the tools that the client's key may use.
func allowedTools(rights *access.Rights, set *tool.Set) *tool.Set {
	if rights == nil {
		return set
	}
	names := slices.DeleteFunc(set.Names(), func(name string) bool { return !mayRun(rights, name) })
	if len(names) == set.Len() {
		return set
	}
	only, err := set.Only(append([]string{}, names...))
	if err != nil {
		return new(tool.Set) // cannot happen: the names come from the set
	}
	return only
}

// hide notes the names of route tools that the client's key may not use and that are not the client's own.
func (o *offer) hide(all *tool.Set, theirs []llm.ToolDef) {
	if all == o.set {
		return
	}
	for _, name := range all.Names() {
		if _, ok := o.set.Lookup(name); !ok && !named(theirs, name) {
			o.hidden = append(o.hidden, name)
		}
	}
}

// withheld reports whether the client may not use a tool of the route. A model that calls it is told that the tool does
// not exist.
func (o *offer) withheld(name string) bool {
	return slices.ContainsFunc(o.hidden, func(h string) bool { return strings.EqualFold(h, name) }) && !named(o.client, name)
}

// clash returns the name of a client's tool that equals the name of a gateway tool. Case is ignored, because vendors
// map names.
func (o *offer) clash(tools []llm.ToolDef) string {
	own := o.set.Names()
	if o.kept != o.set {
		own = append(own, tool.FinderName)
	}
	for _, t := range tools {
		if t.Kind != llm.HostedTool && slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, t.Name) }) {
			return t.Name
		}
	}
	return ""
}

// choose selects the tools offered to the model. The selection stays the same in every round, which keeps the vendor's
// prompt cache valid.
func (o *offer) choose(budget tool.Selection, conv *llm.Request) {
	budget.Pinned = append(slices.Concat(budget.Pinned, conv.Choice.Allowed), conv.Choice.Name, invoke.ReaderName)
	o.kept, _ = o.set.Follow(conv.Messages, budget)
}

// defs returns the definitions of the gateway tools that the model is offered.
func (o *offer) defs() []llm.ToolDef {
	if o.kept == o.set {
		return o.set.Defs()
	}
	defs := append([]llm.ToolDef{o.set.Finder(nil).Def()}, o.kept.Defs()...)
	for _, name := range o.found {
		if t, ok := o.set.Lookup(name); ok && !named(defs, name) {
			defs = append(defs, t.Def())
		}
	}
	return defs
}

func named(defs []llm.ToolDef, name string) bool {
	return slices.ContainsFunc(defs, func(d llm.ToolDef) bool { return d.Name == name })
}

// owns reports whether the gateway runs the tool of that name.
func (o *offer) owns(name string) bool {
	_, ok := o.set.Lookup(name)
	return ok || name == tool.FinderName && o.kept != o.set || o.withheld(name)
}

// finder returns the set with the search tool, or nil if all tools are offered.
func (o *offer) finder() *tool.Set {
	if o.kept == o.set {
		return nil
	}
	offered := o.defs()
	set, err := tool.NewSet(o.set.Finder(func(name string) bool { return named(offered, name) }))
	if err != nil {
		return nil
	}
	return set
}

// find adds the tools that a find_tools call finds to the offered tools.
func (o *offer) find(c llm.Call) {
	offered := o.defs()
	for _, i := range o.set.Ranker().Found(c.Args, func(name string) bool { return named(offered, name) }) {
		if name := o.set.Names()[i]; !slices.Contains(o.found, name) {
			o.found = append(o.found, name)
		}
	}
}
