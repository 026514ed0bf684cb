package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Replay runs the loop of a recorded run again. No model is asked and no tool
// is run: both answer from the record, and so does whoever decided at
// checkpoints. It returns nil if the run goes as it went, a
// *[journal.Difference] that names the first thing that does not, or another
// error if the record cannot be played.
func Replay(ctx context.Context, store journal.Store, run string) error {
	var entries []journal.Entry
	starts := []int{0} // of the process that began the run, and of those that resumed it
	for e, err := range journal.Whole(store.Read(ctx, run, 0)) {
		if err != nil {
			return err
		}
		if e.Kind == kindResume {
			starts = append(starts, len(entries))
		}
		entries = append(entries, e)
	}
	for i, from := range starts {
		to := len(entries)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		if err := replayPart(ctx, run, entries[:to], from, to < len(entries) || waits(entries)); err != nil {
			return err
		}
	}
	return nil
}

// replayPart plays what one process did: the entries from a place on. A process
// that was interrupted did everything that is on record, and perhaps more.
func replayPart(ctx context.Context, run string, entries []journal.Entry, from int, interrupted bool) error {
	l, r, err := replayLoop(entries, from)
	if err != nil {
		return err
	}
	l.run = run
	_, err = Last(func(yield func(llm.Event, error) bool) { l.walk(ctx, yield) })
	if err != nil && ctx.Err() != nil {
		return err
	}
	requests, calls := r.model.Left()
	d := r.model.Difference()
	if d == nil {
		d = r.different
	}
	switch {
	case interrupted && requests == 0:
		return nil
	case d != nil:
		return d
	case requests+calls > 0:
		return &journal.Difference{What: "the end of the run", Was: fmt.Sprintf("%d requests and %d calls more", requests, calls), Is: "over"}
	}
	return nil
}

// replayLoop builds the loop of the process that wrote the entries from a place
// on.
func replayLoop(entries []journal.Entry, from int) (*loop, *recorded, error) {
	played, err := played(entries)
	if err != nil {
		return nil, nil, err
	}
	model, err := journal.NewReplay(sequence(played))
	if err != nil {
		return nil, nil, err
	}
	r := &recorded{model: model, inside: make(map[int][]string), notes: make(map[int][]llm.Message), receipts: make(map[string]journal.Receipt), ids: make(map[int]string),
		costs: make(map[int]catalog.Money), reductions: make(map[place][]reduction), plans: make(map[int]*planEntry), found: make(map[int]foundEntry), halts: make(map[int]string), failures: make(map[string]int), lanes: make(map[string]laneSet), stops: make(map[int]string)}
	l := &loop{fell: new(fallen), falls: r.falls, wereRun: r.wereRun, watched: unwatched, runner: r, wasRead: len(entries) > 0 && entries[0].Format > 1, ids: llm.CallIDs{New: r.mint}, models: r.models, lanesOf: r.lanesOf, more: r.more, redacted: r.redacted}
	r.loop, l.prepare, l.discover, l.halt, l.wasSpent, l.redo, l.wasInside = l, r.prepare, r.discover, r.halt, r.spent, r.redo, r.replayInside
	before, err := recall(sequence(entries[:from]))
	if err != nil {
		return nil, nil, err
	}
	r.turn = before.turn
	r.costs[before.turn] = before.cost
	for _, e := range entries[from:] {
		if err := r.take(e, l); err != nil {
			return nil, nil, fmt.Errorf("agent: entry %d: %w", e.Seq, err)
		}
	}
	if l.Limits.MaxTurns == 0 {
		return nil, nil, errors.New("agent: the record has no run that an agent began")
	}
	template, err := l.template()
	if err != nil {
		return nil, nil, err
	}
	if r.asked {
		l.person = r.person
	}
	l.messages = slices.Clone(l.Messages)
	l.ready(template)
	if from > 0 {
		model.Skip(entries[from].Seq)
		l.takeUp(before)
		l.done.Usage = before.usage
	}
	return l, r, nil
}

