package hosttools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Rounds is the state of a request whose model is offered tools of the gateway.
type Rounds struct {
	*request
	offer   *offer
	reports *reports
	run     *execution
	used    func(llm.Usage)

	conv    *llm.Request // the request for the upstream, without tools of the gateway
	before  int          // number of messages in the client's request
	history *conversation.History
	ids     map[string]bool // call ids in use
	start   llm.Start       // start of the answer
	usage   llm.Usage       // total of all rounds
	said    bool            // an earlier round had text
}

// Ask asks the upstreams once.
type Ask func(req *llm.Request, each func(llm.Event) error) error

// New returns the rounds of a request to a candidate, and restores the results of earlier calls in the conversation.
// Idempotency is nil if the request may run twice.
func New(t *Tools, scope *conversation.Scope, idempotency *conversation.Idempotency, to upstream.Candidate, req *llm.Request) (*Rounds, error) {
	runner, err := t.current(scope.Context())
	if err != nil {
		return nil, &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, Err: fmt.Errorf("the tools of the route are unavailable: %w", err)}
	}
	t.warnMissing(scope)
	client := slices.Concat(req.Tools, legacyTools(req.Extra[scope.Codec.Format]))
	r := &request{Scope: scope, tools: t, runner: runner, to: to, idempotency: idempotency}
	o := &offer{set: allowedTools(scope.Rights, runner.Set()), client: req.Tools}
	toClient := &reports{request: r, offer: o}
	waiting := &waitingCalls{request: r, offer: o, reports: toClient}
	s := &Rounds{request: r, offer: o, reports: toClient, ids: map[string]bool{}}
	s.run = &execution{request: r, offer: o, reports: toClient, waiting: waiting}
	o.hide(runner.Set(), client)
	s.conv = req.Clone()
	s.conv.Messages = slices.Clip(scope.MergeHeld(req.Messages, func(name string) bool { return mayRun(scope.Rights, name) }))
	s.before, s.history = len(s.conv.Messages), conversation.NewHistory(req.Messages)
	o.choose(t.budget(to), s.conv)
	if name := o.clash(client); name != "" {
		return nil, &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: http.StatusBadRequest,
			Err: fmt.Errorf("the tool %q of the request has the name of a tool that this gateway runs itself; give it another name", name)}
	}
	if o.kept != o.set {
		scope.Warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d of the %d tools that the gateway runs are offered; %s finds the others", o.kept.Len(), o.set.Len(), tool.FinderName)})
	}
	if s.conv.N > 1 {
		s.conv.N = 0
		scope.Warn(llm.Warning{Code: llm.Degraded, Feature: "n", Detail: "one answer is given where the gateway runs tools"})
	}
	return s, nil
}

// warnMissing tells the client, the log and the metrics which sources of tools are missing.
func (t *Tools) warnMissing(scope *conversation.Scope) {
	if t.Missing == nil {
		return
	}
	for _, name := range t.Missing() {
		scope.Metrics.MissingServers.Add(1, scope.Trace.Route, name)
		scope.Warn(llm.Warning{Code: llm.Degraded, Feature: "mcp", Detail: fmt.Sprintf("the MCP server %s is not available, so the answer is made without its tools", name)})
	}
}

// Owns reports whether the gateway runs the tool of that name. Its calls are not shown to the client.
func (s *Rounds) Owns(name string) bool { return s.offer.owns(name) }

// Run asks the model, runs its calls of gateway tools, and asks it again with the results, until the answer is complete
// or contains calls of the client's tools. Used is told the usage of all rounds so far.
func (s *Rounds) Run(ask Ask, used func(llm.Usage), each func(llm.Event) error) error {
	s.used = used
	err := s.ask(ask, each)
	s.run.end(err)
	return err
}

// legacyTools returns the tools in the deprecated field functions, which is passed to the upstream unchanged.
func legacyTools(own map[string]json.RawMessage) (list []llm.ToolDef) {
	for f := range js.Elements(own["functions"]) {
		list = append(list, llm.ToolDef{Name: js.Text(js.Get(f, "name"))})
	}
	return list
}

