package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/stripped"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// Replay runs the loop of a recorded run again. It asks no model and runs no tool: their
// answers, and the choices at checkpoints, come from the record. It returns nil if the run
// takes the same steps, a *[journal.Difference] that names the first other step, or another
// error if the record cannot be replayed.
func Replay(ctx context.Context, store journal.Store, run string) error {
	var entries []journal.Entry
	starts := []int{0} // of the process that began the run, and of each resume
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
		if err := replayProcess(ctx, run, entries[:to], from, to < len(entries) || waits(entries)); err != nil {
			return err
		}
	}
	return nil
}

// replayProcess replays the part of one process: the entries starting at from. An
// interrupted process may have done more than the record shows.
func replayProcess(ctx context.Context, run string, entries []journal.Entry, from int, interrupted bool) error {
	l, r, err := replayLoop(run, entries, from)
	if err != nil {
		return err
	}
	if observe.From(ctx) != nil {
		ctx = observe.With(ctx, nil)
	}
	_, err = Last(func(yield func(llm.Event, error) bool) { l.walk(ctx, yield) })
	if err != nil && ctx.Err() != nil {
		return err
	}
	requests, calls := r.answers.Left()
	d := r.answers.Difference()
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

// replayLoop builds the loop of the process that wrote the entries starting at from.
func replayLoop(run string, entries []journal.Entry, from int) (*loop, *replay, error) {
	entries, err := withoutHosted(entries)
	if err != nil {
		return nil, nil, err
	}
	answers, err := journal.NewReplay(sequence(entries))
	if err != nil {
		return nil, nil, err
	}
	r := &replay{answers: answers, panics: new(hookPanics), textRead: len(entries) > 0 && entries[0].Format > 1,
		receipts: make(map[string]journal.Receipt), failures: make(map[string]int), turns: make(map[int]*recordedTurn),
		tools: make(map[string]offeredTools), reductions: make(map[place][]reduction)}
	before, err := readRun(sequence(entries[:min(from, len(entries))]))
	if err != nil {
		return nil, nil, err
	}
	r.reading.turn = before.turn
	r.at(before.turn).cost = before.cost
	for _, e := range entries[min(from, len(entries)):] {
		if err := r.read(e); err != nil {
			return nil, nil, fmt.Errorf("agent: entry %d: %w", e.Seq, err)
		}
	}
	if r.begin.Limits.MaxTurns == 0 {
		return nil, nil, errors.New("agent: the record has no run that an agent began")
	}
	template, err := r.begin.template()
	if err != nil {
		return nil, nil, err
	}
	l := &loop{
		settings:   settings{beginning: r.begin, id: run, plans: true, asks: r.asked, panics: r.panics},
		transcript: transcript{spending: &spending{run: run}, messages: slices.Clone(r.begin.Messages)},
		effects:    r,
	}
	l.ids.New = func() string { return r.newID(l.turn.n) }
	l.spending.price = func(llm.Model, string, llm.Usage) (catalog.Money, bool) {
		r.raise(hookCost, l.turn.n)
		return 0, true // the record has the cost of each turn
	}
	r.usage = &l.spending.usage
	l.prepare(template, l.Lanes)
	if from > 0 {
		answers.Skip(entries[from].Seq)
		l.restore(before)
		l.spending.usage = before.usage
	}
	return l, r, nil
}

// withoutHosted returns a record without the receipts of calls that the provider ran: its
// answers contain them.
func withoutHosted(entries []journal.Entry) ([]journal.Entry, error) {
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

// replay returns the effects that the record of one process holds.
type replay struct {
	begin    beginning
	answers  *journal.Replay
	textRead bool // calls in the text of recorded answers have been read: format 2 and later
	panics   *hookPanics
	usage    *llm.Usage // of the loop

	turns      map[int]*recordedTurn
	receipts   map[string]journal.Receipt
	failures   map[string]int // consecutive failures of a tool
	tools      map[string]offeredTools
	reductions map[place][]reduction
	choices    []Choice
	asked      bool // a person answered a checkpoint
	minted     []string
	input      []*guardEntry // about the messages of this process
	panicked   panicEntry
	panickedAt int // after so many requests
	different  *journal.Difference
	// reading is the position while the record is read.
	reading struct {
		place
		turn int
	}
}

// recordedTurn is the decisions of one turn.
type recordedTurn struct {
	model    string
	cost     catalog.Money // of the run after the turn
	plan     *planEntry
	found    foundEntry
	halt     string        // why a hook ended the run
	stop     *string       // why the runtime stopped the run
	inAnswer []string      // calls that ran while the model answered
	added    []llm.Message // by a resume after the turn
	guarded  []*guardEntry // about the answers of the turn
	refused  map[journal.Hash]*checkEntry
}

// place is the position of a reduction: the number of requests before it, and whether a
// plan follows the last of them.
type place struct {
	requests int
	planned  bool
}

// at returns the decisions of a turn.
func (r *replay) at(turn int) *recordedTurn {
	t := r.turns[turn]
	if t == nil {
		t = new(recordedTurn)
		r.turns[turn] = t
	}
	return t
}

// decode returns the body of an entry.
func decode[T any](e journal.Entry) (v T, err error) {
	err = e.Decode(&v)
	return v, err
}

// read adds an entry of the process.
func (r *replay) read(e journal.Entry) (err error) {
	switch e.Kind {
	case kindBegin:
		r.begin, err = decode[beginning](e)
		dropNulls(r.begin.Caller)
	case kindResume:
		var again resumeEntry
		again, err = decode[resumeEntry](e)
		r.begin = again.beginning()
	case kindTurn:
		var t turnEntry
		t, err = decode[turnEntry](e)
		r.reading.turn = t.Turn
		r.at(t.Turn).model, r.at(t.Turn).cost = t.Model, t.Cost
		r.minted = append(r.minted, t.Minted...)
	case kindNote:
		var n noteEntry
		if n, err = decode[noteEntry](e); n.Why == whyResumed {
			t := r.at(r.reading.turn)
			t.added = append(t.added, n.Message)
		}
	case journal.KindRequest:
		r.reading.requests++
		r.reading.planned = false
	case kindLane:
		var set laneEntry
		set, err = decode[laneEntry](e)
		r.tools[set.Model] = set.Lanes
	case kindChoice:
		var c choiceEntry
		c, err = decode[choiceEntry](e)
		r.choices = append(r.choices, c.Choice)
		r.minted = append(r.minted, c.Minted...)
		if c.Cause == LoopStopped && err == nil {
			r.at(c.Turn).stop = &c.Error.Message
		}
		r.asked = r.asked || c.Choice.By != byDefault
	case journal.KindReceipt, journal.KindRefusal:
		var rec journal.Receipt
		rec, err = decode[journal.Receipt](e)
		r.receipts[rec.Call] = rec
	default:
		return r.readHook(e)
	}
	return err
}

// readHook adds an entry about a hook, a cost or a shorter conversation.
func (r *replay) readHook(e journal.Entry) (err error) {
	switch e.Kind {
	case kindCost:
		var c costEntry
		c, err = decode[costEntry](e)
		r.at(c.Turn).cost = c.Cost
	case kindInside:
		var in insideEntry
		in, err = decode[insideEntry](e)
		r.at(in.Turn).inAnswer = append(r.at(in.Turn).inAnswer, in.Call)
	case kindStop:
		var s stopEntry
		s, err = decode[stopEntry](e)
		r.at(s.Turn).halt = s.Why
	case kindGuard:
		var g guardEntry
		g, err = decode[guardEntry](e)
		if t := r.at(g.Turn); g.Output {
			t.guarded = append(t.guarded, &g)
		} else {
			r.input = append(r.input, &g)
		}
	case kindCheck:
		var c checkEntry
		c, err = decode[checkEntry](e)
		t := r.at(c.Turn)
		if t.refused == nil {
			t.refused = make(map[journal.Hash]*checkEntry)
		}
		t.refused[c.Value] = &c
	case kindPanic:
		r.panickedAt = r.reading.requests
		r.panicked, err = decode[panicEntry](e)
	case kindCut:
		var c compaction.Cut
		c, err = decode[compaction.Cut](e)
		r.reductions[r.reading.place] = append(r.reductions[r.reading.place], reduction{cut: &c})
	case kindCompact:
		var c compactEntry
		c, err = decode[compactEntry](e)
		r.reductions[r.reading.place] = append(r.reductions[r.reading.place], reduction{compact: &c})
		r.at(c.Turn - 1).cost = c.Cost
	case kindFound:
		var f foundEntry
		f, err = decode[foundEntry](e)
		dropNulls(f.Tools)
		r.at(f.Turn).found = f
	case kindPlan:
		var p planEntry
		p, err = decode[planEntry](e)
		p.Request = present(p.Request)
		if p.Tools != nil {
			dropNulls(*p.Tools)
		}
		t := r.at(p.Turn)
		t.plan, r.reading.planned = &p, true
		if t.model == "" {
			t.model = p.Model
		}
	}
	return err
}

func (r *replay) model(turn int) (llm.Model, string) {
	r.raise(hookRoute, turn)
	r.raise(hookCost, turn)
	return r.answers, r.at(turn).model
}

func (r *replay) ask(m llm.Model, ids func() llm.CallIDs) llm.Model {
	if r.textRead {
		return m
	}
	return emulate.ReadCalls(m, ids)
}

// run gives the recorded outcomes of calls.
func (r *replay) run(ctx context.Context, at callSite, calls []llm.Call) iter.Seq2[llm.Event, error] {
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
		if why := r.at(at.turn).stop; why != nil {
			yield(invoke.Stopped{Reason: *why}, nil)
		}
	}
}

// refuse gives the recorded outcome of a call that could not be run.
func (r *replay) refuse(ctx context.Context, _ callSite, c llm.InvalidCall) (invoke.Outcome, error) {
	return r.outcome(ctx, llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Raw), Provenance: c.Provenance})
}

