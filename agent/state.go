package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/stripped"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// loop is one run in progress: its settings, its state, and the effects that connect it
// to models, tools, hooks and people.
type loop struct {
	settings
	transcript
	effects effects
	events  eventSink
	window  window
	tools   toolList
	// left is the work that an earlier process left undone.
	left leftover

	budget     *llm.RetryBudget
	choice     llm.ToolChoice // of the next requests
	turn       turn
	escalation escalation
	points     int             // checkpoints met
	intended   map[string]bool // ids of calls that may change things
	best       json.RawMessage // the part of the structured answer that has been written
	done       Done
}

// settings is the immutable part of a run.
type settings struct {
	beginning
	redactor
	id       string      // of the run
	seen     observe.Run // reported to an observer at the start
	template llm.Request // the settings of every request
	// callerRuns limits the run to one turn: the caller runs its calls.
	callerRuns bool
	// agent has the hooks of the program; nil in a replay, which calls none. plans reports
	// whether a hook plans turns, asks whether a person answers checkpoints.
	agent       *Agent
	plans, asks bool
	panics      *hookPanics
}

// escalation is how the next request is made stronger after failures.
type escalation struct {
	step   tool.Strategy // of the next request
	failed llm.Call      // the call that failed before it
	raised bool          // the stronger model is asked
}

// leftover is the work that an earlier process left undone.
type leftover struct {
	resumed  bool
	receipts map[string]journal.Receipt // of calls of the last answer
	invalid  []llm.InvalidCall          // without an answer
	guarded  []*guardEntry              // about the messages that this process brought
	stopped  string                     // why a hook ended the run after its last turn
	over     *llm.Finish                // of an answer after which the run was not closed
	added    []llm.Message              // to add before the next turn
}

// eventSink passes events to the reader of a run.
type eventSink struct {
	yield     func(llm.Event, error) bool
	cancel    context.CancelFunc
	abandoned bool // the reader has stopped
	warnings  []llm.Warning
}

// maxWarnings limits Done.Warnings: a run may have any number of turns.
const maxWarnings = 100

// warn keeps a warning for Done, unless it has it already.
func (s *eventSink) warn(w llm.Warning) {
	if len(s.warnings) < maxWarnings && !slices.Contains(s.warnings, w) {
		s.warnings = append(s.warnings, w)
	}
}

// emit yields an event and reports whether the reader wants more.
func (s *eventSink) emit(ev llm.Event) bool {
	if w, ok := ev.(llm.Warning); ok {
		s.warn(w)
	}
	if !s.abandoned && !s.yield(ev, nil) {
		s.abandoned = true
		s.cancel()
	}
	return !s.abandoned
}

func (l *loop) emit(ev llm.Event) bool { return l.events.emit(ev) }

// site is the place that calls of the current answer come from.
func (l *loop) site() callSite {
	return callSite{turn: l.turn.n, model: l.turn.model, extra: l.turn.extra}
}

// decision returns a decision of the current turn.
func (l *loop) decision(kind journal.Kind) decision { return decision{kind: kind, turn: l.turn.n} }

// prepare derives the state that follows from the settings and the conversation.
func (l *loop) prepare(template llm.Request, set offeredTools) {
	l.template = template
	l.tools.use(set, l.Caller)
	l.callerRuns = len(l.Caller) > 0
	l.choice = template.Choice
	l.budget = llm.NewRetryBudget(l.Limits.Budget)
	l.intended = make(map[string]bool)
	l.done.Run = l.id
	l.spending.limits = l.Limits
	for _, m := range l.messages {
		for _, c := range m.Calls() {
			l.ids.Use(c.ID)
		}
	}
	l.tools.searched = make(map[string]bool)
	l.tools.newSearches(l.messages) // the tools they found are offered already
	l.resetTurn()
}

// restore puts the loop where the record of an earlier process ends.
func (l *loop) restore(p *recordedRun) {
	for id := range p.unfinished { // run again, as after the process was killed
		delete(p.results, id)
		delete(p.receipts, id)
	}
	l.messages, l.results = p.messages, p.results
	l.left = leftover{resumed: true, receipts: p.receipts, invalid: p.invalid, stopped: p.stopped, over: p.over}
	l.seen.Resumed = true
	l.turn.n, l.turn.model, l.points = p.turn, p.model, p.points
	for _, m := range l.messages {
		for _, c := range m.Calls() {
			l.ids.Use(c.ID)
		}
	}
	for id := range p.ids {
		l.ids.Use(id)
	}
	l.choice = l.template.Choice
	if p.called {
		l.choice = afterCall(l.choice)
	}
	l.renew()
}

// afterCall is the choice of tools after a call was made: the model may answer in words from now on.
func afterCall(c llm.ToolChoice) llm.ToolChoice {
	if c.Mode == llm.MustCall {
		c.Mode, c.Name = llm.MayCall, ""
	}
	return c
}