// played returns a record without the calls that the provider ran: they are
// part of its answers.
func played(entries []journal.Entry) ([]journal.Entry, error) {
	var kept []journal.Entry
	for _, e := range entries {
		if e.Kind == journal.KindReceipt {
			var r journal.Receipt
			if err := e.Decode(&r); err != nil {
				return nil, err
			}
			if r.ExecutedBy == journal.ByProvider {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept, nil
}

func sequence(entries []journal.Entry) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// recorded plays tools and person from the record.
type recorded struct {
	model    *journal.Replay
	receipts map[string]journal.Receipt
	inside   map[int][]string // calls that were run in the answer of a turn
	choices  []Choice
	asked    bool                  // somebody was asked at checkpoints
	stops    map[int]string        // why the runtime stopped the run, by turn
	notes    map[int][]llm.Message // that came with Resume, by the turn before
	turn     int                   // while the record is read
	loop     *loop
	minted   []string
	ids      map[int]string        // of the models, by turn
	lanes    map[string]laneSet    // by model
	costs    map[int]catalog.Money // of the run after a turn
	requests int                   // while the record is read
	planned  bool                  // while the record is read: there is a plan since the last question
	// reductions are what was cut and left out before a question
	reductions map[place][]reduction
	plans      map[int]*planEntry // that hooks made, by turn
	found      map[int]foundEntry // by turn
	halts      map[int]string     // why hooks ended the run, by turn
	panicked   panicEntry
	panickedAt int // after so many questions
	failures   map[string]int
	different  *journal.Difference
}

func (r *recorded) take(e journal.Entry, l *loop) error {
	switch e.Kind {
	case kindBegin:
		defer func() { dropNulls(l.Caller) }()
		return e.Decode(&l.beginning)
	case kindResume:
		var again resumeEntry
		if err := e.Decode(&again); err != nil {
			return err
		}
		l.beginning = again.beginning()
	case kindTurn:
		var t turnEntry
		if err := e.Decode(&t); err != nil {
			return err
		}
		r.ids[t.Turn] = t.Model
		r.turn, r.costs[t.Turn] = t.Turn, t.Cost
		r.minted = append(r.minted, t.Minted...)
	case kindNote:
		var n noteEntry
		if err := e.Decode(&n); err != nil {
			return err
		}
		if n.Why == whyResumed {
			r.notes[r.turn] = append(r.notes[r.turn], n.Message)
		}
	case journal.KindRequest:
		r.requests++
		r.planned = false
	case kindPlan, kindStop, kindCost, kindCut, kindCompact, kindPanic, kindFound, kindInside:
		return r.takeHook(e)
	case kindLane:
		var set laneEntry
		if err := e.Decode(&set); err != nil {
			return err
		}
		r.lanes[set.Model] = set.Lanes
	case kindChoice:
		var c choiceEntry
		if err := e.Decode(&c); err != nil {
			return err
		}
		r.choices = append(r.choices, c.Choice)
		r.minted = append(r.minted, c.Minted...)
		if c.Cause == LoopStopped {
			r.stops[c.Turn] = c.Error.Message
		}
		r.asked = r.asked || c.Choice.By != byDefault
	case journal.KindReceipt, journal.KindRefusal:
		var rec journal.Receipt
		if err := e.Decode(&rec); err != nil {
			return err
		}
		r.receipts[rec.Call] = rec
	}
	return nil
}

// takeHook takes what a hook changed, and what calls cost.
func (r *recorded) takeHook(e journal.Entry) error {
	if e.Kind == kindCost {
		var c costEntry
		err := e.Decode(&c)
		r.costs[c.Turn] = c.Cost
		return err
	}
	if e.Kind == kindInside {
		var in insideEntry
		err := e.Decode(&in)
		r.inside[in.Turn] = append(r.inside[in.Turn], in.Call)
		return err
	}
	if e.Kind == kindStop {
		var s stopEntry
		err := e.Decode(&s)
		r.halts[s.Turn] = s.Why
		return err
	}
	if e.Kind == kindPanic {
		r.panickedAt = r.requests
		return e.Decode(&r.panicked)
	}
	if e.Kind == kindCut || e.Kind == kindCompact {
		return r.takeReduction(e)
	}
	if e.Kind == kindFound {
		var f foundEntry
		err := e.Decode(&f)
		dropNulls(f.Tools)
		r.found[f.Turn] = f
		return err
	}
	p := new(planEntry)
	if err := e.Decode(p); err != nil {
		return err
	}
	p.Request = present(p.Request)
	if p.Tools != nil {
		dropNulls(*p.Tools)
	}
	r.plans[p.Turn], r.planned = p, true
	if r.ids[p.Turn] == "" {
		r.ids[p.Turn] = p.Model
	}
	return nil
}

// place is where something was cut: after so many questions, and after or before the plan
// of a hook.
type place struct {
	requests int
	planned  bool
}

// takeReduction takes what was cut or left out.
func (r *recorded) takeReduction(e journal.Entry) error {
	at := place{r.requests, r.planned}
	if e.Kind == kindCut {
		c := new(cutEntry)
		r.reductions[at] = append(r.reductions[at], reduction{cut: c})
		return e.Decode(c)
	}
	c := new(compactEntry)
	r.reductions[at] = append(r.reductions[at], reduction{compact: c})
	if err := e.Decode(c); err != nil {
		return err
	}
	r.costs[c.Turn-1] = c.Cost
	return nil
}

// redo returns what was cut or left out next, before another question was asked.
func (r *recorded) redo(planned bool) (*reduction, error) {
	left, _ := r.model.Left()
	for _, at := range []place{{r.requests - left, false}, {r.requests - left, true}} {
		if list := r.reductions[at]; len(list) > 0 && (planned || !at.planned) {
			r.reductions[at] = list[1:]
			return &list[0], nil
		}
	}
	if r.requests-left != r.panickedAt {
		return nil, nil
	}
	return nil, r.panics(hookCompact)
}

// spent returns what the run had cost after a turn.
func (r *recorded) spent(turn int) catalog.Money { return r.costs[turn] }

// prepare returns the plan of a turn that is on record.
func (r *recorded) prepare(context.Context) (*planEntry, error) {
	return r.plans[r.loop.turnNo], r.panics(hookBefore)
}

// discover returns the tools that the model found before a turn.
func (r *recorded) discover(context.Context) (foundEntry, error) { return r.found[r.loop.turnNo], nil }

// halt returns why the run was ended after a turn.
func (r *recorded) halt(context.Context, bool) (string, error) {
	return r.halts[r.loop.turnNo], r.panics(hookAfter)
}

// panics returns the error of a hook that panicked in this turn, nil if it did not.
func (r *recorded) panics(hook string) error {
	if r.panicked.Hook != hook || r.panicked.Turn != r.loop.turnNo {
		return nil
	}
	return r.panicked.err()
}

// wereRun reports whether the record has the outcome of one of the calls.
func (r *recorded) wereRun(calls []llm.Call) bool {
	return slices.ContainsFunc(calls, func(c llm.Call) bool {
		_, ok := r.receipts[c.ID]
		return ok
	})
}

// falls panics as a hook did in this turn, when everything on record has been asked.
func (r *recorded) falls(hook string) {
	if left, _ := r.model.Left(); left == 0 && r.panics(hook) != nil {
		r.loop.fell.fall(r.panicked)
	}
}

func (r *recorded) models(turn int) (llm.Model, string) {
	r.falls(hookRoute)
	return r.model, r.ids[turn]
}

func (r *recorded) lanesOf(_ llm.Model, id string) (laneSet, error) {
	r.falls(hookPrice)
	r.falls(hookGroup)
	return r.lanes[id], nil
}

// more returns what came with Resume after a turn, once.
func (r *recorded) more(turn int) []llm.Message {
	notes := r.notes[turn]
	delete(r.notes, turn)
	return notes
}

// mint returns the ids that calls were given, in order.
func (r *recorded) mint() string {
	if len(r.minted) == 0 {
		r.falls(hookNewID)
		return ""
	}
	id := r.minted[0]
	r.minted = r.minted[1:]
	return id
}

func (r *recorded) person(_ context.Context, c Checkpoint) (Choice, error) {
	if len(r.choices) == 0 {
		d := &journal.Difference{What: fmt.Sprintf("checkpoint %d", c.N), Is: c.Error.Error()}
		r.different = d
		return Choice{}, d
	}
	choice := r.choices[0]
	r.choices = r.choices[1:]
	return choice, nil
}

// redacted reports whether a call was refused for the mark it holds: one that was
// run had the secret.
func (r *recorded) redacted(c llm.Call) bool {
	return journal.Marker(c.Args) != "" && r.receipts[c.ID].Status == journal.Refused
}

// Do gives the recorded outcomes of calls.
func (r *recorded) Do(ctx context.Context, calls []llm.Call) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for i, c := range calls {
			o, err := r.outcome(ctx, c)
			if err != nil {
				yield(nil, err)
				return
			}
			o.Index = i
			if !yield(o, nil) {
				return
			}
		}
		if why, ok := r.stops[r.loop.turnNo]; ok {
			yield(invoke.Stopped{Reason: why}, nil)
		}
	}
}

// Refuse gives the recorded outcome of a call that could not be read.
func (r *recorded) Refuse(ctx context.Context, c llm.InvalidCall) (invoke.Outcome, error) {
	return r.outcome(ctx, llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Raw), Provenance: c.Provenance})
}

func (r *recorded) outcome(ctx context.Context, c llm.Call) (invoke.Outcome, error) {
	rec, ok := r.receipts[c.ID]
	if ok && rec.Tool == c.Name {
		c.Args = rec.Args // as they were run: checked and given their types
	}
	result, err := r.model.Call(ctx, c)
	if err != nil {
		return invoke.Outcome{}, err
	}
	if rec.Error != nil {
		r.failures[c.Name]++
	} else {
		delete(r.failures, c.Name)
	}
	return outcome(c, result, rec, r.failures[c.Name]), nil
}
