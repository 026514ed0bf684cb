// Package relay checks an answer whose bytes are passed to a client unchanged: the
// stages of the answer run next to it.
package relay

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/equal"
	"github.com/toolpost/toolpost/wire/format"
)

// Comparison runs the stages of an answer while its bytes are relayed. It hands them
// one event after the other, and compares what they return with the event. While
// both are equal, the vendor's bytes may pass.
type Comparison struct {
	// Replaced reports that the stages returned something else, so the rest of the
	// answer is a translation.
	Replaced bool

	answer  emulate.Answer
	oneCall bool // the request asks for one call
	skip    bool // text passes the stages unchanged

	begun  bool            // the stages were started
	taker  emulate.Taker   // the stages, if they can be handed events
	native map[string]bool // ids of calls that the vendor delivered
	next   llm.Event       // for stages that ask for events
	wake   func() (struct{}, bool)
	end    func()
	done   bool // the stages have ended

	out  []llm.Event  // returned by the stages for the last event
	room [2]llm.Event // space for out, which is nearly always enough
	err  error        // with which the stages ended

	due    dueEvents          // handed to the stages for the first answer, and not returned yet
	others map[int]*dueEvents // the same for the other answers, by index
	said   []llm.Event        // returned since something is due

	calls      map[int]int  // delivered calls, by the index of the answer, if one was asked for
	unreadable map[int]bool // answers with a call that cannot be read, by index
}

// New returns the comparison for an answer. The request is the caller's request, and
// sent is the request as the vendor got it. The stages start when they are needed.
func New(answer emulate.Answer, request, sent *llm.Request) *Comparison {
	c := &Comparison{answer: answer, oneCall: request.OneCall, skip: textPasses(request, sent)}
	c.out = c.room[:0]
	return c
}

// textPasses reports whether the stages leave all text unchanged and do not need it
// for later decisions: no tools are offered, no call is demanded, and the answer has
// no required form.
func textPasses(request, sent *llm.Request) bool {
	return len(sent.Tools) == 0 && len(request.Tools) == 0 && request.Output == nil && request.Choice.Mode != llm.MustCall
}

// needless reports whether the stages can skip an event: they have not started, and
// would return it unchanged.
func (c *Comparison) needless(ev llm.Event) bool {
	if c.begun || !c.skip {
		return false
	}
	switch ev := ev.(type) {
	case llm.Start, llm.ThinkingDelta, llm.KeepAlive:
		return true
	case llm.TextDelta:
		return ev.Part == nil
	}
	return false
}

// start starts the stages. A pipeline with a Reader runs in a coroutine and not in a
// goroutine, because handing an event to another thread costs more than reading it.
func (c *Comparison) start() {
	c.begun = true
	c.answer.Caller = append(slices.Clip(c.answer.Caller), emulate.WholeCallsStage(c.isNative))
	pipeline := c.answer.Pipeline()
	if taker, ok := pipeline.Push(c.hears); ok {
		c.taker = taker
		return
	}
	c.wake, c.end = iter.Pull(func(idle func(struct{}) bool) {
		for ev, err := range pipeline.Read(c.source(idle)) {
			if !c.hears(ev, err) {
				return
			}
		}
	})
	c.resume()
}

// hears takes an event that the stages return.
func (c *Comparison) hears(ev llm.Event, err error) bool {
	if err != nil {
		c.err = err
		return false
	}
	c.out = append(c.out, ev)
	return true
}

// hand hands an event to the stages.
func (c *Comparison) hand(ev llm.Event) {
	if !c.taker.Take(ev, nil) {
		c.done = true
		return
	}
	if _, last := ev.(llm.Finish); last { // the stages return the events that they held
		c.done = true
		c.taker.End()
	}
}

// resume runs the stages until they wait for an event.
func (c *Comparison) resume() {
	_, waiting := c.wake()
	c.done = !waiting
}

// source is the input of the stages: one event each time they are woken.
func (c *Comparison) source(idle func(struct{}) bool) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for idle(struct{}{}) {
			ev := c.next
			if !yield(ev, nil) {
				return
			}
			if _, last := ev.(llm.Finish); last {
				return // the stages return the events that they held
			}
		}
	}
}

// push hands an event to the stages and returns the events that they return.
func (c *Comparison) push(ev llm.Event) []llm.Event {
	if !c.begun {
		c.start()
	}
	if c.done {
		return nil
	}
	clear(c.out)
	c.note(ev)
	if c.out = c.out[:0]; c.taker != nil {
		c.hand(ev)
		return c.out
	}
	c.next = ev
	c.resume()
	return c.out
}

// Stop ends the stages.
func (c *Comparison) Stop() {
	if c.taker != nil {
		c.taker.Stop()
	}
	if c.end != nil {
		c.end()
	}
}