func (r *replay) outcome(ctx context.Context, c llm.Call) (invoke.Outcome, error) {
	rec, ok := r.receipts[c.ID]
	if ok && rec.Tool == c.Name {
		c.Args = rec.Args // with the types of the schema
	}
	result, err := r.answers.Call(ctx, c)
	if err != nil {
		return invoke.Outcome{}, err
	}
	if rec.Error != nil {
		r.failures[c.Name]++
	} else {
		delete(r.failures, c.Name)
	}
	return outcomeOf(c, result, rec, r.failures[c.Name]), nil
}

// decide returns the recorded result of a decision.
func (r *replay) decide(ctx context.Context, d decision, _ func() (any, error)) (any, error) {
	switch d.kind {
	case kindPlan:
		return r.at(d.turn).plan, r.hookPanic(hookBefore, d.turn)
	case kindStop:
		return r.at(d.turn).halt, r.hookPanic(hookAfter, d.turn)
	case kindFound:
		return r.at(d.turn).found, nil
	case kindLane:
		r.raise(hookPrice, d.turn)
		r.raise(hookGroup, d.turn)
		return r.tools[d.model], nil
	case kindCut:
		return r.reduction(d)
	case kindChoice:
		return r.choice(d.point)
	case kindNote:
		t := r.at(d.turn)
		added := t.added
		t.added = nil
		return added, nil
	case kindInside:
		return r.callsInAnswer(ctx, d.turn)
	case kindCost:
		return r.at(d.turn).cost, nil
	case kindGuard:
		list := &r.input
		if d.output {
			list = &r.at(d.turn).guarded
		}
		if len(*list) == 0 {
			return (*guardEntry)(nil), nil
		}
		g := (*list)[0]
		*list = (*list)[1:]
		return g, nil
	case kindCheck:
		return r.at(d.turn).refused[d.value], r.hookPanic(hookCheck, d.turn)
	case journal.KindRefusal: // a call that ran had the secret
		c := d.calls[0]
		return stripped.Mark(c.Args) != "" && r.receipts[c.ID].Status == journal.Refused, nil
	case journal.KindReceipt:
		return slices.ContainsFunc(d.calls, func(c llm.Call) bool {
			_, ok := r.receipts[c.ID]
			return ok
		}), nil
	}
	return nil, fmt.Errorf("agent: a replay has no decision %s", d.kind)
}

