package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Plan is what the model is asked with in a turn; see [Agent.BeforeTurn]. What is
// changed in it counts for this turn. The next one begins with the settings of the
// Agent and the whole conversation again. All of it is a copy, however deep, that a
// hook may write to.
type Plan struct {
	Turn  int       // counts from 1
	Usage llm.Usage // of the turns before
	// Model is asked instead of the Agent's, if it is not nil. ID is what it is
	// called.
	Model llm.Model
	ID    string
	// System and Messages are what the model reads. The record and [Done.Messages]
	// keep the conversation as it was said.
	System   string
	Messages []llm.Message
	// Tools are those that are offered: some of them, in any order, with any
	// description. A call of another one is refused.
	Tools []llm.ToolDef
	// Set are tools that run calls of the turn beside those of the Agent, and
	// instead of those of the same names: Tools may name them, too. It is for
	// tools that come and go, and not recorded: a replay runs none.
	Set *tool.Set
	// Request has the other settings. Its System, Messages, Tools, Model and
	// Budget stay empty.
	Request llm.Request
}

// TurnEnd is a turn that is over; see [Agent.AfterTurn]. What is written to it changes
// nothing.
type TurnEnd struct {
	Turn  int // counts from 1
	Model string
	Usage llm.Usage // of the run so far
	// Messages are the whole conversation. The last one is the answer or, if that
	// had calls, their results.
	Messages []llm.Message
	// Over says that the run is over anyway: there is an answer.
	Over bool
}

// planEntry is what a hook changed for a turn.
type planEntry struct {
	Turn     int             `json:"turn"`
	Model    string          `json:"model,omitempty"`
	System   *string         `json:"system,omitempty"`
	Tools    *[]llm.ToolDef  `json:"tools,omitempty"`
	Messages *[]pieceOf      `json:"messages,omitempty"`
	Request  json.RawMessage `json:"request,omitempty"`
}

// pieceOf is a part of a conversation: messages of the one that is known, from one
// place up to before another, or a message of its own.
type pieceOf struct {
	From    int          `json:"from,omitempty"`
	To      int          `json:"to,omitempty"`
	Message *llm.Message `json:"message,omitempty"`
}

// stopEntry says that a hook ended the run after a turn.
type stopEntry struct {
	Turn int    `json:"turn"`
	Why  string `json:"why"`
}

// changed names what a hook changed.
func (e *planEntry) changed() []string {
	var names []string
	for _, c := range []struct {
		name string
		is   bool
	}{{"model", e.Model != ""}, {"system", e.System != nil}, {"tools", e.Tools != nil}, {"messages", e.Messages != nil}, {"request", e.Request != nil}} {
		if c.is {
			names = append(names, c.name)
		}
	}
	return names
}

// asking is what the questions of one turn are asked with.
type asking struct {
	narrowed bool      // other tools are offered than those of the run
	model    llm.Model // nil means that of the run
	id       string
	system   string
	tools    []llm.ToolDef
	question llm.Request
	// view stands for the conversation up to from, if it is not nil.
	view []llm.Message
	from int
}

// plan settles what the questions of the turn are asked with.
func (l *loop) plan(ctx context.Context) error {
	if l.prepare == nil {
		return nil
	}
	e, err := l.prepare(ctx)
	if err != nil || e == nil {
		return err
	}
	return l.follow(e)
}

// usual has questions be asked with the settings of the run.
func (l *loop) usual() {
	l.now = asking{system: l.System, tools: l.offered, question: l.question, from: len(l.messages)}
	l.now.question.Choice = l.choice
}

// follow has the questions of the turn be asked as an entry says.
func (l *loop) follow(e *planEntry) error {
	if e.System != nil {
		l.now.system = *e.System
	}
	if e.Tools != nil {
		l.now.tools, l.now.narrowed = *e.Tools, true
	}
	if e.Messages != nil {
		view, err := assemble(*e.Messages, l.messages)
		if err != nil {
			return err
		}
		l.now.view = view
	}
	if e.Request != nil {
		b := beginning{Request: e.Request}
		req, err := b.template()
		if err != nil {
			return err
		}
		l.now.question = req
	}
	return nil
}

