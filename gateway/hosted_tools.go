package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

// ServedTools are tools that the gateway runs itself for the clients of a route. The model is offered them in addition
// to the client's own tools. Their calls run during the answer, and the client sees only the text that follows. It must
// not be copied or changed once it is in use.
type ServedTools struct {
	// Tools returns the tools. It is called for every request, and must return the same set as long as nothing has
	// changed.
	Tools func(context.Context) (*tool.Set, error)
	// Runner defines how calls run: policy, limits, breakers. Its own tools are ignored. Nil means a zero Runner, which
	// runs only read-only tools. No person is asked during a request: without an Approve function, calls that need
	// consent are refused, and the model learns why.
	Runner *invoke.Runner
	// Record begins the record of a request whose model called such a tool; nil records nothing.
	Record func(ctx context.Context, run ServedRun) (*journal.Recorder, error)
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

// ServedRun is a request whose model has called a tool of the gateway.
type ServedRun struct {
	ID    string // id of the request and its record
	Team  string // team of the key; "" without keys
	Route string // name in the configuration
}

// The defaults of ServedTools.
const (
	defaultRounds   = 10
	servedTools     = 64
	servedToolCosts = 16_000
)

// current returns the runner for the current set of tools. The runner and its breakers stay the same until the set
// changes.
func (t *ServedTools) current(ctx context.Context) (*invoke.Runner, error) {
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
func (t *ServedTools) budget(to upstream.Candidate) tool.SelectionBudget {
	b := t.Offer
	if b.Tools == 0 && b.Cost == 0 {
		b.Tools, b.Cost = servedTools, servedToolCosts
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

// serving is the state of a request whose model is offered tools of the gateway.
type serving struct {
	x      *chain
	tools  *ServedTools
	runner *invoke.Runner
	set    *tool.Set          // all tools that the client may use
	kept   *tool.Set          // tools offered from the start; same as set if all are
	to     upstream.Candidate // the first candidate

	conv       *llm.Request      // the request for the upstream, without tools of the gateway
	before     int               // number of messages in the client's request
	asked, all [sha256.Size]byte // hashes of the client's last messages, and of all its messages
	found      []string          // tools that the model found
	session    *invoke.Session
	rec        *journal.Recorder
	ids        map[string]bool // call ids in use
	stopped    string          // why no more calls run
	start      llm.Start       // start of the answer
	usage      llm.Usage       // total of all rounds
	said       bool            // an earlier round had text
	hidden     []string        // tools of the route that the client's key may not use
	waited     bool            // a call waits for a person
	pend       []llm.Warning   // warnings to send: calls that wait or did not succeed

	calls   []llm.Call                  // calls that are running
	pending map[state.Hash]*pendingCall // calls that wait or waited
	same    map[string]*pendingCall     // by id of calls that equal a waiting one
}

// attach prepares the tools of a route for a request, and restores the results of earlier calls in the conversation.
func (x *chain) attach(to upstream.Candidate, req *llm.Request) error {
	t := x.routeOf(&to).Tools
	if t == nil {
		return nil
	}
	runner, err := t.current(x.Context())
	if err != nil {
		return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, Err: fmt.Errorf("the tools of the route are not there: %w", err)}
	}
	s := &serving{x: x, tools: t, runner: runner, set: allowedTools(x.Rights, runner.Set()), to: to, ids: map[string]bool{}}
	theirs := slices.Concat(req.Tools, legacyTools(req.Extra[x.Codec.Format]))
	s.hidden = s.hides(runner.Set(), theirs)
	s.conv = req.Clone()
	s.conv.Messages = slices.Clip(x.MergeHeld(req.Messages, func(name string) bool { return mayRun(x.Rights, name) }))
	s.before, s.asked = len(s.conv.Messages), conversation.AskedBefore(req.Messages)
	s.all = conversation.SaidBefore(req.Messages)
	s.choose()
	if name := s.clash(theirs); name != "" {
		return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: http.StatusBadRequest,
			Err: fmt.Errorf("the tool %q of the request has the name of a tool that this gateway runs itself; give it another name", name)}
	}
	if s.kept != s.set {
		x.Warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d of the %d tools that the gateway runs are offered; %s finds the others", s.kept.Len(), s.set.Len(), tool.FinderName)})
	}
	if s.conv.N > 1 {
		s.conv.N = 0
		x.Warn(llm.Warning{Code: llm.Degraded, Feature: "n", Detail: "one answer is given where the gateway runs tools"})
	}
	x.serving = s
	return nil
}

// legacyTools returns the tools in the deprecated field functions, which is passed to the upstream unchanged.
func legacyTools(own map[string]json.RawMessage) (list []llm.ToolDef) {
	for f := range js.Elements(own["functions"]) {
		list = append(list, llm.ToolDef{Name: js.Text(js.Get(f, "name"))})
	}
	return list
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

// hides returns the names of route tools that the client's key may not use and that are not the client's own.
func (s *serving) hides(all *tool.Set, theirs []llm.ToolDef) (names []string) {
	if all == s.set {
		return nil
	}
	for _, name := range all.Names() {
		if _, ok := s.set.Lookup(name); !ok && !named(theirs, name) {
			names = append(names, name)
		}
	}
	return names
}

// withheld reports whether the client may not use a tool of the route. A model that calls it is told that the tool does
// not exist.
func (s *serving) withheld(name string) bool {
	return slices.ContainsFunc(s.hidden, func(h string) bool { return strings.EqualFold(h, name) }) && !named(s.conv.Tools, name)
}

// clash returns the name of a client's tool that equals the name of a gateway tool. Case is ignored, because vendors
// map names.
func (s *serving) clash(tools []llm.ToolDef) string {
	own := s.set.Names()
	if s.kept != s.set {
		own = append(own, tool.FinderName)
	}
	for _, t := range tools {
		if t.Kind != llm.HostedTool && slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, t.Name) }) {
			return t.Name
		}
	}
	return ""
}

