package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// callRunner run calls: a session of package invoke, or the record of one.
type callRunner interface {
	Do(ctx context.Context, calls []llm.Call) iter.Seq2[llm.Event, error]
	Refuse(ctx context.Context, c llm.InvalidCall) (invoke.Outcome, error)
}

// loop is the state of one run. It depends on nothing but its beginning and
// what model, runner and person answer, so that the record of those plays it
// again.
type loop struct {
	beginning
	redactor
	question llm.Request // the settings of every question
	offered  []llm.ToolDef
	saidLeft int  // tools that came later and were said to be left out
	single   bool // one turn, and the caller runs the calls
	schemas  map[string]*schema.Compiled

	run     string
	fell    *fallen
	seen    observe.Run // what an observer is told at the beginning
	models  func(turn int) (llm.Model, string)
	lanesOf func(m llm.Model, id string) (laneSet, error)
	runner  callRunner
	// redacted reports whether a mark stands in the place of a secret in the
	// arguments of a call, so that it must not be run.
	redacted func(llm.Call) bool
	session  *invoke.Session // the same as runner, nil in a replay
	person   func(context.Context, Checkpoint) (Choice, error)
	rec      *journal.Recorder // nil records nothing
	wasRead  bool              // the calls in the text of answers have been read: a record of format 2 or later

	watched    func(context.Context) context.Context
	cost       func(llm.Model, string, llm.Usage) (catalog.Money, bool) // nil in a replay
	wasSpent   func(turn int) catalog.Money                             // in a replay
	falls      func(hook string)                                        // in a replay: panics if the hook did
	wereRun    func([]llm.Call) bool                                    // in a replay
	askedModel llm.Model
	redo       func(planned bool) (*reduction, error) // in a replay: what was cut or left out next, nil if nothing was
	compacts   func(context.Context, Compaction) (string, error)
	windows    *Windows
	refusedAt  int                                       // the tokens of a question that the model found too long, less a quarter; 0 if there was none
	asksFor    int                                       // the tokens of the question, as estimated
	factor     float64                                   // what the vendor counts for each of them; 0 if that is not known
	prepare    func(context.Context) (*planEntry, error) // plans a turn; nil changes nothing
	discover   func(context.Context) (foundEntry, error) // tools that the model found since the last turn
	found      []string                                  // all that it found
	searched   map[string]bool                           // ids of calls of find_tools that were seen to
	halt       func(ctx context.Context, over bool) (string, error)
	halted     string      // why an earlier process ended the run after its last turn
	over       *llm.Finish // of the answer that an earlier process had, and did not end the run with
	now        asking
	seenTurn   *observe.Turn
	yield      func(llm.Event, error) bool
	cancel     context.CancelFunc
	abandoned  bool // nobody listens any more

	messages []llm.Message
	ids      llm.CallIDs // of all calls
	minted   []string    // in this turn
	budget   *llm.RetryBudget
	choice   llm.ToolChoice
	turnNo   int
	model    string                // of the turn
	points   int                   // checkpoints met
	intended map[string]bool       // ids of calls that may change things
	results  map[string]llm.Result // of the calls of the last answer, by id
	best     json.RawMessage       // the structured answer as far as it was written
	// more returns what is added to the conversation after a turn.
	more    func(turn int) []llm.Message
	step    tool.Strategy              // how to ask the next question
	before  llm.Call                   // the call that failed before it
	settled map[string]journal.Receipt // of calls that an earlier process ran
	unread  []llm.InvalidCall          // that an earlier process left without an answer
	resumed bool                       // the conversation is that of an earlier process
	raised  bool                       // the stronger model is asked
	// inAnswer are the ids of calls that were run while the model answered.
	inAnswer map[string]bool
	// wasInside returns them in a replay; made is what a process before this one left.
	wasInside func(ctx context.Context, turn int) ([]string, error)
	made      string
	done      Done
	shared
}