func (s *Rounds) ask(ask Ask, each func(llm.Event) error) error {
	rounds := s.tools.Rounds
	if rounds <= 0 {
		rounds = defaultRounds
	}
	for n := 0; ; n++ {
		if n == rounds && s.run.stopped == "" {
			s.run.stopped = fmt.Sprintf("the model called tools of the gateway %d times in a row", rounds)
		}
		r := s.newRound(n == 0, each)
		if err := ask(s.next(), r.take); err != nil {
			if s.run.stopped == "" || llm.KindOf(err) != llm.BrokenPromise {
				return err
			}
			r.answer.Add(llm.Finish{Reason: llm.Stop}) // the model called a tool once more, and its calls are reported below
		}
		done, err := s.after(r, each)
		if err != nil || done {
			return err
		}
		s.said = s.said || r.said
	}
}

// next returns the next request for the upstream.
func (s *Rounds) next() *llm.Request {
	req := s.conv.Clone()
	if req.Choice.Mode == llm.MustNotCall {
		return req
	}
	if s.run.stopped != "" { // keep the definitions, because the conversation contains their calls
		if len(s.conv.Tools) == 0 {
			req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
		} else if req.Choice.Allowed == nil && req.Choice.Name == "" {
			for _, t := range s.conv.Tools {
				req.Choice.Allowed = append(req.Choice.Allowed, t.Name)
			}
		}
	}
	req.Tools = append(req.Tools, s.offer.defs()...)
	return req
}

// after handles an answer of the model, and reports whether it was the last.
func (s *Rounds) after(r *round, each func(llm.Event) error) (done bool, err error) {
	resp, own, theirs := s.answerOf(r)
	finish := resp.Finish
	if err := r.data.Release(len(own) == 0 || len(theirs) > 0); err != nil {
		return true, err
	}
	var results []llm.Result
	if len(own) > 0 {
		if results, err = s.run.do(own); err != nil {
			return true, err
		}
	}
	for _, w := range s.reports.queue {
		if err := each(w); err != nil {
			return true, err
		}
	}
	s.reports.queue = nil
	s.conv.Messages = append(s.conv.Messages, resp.Message)
	if len(own) > 0 && len(theirs) == 0 {
		s.conv.Messages = append(s.conv.Messages, conversation.ResultMessage(results))
		if s.conv.Choice.Mode == llm.MustCall { // the model has called a tool
			s.conv.Choice = llm.ToolChoice{Allowed: s.conv.Choice.Allowed}
		}
		return false, nil
	}
	if len(theirs) > 0 {
		s.HoldTurn(s.conv.Messages[s.before:], s.history, theirs, results)
	}
	s.run.end(nil) // complete the record before the client has its answer
	if r := s.idempotency; r != nil && !r.Changed && !r.Named {
		r.Release() // nothing was changed, so the request may run again
	}
	err = each(s.finish(finish, theirs))
	if s.idempotency != nil {
		s.idempotency.Answered = err == nil
	}
	return true, err
}

// answerOf returns an answer of the model, with the calls for the gateway and the calls for the client.
func (s *Rounds) answerOf(r *round) (resp *llm.Response, own, theirs []llm.Call) {
	resp = r.answer.Response()
	own, theirs = s.split(&resp.Message)
	if r.cut && len(own)+len(theirs) == 0 && resp.Finish.Reason == llm.ToolCalls {
		resp.Finish.Reason, resp.Finish.Raw = llm.Length, ""
	}
	s.usage = s.usage.Add(resp.Finish.Usage)
	s.used(s.usage) // also if the answer stays incomplete
	if why := s.unwanted(resp.Finish); len(own) > 0 && why != "" {
		for _, c := range own {
			s.reports.notRun(c, why)
		}
		own, resp.Message.Parts = nil, slices.DeleteFunc(resp.Message.Parts, s.isOwn)
	}
	return resp, own, theirs
}