// question gets an answer from the upstreams, with or without tools of the gateway.
func (x *chain) question(ways []upstream.Candidate, req *llm.Request, each func(llm.Event) error) error {
	if x.serving == nil {
		return x.askChecked(ways, req, each)
	}
	err := x.serving.run(ways, each)
	x.serving.end(err)
	return err
}

// run asks the model, runs its calls of gateway tools, and asks it again with the results, until the answer is complete
// or contains calls of the client's tools.
func (s *serving) run(ways []upstream.Candidate, each func(llm.Event) error) error {
	rounds := s.tools.Rounds
	if rounds <= 0 {
		rounds = defaultRounds
	}
	for round := 0; ; round++ {
		if round == rounds && s.stopped == "" {
			s.stopped = fmt.Sprintf("the model called tools of the gateway %d times in a row", rounds)
		}
		r := s.newRound(round == 0, each)
		if err := s.x.askChecked(ways, s.request(), r.take); err != nil {
			return err
		}
		done, err := s.after(r, each)
		if err != nil || done {
			return err
		}
		s.said = s.said || r.said
	}
}

// request returns the next request for the upstream.
func (s *serving) request() *llm.Request {
	req := s.conv.Clone()
	if req.Choice.Mode == llm.MustNotCall {
		return req
	}
	if s.stopped != "" { // keep the definitions, because the conversation contains their calls
		if len(s.conv.Tools) == 0 {
			req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
		} else if req.Choice.Allowed == nil && req.Choice.Name == "" {
			for _, t := range s.conv.Tools {
				req.Choice.Allowed = append(req.Choice.Allowed, t.Name)
			}
		}
	}
	req.Tools = append(req.Tools, s.offer()...)
	return req
}

// choose selects the tools offered to the model. The selection stays the same in every round, which keeps the vendor's
// prompt cache valid.
func (s *serving) choose() {
	budget := s.tools.budget(s.to)
	budget.Pinned = append(slices.Concat(budget.Pinned, s.conv.Choice.Allowed), s.conv.Choice.Name, invoke.ReaderName)
	s.kept, _ = s.set.Follow(s.conv.Messages, budget)
}

// offer returns the definitions of the gateway tools that the model is offered.
func (s *serving) offer() []llm.ToolDef {
	if s.kept == s.set {
		return s.set.Defs()
	}
	defs := append([]llm.ToolDef{s.set.Finder(nil).Def()}, s.kept.Defs()...)
	for _, name := range s.found {
		if t, ok := s.set.Lookup(name); ok && !named(defs, name) {
			defs = append(defs, t.Def())
		}
	}
	return defs
}

func named(defs []llm.ToolDef, name string) bool {
	return slices.ContainsFunc(defs, func(d llm.ToolDef) bool { return d.Name == name })
}

// owns reports whether the gateway runs the tool of that name.
func (s *serving) owns(name string) bool {
	_, ok := s.set.Lookup(name)
	return ok || name == tool.FinderName && s.kept != s.set || s.withheld(name)
}

