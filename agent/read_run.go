package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Conversation returns the messages of a run from its record, with the results of all calls that
// have one, and whether the run has ended. A run that has not ended can be resumed. A run that has
// ended can be continued by a new run that begins with these messages and names the old one as its
// [Agent.Parent].
//
// A conversation that outgrew the window of the model has shortened results, and a summary instead
// of its oldest part. [WholeConversation] has all of it.
func Conversation(ctx context.Context, store journal.Store, run string) (messages []llm.Message, ended bool, err error) {
	return conversation(ctx, store, run, newRecordedRun())
}

// WholeConversation is [Conversation] without anything shortened, left out or summed up.
// It is for people and programs that look at what happened: a model may not be able to
// take all of it.
func WholeConversation(ctx context.Context, store journal.Store, run string) (messages []llm.Message, ended bool, err error) {
	p := newRecordedRun()
	p.whole = true
	return conversation(ctx, store, run, p)
}

func conversation(ctx context.Context, store journal.Store, run string, p *recordedRun) (messages []llm.Message, ended bool, err error) {
	for e, err := range journal.Whole(store.Read(ctx, run, 0)) {
		if err == nil {
			err = p.take(e)
		}
		if err != nil {
			return nil, false, fmt.Errorf("agent: run %s: %w", run, err)
		}
		ended = e.Kind == journal.KindSeal
	}
	if !p.begun {
		return nil, false, fmt.Errorf("agent: the record has no run %s that an agent began", run)
	}
	p.answered()
	return p.messages, ended, nil
}

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

// Settings is the settings of a recorded run, for a program that resumes it.
type Settings struct {
	// Parent is the run whose call this one is, or that it continues; "" if there is
	// none.
	Parent   string
	Metadata map[string]string // of [RunOptions]
	Model    string            // that was asked last
	System   string
	Request  llm.Request
	MaxTurns int
	Tools    []string // the names of all tools that the run had
	// Program is [Agent.Program]; nil if the program recorded nothing.
	Program json.RawMessage
}

// ReadSettings returns the settings of a run as its record has them: those it
// began with, or was last resumed with.
func ReadSettings(ctx context.Context, store journal.Store, run string) (*Settings, error) {
	var at beginning
	var s Settings
	begun := false
	for e, err := range journal.Whole(store.Read(ctx, run, 0)) {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case journal.KindStart:
			var start journal.Start
			err = e.Decode(&start)
			s.Model, s.Parent, s.Metadata = start.Model, start.Parent, start.Metadata
		case kindBegin:
			err = e.Decode(&at)
			begun = true
		case kindResume:
			var again resumeEntry
			err = e.Decode(&again)
			at = again.beginning()
		case kindTurn:
			var t turnEntry
			if err = e.Decode(&t); t.Model != "" {
				s.Model = t.Model
			}
		}
		if err != nil {
			return nil, fmt.Errorf("agent: entry %d: %w", e.Seq, err)
		}
	}
	if !begun {
		return nil, fmt.Errorf("agent: the record has no run %s that an agent began", run)
	}
	for _, d := range at.Lanes.Defs {
		s.Tools = append(s.Tools, d.Name)
	}
	s.System, s.MaxTurns, s.Program = at.System, at.Limits.MaxTurns, present(at.Program)
	request, err := at.template()
	s.Request = request
	return &s, err
}
