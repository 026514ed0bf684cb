package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Resume takes up a run that was interrupted, where it was interrupted. Calls
// that have a receipt are not run again: their results are read from it. A call
// that was begun and has no receipt is reported to the model as one whose
// outcome is unknown, and is not run again either. The settings are those of a;
// the conversation is that of the record. msgs are added to it.
//
// A run that somebody else is at work on is a *[journal.HeldError], at once,
// and its record stays as it is. A store that cannot tell gives
// [journal.ErrNoLease]; see [journal.Unleased].
func (a *Agent) Resume(ctx context.Context, run string, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	return a.ResumeWith(ctx, run, nil, msgs...)
}

// ResumeWith is Resume with decisions about calls that the run waits for; see
// [StatusPending]. What was decided before, here or with [Decide], still counts.
// A call that nobody has decided about is asked about again.
func (a *Agent) ResumeWith(ctx context.Context, run string, grants []Grant, msgs ...llm.Message) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		l, err := a.marked(new(fallen)).reopen(ctx, run, grants)
		if err != nil {
			yield(nil, err)
			return
		}
		l.more = func(int) []llm.Message {
			more := msgs
			msgs = nil
			return more
		}
		l.walk(ctx, yield)
	}
}

// reopen returns the loop of a run that has begun.
func (a *Agent) reopen(ctx context.Context, run string, grants []Grant) (*loop, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.Store == nil {
		return nil, errors.New("agent: a run can only be resumed from a Store")
	}
	l, err := a.open(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := l.caught(l.fell, func() error { return a.restart(ctx, l, grants) }); err != nil {
		return nil, errors.Join(err, l.close(ctx))
	}
	return l, nil
}

// restart takes up the record of a run, which nobody else writes to any more.
func (a *Agent) restart(ctx context.Context, l *loop, grants []Grant) error {
	p, err := recall(journal.Whole(a.Store.Read(ctx, l.run, 0)))
	if err != nil {
		return err
	}
	if !p.begun {
		return fmt.Errorf("agent: the record has no run %s that an agent began", l.run)
	}
	decisions, err := p.decide(l.run, grants, a.now())
	if err != nil {
		return err
	}
	l.beginning = p.begin
	l.System, l.Caller, l.Limits, l.Ladder = a.System, a.Caller, a.limits(), a.Ladder
	l.found = p.found
	if l.Lanes, err = a.offer(a.first, p.messages, false, l.found...); err != nil {
		return err
	}
	l.messages = p.messages
	l.ready(a.Request)
	l.takeUp(p)
	l.charge(p.cost)
	if p.unpriced {
		l.unpricedPart()
	}
	if err := a.affords(l); err != nil {
		return err
	}
	l.done.Usage, l.done.Ran, l.done.Did, l.done.Unreported = p.usage, p.ran, p.did, p.unreported
	template, err := json.Marshal(a.Request)
	if err != nil {
		return fmt.Errorf("agent: Request: %w", err)
	}
	if err := l.write(ctx, kindResume, resumeEntry{l.System, l.Caller, template, l.Limits, l.Ladder, l.Lanes, a.Program}); err != nil {
		return err
	}
	if err := l.consented(ctx, p, decisions); err != nil {
		return err
	}
	l.made = p.madeBefore()
	for _, in := range l.rec.Unknown() {
		if !slices.ContainsFunc(l.pending(), func(c llm.Call) bool { return c.ID == in.Call }) {
			if _, err := l.rec.Abandon(ctx, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeUp puts the loop where the record ends.
func (l *loop) takeUp(p *past) {
	for id := range p.unfinished { // as if the process had been killed
		delete(p.results, id)
		delete(p.receipts, id)
	}
	l.messages, l.results, l.settled, l.unread = p.messages, p.results, p.receipts, p.invalid
	l.turnNo, l.model, l.points = p.turn, p.model, p.points
	if l.session != nil {
		l.session.Turn = p.turn
	}
	l.collectIDs()
	for id := range p.ids {
		l.ids.Use(id)
	}
	l.resumed, l.seen.Resumed = true, true
	l.halted, l.over = p.stopped, p.over
	l.choice = l.question.Choice
	if l.choice.Mode == llm.MustCall && p.called {
		l.choice.Mode, l.choice.Name = llm.MayCall, ""
	}
	l.renew()
}

// past is what the record of a run says.
type past struct {
	whole    bool // nothing is shortened or left out
	begun    bool
	ended    bool        // with success
	stopped  string      // why a hook ended it after the last turn
	over     *llm.Finish // of the last answer, if that was the end
	begin    beginning
	messages []llm.Message
	results  map[string]llm.Result      // of the calls of the last answer that are settled
	receipts map[string]journal.Receipt // of those that nobody was asked about
	turn     int
	model    string
	usage    llm.Usage
	found    []string // tools, with find_tools
	cost     catalog.Money
	unpriced bool
	points   int
	called   bool
	invalid  []llm.InvalidCall // of the last answer
	ran      int
	did      []journal.SideEffect
	intended map[string]bool // calls that may change things
	// unreported are the tools whose calls did not say what they changed
	unreported []string
	consent    []journal.Entry // questions and decisions about the calls of the last answer
	inside     map[string]bool // calls that were run while the model gave an answer that is not on record
	unfinished map[string]bool // calls of the last answer that were interrupted and changed nothing
	ids        map[string]bool // of all calls on record, also of those that were run again and are in no message
}

func newPast() *past {
	return &past{results: make(map[string]llm.Result), receipts: make(map[string]journal.Receipt), ids: make(map[string]bool), intended: make(map[string]bool), inside: make(map[string]bool), unfinished: make(map[string]bool)}
}

// recall reads the record of a run.
func recall(entries iter.Seq2[journal.Entry, error]) (*past, error) {
	p := newPast()
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if err := p.take(e); err != nil {
			return nil, fmt.Errorf("agent: entry %d: %w", e.Seq, err)
		}
	}
	return p, nil
}

func (p *past) take(e journal.Entry) error {
	switch e.Kind {
	case kindBegin:
		p.begun = true
		if err := e.Decode(&p.begin); err != nil {
			return err
		}
		dropNulls(p.begin.Caller)
		p.messages = slices.Clone(p.begin.Messages)
	case kindTurn:
		var t turnEntry
		if err := e.Decode(&t); err != nil {
			return err
		}
		p.answered()
		p.stopped = ""
		p.turn, p.model, p.usage, p.cost, p.unpriced = t.Turn, t.Model, t.Usage, t.Cost, t.Unpriced
		if len(t.Message.Parts) > 0 {
			p.messages = append(p.messages, t.Message)
		}
		p.called = p.called || len(t.Message.Calls())+len(t.Invalid) > 0
		p.over = t.Over
		p.invalid = t.Invalid
	case kindNote:
		var n noteEntry
		if err := e.Decode(&n); err != nil {
			return err
		}
		p.answered()
		p.invalid, p.over = nil, nil
		p.messages = append(p.messages, n.message())
	case kindCut:
		return p.takeCut(e)
	case kindCompact:
		return p.takeCompact(e)
	case kindFound:
		return p.takeFound(e)
	case kindCost:
		var c costEntry
		if err := e.Decode(&c); err != nil {
			return err
		}
		p.cost, p.unpriced = c.Cost, c.Unpriced
	case kindStop:
		var s stopEntry
		if err := e.Decode(&s); err != nil {
			return err
		}
		p.stopped = s.Why
	case kindChoice:
		var c choiceEntry
		if err := e.Decode(&c); err != nil {
			return err
		}
		p.points = c.N
		delete(p.receipts, c.Call.ID)
		if c.Result != nil {
			p.results[c.Call.ID] = *c.Result
		}
	default:
		return p.takeCall(e)
	}
	return nil
}

// beforeQuestion puts the conversation where it was when a question was about to be asked:
// all calls of the last answer have been seen to.
func (p *past) beforeQuestion() {
	p.answered()
	p.invalid = nil
}

// takeFound takes tools that the model found.
func (p *past) takeFound(e journal.Entry) error {
	var f foundEntry
	err := e.Decode(&f)
	for _, d := range f.Tools {
		p.found = append(p.found, d.Name)
	}
	return err
}

// takeCut takes results that were shortened.
func (p *past) takeCut(e journal.Entry) error {
	var c cutEntry
	if err := e.Decode(&c); err != nil {
		return err
	}
	p.beforeQuestion()
	if !p.whole {
		p.messages = shortened(p.messages, nil, 0, c.of)
	}
	return nil
}

// takeCompact takes a compaction.
func (p *past) takeCompact(e journal.Entry) (err error) {
	var c compactEntry
	if err := e.Decode(&c); err != nil {
		return err
	}
	p.beforeQuestion()
	p.usage, p.cost, p.unpriced = p.usage.Add(c.Used), c.Cost, c.Unpriced
	if !p.whole {
		p.messages, err = c.apply(p.messages)
	}
	return err
}

// takeCall takes what the runtime records about calls, and the end of the run.
func (p *past) takeCall(e journal.Entry) error {
	switch e.Kind {
	case kindInside:
		var in insideEntry
		if err := e.Decode(&in); err != nil {
			return err
		}
		p.inside[in.Call] = true
	case journal.KindIntent:
		var in journal.Intent
		if err := e.Decode(&in); err != nil {
			return err
		}
		p.ids[in.Call], p.intended[in.Call] = true, true
	case journal.KindEnd:
		var end journal.End
		if err := e.Decode(&end); err != nil {
			return err
		}
		p.ended = end.Status == "success"
	case journal.KindQuestion, journal.KindApproval:
		p.consent = append(p.consent, e)
	case journal.KindReceipt, journal.KindRefusal:
		var r journal.Receipt
		if err := e.Decode(&r); err != nil {
			return err
		}
		p.ids[r.Call] = true
		p.settle(r)
	}
	return nil
}

// settle keeps the result of a call.
func (p *past) settle(r journal.Receipt) {
	p.receipts[r.Call] = r
	delete(p.unfinished, r.Call)
	if r.Interrupted() && !p.intended[r.Call] {
		p.unfinished[r.Call] = true
	}
	if r.Status != journal.Refused && r.ExecutedBy != journal.ByProvider {
		p.ran++
		if r.Usage != nil {
			p.usage = p.usage.Add(*r.Usage)
		}
		p.did = append(p.did, r.SideEffects...)
		if p.intended[r.Call] {
			p.unreported = unreported(p.unreported, r)
		}
	}
	if r.Result != nil {
		result := *r.Result
		if r.Status == journal.Refused {
			result.Parts = ours(result.Parts)
		}
		p.results[r.Call] = result
	} else {
		p.results[r.Call] = llm.Result{CallID: r.Call, Name: r.Tool, Failed: r.Status != journal.OK, Parts: []llm.Part{llm.Text{Text: r.Reason}}}
	}
}

// answered adds the results of the last answer's calls to the conversation.
func (p *past) answered() {
	if len(p.messages) == 0 {
		return
	}
	var results []llm.Result
	for _, c := range p.messages[len(p.messages)-1].Calls() {
		if r, ok := p.results[c.ID]; ok {
			results = append(results, r)
		}
	}
	if len(results) > 0 {
		p.messages = append(p.messages, llm.Results(results...))
	}
	clear(p.results)
	clear(p.receipts)
	clear(p.unfinished)
	clear(p.inside)
	p.consent = nil
}