// after handles an answer of the model, and reports whether it was the last.
func (s *serving) after(r *servedRound, each func(llm.Event) error) (done bool, err error) {
	resp, own, theirs := s.answerOf(r)
	finish := resp.Finish
	if err := r.data.release(len(own) == 0 || len(theirs) > 0); err != nil {
		return true, err
	}
	var results []llm.Result
	if len(own) > 0 {
		if results, err = s.do(own); err != nil {
			return true, err
		}
	}
	for _, w := range s.pend {
		if err := each(w); err != nil {
			return true, err
		}
	}
	s.pend = nil
	s.conv.Messages = append(s.conv.Messages, resp.Message)
	if len(own) > 0 && len(theirs) == 0 {
		s.conv.Messages = append(s.conv.Messages, conversation.ResultMessage(results))
		if s.conv.Choice.Mode == llm.MustCall { // the model has called a tool
			s.conv.Choice = llm.ToolChoice{Allowed: s.conv.Choice.Allowed}
		}
		return false, nil
	}
	if len(theirs) > 0 {
		s.x.HoldTurn(s.conv.Messages[s.before:], s.asked, s.all, theirs, results)
	}
	s.end(nil) // complete the record before the client has its answer
	if r := s.x.repeat; r != nil && !r.Changed && !r.Named {
		r.Release() // nothing was changed, so the request may run again
	}
	err = each(s.finish(finish, theirs))
	if s.x.repeat != nil {
		s.x.repeat.Answered = err == nil
	}
	return true, err
}

// answerOf returns an answer of the model, with the calls for the gateway and the calls for the client.
func (s *serving) answerOf(r *servedRound) (resp *llm.Response, own, theirs []llm.Call) {
	resp = r.answer.Response()
	own, theirs = s.split(&resp.Message)
	if r.cut && len(own)+len(theirs) == 0 && resp.Finish.Reason == llm.ToolCalls {
		resp.Finish.Reason, resp.Finish.Raw = llm.Length, ""
	}
	s.usage = s.usage.Add(resp.Finish.Usage)
	s.x.usage = s.usage // also if the answer stays incomplete
	if why := s.unwanted(resp.Finish); len(own) > 0 && why != "" {
		for _, c := range own {
			s.notRun(c, why)
		}
		own, resp.Message.Parts = nil, slices.DeleteFunc(resp.Message.Parts, s.isOwn)
	}
	return resp, own, theirs
}

// unwanted returns why the calls of an answer must not run, "" if they may.
func (s *serving) unwanted(f llm.Finish) string {
	switch {
	case s.stopped != "":
		return s.stopped
	case f.Reason == llm.Length:
		return "the answer was cut off"
	case f.Reason == llm.ContentFilter:
		return "a filter ended the answer"
	case s.conv.Choice.Mode == llm.MustNotCall:
		return "the request says that no tool may be called"
	}
	return ""
}

// finish returns the end of the combined answer.
func (s *serving) finish(f llm.Finish, theirs []llm.Call) llm.Finish {
	f.Usage = s.usage
	if s.start.ID != "" {
		f.ID = s.start.ID
	}
	if f.Reason == llm.ToolCalls && len(theirs) == 0 {
		f.Reason, f.Raw = llm.Stop, ""
	}
	return f
}

func (s *serving) isOwn(p llm.Part) bool {
	c, ok := p.(llm.Call)
	return ok && !c.Hosted && s.owns(c.Name)
}

// split separates calls for the gateway from calls for the client. It gives each call for the gateway an id that is
// unique in the request.
func (s *serving) split(m *llm.Message) (own, theirs []llm.Call) {
	for _, c := range m.Calls() {
		if !s.owns(c.Name) {
			theirs = append(theirs, c)
			s.ids[c.ID] = true
		}
	}
	for i, p := range m.Parts {
		if c, ok := p.(llm.Call); ok && s.isOwn(c) {
			for n := 2; c.ID == "" || s.ids[c.ID]; n++ {
				c.ID = fmt.Sprintf("%s-%d", p.(llm.Call).ID, n)
			}
			s.ids[c.ID] = true
			m.Parts[i] = c
			own = append(own, c)
		}
	}
	return own, theirs
}

// mayChange reports whether the client is offered tools that may change something. Unavailable tools count as such.
func (x *chain) mayChange(t *ServedTools) bool {
	runner, err := t.current(x.Context())
	if err != nil {
		return true
	}
	for own := range allowedTools(x.Rights, runner.Set()).All() {
		if !own.Effects.Has(tool.ReadOnly) {
			return true
		}
	}
	return false
}

// claimRun claims the request before calls that may change something. Of two equal concurrent requests, one is refused.
func (s *serving) claimRun(calls []llm.Call) error {
	changes := slices.ContainsFunc(calls, func(c llm.Call) bool {
		t, ok := s.set.Lookup(c.Name)
		return ok && !t.Effects.Has(tool.ReadOnly)
	})
	if !changes || s.x.repeat == nil {
		return nil
	}
	found, err := s.x.repeat.Claim(conversation.OpenRunLife)
	switch {
	case err != nil:
		return conversation.ErrUnknownState()
	case found != nil:
		return s.x.ErrInProgress(found.Run)
	}
	return nil
}
