package provider

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// lockstep runs the readers of an answer beside its relay: it gives them one event after the
// other and sees what they make of each. As long as they say the same, the vendor's bytes may
// pass.
type lockstep struct {
	job    *job
	begun  bool          // the readers were started
	taker  emulate.Taker // the readers, if each can be handed its events
	native delivered     // with them
	next   llm.Event     // what readers that ask get when they go on
	wake   func() (struct{}, bool)
	end    func()
	done   bool // the readers are through

	out  []llm.Event  // what the readers said about the last event, until they get the next
	room [2]llm.Event // for it, nearly always
	err  error        // with which they ended

	due    dueEvents          // what they were given of the first answer and have not said
	others map[int]*dueEvents // and of the answers after it, by index
	said   []llm.Event        // what they said since something is due
	over   bool               // they said something else: the answer is a translation

	textPasses bool         // see there
	calls      map[int]int  // that the vendor delivered where one was asked for, by the index of the answer
	unreadable map[int]bool // answers in which the vendor delivered a call that cannot be read, by index
}

// newLockstep returns the readers of a job, which are started when they are needed.
func newLockstep(j *job) *lockstep {
	l := &lockstep{job: j, textPasses: j.textPasses()}
	l.out = l.room[:0]
	return l
}

// textPasses reports whether the readers leave all text as it is, and need not see it to judge what
// follows: where no tool is offered, no call is wanted, and the answer has no form.
func (j *job) textPasses() bool {
	return len(j.req.Tools) == 0 && len(j.asked.Tools) == 0 && j.asked.Output == nil && j.asked.Choice.Mode != llm.MustCall
}

// needless reports whether an event need not be shown to the readers: they have not begun, and would
// say the same.
func (l *lockstep) needless(ev llm.Event) bool {
	if l.begun || !l.textPasses {
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

// start starts the readers. Those that ask for their events are a coroutine, not a goroutine: to hand an
// event to another thread costs more than to read it. What they read from is asked in the coroutine itself.
func (l *lockstep) start() {
	l.begun = true
	if !l.job.asks {
		l.taker = emulate.Chain(append(l.job.stages(), emulate.WholeCallsStage(l.native.has))...)(l.hears)
		return
	}
	l.wake, l.end = iter.Pull(func(idle func(struct{}) bool) {
		for ev, err := range l.job.readWhole(l.source(idle)) {
			if !l.hears(ev, err) {
				return
			}
		}
	})
	l.goOn()
}

// hears takes what the readers say.
func (l *lockstep) hears(ev llm.Event, err error) bool {
	if err != nil {
		l.err = err
		return false
	}
	l.out = append(l.out, ev)
	return true
}

// hand hands the readers an event.
func (l *lockstep) hand(ev llm.Event) {
	l.native.note(ev)
	if !l.taker.Take(ev, nil) {
		l.done = true
		return
	}
	if _, last := ev.(llm.Finish); last { // what the readers held back comes now
		l.done = true
		l.taker.End()
	}
}

// goOn lets the readers go on until they wait for an event.
func (l *lockstep) goOn() {
	_, waiting := l.wake()
	l.done = !waiting
}

// source is what the readers read: an event each time they are woken.
func (l *lockstep) source(idle func(struct{}) bool) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for idle(struct{}{}) {
			ev := l.next
			if !yield(ev, nil) {
				return
			}
			if _, last := ev.(llm.Finish); last {
				return // what the readers held back comes now
			}
		}
	}
}

// push gives the readers an event and returns what they say.
func (l *lockstep) push(ev llm.Event) []llm.Event {
	if !l.begun {
		l.start()
	}
	if l.done {
		return nil
	}
	clear(l.out)
	if l.out = l.out[:0]; l.taker != nil {
		l.hand(ev)
		return l.out
	}
	l.next = ev
	l.goOn()
	return l.out
}

// stop ends the readers.
func (l *lockstep) stop() {
	if l.taker != nil {
		l.taker.Stop()
	}
	if l.end != nil {
		l.end()
	}
}

// errUnheard ends an answer that nobody wants to hear.
var errUnheard = &llm.Error{Op: "relay", Kind: llm.Canceled, Err: errors.New("nobody listens")}

// verdict decides about an event of a stream that was shown.
func (l *lockstep) verdict(instead []llm.Event, err *llm.Error) wire.RelayDecision {
	switch {
	case err != nil:
		return wire.GiveUp(err)
	case l.over:
		return wire.Replace(slices.Clone(instead)...)
	case l.waits():
		return wire.Hold
	}
	return wire.Pass
}

// waits reports whether the readers have not said yet all that they were given, of any answer.
func (l *lockstep) waits() bool {
	for _, due := range l.others {
		if len(*due) > 0 {
			return true
		}
	}
	return len(l.due) > 0
}

// dueOf returns what is due of an answer.
func (l *lockstep) dueOf(index int) *dueEvents {
	if index == 0 {
		return &l.due
	}
	due := l.others[index]
	if due == nil {
		if due = new(dueEvents); l.others == nil {
			l.others = make(map[int]*dueEvents)
		}
		l.others[index] = due
	}
	return due
}

// show shows the readers an event. What they say goes to yield; where it is something else than they
// were shown, it is returned, and so is all that they say from there on.
func (l *lockstep) show(ev llm.Event, yield func(llm.Event, error) bool) (instead []llm.Event, err *llm.Error) {
	if l.needless(ev) {
		if !yield(ev, nil) {
			return nil, errUnheard
		}
		return nil, nil
	}
	if w := l.tooMany(ev); w != nil && !yield(*w, nil) {
		return nil, errUnheard
	}
	out := l.push(ev)
	for _, said := range out {
		if !yield(said, nil) {
			return nil, errUnheard
		}
	}
	switch broken := l.broken(ev); {
	case broken != nil:
		return nil, broken
	case l.err != nil:
		return nil, asFailure(l.err)
	case l.over:
		return out, nil
	case !l.waits() && len(out) == 1 && same(ev, out[0]): // nearly always
		return nil, nil
	}
	return l.compare(ev, out), nil
}

