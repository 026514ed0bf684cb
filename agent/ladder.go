package agent

import (
	"context"
	"slices"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// Ladder is what is tried when calls of a tool keep failing, besides telling
// the model what was wrong. Which step comes when is decided by the failure and
// the number of attempts alone; see [tool.Error.Next]. Every step gives a new
// call, which is checked and recorded like any other, and takes one question
// from the budget.
type Ladder struct {
	// Views are instructions that are given side by side at the step
	// "interference"; nil means those of an analyst, a pragmatist and an
	// expert.
	Views []string `json:"views,omitempty"`
	// Temperatures are tried side by side at the step "vortex"; nil means 0.2,
	// 0.5 and 0.8.
	Temperatures []float64 `json:"temperatures,omitempty"`
	// Stronger is asked at the step "escalate", until the run gets further;
	// nil skips that step. StrongerID is what it is called.
	Stronger   llm.Model `json:"-"`
	StrongerID string    `json:"stronger,omitempty"`
}

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
		if l.Ladder.StrongerID == "" && l.Ladder.Stronger == nil || l.raised {
			return false
		}
	default:
		return false
	}
	l.step, l.before = o.Next, o.Call
	e := Escalated{Strategy: o.Next, Tool: o.Call.Name, Attempt: o.Attempt}
	if o.Next == tool.Escalate {
		e.Model, l.raised = l.Ladder.StrongerID, true
	}
	return l.emit(e)
}

// stronger returns the model of the next question by the step of the ladder.
func (l *loop) stronger(m llm.Model) llm.Model {
	step := l.step
	l.step = ""
	switch step {
	case tool.Perspectives:
		views := l.Ladder.Views
		if views == nil {
			views = defaultViews
		}
		return &refine.Best{Model: m, Attempts: len(views), Together: true, Score: l.score, Vary: refine.Views(views...)}
	case tool.Resample:
		temps := l.Ladder.Temperatures
		if temps == nil {
			temps = defaultTemperatures
		}
		return &refine.Best{Model: m, Attempts: len(temps), Together: true, Score: l.score, Vary: refine.Temperatures(temps...)}
	}
	return m
}

// score says how promising an answer is after a call failed: a call that is
// valid and not the same again, else an answer in words, else anything.
func (l *loop) score(r *llm.Response) float64 {
	best := 0.0
	if r.Message.Text() != "" {
		best = 0.3
	}
	for _, c := range r.Message.Calls() {
		switch {
		case c.Name == l.before.Name && journal.ParamsHash(c.Args) == journal.ParamsHash(l.before.Args):
			best = max(best, 0.1)
		case l.valid(c):
			best = 1
		}
	}
	return best
}

// valid reports whether a call names an offered tool and matches its schema.
func (l *loop) valid(c llm.Call) bool { return l.check(c).Valid() }

// check says whether a call could be run, and with which arguments.
func (l *loop) check(c llm.Call) schema.Checked {
	i := slices.IndexFunc(l.now.tools, func(d llm.ToolDef) bool { return d.Name == c.Name })
	if i < 0 {
		return schema.Checked{Args: c.Args, Faults: []schema.Fault{{Keyword: "name", Message: "There is no tool " + c.Name + "."}}}
	}
	if l.redacted(c) {
		return schema.Checked{Args: c.Args, Faults: []schema.Fault{{Keyword: "stripped", Message: "The arguments hold " + journal.Marker(c.Args) +
			", which stands in the place of a secret that was taken out."}}}
	}
	s, ok := l.schemas[c.Name]
	if !ok {
		var err error
		if s, err = schema.Compile(l.now.tools[i].Schema); err != nil {
			return schema.Checked{Args: c.Args} // whoever runs the tool knows what it takes
		}
		if l.schemas == nil {
			l.schemas = make(map[string]*schema.Compiled)
		}
		l.schemas[c.Name] = s
	}
	return s.Check(c.Args)
}

// raise switches to the stronger model for as long as the run gets no further.
func (l *loop) raise(ctx context.Context, m llm.Model) (llm.Model, error) {
	if !l.raised || l.Ladder == nil {
		return m, nil
	}
	if l.model != l.Ladder.StrongerID {
		if err := l.switchTo(ctx, l.Ladder.Stronger, l.Ladder.StrongerID, "calls kept failing"); err != nil {
			return nil, err
		}
	}
	if l.Ladder.Stronger != nil {
		return l.Ladder.Stronger, nil
	}
	return m, nil // in a replay
}