// begin starts the record of a run and returns its loop.
func (a *Agent) begin(ctx context.Context, msgs []llm.Message) (*loop, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if len(msgs) == 0 {
		return nil, errors.New("agent: a conversation begins with a message")
	}
	run := journal.NewRun()
	if a.NewRun != nil {
		if err := a.redactor().caught(a.fell, func() error { run = a.NewRun(); return nil }); err != nil {
			return nil, err
		}
	}
	l, err := a.open(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := l.caught(l.fell, func() error { return a.start(ctx, l, msgs) }); err != nil {
		return nil, errors.Join(err, l.close(ctx))
	}
	return l, nil
}

// start writes the beginning of a run.
func (a *Agent) start(ctx context.Context, l *loop, msgs []llm.Message) error {
	if l.rec != nil && l.rec.Continued() {
		if p, err := recall(journal.Whole(a.Store.Read(ctx, l.run, 0))); err != nil || p.begun {
			return cmp.Or(err, fmt.Errorf("%w: %s", ErrBegun, l.run))
		}
	}
	l.messages = slices.Clone(msgs)
	template, err := json.Marshal(a.Request)
	if err != nil {
		return fmt.Errorf("agent: Request: %w", err)
	}
	l.beginning = beginning{System: a.System, Messages: l.messages, Caller: a.Caller, Request: template, Limits: a.limits(), Ladder: a.Ladder, Program: a.Program}
	if l.Lanes, err = a.offer(a.first, msgs, true); err != nil {
		return err
	}
	if err := a.affords(l); err != nil {
		return err
	}
	l.ready(a.Request)
	start := journal.Start{Producer: "toolpost", Task: l.task(msgs), Model: a.ID, Parent: a.Parent}
	if err := l.write(ctx, journal.KindStart, start); err != nil {
		return err
	}
	return l.write(ctx, kindBegin, l.beginning)
}

// open opens the record and the session of a run, which is owned until the loop
// is closed.
func (a *Agent) open(ctx context.Context, run string) (l *loop, err error) {
	l = &loop{run: run, fell: a.fell, windows: a.Windows, seen: observe.Run{ID: run, Parent: a.Parent, Model: a.ID}, watched: a.observed, redactor: a.redactor(), models: a.models, person: a.Checkpoint, ids: llm.CallIDs{New: a.NewID}, more: func(int) []llm.Message { return nil },
		redacted: func(c llm.Call) bool { return journal.Marker(c.Args) != "" }}
	if a.Store != nil {
		if l.rec, err = journal.Open(ctx, a.Store, run); err != nil {
			return nil, err
		}
		l.rec.Now = a.Now
		defer func(l *loop) { // whose name is gone when an error is returned
			if err != nil {
				err = errors.Join(err, l.close(ctx))
			}
		}(l)
	}
	if err = l.caught(l.fell, func() error { return a.equip(ctx, l) }); err != nil {
		return nil, err
	}
	return l, nil
}

// equip gives a loop what it asks and runs things with.
func (a *Agent) equip(ctx context.Context, l *loop) error {
	runner, err := a.runner(l)
	if err != nil {
		return err
	}
	l.lanesOf = func(m llm.Model, id string) (laneSet, error) {
		return a.offer(func() (llm.Model, string) { return m, id }, l.messages, false, l.found...)
	}
	session, err := runner.Session(l.rec)
	if err != nil {
		return err
	}
	session.Model = a.ID
	l.prepare, l.halt, l.cost, l.compacts, l.discover = a.prepared(l), a.halting(l), a.costOf, a.Compact, a.discovering(l)
	l.session, l.runner = session, session
	l.part(ctx)
	return nil
}

// close gives up the run: whoever resumes it owns it then.
func (l *loop) close(ctx context.Context) error {
	if l.rec == nil {
		return nil
	}
	return l.rec.Close(ctx)
}

// runner returns what runs the calls of one run.
func (a *Agent) runner(l *loop) (*invoke.Runner, error) {
	if a.Tools == nil {
		return new(invoke.Runner), nil
	}
	set, err := a.restricted(a.set())
	if err == nil && a.finds() {
		set, err = tool.Join(set, tool.MustSet(a.set().Finder(l.told)))
	}
	if err != nil || set == a.set() {
		return a.Tools, err
	}
	return a.Tools.With(set), nil
}

// first returns the first model and its id.
func (a *Agent) first() (llm.Model, string) { return a.models(1) }

// models returns the model of a turn.
func (a *Agent) models(turn int) (llm.Model, string) {
	if a.Route != nil {
		if m, id := a.Route(turn); m != nil {
			return m, id
		}
	}
	return a.Model, a.ID
}

// ready prepares the state that follows from the first entry.
func (l *loop) ready(template llm.Request) {
	l.question = template
	l.offered = append(slices.Clone(l.Lanes.Defs), l.Caller...)
	l.single = len(l.Caller) > 0
	l.choice = template.Choice
	l.budget = llm.NewRetryBudget(l.Limits.Budget)
	l.intended = make(map[string]bool)
	l.done.Run = l.run
	l.collectIDs()
	l.searched = make(map[string]bool)
	l.unseen() // what they found is offered
	l.usual()
	if l.session != nil {
		l.session.Task = l.task(l.messages)
	}
}

// collectIDs learns which ids are taken.
func (l *loop) collectIDs() {
	for _, m := range l.messages {
		for _, c := range m.Calls() {
			l.ids.Use(c.ID)
		}
	}
}

// walk takes turns until the run is over, and yields its events.
func (l *loop) walk(ctx context.Context, yield func(llm.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.yield, l.cancel = yield, cancel
	defer l.close(ctx) // also if whoever listens panics
	ctx, seen := observe.BeginRun(l.watched(ctx), l.seen)
	err := l.safely(ctx, l.turns)
	err = l.end(ctx, err)
	if cerr := l.close(ctx); err == nil {
		err = cerr
	}
	if seen != nil {
		l.observed(ctx, seen, err)
	}
	if !l.abandoned && l.yield(l.done, nil) && err != nil {
		l.yield(nil, err)
	}
}

// emit yields an event and reports whether anybody still listens.
func (l *loop) emit(ev llm.Event) bool {
	if !l.abandoned && !l.yield(ev, nil) {
		l.abandoned = true
		l.cancel()
	}
	return !l.abandoned
}

func (l *loop) turns(ctx context.Context) error {
	l.partial()
	for _, c := range l.Lanes.Chosen {
		l.emit(c)
	}
	l.leftOut()
	return l.goOn(ctx)
}

// goOn takes turns, after the calls that an earlier process left.
func (l *loop) goOn(ctx context.Context) error {
	if calls := l.pending(); len(calls)+len(l.unread) > 0 && l.resumed {
		if l.single {
			if over, err := l.handOver(ctx, calls); over || err != nil {
				return err
			}
		} else if err := l.mayRun(calls); err != nil {
			return err
		} else if err := l.act(ctx, calls, l.unread); err != nil {
			return err
		} else if over, err := l.afterTurn(ctx, false); over || err != nil {
			return err
		}
	}
	for {
		more := l.additions(l.turnNo)
		if l.halted != "" && len(more) == 0 {
			l.done.Stopped = l.halted
			return nil
		}
		if l.over != nil && len(more) == 0 {
			return l.wasOver(ctx)
		}
		l.halted, l.over = "", nil
		for _, m := range more {
			l.messages = append(l.messages, m)
			if err := l.write(ctx, kindNote, noteEntry{Message: m, Why: whyResumed}); err != nil {
				return err
			}
		}
		over, err := l.turn(ctx)
		if over || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// wasOver ends a run that an earlier process had the answer of.
func (l *loop) wasOver(ctx context.Context) error {
	l.done.Turns, l.done.Finish = l.turnNo, *l.over
	l.done.Text = l.messages[len(l.messages)-1].Text()
	if l.question.Output != nil {
		l.done.Value = json.RawMessage(l.done.Text)
	}
	_, err := l.afterTurn(ctx, true)
	return err
}

// partial warns if only some tools have a function.
func (l *loop) partial() {
	if len(l.Caller) == 0 || len(l.Lanes.Defs) == 0 {
		return
	}
	missing := make([]string, len(l.Caller))
	for i, d := range l.Caller {
		missing[i] = d.Name
	}
	l.emit(llm.Warning{Code: llm.Compatibility, Feature: "toolExecutors.partial", Detail: "toolExecutors is missing handlers for: " +
		strings.Join(missing, ", ") + ". Falling back to AI SDK tool loop with maxTurns=1."})
}

// pending returns the calls of the last answer if they have no results yet.
func (l *loop) pending() []llm.Call {
	if len(l.messages) == 0 {
		return nil
	}
	return l.messages[len(l.messages)-1].Calls()
}

// turn asks the model once, and again if its answer is no use, and runs the
// calls of the answer. It reports whether the run is over.
func (l *loop) turn(ctx context.Context) (over bool, err error) {
	if err := l.broke(l.turnNo); err != nil {
		return true, err
	}
	l.turnNo++
	ctx, seen := observe.BeginTurn(ctx, observe.Turn{Run: l.run, N: l.turnNo, Last: l.turnNo > l.Limits.MaxTurns})
	if l.seenTurn = seen; seen != nil {
		defer func() { seen.Model = l.model; observe.End(ctx, seen, turnError(err)) }()
	}
	l.done.Turns = l.turnNo
	if l.session != nil {
		l.session.Turn = l.turnNo
	}
	final := l.turnNo > l.Limits.MaxTurns
	if final && l.Limits.NoLastTurn {
		return true, fmt.Errorf("agent: Agentic loop exceeded maximum iterations (%d)", l.Limits.MaxTurns)
	}
	if err := l.offerFound(ctx); err != nil {
		return true, err
	}
	if l.usual(); l.prepare != nil { // the hook is given what fits
		if err := l.fit(ctx, false); err != nil {
			return true, err
		}
	}
	if err := l.plan(ctx); err != nil {
		return true, err
	}
	if err := l.choose(ctx); err != nil {
		return true, err
	}
	m, id := l.turnModel()
	if err := l.affordable(m, id); err != nil {
		return true, err
	}
	if !l.emit(Turn{N: l.turnNo, Max: l.Limits.MaxTurns, Model: l.model, Last: final}) {
		return true, context.Canceled
	}
	if final {
		l.emit(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d turns are used up; the model is asked for an answer without tools", l.Limits.MaxTurns)})
	}
	h, err := l.answer(ctx, final)
	if err != nil {
		return true, err
	}
	if over, err = l.accept(ctx, h, final); err != nil {
		return over, err
	}
	return l.afterTurn(ctx, over)
}

// choose finds the model of the turn, and says so if it is another one.
func (l *loop) choose(ctx context.Context) error {
	if l.raised {
		return nil
	}
	m, id := l.turnModel()
	if id != l.model && l.turnNo > 1 {
		if err := l.switchTo(ctx, m, id, "the route of the turn"); err != nil {
			return err
		}
	}
	l.model = id
	if l.session != nil {
		l.session.Model = id
	}
	return nil
}

// switchTo has another model go on. Who runs which tool is decided anew.
func (l *loop) switchTo(ctx context.Context, m llm.Model, id, why string) error {
	s := Switched{From: l.model, To: id, Why: why}
	if err := l.write(ctx, kindSwitch, s); err != nil {
		return err
	}
	l.emit(s)
	l.model, l.refusedAt = id, 0
	if len(l.Lanes.Chosen)+len(l.Lanes.Dropped) == 0 {
		return nil
	}
	set, err := l.lanesOf(m, id)
	if err != nil {
		return err
	}
	if err := l.write(ctx, kindLane, laneEntry{id, set}); err != nil {
		return err
	}
	l.Lanes, l.offered = set, append(slices.Clone(set.Defs), l.Caller...)
	if !l.now.narrowed {
		l.now.tools = l.offered
	}
	for _, c := range set.Chosen {
		l.emit(c)
	}
	return nil
}

// accept makes an answer part of the conversation and does what it asks for.
func (l *loop) accept(ctx context.Context, h *modelAnswer, final bool) (over bool, err error) {
	l.done.Text, l.done.Finish = h.message.Text(), h.finish
	l.unoffered(h)
	h.over = len(h.calls)+len(h.invalid) == 0
	if err := l.keep(ctx, h); err != nil {
		return true, err
	}
	switch {
	case h.over:
		if l.now.question.Output != nil {
			l.done.Value = json.RawMessage(l.done.Text)
		}
		return true, nil
	case final:
		l.answerRest("the turns are used up; it was not run")
		l.done.Partial = true
		return true, fmt.Errorf("agent: the model went on calling tools after %d turns", l.Limits.MaxTurns)
	case l.single:
		l.done.Calls, l.done.Invalid = h.calls, h.invalid
		l.sortOut()
		return true, nil
	}
	if l.choice.Mode == llm.MustCall { // a call was made: now it may answer
		l.choice.Mode, l.choice.Name = llm.MayCall, ""
	}
	if err := l.mayRun(h.calls); err != nil {
		return true, err
	}
	return false, l.act(ctx, h.calls, h.invalid)
}

// mayRun returns the error of a run whose answer used up its budget: then its calls are
// not run, unless somebody resumes the run with a larger one.
func (l *loop) mayRun(calls []llm.Call) error {
	if l.wereRun != nil && l.wereRun(calls) {
		return nil // by a version that ran them
	}
	err := l.broke(l.turnNo)
	if err != nil {
		l.answerRest("the budget of the run is used up; it was not run")
	}
	return err
}

// keep adds an answer to the conversation and to the record.
func (l *loop) keep(ctx context.Context, h *modelAnswer) error {
	if len(h.message.Parts) == 0 && len(h.invalid) == 0 {
		return nil
	}
	if len(h.message.Parts) > 0 {
		l.messages = append(l.messages, h.message)
	}
	if err := l.hosted(ctx, h.message); err != nil {
		return err
	}
	entry := turnEntry{Turn: l.turnNo, Model: l.model, Message: h.message, Invalid: h.invalid, Minted: l.minted, Usage: l.done.Usage, Cost: catalog.Money(l.spent.Load()), Unpriced: l.unpriced.Load()}
	l.minted = nil
	if h.over {
		entry.Over = &h.finish
	}
	return l.write(ctx, kindTurn, entry)
}

// hosted records the calls that the provider ran itself.
func (l *loop) hosted(ctx context.Context, m llm.Message) error {
	if l.rec == nil {
		return nil
	}
	results := make(map[string]llm.Result)
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			results[r.CallID] = r
		}
	}
	for _, p := range m.Parts {
		c, ok := p.(llm.Call)
		if !ok || !c.Hosted || l.inAnswer[c.ID] { // those have a receipt
			continue
		}
		id := c.ID
		for n := 1; id == "" || l.rec.Settled(id); n++ { // vendors need not name what they run themselves
			id = fmt.Sprintf("hosted_%d_%d", l.turnNo, n)
		}
		rec := journal.Receipt{Call: id, Tool: c.Name, Args: c.Args, Status: journal.OK, ExecutedBy: journal.ByProvider, Attempts: 1}
		if r, ok := results[c.ID]; ok {
			rec.Result = &r
			if r.Failed {
				rec.Status, rec.Error = journal.Failed, &journal.Failure{Code: "execution", Message: r.Text()}
			}
			if hash, err := journal.OutputHash(r.Parts, ""); err == nil {
				rec.OutputHash = hash
			}
		}
		if _, err := l.rec.Receipt(ctx, rec); err != nil {
			return fmt.Errorf("agent: the call of %s could not be recorded: %w", c.Name, err)
		}
	}
	return nil
}

// note adds a message of ours to the conversation and to the record.
func (l *loop) note(ctx context.Context, why, text string) error {
	n := noteEntry{Message: llm.User(text), Why: why}
	l.messages = append(l.messages, n.message())
	return l.write(ctx, kindNote, n)
}

// end closes the run: a success and a deliberate end are sealed, everything
// else stays open, so that it can be resumed.
func (l *loop) end(ctx context.Context, err error) error {
	l.done.Status = statusOf(ctx, err)
	if err != nil {
		l.answerRest(unanswered[l.done.Status])
		l.done.Partial = true
		l.done.Value = l.best
	}
	l.done.Messages, l.done.Cost, l.done.Unpriced = l.messages, catalog.Money(l.spent.Load()), l.unpriced.Load()
	l.done.Open = err != nil && l.rec != nil && !sealed(err)
	if l.done.Status == StatusPending {
		return nil
	}
	if l.rec == nil || l.done.Open {
		return err
	}
	status := "success"
	if err != nil {
		status = "failure"
	}
	usage := l.done.Usage
	if e := l.write(ctx, journal.KindEnd, journal.End{Status: status, Summary: l.redact(l.done.Text).Cut(maxTask), Usage: &usage}); e != nil {
		return errors.Join(err, e)
	}
	if _, e := l.rec.Seal(ctx); e != nil {
		return errors.Join(err, fmt.Errorf("agent: the run could not be sealed: %w", e))
	}
	return err
}

// unanswered is what the calls without a result are told after a run ended, by
// its status.
var unanswered = map[Status]string{
	StatusPending:     "a person has to decide about the calls of this answer first; it was not run",
	StatusInterrupted: "interrupted before it was run",
	StatusFailed:      "interrupted before it was run",
}

// statusOf is the status of a run that ended with err.
func statusOf(ctx context.Context, err error) Status {
	switch {
	case err == nil:
		return StatusFinished
	case errors.Is(err, errWaiting):
		return StatusPending
	case ctx.Err() != nil:
		return StatusInterrupted
	}
	return StatusFailed
}

// answerRest gives every call of the last answer that has none a result: a
// conversation with a call left open is refused by every vendor.
func (l *loop) answerRest(why string) {
	calls := l.pending()
	if len(calls) == 0 {
		return
	}
	results := make([]llm.Result, len(calls))
	for i, c := range calls {
		r, ok := l.results[c.ID]
		if !ok {
			r = llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: why}}}
		}
		results[i] = r
	}
	l.messages = append(slices.Clip(l.messages), llm.Results(results...))
}