// errStopped ends an answer that the caller no longer wants.
var errStopped = &llm.Error{Op: "relay", Kind: llm.Canceled, Err: errors.New("the caller stopped reading")}

// Decide returns the decision about an event of a stream, from the result of Show.
func (c *Comparison) Decide(instead []llm.Event, err *llm.Error) format.RelayDecision {
	switch {
	case err != nil:
		return format.GiveUp(err)
	case c.Replaced:
		return format.Replace(slices.Clone(instead)...)
	case c.Pending():
		return format.Hold
	}
	return format.Pass
}

// Pending reports whether the stages still hold an event of any answer.
func (c *Comparison) Pending() bool {
	for _, due := range c.others {
		if len(*due) > 0 {
			return true
		}
	}
	return len(c.due) > 0
}

// dueOf returns the due events of an answer.
func (c *Comparison) dueOf(index int) *dueEvents {
	if index == 0 {
		return &c.due
	}
	due := c.others[index]
	if due == nil {
		if due = new(dueEvents); c.others == nil {
			c.others = make(map[int]*dueEvents)
		}
		c.others[index] = due
	}
	return due
}

// Show hands an event to the stages. The events that they return go to yield. If they
// differ from the event, they are also returned, and so is everything after them.
func (c *Comparison) Show(ev llm.Event, yield func(llm.Event, error) bool) (instead []llm.Event, err *llm.Error) {
	if c.needless(ev) {
		if !yield(ev, nil) {
			return nil, errStopped
		}
		return nil, nil
	}
	if w := c.tooMany(ev); w != nil && !yield(*w, nil) {
		return nil, errStopped
	}
	out := c.push(ev)
	for _, said := range out {
		if !yield(said, nil) {
			return nil, errStopped
		}
	}
	switch broken := c.broken(ev); {
	case broken != nil:
		return nil, broken
	case c.err != nil:
		return nil, asFailure(c.err)
	case c.Replaced:
		return out, nil
	case !c.Pending() && len(out) == 1 && equal.Events(ev, out[0]): // nearly always
		return nil, nil
	}
	return c.compare(ev, out), nil
}

// compare compares the events that the stages returned with the due events. If they
// differ, it returns everything since the first due event.
func (c *Comparison) compare(ev llm.Event, out []llm.Event) (instead []llm.Event) {
	index, ev := AnswerOf(ev)
	due := c.dueOf(index)
	*due, c.said = appendPieces(*due, ev), append(c.said, out...)
	if !c.settle(due, out) {
		c.Replaced = true
		return c.said
	}
	if !c.Pending() {
		c.said = nil
	}
	return nil
}

// tooMany returns a warning for every call after the first if one was asked for.
func (c *Comparison) tooMany(ev llm.Event) *llm.Warning {
	if !c.oneCall {
		return nil
	}
	index, ev := AnswerOf(ev)
	call, is := ev.(llm.Call)
	if !is || call.Hosted {
		return nil
	}
	if c.calls == nil {
		c.calls = make(map[int]int)
	}
	if c.calls[index]++; c.calls[index] == 1 {
		return nil
	}
	return &llm.Warning{Code: llm.Degraded, Feature: "one_call", Detail: fmt.Sprintf("the model made another call, of %s, although one was asked for", call.Name)}
}

// AnswerOf returns the index of the answer that an event belongs to, and the event.
func AnswerOf(ev llm.Event) (index int, inner llm.Event) {
	if other, is := ev.(llm.Alternative); is {
		return other.Index, other.Event
	}
	return 0, ev
}

// asFailure returns the error with which the stages ended.
func asFailure(err error) *llm.Error {
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	return &llm.Error{Op: "relay", Kind: llm.KindOf(err), Err: err}
}

// broken returns an error if an answer ends normally although a call in it cannot be
// read: a client would take the call for complete.
func (c *Comparison) broken(ev llm.Event) *llm.Error {
	index, ev := AnswerOf(ev)
	switch ev := ev.(type) {
	case llm.InvalidCall:
		if ev.Reason == llm.CutOff || ev.Reason == llm.BadArguments || ev.Reason == llm.UnknownTool && ev.Name == "" {
			if c.unreadable == nil {
				c.unreadable = make(map[int]bool)
			}
			c.unreadable[index] = true
		}
	case llm.Finish:
		if c.unreadable[index] && (ev.Reason == llm.Stop || ev.Reason == llm.ToolCalls) {
			return &llm.Error{Op: "relay", Kind: llm.Malformed, Err: errors.New("a call in the answer was cut off, or cannot be read")}
		}
	}
	return nil
}

