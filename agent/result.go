package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/journal"
)

// Result returns the Done of a recorded run, without a model, a tool or a change. For a run that
// has ended, it holds what the record has: the text, the value, the conversation, the usage and the
// changes, but no warnings. A run that is open has the state it reached: it waits for a person, or
// it was interrupted, or another process is at work on it. An error means that the record cannot be
// read.
func Result(ctx context.Context, store journal.Store, run string) (Done, error) {
	p, err := readRun(journal.Whole(store.Read(ctx, run, 0)))
	switch {
	case err != nil:
		return Done{}, fmt.Errorf("agent: run %s: %w", run, err)
	case !p.begun:
		return Done{}, fmt.Errorf("agent: the record has no run %s that an agent began", run)
	}
	return p.result(run)
}

// result is the Done of a run as its record has it.
func (p *recordedRun) result(run string) (Done, error) {
	waiting, err := p.waiting()
	if err != nil {
		return Done{}, err
	}
	d := Done{Run: run, Status: StatusFinished, Turns: p.turn, Usage: p.usage, Cost: p.cost, Unpriced: p.unpriced,
		Ran: p.ran, Did: p.did, Unreported: p.unreported, Stopped: p.stopped}
	if p.over != nil {
		d.Finish = *p.over
	}
	switch {
	case p.ended:
	case p.sealed:
		d.Status, d.Partial = StatusFailed, true
	case len(waiting) > 0:
		d.Status, d.Waiting, d.Partial, d.Open = StatusPending, waiting, true, true
	default:
		d.Status, d.Partial, d.Open = StatusInterrupted, true, true
	}
	if p.ended && len(p.begin.Caller) > 0 && len(p.messages) > 0 {
		d.Calls, d.Invalid = p.messages[len(p.messages)-1].Calls(), p.invalid
	}
	p.answered()
	d.Messages = p.messages
	if n := len(p.messages); n > 0 {
		d.Text = p.messages[n-1].Text()
	}
	if p.ended && p.over != nil {
		if template, err := p.begin.template(); err == nil && template.Output != nil {
			d.Value = json.RawMessage(d.Text)
		}
	}
	return d, nil
}
