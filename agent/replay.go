package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

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
	for e, err := range store.Read(ctx, run, 0) {
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	l, r, err := replayLoop(entries)
	if err != nil {
		return err
	}
	l.run = run
	_, err = last(func(yield func(llm.Event, error) bool) { l.walk(ctx, yield) })
	if d := r.model.Difference(); d != nil {
		return d
	}
	if d := r.different; d != nil {
		return d
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	if requests, calls := r.model.Left(); requests > r.void || calls > 0 {
		return &journal.Difference{What: "the end of the run", Was: fmt.Sprintf("%d requests and %d calls more", requests-r.void, calls), Is: "over"}
	}
	return nil
}

// replayLoop builds the loop of a record.
func replayLoop(entries []journal.Entry) (*loop, *recorded, error) {
	kept, void, err := uninterrupted(entries)
	if err != nil {
		return nil, nil, err
	}
	model, err := journal.NewReplay(sequence(kept))
	if err != nil {
		return nil, nil, err
	}
	r := &recorded{model: model, void: void, notes: make(map[int][]llm.Message), receipts: make(map[string]journal.Receipt), failures: make(map[string]int), lanes: make(map[string]laneSet), stops: make(map[int]string)}
	l := &loop{hands: r}
	r.loop = l
	for _, e := range entries {
		if err := r.take(e, l); err != nil {
			return nil, nil, fmt.Errorf("agent: entry %d: %w", e.Seq, err)
		}
	}
	if len(l.Messages) == 0 && l.Limits.MaxTurns == 0 {
		return nil, nil, errors.New("agent: the record has no run that an agent began")
	}
	l.messages = slices.Clone(l.Messages)
	template, err := l.template()
	if err != nil {
		return nil, nil, err
	}
	l.models = func(turn int) (llm.Model, string) { return model, r.ids[turn] }
	l.lanesOf = func(id string) (laneSet, error) { return r.lanes[id], nil }
	l.mint = r.mint
	l.more = func(turn int) []llm.Message {
		more := r.notes[turn]
		delete(r.notes, turn)
		return more
	}
	if r.asked {
		l.person = r.person
	}
	l.ready(template)
	return l, r, nil
}

// uninterrupted returns a record as if the questions that an interruption left
// without a whole answer had been answered when they were asked again. It also
// returns how many were never asked again.
func uninterrupted(entries []journal.Entry) (kept []journal.Entry, void int, err error) {
	answers := make(map[int64]journal.Answer) // whole ones, by request
	for _, e := range entries {
		if e.Kind != journal.KindAnswer {
			continue
		}
		var a journal.Answer
		if err := e.Decode(&a); err != nil {
			return nil, 0, err
		}
		if a.Error == nil || a.Error.Kind != llm.Canceled {
			answers[a.Request] = a
		}
	}
	open := make(map[journal.Hash]int64) // requests without an answer, by what they ask
	moved := make(map[int64]int64)
	for _, e := range entries {
		switch e.Kind {
		case journal.KindReceipt: // what the provider ran is part of its answer
			var r journal.Receipt
			if err := e.Decode(&r); err != nil {
				return nil, 0, err
			}
			if r.ExecutedBy == journal.ByProvider {
				continue
			}
		case journal.KindRequest:
			var req journal.Request
			if err := e.Decode(&req); err != nil {
				return nil, 0, err
			}
			_, whole := answers[e.Seq]
			if first, again := open[req.Hash]; again {
				moved[e.Seq] = first
				if whole {
					delete(open, req.Hash)
				}
				continue
			}
			if !whole {
				open[req.Hash] = e.Seq
			}
		case journal.KindAnswer:
			var a journal.Answer
			if err := e.Decode(&a); err != nil {
				return nil, 0, err
			}
			if _, whole := answers[a.Request]; !whole {
				continue
			}
			if first, ok := moved[a.Request]; ok {
				a.Request = first
				if e.Body, err = json.Marshal(a); err != nil {
					return nil, 0, err
				}
			}
		}
		kept = append(kept, e)
	}
	return kept, len(open), nil
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
	model     *journal.Replay
	receipts  map[string]journal.Receipt
	choices   []Choice
	asked     bool                  // somebody was asked at checkpoints
	stops     map[int]string        // why the runtime stopped the run, by turn
	notes     map[int][]llm.Message // that came with Resume, by the turn before
	void      int                   // requests that an interruption left without an answer
	turn      int                   // while the record is read
	loop      *loop
	minted    []string
	ids       map[int]string     // of the models, by turn
	lanes     map[string]laneSet // by model
	failures  map[string]int
	different *journal.Difference
}

func (r *recorded) take(e journal.Entry, l *loop) error {
	switch e.Kind {
	case KindBegin:
		defer func() { clean(l.Caller) }()
		return e.Decode(&l.beginning)
	case KindTurn:
		var t turnEntry
		if err := e.Decode(&t); err != nil {
			return err
		}
		if r.ids == nil {
			r.ids = make(map[int]string)
		}
		r.ids[t.Turn] = t.Model
		r.turn = t.Turn
		r.minted = append(r.minted, t.Minted...)
	case KindNote:
		var n noteEntry
		if err := e.Decode(&n); err != nil {
			return err
		}
		if n.Why == whyResumed {
			r.notes[r.turn] = append(r.notes[r.turn], n.Message)
		}
	case KindLane:
		var set laneEntry
		if err := e.Decode(&set); err != nil {
			return err
		}
		r.lanes[set.Model] = set.Lanes
	case KindChoice:
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

// mint returns the ids that calls were given, in order.
func (r *recorded) mint() string {
	if len(r.minted) == 0 {
		return "call_" + strconv.Itoa(len(r.receipts)+1)
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
