package agent

import (
	"context"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

var defaultViews = []string{
	"Look at the failed call as an analyst: which argument does the error name, what does the schema demand there, and what would satisfy both?",
	"Look at the failed call as a pragmatist: what is the simplest call that gets the task done, perhaps with another tool or fewer arguments?",
	"Look at the failed call as somebody who knows this tool well: which of its rules does the call break, and what does a correct call look like?",
}

var defaultTemperatures = []float64{0.2, 0.5, 0.8}

// Escalated says that the next question is asked in a stronger way.
type Escalated struct {
	Strategy tool.Strategy `json:"strategy"`
	Tool     string        `json:"tool"` // that failed
	Attempt  int           `json:"attempt"`
	Model    string        `json:"model,omitempty"` // with a stronger one
}

// EventType returns "escalated".
func (Escalated) EventType() string { return "escalated" }

// raiseStep chooses the step after a failure. It reports whether the next question
// is asked in a stronger way.
func (l *loop) raiseStep(o invoke.Outcome) bool {
	if l.Ladder == nil {
		return false
	}
	switch o.Next {
	case tool.Perspectives, tool.Resample:
	case tool.Escalate:
		if l.Ladder.StrongerID == "" && l.Ladder.Stronger == nil || l.escalation.raised {
			return false
		}
	default:
		return false
	}
	l.escalation.step, l.escalation.failed = o.Next, o.Call
	e := Escalated{Strategy: o.Next, Tool: o.Call.Name, Attempt: o.Attempt}
	if o.Next == tool.Escalate {
		e.Model, l.escalation.raised = l.Ladder.StrongerID, true
	}
	return l.emit(e)
}

// stronger returns the model of the next question by the step of the ladder.
func (q *asker) stronger(m llm.Model) llm.Model {
	step := q.escalation.step
	q.escalation.step = ""
	switch step {
	case tool.Perspectives:
		views := q.Ladder.Views
		if views == nil {
			views = defaultViews
		}
		return &refine.Best{Model: m, Attempts: len(views), Together: true, Score: q.score, Vary: refine.Views(views...)}
	case tool.Resample:
		temps := q.Ladder.Temperatures
		if temps == nil {
			temps = defaultTemperatures
		}
		return &refine.Best{Model: m, Attempts: len(temps), Together: true, Score: q.score, Vary: refine.Temperatures(temps...)}
	}
	return m
}

// score rates an answer after a call failed. A valid call that differs from the failed one is best,
// an answer in words second.
func (q *asker) score(r *llm.Response) float64 {
	best := 0.0
	if r.Message.Text() != "" {
		best = 0.3
	}
	for _, c := range r.Message.Calls() {
		switch {
		case c.Name == q.escalation.failed.Name && journal.ParamsHash(c.Args) == journal.ParamsHash(q.escalation.failed.Args):
			best = max(best, 0.1)
		case q.check(c).Valid():
			best = 1
		}
	}
	return best
}

// raise switches to the stronger model for as long as the run gets no further.
func (q *asker) raise(ctx context.Context, m llm.Model) (llm.Model, error) {
	if !q.escalation.raised || q.Ladder == nil {
		return m, nil
	}
	if q.turn.model != q.Ladder.StrongerID {
		if err := q.switchTo(ctx, q.Ladder.Stronger, q.Ladder.StrongerID, "calls kept failing"); err != nil {
			return nil, err
		}
	}
	if q.Ladder.Stronger != nil {
		return q.Ladder.Stronger, nil
	}
	return m, nil // in a replay
}
