package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/tool"
)

// ErrBegun is the error of starting a run that exists already: it can only be resumed.
var ErrBegun = errors.New("agent: the run has begun before; resume it")

// Run starts a conversation and yields its events until there is an answer: the
// events of the model, those of package invoke, and those of this package. The
// last event is a [Done]. A run that failed yields its error after that.
//
// Stopping early, or cancelling ctx, interrupts the run: its calls are stopped
// and recorded, and Resume can continue it.
func (a *Agent) Run(ctx context.Context, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	return a.RunWith(ctx, RunOptions{}, msgs...)
}

// Ask runs a conversation to its end and returns the Done event. With an error,
// Done holds the state in which the run ended; see also Done.Status.
func (a *Agent) Ask(ctx context.Context, msgs ...llm.Message) (Done, error) {
	return Last(a.Run(ctx, msgs...))
}

// Resume continues a run that was interrupted. Calls that have a receipt do not run again:
// their results are read from it. A call that has an intent and no receipt is reported to
// the model as a call of unknown outcome, and does not run again either. The settings are
// those of a; the conversation is read from the record, and msgs are added to it.
//
// If another process owns the run, Resume fails at once with a *[journal.HeldError] and
// leaves the record unchanged. A store without leases gives [journal.ErrNoLease]; see
// [journal.Unleased].
func (a *Agent) Resume(ctx context.Context, run string, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	return a.ResumeWith(ctx, run, nil, msgs...)
}