// unwanted returns why the calls of an answer must not run, "" if they may.
func (s *Rounds) unwanted(f llm.Finish) string {
	switch {
	case s.run.stopped != "":
		return s.run.stopped
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
func (s *Rounds) finish(f llm.Finish, theirs []llm.Call) llm.Finish {
	f.Usage = s.usage
	if s.start.ID != "" {
		f.ID = s.start.ID
	}
	if f.Reason == llm.ToolCalls && len(theirs) == 0 {
		f.Reason, f.Raw = llm.Stop, ""
	}
	return f
}

func (s *Rounds) isOwn(p llm.Part) bool {
	c, ok := p.(llm.Call)
	return ok && !c.Hosted && s.offer.owns(c.Name)
}

// split separates calls for the gateway from calls for the client. It gives each call for the gateway an id that is
// unique in the request.
func (s *Rounds) split(m *llm.Message) (own, theirs []llm.Call) {
	for _, c := range m.Calls() {
		if !s.offer.owns(c.Name) {
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

// round is one answer of the model. The client sees it without the calls of the gateway's tools, without its
// start unless it is the first, and without its end.
type round struct {
	s      *Rounds
	each   func(llm.Event) error
	first  bool
	said   bool // the client got text
	answer llm.Builder
	hidden map[string]bool // ids of started calls that the client does not see
	cut    bool            // a call of the gateway's tools was truncated
	data   exchange.DataAnswer
}

func (s *Rounds) newRound(first bool, each func(llm.Event) error) *round {
	r := &round{s: s, each: each, first: first}
	r.data = exchange.NewDataAnswer(s.conv.Output != nil, r.tell)
	return r
}

// roundBreak separates the text before a tool call from the text after it.
const roundBreak = "\n\n"

func (r *round) take(ev llm.Event) error {
	if w, ok := ev.(llm.Warning); ok {
		if r.s.offer.owns(w.Feature) || r.s.offer.owns(w.Tool) { // the runtime checks these calls, and the client does not know their definitions
			return nil
		}
		return r.each(w)
	}
	if bad, ok := ev.(llm.InvalidCall); ok && bad.Reason != llm.Echoed && r.s.offer.owns(bad.Name) {
		return r.invalid(bad)
	}
	r.answer.Add(ev)
	switch ev := ev.(type) {
	case llm.Start:
		if !r.first {
			return nil
		}
		r.s.start = ev
	case llm.CallStart:
		if r.s.offer.owns(ev.Name) {
			if r.hidden == nil {
				r.hidden = map[string]bool{}
			}
			r.hidden[ev.ID] = true
			return nil
		}
	case llm.CallDelta:
		if r.hidden[ev.ID] {
			return nil
		}
	case llm.Call:
		if !ev.Hosted && r.s.offer.owns(ev.Name) {
			return nil
		}
	case llm.Finish:
		return nil
	}
	return r.data.Show(ev)
}

// invalid handles an invalid call of a gateway tool. A doubtful call goes to the runtime, which runs it if it only reads.
// So does a call with unreadable arguments, which the runtime refuses. Other calls become warnings to the client.
func (r *round) invalid(bad llm.InvalidCall) error {
	c := llm.Call{ID: bad.ID, Name: bad.Name, Args: js.AppendQuoted(nil, bad.Raw), Provenance: bad.Provenance}
	if bad.Call != nil {
		c = *bad.Call
	}
	if bad.Reason == llm.BadArguments || bad.Call != nil {
		r.answer.Add(c)
		return nil
	}
	r.cut = r.cut || bad.Reason == llm.CutOff
	r.s.reports.notRun(c, bad.Problem)
	return nil
}

// tell passes an event to the client.
func (r *round) tell(ev llm.Event) error {
	if text, ok := ev.(llm.TextDelta); ok && text.Text != "" {
		if r.s.said && !r.said {
			text.Text = roundBreak + text.Text
		}
		r.said, ev = true, text
	}
	return r.each(ev)
}

// WholeCalls is [emulate.WholeCallsStage] for the rounds of a request. Calls of the gateway's tools never become visible
// text, unless the text only repeats what the model read.
func (s *Rounds) WholeCalls(out func(llm.Event, error) bool) emulate.Taker {
	own := make(map[string]bool)
	return &ownCalls{emulate.WholeCallsStage(func(id string) bool { return own[id] })(out), own, s.offer}
}

// ownCalls notes the ids of calls of the gateway's tools.
type ownCalls struct {
	emulate.Taker
	own   map[string]bool
	offer *offer
}

// Take takes an event.
func (o *ownCalls) Take(ev llm.Event, err error) bool {
	switch ev := ev.(type) {
	case llm.CallStart:
		o.own[ev.ID] = o.offer.owns(ev.Name)
	case llm.InvalidCall:
		o.own[ev.ID] = ev.Reason != llm.Echoed && o.offer.owns(ev.Name)
	}
	return o.Taker.Take(ev, err)
}