// prepared returns what plans the turns of a run; nil without a hook.
func (a *Agent) prepared(l *loop) func(context.Context) (*planEntry, error) {
	if a.BeforeTurn == nil {
		return nil
	}
	return func(ctx context.Context) (*planEntry, error) {
		// the hook may change what it is given
		p := deepCopy(&Plan{Turn: l.turnNo, Usage: l.done.Usage, System: l.now.system, Messages: l.messages, Tools: l.now.tools, Request: l.now.question})
		_, p.ID = l.models(l.turnNo)
		if _, err := guarded(ctx, l, hookBefore, func() (struct{}, error) { return struct{}{}, a.BeforeTurn(ctx, p) }); err != nil {
			return nil, fmt.Errorf("agent: before turn %d: %w", l.turnNo, err)
		}
		l.withinOffer(a.Offer, p)
		e, err := l.differs(p)
		if err != nil {
			return nil, err
		}
		l.session.Also(p.Set)
		if len(e.changed()) == 0 {
			return nil, nil
		}
		if p.Model != nil {
			l.now.model, l.now.id = p.Model, p.ID
		}
		if l.seenTurn != nil {
			l.seenTurn.Changed = e.changed()
		}
		return e, l.write(ctx, kindPlan, e)
	}
}

// withinOffer holds the tools that a plan adds to those of the run to the budget of the
// Agent: of the new ones those stay that fit the conversation and the room that is
// left. The others are left out, and said.
func (l *loop) withinOffer(budget tool.SelectionBudget, p *Plan) {
	var before, more []llm.ToolDef
	for _, d := range p.Tools {
		if slices.ContainsFunc(l.now.tools, func(known llm.ToolDef) bool { return known.Name == d.Name }) {
			before = append(before, d)
		} else if _, runs := p.Set.Lookup(d.Name); runs {
			more = append(more, d)
		}
	}
	if len(more) == 0 || len(before)+len(more) != len(p.Tools) || budget.Tools <= 0 && budget.Cost <= 0 {
		return
	}
	kept, left := tool.NewRanker(more).Follow(l.messages, room(budget, before))
	if len(left) == 0 {
		return
	}
	p.Tools = before
	for _, i := range kept {
		p.Tools = append(p.Tools, more[i])
	}
	names := make([]string, len(left))
	for i, o := range left {
		names[i] = o.Name
	}
	if l.saidLeft != len(names) {
		l.saidLeft = len(names)
		l.emit(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d of %d tools that came during the run are offered; left out: %s", len(kept), len(more), some(names))})
	}
}

// room is what is left of a budget beside these tools. It is never zero, which would
// mean any number.
func room(b tool.SelectionBudget, beside []llm.ToolDef) tool.SelectionBudget {
	cost := b.CostOf
	if cost == nil {
		cost = llm.EstimateTool
	}
	if b.Tools > 0 {
		b.Tools = max(b.Tools-len(beside), 1)
	}
	if b.Cost > 0 {
		for _, d := range beside {
			b.Cost -= cost(d)
		}
		b.Cost = max(b.Cost, 1)
	}
	return b
}

// differs compares a plan with what the turn would be asked with.
func (l *loop) differs(p *Plan) (*planEntry, error) {
	r := &p.Request
	if r.System != "" || r.Messages != nil || r.Tools != nil || r.Model != "" || r.Budget != nil {
		return nil, errors.New("agent: System, Messages, Tools, Model and Budget of a plan's Request must be empty; the plan has fields for them")
	}
	if len(p.Messages) == 0 {
		return nil, errors.New("agent: a plan needs a message")
	}
	e := &planEntry{Turn: l.turnNo}
	if p.Model != nil {
		e.Model = p.ID
	}
	if p.System != l.now.system {
		e.System = &p.System
	}
	offered := make(map[string]bool)
	for _, d := range p.Tools {
		_, added := p.Set.Lookup(d.Name)
		if !added && !slices.ContainsFunc(l.now.tools, func(known llm.ToolDef) bool { return known.Name == d.Name }) {
			return nil, fmt.Errorf("agent: a plan offers %s, which nobody runs", d.Name)
		}
		offered[d.Name] = true
	}
	if err := checkChoice(p.Request.Choice, offered); err != nil {
		return nil, err
	}
	same, err := sameJSON(p.Tools, l.now.tools)
	if err != nil {
		return nil, err
	}
	if !same {
		tools := append([]llm.ToolDef{}, p.Tools...)
		e.Tools = &tools
	}
	if e.Messages, err = pieces(p.Messages, l.messages); err != nil {
		return nil, err
	}
	if same, err = sameJSON(p.Request, l.now.question); err == nil && !same {
		e.Request, err = json.Marshal(p.Request)
	}
	return e, err
}

func sameJSON(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return string(x) == string(y), err
}

// pieces writes a conversation as parts of a known one, nil if it is that one.
func pieces(msgs, known []llm.Message) (*[]pieceOf, error) {
	at := make(map[string][]int)
	for i, m := range known {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		at[string(b)] = append(at[string(b)], i)
	}
	list := []pieceOf{}
	next := 0 // where the message after the last one stands
	for _, m := range msgs {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		places := at[string(b)]
		switch i, ok := slices.BinarySearch(places, next); {
		case len(places) == 0:
			list = append(list, pieceOf{Message: &m})
		case ok && len(list) > 0 && list[len(list)-1].Message == nil:
			list[len(list)-1].To++
			next++
		default:
			place := places[min(i, len(places)-1)]
			list = append(list, pieceOf{From: place, To: place + 1})
			next = place + 1
		}
	}
	if len(list) == 1 && list[0].Message == nil && list[0].From == 0 && list[0].To == len(known) {
		return nil, nil
	}
	return &list, nil
}

// turnModel returns the model of the turn.
func (l *loop) turnModel() (llm.Model, string) {
	if l.now.model != nil {
		return l.now.model, l.now.id
	}
	return l.models(l.turnNo)
}

// conversation is what the model is shown of the conversation.
func (l *loop) conversation() []llm.Message {
	if l.now.view == nil {
		return l.messages
	}
	return append(slices.Clip(l.now.view), l.messages[min(l.now.from, len(l.messages)):]...)
}

// unoffered takes the calls of tools that the turn does not offer, or that its choice
// does not allow, out of those that are run.
func (l *loop) unoffered(h *modelAnswer) {
	allowed := llm.ToolChoice{Allowed: l.now.question.Choice.Allowed}
	h.calls = slices.DeleteFunc(h.calls, func(c llm.Call) bool {
		problem := "%s is not offered in this turn"
		switch {
		case l.now.narrowed && !l.offers(c.Name):
		case allowed.Allowed != nil && l.offers(c.Name) && !allowed.Permits(c.Name): // others are refused for what they are
			problem = "%s may not be called in this turn; " + mayCall(allowed.Allowed)
		default:
			return false
		}
		h.invalid = append(h.invalid, llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.NotAllowed,
			Problem: fmt.Sprintf(problem, c.Name), Provenance: c.Provenance})
		return true
	})
}

// mayCall says which tools may be called.
func mayCall(names []string) string {
	if len(names) == 0 {
		return "no tool may"
	}
	return "these may: " + some(names)
}

// afterTurn asks whether the run ends after the turn.
func (l *loop) afterTurn(ctx context.Context, over bool) (bool, error) {
	if l.halt == nil {
		return over, nil
	}
	why, err := l.halt(ctx, over)
	if over || err != nil || why == "" {
		return over, err
	}
	l.done.Stopped = why
	return true, l.write(ctx, kindStop, stopEntry{l.turnNo, why})
}

// halting returns what decides after each turn; nil without a hook.
func (a *Agent) halting(l *loop) func(context.Context, bool) (string, error) {
	if a.AfterTurn == nil {
		return nil
	}
	return func(ctx context.Context, over bool) (string, error) {
		end := deepCopy(TurnEnd{Turn: l.turnNo, Model: l.model, Usage: l.done.Usage, Messages: l.messages, Over: over})
		why, err := guarded(ctx, l, hookAfter, func() (string, error) { return a.AfterTurn(ctx, end) })
		if err != nil {
			err = fmt.Errorf("agent: after turn %d: %w", l.turnNo, err)
		}
		return why, err
	}
}