// appendPieces appends a due event. The stages return the properties of a text as
// separate events after the text, so they are due separately.
func appendPieces(due []llm.Event, ev llm.Event) []llm.Event {
	text, ok := ev.(llm.TextDelta)
	if !ok || text.Part == nil || text.Part.Refusal || len(text.Part.Citations) > 0 {
		return append(due, ev)
	}
	about := text.Part
	if text.Text != "" {
		due = append(due, llm.TextDelta{Text: text.Text})
	}
	if about.LogProbs != nil {
		due = append(due, llm.TextDelta{Part: &llm.Text{LogProbs: about.LogProbs}})
	}
	if !about.State.IsZero() || len(about.Extra) > 0 {
		due = append(due, llm.TextDelta{Part: &llm.Text{State: about.State, Extra: about.Extra}})
	}
	return due
}

// EqualAnswers reports whether two lists of events are equal answers. Texts, their
// properties and all other events are compared separately, because log probabilities
// may come before the end of their text.
func EqualAnswers(shown, said []llm.Event) bool {
	return maps.EqualFunc(sorted(shown), sorted(said), func(a, b *sortedEvents) bool {
		return a.text.String() == b.text.String() && slices.EqualFunc(a.about, b.about, equal.Events) && slices.EqualFunc(a.rest, b.rest, equal.Events)
	})
}

// sortedEvents are the events of an answer by kind.
type sortedEvents struct {
	text        strings.Builder
	about, rest []llm.Event // properties of texts, and all other events
}

// sorted returns the events of each answer, by its index.
func sorted(events []llm.Event) map[int]*sortedEvents {
	all := make(map[int]*sortedEvents)
	for _, ev := range events {
		index, ev := AnswerOf(ev)
		if aside(ev) {
			continue
		}
		out := all[index]
		if out == nil {
			out = new(sortedEvents)
			all[index] = out
		}
		for _, piece := range appendPieces(nil, ev) {
			switch t, is := piece.(llm.TextDelta); {
			case !is:
				out.rest = append(out.rest, piece)
			case t.Part == nil:
				out.text.WriteString(t.Text)
			default:
				out.about = append(out.about, piece)
			}
		}
	}
	return all
}

// settle removes returned events from the due events of each answer, and reports
// whether they match. Events that are not part of an answer are skipped.
func (c *Comparison) settle(due *dueEvents, said []llm.Event) bool {
	for _, ev := range said {
		if index, ev := AnswerOf(ev); !aside(ev) && !c.dueOf(index).settle(ev) {
			return false
		}
	}
	due.skip()
	return true
}

// dueEvents are the events of one answer that the stages were handed and have not
// returned.
type dueEvents []llm.Event

// settle removes an event from the due events, and reports whether it matches. Texts
// are compared joined, because stages may split them differently.
func (d *dueEvents) settle(ev llm.Event) bool {
	if text, ok := ev.(llm.TextDelta); ok && text.Part == nil {
		if !d.settleText(text.Text) {
			return false
		}
	} else {
		d.skip()
		if len(*d) == 0 || !equal.Events((*d)[0], ev) {
			return false
		}
		*d = (*d)[1:]
	}
	d.skip()
	return true
}

// settleText removes text from the due events.
func (d *dueEvents) settleText(text string) bool {
	for text != "" {
		d.skip()
		if len(*d) == 0 {
			return false
		}
		next, ok := (*d)[0].(llm.TextDelta)
		if !ok || next.Part != nil {
			return false
		}
		n := min(len(text), len(next.Text))
		if text[:n] != next.Text[:n] {
			return false
		}
		text, (*d)[0] = text[n:], llm.TextDelta{Text: next.Text[n:]}
	}
	return true
}

// skip drops the first due events that the stages need not return.
func (d *dueEvents) skip() {
	for len(*d) > 0 {
		text, ok := (*d)[0].(llm.TextDelta)
		if !aside((*d)[0]) && !(ok && text == llm.TextDelta{}) {
			return
		}
		*d = (*d)[1:]
	}
}

// aside reports whether an event is not part of the answer.
func aside(ev llm.Event) bool {
	switch ev.(type) {
	case llm.Warning, llm.TextRead, llm.KeepAlive:
		return true
	}
	return false
}

// note remembers the id of a call that the vendor delivers.
func (c *Comparison) note(ev llm.Event) {
	var id string
	_, ev = AnswerOf(ev)
	switch ev := ev.(type) {
	case llm.CallStart:
		id = ev.ID
	case llm.Call:
		id = ev.ID
	case llm.InvalidCall:
		id = ev.ID
	default:
		return
	}
	if c.native == nil {
		c.native = make(map[string]bool)
	}
	c.native[id] = true
}

// isNative reports whether the vendor delivered the call with that id.
func (c *Comparison) isNative(id string) bool { return c.native[id] }
