package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// Agent holds the settings of a conversation. The zero value of every field but
// Model is a safe choice. An Agent may serve many runs at once; it must not be
// changed during a run.
type Agent struct {
	// Model answers. ID is its name in events and in the record; empty takes it from a
	// model that knows its id, as those of package provider do.
	Model llm.Model
	ID    string
	// System is the system prompt of the conversation.
	System string
	// Tools runs the calls of its tools; nil means that there are none.
	Tools *invoke.Runner
	// Caller are tools without a function: the caller runs their calls, which
	// come in Done.Calls. With them a run has one turn, and nothing is run.
	Caller []llm.ToolDef
	// Offer limits how many of Tools the model is told about. The tools that fit the conversation
	// best are offered, with find_tools, which finds the others; see [tool.Ranker.Follow] and
	// [tool.Set.ByMeaning]. The zero value offers all.
	Offer tool.Selection
	// Hosted are tools that the provider may run itself. HostedSupport reports
	// why the provider of model id cannot run the hosted tool def, or nil if
	// it does; nil asks models that know it, as those of package provider do, also
	// inside of others, as Cost does.
	Hosted        []ProviderTool
	HostedSupport func(id string, def llm.ToolDef) error
	// Request holds the other settings of every question: temperature, limits,
	// choice, output. Its System, Messages, Tools, Model and RetryBudget must be
	// empty. A choice that demands a call counts until one has been made.
	Request llm.Request
	// Check examines each answer that matches Request.Output; nil accepts it. The model is told its
	// error and asked again, as [refine.Structured] describes.
	Check func(value json.RawMessage) error

	// Store keeps the record of runs. With nil there is none, and runs cannot
	// be resumed or replayed.
	Store journal.Store
	// Program is what the program needs to know to put this Agent together
	// again. It is recorded, not looked at: see [ReadSettings].
	Program json.RawMessage
	// Parent is the run that this conversation continues, for the record; see also
	// [RunOptions].
	Parent string

	// MaxTurns is how many turns with tools there may be; 0 means 20. After
	// them the model is asked for an answer without tools, unless NoLastTurn
	// makes that an error.
	MaxTurns   int
	NoLastTurn bool
	// RetryBudget is how often the model may be asked again, in a row, before the
	// run has got any further; 0 means 2, below 0 never.
	RetryBudget int
	// Tokens bounds what the model reads and writes in a run; 0 means no bound.
	Tokens int
	// Money bounds what the models of a run cost, with those of runs inside its
	// calls; 0 means no bound. A model whose price is not known is not asked then.
	Money catalog.Money
	// Pool is a budget that several agents share; nil means none.
	Pool *Pool
	// Cost returns what usage costs with the model of that id, and false if that is
	// not known; nil asks models that know it, as those of package provider do, also
	// inside of models with an Unwrap method, as those of package refine have that ask
	// one model.
	Cost func(id string, u llm.Usage) (catalog.Money, bool)
	// Context is how many tokens the model can take; 0 means what the catalogue
	// says of a model that it knows, else the model's errors say when it is
	// exceeded. Old results are shortened when the conversation outgrows it, then its
	// oldest part is left out: see Compact.
	Context int
	// Windows remembers from one run to the next how much models can take that refused a
	// question; nil forgets it after each run.
	Windows *Windows
	// Compact returns the text that replaces the oldest part of a conversation that
	// outgrows the window, if shortening old results is not enough; see [Summarize].
	// The system prompt, the first and the last message of the user and the newest turns
	// stay, and each call keeps its result. If Compact is nil or fails, a mark replaces
	// that part, and there is a warning. The record keeps all of it.
	Compact func(context.Context, Compaction) (string, error)

	// Guardrails check the new messages of users, and hold each answer back until its text has been
	// checked. What they decide is in the record. A blocked message ends the run, or the Resume that
	// brought it; a blocked answer ends the run with an error, and a Resume asks for another one.
	Guardrails []refine.Guardrail

	// Ladder has the steps for calls that keep failing; nil only tells the model
	// the problem.
	Ladder *Ladder
	// Checkpoint is asked how to go on after a failure that nothing else helps
	// against. Nil leaves failures of tools to the model and ends the run after
	// any other.
	Checkpoint func(context.Context, Checkpoint) (Choice, error)
	// Route chooses the model of a turn and its id; nil, or a nil model, means
	// Model and ID.
	Route func(turn int) (llm.Model, string)

	// BeforeTurn may change what the model is asked with in a turn: messages, tools,
	// system, model and settings. What it changed is in the record, so runs are
	// resumed and replayed as they went. An error ends the run, which can be
	// resumed. A panic of this hook, or of another one of the Agent, ends it for
	// good with an *[AbortedError]; one of Now is an error of the record.
	BeforeTurn func(context.Context, *TurnStart) error
	// AfterTurn may end the run after a turn with a reason, which becomes
	// [Done.Stopped]. An empty reason continues the run. An error ends it as an error
	// of BeforeTurn does.
	AfterTurn func(context.Context, TurnEnd) (stop string, err error)

	// Observer is told what runs do, with their turns, model calls and tool calls;
	// nil means that of the context, if it has one: see package observe.
	Observer observe.Observer

	// Now and NewID make runs repeatable; nil means the clock and call_1,
	// call_2 and so on. NewID names the calls that came without an id of their
	// own. NewRun names runs; nil means [journal.NewRun].
	Now    func() time.Time
	NewID  func() string
	NewRun func() string
}