// reduction returns the next reduction before the next request.
func (r *replay) reduction(d decision) (*reduction, error) {
	left, _ := r.answers.Left()
	asked := r.reading.requests - left
	for _, at := range []place{{asked, false}, {asked, true}} {
		if list := r.reductions[at]; len(list) > 0 && (d.planned || !at.planned) {
			r.reductions[at] = list[1:]
			if c := list[0].compact; c != nil {
				*r.usage = r.usage.Add(c.Used)
			}
			return &list[0], nil
		}
	}
	if asked != r.panickedAt {
		return nil, nil
	}
	return nil, r.hookPanic(hookCompact, d.turn)
}

func (r *replay) choice(c Checkpoint) (Choice, error) {
	if len(r.choices) == 0 {
		r.different = &journal.Difference{What: fmt.Sprintf("checkpoint %d", c.N), Is: c.Error.Error()}
		return Choice{}, r.different
	}
	choice := r.choices[0]
	r.choices = r.choices[1:]
	return choice, nil
}

// callsInAnswer replays the calls that ran while the model gave the answer of a turn.
func (r *replay) callsInAnswer(ctx context.Context, turn int) ([]string, error) {
	ids := r.at(turn).inAnswer
	for _, id := range ids {
		rec := r.receipts[id]
		if rec.Call == "" {
			continue // the process ended during the call
		}
		if _, err := r.outcome(ctx, llm.Call{ID: id, Name: rec.Tool, Args: rec.Args}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// hookPanic returns the error of a hook that panicked in a turn, nil if it did not.
func (r *replay) hookPanic(hook string, turn int) error {
	if r.panicked.Hook != hook || r.panicked.Turn != turn {
		return nil
	}
	return r.panicked.err()
}

// raise panics if a hook did in this turn, after all requests on record.
func (r *replay) raise(hook string, turn int) {
	if left, _ := r.answers.Left(); left == 0 && r.hookPanic(hook, turn) != nil {
		r.panics.raise(r.panicked)
	}
}

// newID returns the ids that calls were given, in order.
func (r *replay) newID(turn int) string {
	if len(r.minted) == 0 {
		r.raise(hookNewID, turn)
		return ""
	}
	id := r.minted[0]
	r.minted = r.minted[1:]
	return id
}

// waits reports whether the last thing on record is that the run waits.
func waits(entries []journal.Entry) bool {
	p, err := readRun(sequence(entries))
	if err != nil {
		return false
	}
	open, err := p.waiting()
	return err == nil && len(open) > 0 && entries[len(entries)-1].Kind != journal.KindSeal
}