// ResumeWith is Resume with decisions about calls that the run waits for; see
// [StatusPending]. Earlier decisions, made here or with [Decide], still count. The run asks
// again about a call without a decision.
//
// A run that has ended yields its Done, as [Result] has it. With messages or decisions, which it
// can no longer take, the error is [journal.ErrSealed].
func (a *Agent) ResumeWith(ctx context.Context, run string, grants []Grant, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	mustContext(ctx)
	return func(yield func(llm.Event, error) bool) {
		l, err := a.reopen(ctx, run, grants)
		if errors.Is(err, journal.ErrSealed) && len(msgs)+len(grants) == 0 {
			if done, err := Result(ctx, a.Store, run); err == nil {
				yield(done, nil)
				return
			}
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if err := l.guardAdded(ctx, a.Guardrails, msgs); err != nil {
			yield(nil, errors.Join(err, l.record.close(ctx)))
			return
		}
		l.walk(a.observed(ctx), yield)
	}
}

// Last reads the events of Run, Resume or ResumeWith to their end and returns the
// Done event and the error. If a run waits for a person, the error is nil and the
// Status is [StatusPending].
func Last(events iter.Seq2[llm.Event, error]) (Done, error) {
	var done Done
	for ev, err := range events {
		if err != nil {
			return done, err
		}
		if d, ok := ev.(Done); ok {
			done = d
		}
	}
	return done, nil
}

// live performs the effects of a run with models, tools and hooks.
type live struct {
	agent   *Agent
	record  recorder
	session *invoke.Session
}

func (v *live) model(turn int) (llm.Model, string) { return v.agent.modelOf(turn) }

func (v *live) ask(m llm.Model, ids func() llm.CallIDs) llm.Model {
	return v.record.model(emulate.ReadCalls(m, ids))
}

// at prepares the session for calls from a place in the run.
func (v *live) at(at callSite) *invoke.Session {
	v.session.Turn, v.session.Model = at.turn, at.model
	v.session.Also(at.extra)
	if at.repeat != "" {
		v.session.Repeat(at.repeat, at.repeats, at.by)
	}
	return v.session
}

func (v *live) run(ctx context.Context, at callSite, calls []llm.Call) iter.Seq2[llm.Event, error] {
	return v.at(at).Do(ctx, calls)
}

func (v *live) refuse(ctx context.Context, at callSite, c llm.InvalidCall) (invoke.Outcome, error) {
	return v.at(at).Refuse(ctx, c)
}

func (v *live) decide(_ context.Context, _ decision, compute func() (any, error)) (any, error) {
	return compute()
}

// observed returns the context of a run, with the agent's observer.
func (a *Agent) observed(ctx context.Context) context.Context {
	if a.Observer == nil {
		return ctx
	}
	return observe.With(ctx, a.Observer)
}

// begin creates the record of a run and returns its loop.
func (a *Agent) begin(ctx context.Context, o RunOptions, msgs []llm.Message) (*loop, error) {
	if err := cmp.Or(a.check(), o.check()); err != nil {
		return nil, err
	}
	if len(msgs) == 0 {
		return nil, errors.New("agent: a conversation begins with a message")
	}
	panics := new(hookPanics)
	a = a.catching(panics)
	a.System, msgs = a.redactedPrompt(msgs)
	a.Parent = cmp.Or(o.Parent, a.Parent)
	run := cmp.Or(o.ID, journal.NewRun())
	if o.ID == "" && a.NewRun != nil {
		if err := panics.caught(a.redactor(), func() error { run = a.NewRun(); return nil }); err != nil {
			return nil, err
		}
	}
	return a.open(ctx, run, panics, func(l *loop, session *invoke.Session) error {
		return a.start(ctx, l, session, o.Metadata, msgs)
	})
}

// reopen returns the loop of a run that has begun.
func (a *Agent) reopen(ctx context.Context, run string, grants []Grant) (*loop, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.Store == nil {
		return nil, errors.New("agent: a run can only be resumed from a Store")
	}
	panics := new(hookPanics)
	a = a.catching(panics)
	a.System, _ = a.redactedPrompt(nil)
	return a.open(ctx, run, panics, func(l *loop, session *invoke.Session) error { return a.restart(ctx, l, session, grants) })
}

// open opens the record and the session of a run, and owns the run until the loop is
// closed. first prepares the first turn.
func (a *Agent) open(ctx context.Context, run string, panics *hookPanics, first func(*loop, *invoke.Session) error) (*loop, error) {
	model := name(a.Model, a.ID)
	l := &loop{
		settings: settings{id: run, agent: a, panics: panics, redactor: a.redactor(), plans: a.BeforeTurn != nil, asks: a.Checkpoint != nil,
			seen: observe.Run{ID: run, Parent: a.Parent, Model: model}},
		transcript: transcript{ids: llm.CallIDs{New: a.NewID}, spending: &spending{run: run, price: a.price, outer: within(ctx)}},
		window:     window{known: a.Windows},
	}
	a.Pool.within(l.spending)
	if a.Store != nil {
		rec, err := journal.Open(ctx, a.Store, run)
		if err != nil {
			return nil, err
		}
		rec.Now = a.Now
		l.record = recorder{rec}
	}
	err := panics.caught(l.redactor, func() error {
		runner, err := a.runner(l)
		if err != nil {
			return err
		}
		session, err := runner.Session(l.record.Recorder)
		if err != nil {
			return err
		}
		session.Model = model
		session.Within(ctx)
		l.effects = &live{a, l.record, session}
		return first(l, session)
	})
	if err != nil {
		return nil, errors.Join(err, l.record.close(ctx))
	}
	return l, nil
}

// runner returns the runner of the calls of one run.
func (a *Agent) runner(l *loop) (*invoke.Runner, error) {
	if a.Tools == nil {
		return new(invoke.Runner), nil
	}
	set, err := a.restricted(a.set())
	if err == nil && a.finds() {
		l.tools.finder = &toolFinder{a.set().Ranker(), a.set().Defs()}
		set, err = tool.Join(set, tool.MustSet(a.set().Finder(l.tools.told)))
	}
	if err != nil || set == a.set() {
		return a.Tools, err
	}
	return a.Tools.With(set), nil
}

// start writes the first entries of a run.
func (a *Agent) start(ctx context.Context, l *loop, session *invoke.Session, about map[string]string, msgs []llm.Message) error {
	if l.record.Recorder != nil && l.record.Continued() {
		if p, err := readRun(journal.Whole(a.Store.Read(ctx, l.id, 0))); err != nil || p.begun {
			return cmp.Or(err, fmt.Errorf("%w: %s", ErrBegun, l.id))
		}
	}
	blocked, err := l.guardInput(ctx, a.Guardrails, msgs)
	if err != nil {
		return err
	}
	msgs = blocked
	l.messages = slices.Clone(msgs)
	template, err := json.Marshal(a.Request)
	if err != nil {
		return fmt.Errorf("agent: Request: %w", err)
	}
	l.beginning = beginning{System: a.System, Messages: l.messages, Caller: a.Caller, Request: template, Limits: a.limits(), Ladder: a.Ladder, Program: a.Program, Origins: true}
	m, id := a.modelOf(1)
	if l.Lanes, err = a.offer(m, id, msgs, true); err != nil {
		return err
	}
	l.prepare(a.Request, l.Lanes)
	l.beginning.Echoes = l.echoes.recallParent(ctx, a, l.knownTools())
	if err := a.affords(l.spending, 1); err != nil {
		return err
	}
	session.Task = l.task(msgs)
	start := journal.Start{Producer: "toolpost", Task: session.Task, Model: name(a.Model, a.ID), Parent: a.Parent, Metadata: about}
	if err := l.write(ctx, journal.KindStart, start); err != nil {
		return err
	}
	if err := l.write(ctx, kindBegin, l.beginning); err != nil {
		return err
	}
	return l.writeInput(ctx)
}

// restart continues the record of a run. No other process writes to it any more.
func (a *Agent) restart(ctx context.Context, l *loop, session *invoke.Session, grants []Grant) error {
	p, err := readRun(journal.Whole(a.Store.Read(ctx, l.id, 0)))
	if err != nil {
		return err
	}
	if !p.begun {
		return fmt.Errorf("agent: the record has no run %s that an agent began", l.id)
	}
	decisions, err := p.decide(l.id, grants, a.now())
	if err != nil {
		return err
	}
	template, err := json.Marshal(a.Request)
	if err != nil {
		return fmt.Errorf("agent: Request: %w", err)
	}
	l.beginning = p.begin
	l.System, l.Caller, l.Limits, l.Ladder = a.System, a.Caller, a.limits(), a.Ladder
	l.tools.found, l.messages = p.found, p.messages
	m, id := a.modelOf(1)
	if l.Lanes, err = a.offer(m, id, p.messages, false, p.found...); err != nil {
		return err
	}
	l.prepare(a.Request, l.Lanes)
	l.restore(p)
	l.echoes.recall(ctx, l.knownTools(), p.begin.Echoes, p.left, !p.begin.Origins)
	l.spending.restore(p)
	session.Task = l.task(p.messages)
	if err := a.affords(l.spending, l.turn.n+1); err != nil {
		return err
	}
	l.done.Ran, l.done.Did, l.done.Unreported = p.ran, p.did, p.unreported
	if err := l.write(ctx, kindResume, resumeEntry{l.System, l.Caller, template, l.Limits, l.Ladder, l.Lanes, a.Program}); err != nil {
		return err
	}
	if err := l.record.consented(ctx, session, p.consent, decisions); err != nil {
		return err
	}
	if text := p.callsInLostAnswer(); text != "" {
		l.left.added = []llm.Message{llm.User("", llm.Text{Text: text, Origin: llm.OriginResult})}
	}
	for _, in := range l.record.Unknown() {
		if !slices.ContainsFunc(l.pending(), func(c llm.Call) bool { return c.ID == in.Call }) {
			if _, err := l.record.Abandon(ctx, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// RunWith is [Agent.Run] with options for this run.
func (a *Agent) RunWith(ctx context.Context, o RunOptions, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	mustContext(ctx)
	return func(yield func(llm.Event, error) bool) {
		l, err := a.begin(ctx, o, msgs)
		if err != nil {
			yield(nil, err)
			return
		}
		l.walk(a.observed(ctx), yield)
	}
}

// mustContext explains a nil context, which would be a nil dereference somewhere below.
func mustContext(ctx context.Context) {
	if ctx == nil {
		panic("agent: the context of the run is nil; pass context.Background()")
	}
}

// RunOptions are the settings of one run, in addition to those of its Agent.
type RunOptions struct {
	// ID names the run; empty means [Agent.NewRun].
	ID string
	// Parent is the run that this one continues; empty means [Agent.Parent].
	Parent string
	// Metadata is data of the program about the run, such as a user or a ticket. It is in the
	// record and in [Settings], and no model reads it.
	Metadata map[string]string
}

// The limits of RunOptions.Metadata.
const (
	maxMetadata     = 64
	maxMetadataText = 4096
)

// check refuses options that the record could not hold.
func (o *RunOptions) check() error {
	if o.ID != "" {
		if err := journal.ValidRun(o.ID); err != nil {
			return err
		}
	}
	if len(o.Metadata) > maxMetadata {
		return fmt.Errorf("agent: Metadata has %d entries; at most %d are recorded", len(o.Metadata), maxMetadata)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Metadata)) {
		v := o.Metadata[key]
		if key == "" || len(key) > maxMetadataText || len(v) > maxMetadataText || !utf8.ValidString(key) || !utf8.ValidString(v) {
			return fmt.Errorf("agent: Metadata %.40q: names and values are UTF-8, a name is not empty, and each has at most %d bytes", key, maxMetadataText)
		}
	}
	return nil
}

// noValue is why a run without an error has no value.
var noValue = map[Status]string{StatusPending: "the run waits for a person; resume it and read Done.Value"}
