package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

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
