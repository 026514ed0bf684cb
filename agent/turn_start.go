package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// plan lets the hook BeforeTurn change the requests of the turn.
func (l *loop) plan(ctx context.Context) error {
	e, err := decide(ctx, l.effects, l.decision(kindPlan), func() (*planEntry, error) { return l.askPlan(ctx) })
	if err != nil || e == nil {
		return err
	}
	if err := l.write(ctx, kindPlan, e); err != nil {
		return err
	}
	return l.turn.follow(e, l.messages)
}

// follow changes the requests of the turn as a plan says.
func (t *turn) follow(e *planEntry, msgs []llm.Message) error {
	if e.System != nil {
		t.system = *e.System
	}
	if e.Tools != nil {
		t.tools, t.narrowed = *e.Tools, true
	}
	if e.Messages != nil {
		view, err := compaction.Assemble(*e.Messages, msgs)
		if err != nil {
			return err
		}
		t.view = view
	}
	if e.Request != nil {
		b := beginning{Request: e.Request}
		req, err := b.template()
		if err != nil {
			return err
		}
		t.settings = req
	}
	return nil
}

// askPlan calls the hook BeforeTurn, and returns its changes; nil if there are none.
func (l *loop) askPlan(ctx context.Context) (*planEntry, error) {
	if l.agent.BeforeTurn == nil {
		return nil, nil
	}
	p := deepCopy(&TurnStart{Turn: l.turn.n, Usage: l.spending.usage, System: l.turn.system, Messages: l.messages, Tools: l.turn.tools, Request: l.turn.settings})
	_, p.ID = l.effects.model(l.turn.n)
	if _, err := guarded(ctx, l, hookBefore, func() (struct{}, error) { return struct{}{}, l.agent.BeforeTurn(ctx, p) }); err != nil {
		return nil, fmt.Errorf("agent: before turn %d: %w", l.turn.n, err)
	}
	l.fitOffer(p)
	e, err := l.turn.changes(p, l.messages)
	if err != nil {
		return nil, err
	}
	l.turn.extra = p.Set
	if len(e.changed()) == 0 {
		return nil, nil
	}
	if p.Model != nil {
		l.turn.planModel, l.turn.planID = p.Model, p.ID
	}
	if l.turn.observed != nil {
		l.turn.observed.Changed = e.changed()
	}
	return e, nil
}

// fitOffer limits the tools that a plan adds to the budget of the Agent. The new tools that
// fit the conversation best stay; a warning names the others.
func (l *loop) fitOffer(p *TurnStart) {
	budget := l.agent.Offer
	var before, more []llm.ToolDef
	for _, d := range p.Tools {
		if slices.ContainsFunc(l.turn.tools, func(known llm.ToolDef) bool { return known.Name == d.Name }) {
			before = append(before, d)
		} else if _, runs := p.Set.Lookup(d.Name); runs {
			more = append(more, d)
		}
	}
	if len(more) == 0 || len(before)+len(more) != len(p.Tools) || budget.Tools <= 0 && budget.Cost <= 0 {
		return
	}
	kept, left := l.agent.set().RankerOf(more).Follow(l.messages, remaining(budget, before))
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
	if l.tools.leftOut != len(names) {
		l.tools.leftOut = len(names)
		l.emit(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d of %d tools that came during the run are offered; left out: %s", len(kept), len(more), firstNames(names))})
	}
}

// remaining returns a budget without the share of tools that are offered already. It is never
// zero, which would mean any number.
func remaining(b tool.Selection, offered []llm.ToolDef) tool.Selection {
	cost := b.CostOf
	if cost == nil {
		cost = llm.EstimateTool
	}
	if b.Tools > 0 {
		b.Tools = max(b.Tools-len(offered), 1)
	}
	if b.Cost > 0 {
		for _, d := range offered {
			b.Cost -= cost(d)
		}
		b.Cost = max(b.Cost, 1)
	}
	return b
}

// changes compares a plan with the settings of the turn.
func (t *turn) changes(p *TurnStart, msgs []llm.Message) (*planEntry, error) {
	r := &p.Request
	if r.System != "" || r.Messages != nil || r.Tools != nil || r.Model != "" || r.RetryBudget != nil {
		return nil, errors.New("agent: System, Messages, Tools, Model and RetryBudget of a turn's Request must be empty; TurnStart has fields for them")
	}
	if len(p.Messages) == 0 {
		return nil, errors.New("agent: a plan needs a message")
	}
	e := &planEntry{Turn: t.n}
	if p.Model != nil {
		e.Model = p.ID
	}
	if p.System != t.system {
		e.System = &p.System
	}
	offered := make(map[string]bool)
	for _, d := range p.Tools {
		_, added := p.Set.Lookup(d.Name)
		if !added && !slices.ContainsFunc(t.tools, func(known llm.ToolDef) bool { return known.Name == d.Name }) {
			return nil, fmt.Errorf("agent: a plan offers %s, which nothing runs", d.Name)
		}
		offered[d.Name] = true
	}
	if err := checkChoice(p.Request.Choice, offered); err != nil {
		return nil, err
	}
	same, err := sameJSON(p.Tools, t.tools)
	if err != nil {
		return nil, err
	}
	if !same {
		tools := append([]llm.ToolDef{}, p.Tools...)
		e.Tools = &tools
	}
	if e.Messages, err = compaction.Ranges(p.Messages, msgs); err != nil {
		return nil, err
	}
	if same, err = sameJSON(p.Request, t.settings); err == nil && !same {
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

// afterTurn asks the hook AfterTurn whether the run ends. It reports whether the run is over.
func (l *loop) afterTurn(ctx context.Context, over bool) (bool, error) {
	why, err := decide(ctx, l.effects, l.decision(kindStop), func() (string, error) {
		if l.agent.AfterTurn == nil {
			return "", nil
		}
		end := deepCopy(TurnEnd{Turn: l.turn.n, Model: l.turn.model, Usage: l.spending.usage, Messages: l.messages, Over: over})
		why, err := guarded(ctx, l, hookAfter, func() (string, error) { return l.agent.AfterTurn(ctx, end) })
		if err != nil {
			err = fmt.Errorf("agent: after turn %d: %w", l.turn.n, err)
		}
		return why, err
	})
	if over || err != nil || why == "" {
		return over, err
	}
	l.done.Stopped = why
	return true, l.write(ctx, kindStop, stopEntry{l.turn.n, why})
}

// offerFound offers the tools that the model found. They come last, so the vendor's cache of
// the other tools stays valid.
func (l *loop) offerFound(ctx context.Context) error {
	e, err := decide(ctx, l.effects, l.decision(kindFound), func() (foundEntry, error) {
		return foundEntry{l.turn.n, l.tools.newlyFound(l.messages)}, nil
	})
	if err != nil || len(e.Tools) == 0 {
		return err
	}
	if err := l.write(ctx, kindFound, e); err != nil {
		return err
	}
	l.emit(Found{Tools: l.tools.offerMore(e.Tools, l.Caller)})
	return nil
}