// compare compares what the readers said when they were shown an event with all that is due. Where it is something else,
// all that they said since then is returned. It is not inlined, see broken.
//
//go:noinline
func (l *lockstep) compare(ev llm.Event, out []llm.Event) (instead []llm.Event) {
	index, ev := answerOf(ev)
	due := l.dueOf(index)
	*due, l.said = appendPieces(*due, ev), append(l.said, out...)
	if !l.settle(due, out) {
		l.over = true
		return l.said
	}
	if !l.waits() {
		l.said = nil
	}
	return nil
}

// tooMany warns of a call after the first where one was asked for; nil if the event is none. It is not inlined, see broken.
//
//go:noinline
func (l *lockstep) tooMany(ev llm.Event) *llm.Warning {
	if !l.job.asked.OneCall {
		return nil
	}
	index, ev := answerOf(ev)
	c, is := ev.(llm.Call)
	if !is || c.Hosted {
		return nil
	}
	if l.calls == nil {
		l.calls = make(map[int]int)
	}
	if l.calls[index]++; l.calls[index] == 1 {
		return nil
	}
	return &llm.Warning{Code: llm.Degraded, Feature: "one_call", Detail: fmt.Sprintf("the model made another call, of %s, although one was asked for", c.Name)}
}

// answerOf returns which answer an event belongs to, and the event in it.
func answerOf(ev llm.Event) (index int, inner llm.Event) {
	if other, is := ev.(llm.Alternative); is {
		return other.Index, other.Event
	}
	return 0, ev
}

// asFailure is the error with which readers ended.
func asFailure(err error) *llm.Error {
	var known *llm.Error
	if errors.As(err, &known) {
		return known
	}
	return &llm.Error{Op: "relay", Kind: llm.KindOf(err), Err: err}
}

// broken is not inlined, as whoever relays a stream is deep in the stack, which is held as long as the stream. It
// returns an error if an answer ends as if all were well although a call in it cannot be read:
// whoever gets it as it is would take the call for whole.
//
//go:noinline
func (l *lockstep) broken(ev llm.Event) *llm.Error {
	index, ev := answerOf(ev)
	switch ev := ev.(type) {
	case llm.InvalidCall:
		if ev.Reason == llm.CutOff || ev.Reason == llm.BadArguments || ev.Reason == llm.UnknownTool && ev.Name == "" {
			if l.unreadable == nil {
				l.unreadable = make(map[int]bool)
			}
			l.unreadable[index] = true
		}
	case llm.Finish:
		if l.unreadable[index] && (ev.Reason == llm.Stop || ev.Reason == llm.ToolCalls) {
			return &llm.Error{Op: "relay", Kind: llm.Malformed, Err: errors.New("a call in the answer was cut off, or cannot be read")}
		}
	}
	return nil
}

// appendPieces appends an event that is due. What a vendor says about a text as a whole comes from the readers apart from
// it, and after it, so it is due like that.
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

// saysTheSame reports whether readers said of the answers what they were shown of them. Texts, what is said about them and all
// else are compared apart: log probabilities may come before the end of the text that they are of.
func saysTheSame(shown, said []llm.Event) bool {
	return maps.EqualFunc(sorted(shown), sorted(said), func(a, b *sortedEvents) bool {
		return a.text.String() == b.text.String() && slices.EqualFunc(a.about, b.about, same) && slices.EqualFunc(a.rest, b.rest, same)
	})
}

// sortedEvents are the events of an answer by kind.
type sortedEvents struct {
	text        strings.Builder
	about, rest []llm.Event // what is said about texts, and all else
}

// sorted returns the events of each answer, by its index.
func sorted(events []llm.Event) map[int]*sortedEvents {
	all := make(map[int]*sortedEvents)
	for _, ev := range events {
		index, ev := answerOf(ev)
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

// settle takes what the readers said off what is due, of each answer, and reports whether it is that. What is no part of
// an answer does not count.
func (l *lockstep) settle(due *dueEvents, said []llm.Event) bool {
	for _, ev := range said {
		if index, ev := answerOf(ev); !aside(ev) && !l.dueOf(index).settle(ev) {
			return false
		}
	}
	due.skip()
	return true
}

// dueEvents are the events of one answer that its readers were given and have not said.
type dueEvents []llm.Event

// settle takes an event off what is due, and reports whether it is that. Text counts joined: readers may cut it in other
// places.
func (d *dueEvents) settle(ev llm.Event) bool {
	if text, ok := ev.(llm.TextDelta); ok && text.Part == nil {
		if !d.settleText(text.Text) {
			return false
		}
	} else {
		d.skip()
		if len(*d) == 0 || !same((*d)[0], ev) {
			return false
		}
		*d = (*d)[1:]
	}
	d.skip()
	return true
}

// settleText takes text off what is due.
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

// skip drops what need not be said from the beginning of what is due.
func (d *dueEvents) skip() {
	for len(*d) > 0 {
		text, ok := (*d)[0].(llm.TextDelta)
		if !aside((*d)[0]) && !(ok && text == llm.TextDelta{}) {
			return
		}
		*d = (*d)[1:]
	}
}

// aside reports whether an event is no part of the answer.
func aside(ev llm.Event) bool {
	switch ev.(type) {
	case llm.Warning, llm.TextRead, llm.KeepAlive, RequestRetry:
		return true
	}
	return false
}