// renew fills the retry budget, because the run has made progress.
func (l *loop) renew() {
	l.budget = llm.NewRetryBudget(l.Limits.Budget)
	l.escalation.raised, l.escalation.step = false, ""
}

// resetTurn sets the requests of a turn to the settings of the run.
func (l *loop) resetTurn() {
	l.turn = turn{n: l.turn.n, model: l.turn.model, observed: l.turn.observed,
		system: l.System, tools: l.tools.all, settings: l.template, viewed: len(l.messages)}
	l.turn.settings.Choice = l.choice
}

// turnModel returns the model of the turn.
func (l *loop) turnModel() (llm.Model, string) {
	if l.turn.planModel != nil {
		return l.turn.planModel, l.turn.planID
	}
	return l.effects.model(l.turn.n)
}

// exhausted returns the error of a run that has used up its tokens or its money. turns is
// the number of answers that it got for them.
func (l *loop) exhausted(ctx context.Context, turns int) error {
	cost, err := decide(ctx, l.effects, decision{kind: kindCost, turn: turns}, func() (catalog.Money, error) { return l.spending.cost(), nil })
	if err != nil {
		return err
	}
	return l.spending.exhausted(cost, turns, l.turn.modelName())
}

// redacted reports whether a redaction mark replaces a secret in the arguments of a call.
// Such a call must not run.
func (l *loop) redacted(c llm.Call) bool {
	is, err := decide(context.Background(), l.effects, decision{kind: journal.KindRefusal, turn: l.turn.n, calls: []llm.Call{c}},
		func() (bool, error) { return stripped.Mark(c.Args) != "", nil })
	return is || err != nil
}

// check validates a call against the schema of its tool. The result has the faults, and the
// arguments with which the call would run.
func (l *loop) check(c llm.Call) schema.Checked {
	i := slices.IndexFunc(l.turn.tools, func(d llm.ToolDef) bool { return d.Name == c.Name })
	if i < 0 {
		return schema.Checked{Args: c.Args, Faults: []schema.Fault{{Keyword: "name", Message: "There is no tool " + c.Name + "."}}}
	}
	if l.redacted(c) {
		return schema.Checked{Args: c.Args, Faults: []schema.Fault{{Keyword: "stripped", Message: "The arguments hold " + stripped.Mark(c.Args) +
			", which stands in the place of a secret that was taken out."}}}
	}
	s, ok := l.tools.schemas[c.Name]
	if !ok {
		var err error
		if s, err = schema.Compile(l.turn.tools[i].Schema); err != nil {
			return schema.Checked{Args: c.Args} // the tool itself validates its arguments
		}
		if l.tools.schemas == nil {
			l.tools.schemas = make(map[string]*schema.Compiled)
		}
		l.tools.schemas[c.Name] = s
	}
	return s.Check(c.Args)
}

// switchTo asks another model from now on, and chooses the lane of each hosted tool again.
func (l *loop) switchTo(ctx context.Context, m llm.Model, id, why string) error {
	s := Switched{From: l.turn.model, To: id, Why: why}
	if err := l.write(ctx, kindSwitch, s); err != nil {
		return err
	}
	l.emit(s)
	l.turn.model, l.window.refused = id, 0
	if len(l.tools.Chosen)+len(l.tools.Dropped) == 0 {
		return nil
	}
	set, err := decide(ctx, l.effects, decision{kind: kindLane, turn: l.turn.n, model: id}, func() (offeredTools, error) {
		return l.agent.offer(m, id, l.messages, false, l.tools.found...)
	})
	if err != nil {
		return err
	}
	if err := l.write(ctx, kindLane, laneEntry{id, set}); err != nil {
		return err
	}
	l.tools.use(set, l.Caller)
	if !l.turn.narrowed {
		l.turn.tools = l.tools.all
	}
	for _, c := range set.Chosen {
		l.emit(c)
	}
	return nil
}

// asker asks the model of a turn for its answer.
type asker struct {
	*loop
	final bool // the model has to answer without tools
}

// knownTools returns the definitions of all tools that the run may call.
func (l *loop) knownTools() []llm.ToolDef {
	known := slices.Clip(l.tools.all)
	if l.agent != nil {
		for _, d := range l.agent.set().Defs() {
			if !l.tools.told(d.Name) {
				known = append(known, d)
			}
		}
	}
	return known
}

// requestEchoes returns what the guard knows for the next request. A hook may have taken messages
// out of it.
func (l *loop) requestEchoes() *llm.EchoMemory {
	if l.turn.view == nil {
		return l.echoes.EchoMemory
	}
	return emulate.RememberCalls(l.echoes.EchoMemory, l.knownTools(), nil, l.messages)
}

// withConversation tells runs inside of calls about the conversation of this run.
func (l *loop) withConversation(ctx context.Context) context.Context {
	return context.WithValue(ctx, outerConversationKey{}, outerConversation{slices.Clip(l.messages), l.echoes.EchoMemory})
}