// Ladder is the steps for calls of a tool that keep failing, in addition to telling
// the model the problem. The failure and the number of attempts decide which step
// is next; see [tool.Error.Next]. Every step gives a new call, which is checked and
// recorded like any other, and takes one request from the budget.
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

// The defaults of an Agent.
const (
	defaultTurns  = 20
	defaultBudget = 2
)

// check refuses settings that cannot be honoured.
func (a *Agent) check() error {
	r := &a.Request
	switch {
	case a.Model == nil && a.Route == nil:
		return errors.New("agent: there is no model")
	case a.MaxTurns < 0 || a.Tokens < 0 || a.Context < 0 || a.Money < 0:
		return errors.New("agent: MaxTurns, Tokens, Money and Context must not be negative")
	case r.System != "" || r.Messages != nil || r.Tools != nil || r.Model != "" || r.RetryBudget != nil:
		return errors.New("agent: System, Messages, Tools, Model and RetryBudget of Request must be empty; the agent sets them")
	}
	offered := make(map[string]bool)
	for _, d := range append(a.set().Defs(), a.Caller...) {
		if offered[d.Name] {
			return fmt.Errorf("agent: two tools are called %s", d.Name)
		}
		offered[d.Name] = true
	}
	if r.Output != nil && offered[emitOutput] {
		return fmt.Errorf("agent: with a structured answer no tool can be called %s", emitOutput)
	}
	for _, h := range a.Hosted {
		if lane, err := ParseLane(string(h.Lane)); err != nil || lane != cmp.Or(h.Lane, LaneAuto) {
			return fmt.Errorf("agent: %s: %q is not a lane; see ParseLane", h.Name, h.Lane)
		}
		offered[h.Name] = true
	}
	return checkChoice(r.Choice, offered)
}

// emitOutput is the tool by which models without structured answers give them.
const emitOutput = "emit_output"

func checkChoice(c llm.ToolChoice, offered map[string]bool) error {
	if c.Mode == llm.MustCall && len(offered) == 0 {
		return errors.New("agent: a call is demanded, and there are no tools")
	}
	for _, name := range append([]string{c.Name}, c.Allowed...) {
		if name != "" && !offered[name] {
			return fmt.Errorf("agent: the choice names %s, which is not offered", name)
		}
	}
	return nil
}

// set holds the tools that are run.
func (a *Agent) set() *tool.Set {
	if a.Tools == nil {
		return nil
	}
	return a.Tools.Set()
}

// name returns what a model is called in events and in the record.
func name(m llm.Model, id string) string {
	if id != "" {
		return id
	}
	if known, ok := inner[interface{ ID() string }](m); ok {
		return known.ID()
	}
	return ""
}

// modelOf returns the model of a turn and its id.
func (a *Agent) modelOf(turn int) (llm.Model, string) {
	if a.Route != nil {
		if m, id := a.Route(turn); m != nil {
			return m, name(m, id)
		}
	}
	return a.Model, name(a.Model, a.ID)
}

// Compaction is the part of a conversation that no longer fits the window; see
// [Agent.Compact].
type Compaction struct {
	Turn int // that is about to begin
	// Messages are the messages that are left out, oldest first. Each call among them has
	// its result. They include the summary of older messages, if there is one. They are a
	// deep copy.
	Messages []llm.Message
	// Tokens is the maximum length of the text that replaces them; a longer text is cut.
	Tokens int
	// Model is the one of the turn. What it is asked counts for the usage and the
	// budgets of the run; it answers nothing more once the hook has returned.
	Model llm.Model
	// Window is how many tokens a question to Model may have.
	Window int
}

// TurnStart is the request of a turn that begins; see [Agent.BeforeTurn]. Changes count for this
// turn. The next one begins with the settings of the Agent and the whole conversation
// again. All of it is a deep copy that a hook may write to.
type TurnStart struct {
	Turn  int       // counts from 1
	Usage llm.Usage // of the turns before
	// Model is asked instead of the Agent's, if it is not nil. ID is what it is
	// called.
	Model llm.Model
	ID    string
	// System and Messages are the text that the model reads. The record and [Done.Messages]
	// keep the original conversation.
	System   string
	Messages []llm.Message
	// Tools are the offered tools. A hook may remove, reorder and describe them. A call of
	// another tool is refused.
	Tools []llm.ToolDef
	// Set has further tools for the calls of the turn. They replace tools of the Agent
	// with the same names, and Tools may name them, too. Set is for tools that come and
	// go. It is not recorded: a replay runs none of them.
	Set *tool.Set
	// Request has the other settings. Its System, Messages, Tools, Model and
	// RetryBudget stay empty.
	Request llm.Request
}

// TurnEnd is a turn that is over; see [Agent.AfterTurn]. Writing to it changes
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
