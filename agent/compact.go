package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/refine"
)

// Compaction is the part of a conversation that no longer fits the window; see
// [Agent.Compact].
type Compaction struct {
	Turn int // that is about to begin
	// Messages are those that are left out, oldest first. No call among them is
	// without its result. A summary that stood for older ones is one of them. They
	// are a copy, however deep.
	Messages []llm.Message
	// Tokens is how long the text may be that stands in their place; what is longer
	// is cut.
	Tokens int
	// Model is the one of the turn. What it is asked counts for the usage and the
	// budgets of the run; it answers nothing more once the hook has returned.
	Model llm.Model
	// Window is how many tokens a question to Model may have.
	Window int
}

// Compacted says that the oldest part of the conversation was left out, because it
// had outgrown the window, and what stands in its place. The record keeps it whole.
type Compacted struct {
	Messages int       `json:"messages"`          // how many were left out
	Tokens   int       `json:"tokens"`            // that they had, by estimate
	Kept     int       `json:"kept"`              // that stand in their place
	Summary  string    `json:"summary,omitempty"` // what the model reads in their place; "" if there is no summary
	Usage    llm.Usage `json:"usage,omitzero"`    // of asking for the summary
}

// EventType returns "compacted".
func (Compacted) EventType() string { return "compacted" }

// compactEntry says what became of a conversation that was compacted.
type compactEntry struct {
	Turn int `json:"turn"`
	// Messages are the new conversation. Nil if there is none: a summary was asked
	// for, and the run ended before it was there.
	Messages *[]pieceOf    `json:"messages,omitempty"`
	Of       int           `json:"of,omitempty"` // how many messages there were
	Used     llm.Usage     `json:"used,omitzero"`
	Cost     catalog.Money `json:"cost,omitempty"` // of the run so far
	Unpriced bool          `json:"unpriced,omitempty"`
}

// apply returns the conversation after a compaction.
func (e compactEntry) apply(msgs []llm.Message) ([]llm.Message, error) {
	if e.Messages == nil {
		return msgs, nil
	}
	if e.Of != len(msgs) {
		return nil, fmt.Errorf("agent: the conversation that was compacted had %d messages, and this one has %d", e.Of, len(msgs))
	}
	return assemble(*e.Messages, msgs)
}

// assemble puts a conversation together from parts of a known one.
func assemble(list []pieceOf, known []llm.Message) ([]llm.Message, error) {
	out := []llm.Message{}
	for _, p := range list {
		switch {
		case p.Message != nil:
			out = append(out, *p.Message)
		case p.From < 0 || p.To > len(known) || p.From > p.To:
			return nil, errors.New("agent: the record names messages that are not there")
		default:
			out = append(out, known[p.From:p.To]...)
		}
	}
	return out, nil
}

// The shares of the window, in hundredths, that the newest turns, the first task and the
// summary may have after a compaction. What is left is for what comes next.
const (
	tailShare    = 25
	taskShare    = 20
	summaryShare = 25
)

// maxSummary bounds the tokens of a summary in a large window: more takes long to write,
// and is read again with every question.
const maxSummary = 8_000

// leastSummary is how many tokens make a compaction worth its while.
const leastSummary = 32

// division says what of a conversation stays when it is compacted.
type division struct {
	task int   // the first message of the user; -1 if there is none
	tail int   // where the newest turns begin, which stay
	stay []int // other messages before the tail that stay
	out  []int // those that are left out
}

// divide finds what can be left out of a conversation: all but instructions, the first
// and the last message of the user, and the newest turns of up to so many tokens, of which
// the very last stays in any case. A call stays with its result.
func divide(msgs []llm.Message, room int) division {
	d := division{task: -1, tail: len(msgs)}
	last := -1 // message of the user
	for i, m := range msgs {
		if m.Role == llm.RoleUser && !isOurs(m) {
			if last = i; d.task < 0 {
				d.task = i
			}
		}
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		room -= llm.EstimateMessages(msgs[i])
		if room < 0 && d.tail < len(msgs) {
			break
		}
		if msgs[i].Role != llm.RoleTool { // whose calls stand before it
			d.tail = i
		}
	}
	for i, m := range msgs[:d.tail] {
		switch {
		case i == d.task:
		case i == last || m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper:
			d.stay = append(d.stay, i)
		default:
			d.out = append(d.out, i)
		}
	}
	return d
}

// isOurs reports whether the library wrote a message.
func isOurs(m llm.Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); !ok || !t.Ours {
			return false
		}
	}
	return len(m.Parts) > 0
}

// with returns the conversation with a message in the place of what is left out.
func (d division) with(msgs []llm.Message, instead, task llm.Message) []pieceOf {
	var list []pieceOf
	keep := func(i int) { list = append(list, pieceOf{From: i, To: i + 1}) }
	rest := d.stay
	for len(rest) > 0 && rest[0] < d.task { // instructions before the task
		keep(rest[0])
		rest = rest[1:]
	}
	switch {
	case d.task < 0 || d.task >= d.tail:
		list = append(list, pieceOf{Message: new(llm.Note(beginsLater))})
	case task.Parts != nil:
		list = append(list, pieceOf{Message: &task})
	default:
		keep(d.task)
	}
	list = append(list, pieceOf{Message: &instead})
	next := d.tail
	if len(rest) > 0 {
		next = rest[len(rest)-1]
	}
	if next < len(msgs) && msgs[next].Role != llm.RoleUser && instead.Role != llm.RoleUser {
		list = append(list, pieceOf{Message: new(llm.Note(goOnNote))})
	}
	for _, i := range rest {
		keep(i)
	}
	return append(list, pieceOf{From: d.tail, To: len(msgs)})
}

// What the library says around a part that was left out.
const (
	beginsLater = "The conversation began earlier. What follows stands for that part."
	goOnNote    = "Go on from there."
	summaryHead = "[Summary of %d earlier messages, which were left out to save space.]\n"
	cutHead     = "[%d earlier messages were left out here, because the conversation had grown too long.]"
	cutTail     = "\n[cut here: %d characters -> %d kept, because the conversation had grown too long]"
)

// compact leaves the oldest part of the conversation out. Without force it does so only
// if that makes room enough. It reports whether something was left out.
func (l *loop) compact(ctx context.Context, limit int, force bool) (bool, error) {
	if l.now.view != nil { // the program says what the model reads
		return false, nil
	}
	window := l.estimated(limit)
	fixed := l.asksFor - llm.EstimateMessages(l.messages...)
	room := window - fixed
	d := divide(l.messages, room*tailShare/100)
	c := Compaction{Turn: l.turnNo, Messages: pick(l.messages, d.out), Window: window}
	tokens := llm.EstimateMessages(c.Messages...)
	c.Tokens = min(room*summaryShare/100, tokens*3/4, maxSummary)
	if m, _ := l.turnModel(); m != nil {
		if info, ok := infoOf(m); ok && info.MaxOutput > 0 {
			c.Tokens = min(c.Tokens, info.MaxOutput/2)
		}
	}
	if c.Tokens < leastSummary || force && len(d.out) < 2 || !force && l.asksFor-tokens+c.Tokens > window*9/10 {
		return false, nil
	}
	text, used, err := l.summary(ctx, c)
	said := Compacted{Messages: len(d.out), Tokens: tokens, Usage: used}
	e := compactEntry{Turn: l.turnNo, Of: len(l.messages), Used: used, Cost: catalog.Money(l.spent.Load()), Unpriced: l.unpriced.Load()}
	if over := l.stops(ctx, err); over != nil {
		if !used.IsZero() {
			over = errors.Join(over, l.write(ctx, kindCompact, e))
		}
		return false, over
	}
	instead := llm.Note(fmt.Sprintf(cutHead, len(d.out)))
	if text != "" {
		instead = llm.Assistant(llm.Text{Text: fmt.Sprintf(summaryHead, len(d.out)) + text})
		said.Summary = text
	} else {
		l.warnCut(said, err)
	}
	said.Kept = llm.EstimateMessages(instead)
	list := d.with(l.messages, instead, l.shortTask(d, room*taskShare/100))
	e.Messages = &list
	return true, l.replace(ctx, e, &said)
}

// stops returns why the run ends instead of going on after a compaction was tried.
func (l *loop) stops(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sealed(err):
		return fmt.Errorf("agent: the compaction before turn %d: %w", l.turnNo, err)
	}
	return l.broke(l.turnNo - 1)
}

// warnCut says that a part was left out without a summary, and why.
func (l *loop) warnCut(said Compacted, err error) {
	why := "nobody writes one"
	switch {
	case err != nil:
		why = l.redact(err.Error()).Cut(maxTask)
	case l.compacts != nil:
		why = "nothing was written"
	}
	l.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
		"the conversation is longer than the model can take: its oldest %d messages were left out without a summary: %s", said.Messages, why)})
}

// replace has the conversation be another one, and records it.
func (l *loop) replace(ctx context.Context, e compactEntry, said *Compacted) error {
	msgs, err := e.apply(l.messages)
	if err != nil {
		return err
	}
	if err := l.write(ctx, kindCompact, e); err != nil {
		return err
	}
	l.messages = msgs
	l.now.from = len(msgs)
	if said != nil {
		l.emit(*said)
	}
	return nil
}

// shortTask returns the first message of the user with its text cut to so many tokens; a
// message without parts if it is short enough, or part of what stays anyway.
func (l *loop) shortTask(d division, tokens int) llm.Message {
	if d.task < 0 || d.task >= d.tail {
		return llm.Message{}
	}
	m := l.messages[d.task]
	text := m.Text()
	if llm.EstimateMessages(m) <= max(tokens, leastSummary) || text == "" {
		return llm.Message{}
	}
	return llm.User(l.cutText(text, max(tokens, leastSummary)))
}

// cutText returns the beginning of a text of about so many tokens, and says so behind it.
func (l *loop) cutText(text string, tokens int) string {
	n := utf8.RuneCountInString(text)
	has := max(llm.EstimateText(text), 1)
	if has <= tokens {
		return text
	}
	keep := int(float64(n) * float64(tokens) / float64(has))
	clean := []rune(l.redact(text).String()) // half of a secret would not be known as one
	keep = min(keep, len(clean))
	return string(clean[:keep]) + fmt.Sprintf(cutTail, n, keep)
}

// trim cuts the longest text of the conversation to half: one of the model, or the first
// task. The question, which is the last message of the user, and calls stay as they are.
// It reports whether something was cut.
func (l *loop) trim(ctx context.Context) (bool, error) {
	if l.now.view != nil {
		return false, nil
	}
	longest, at, part := 4*leastSummary, -1, 0
	task := divide(l.messages, 0).task
	for i, m := range l.messages {
		if m.Role != llm.RoleAssistant && (i != task || l.isQuestion(i)) {
			continue
		}
		for j, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && llm.EstimateText(t.Text) > longest {
				longest, at, part = llm.EstimateText(t.Text), i, j
			}
		}
	}
	if at < 0 {
		return false, nil
	}
	m := l.messages[at]
	m.Parts = slices.Clone(m.Parts)
	text := m.Parts[part].(llm.Text)
	m.Parts[part] = llm.Text{Text: l.cutText(text.Text, longest/2), Ours: text.Ours}
	list := []pieceOf{{From: 0, To: at}, {Message: &m}, {From: at + 1, To: len(l.messages)}}
	l.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
		"the conversation is longer than the model can take: a text of about %d tokens was cut to half", longest)})
	e := compactEntry{Turn: l.turnNo, Of: len(l.messages), Messages: &list, Cost: catalog.Money(l.spent.Load()), Unpriced: l.unpriced.Load()}
	return true, l.replace(ctx, e, nil)
}

// isQuestion reports whether a message is the last one of the user.
func (l *loop) isQuestion(i int) bool {
	for j := len(l.messages) - 1; j >= 0; j-- {
		if l.messages[j].Role == llm.RoleUser && !isOurs(l.messages[j]) {
			return i == j
		}
	}
	return false
}

// summary asks the hook of the program for what stands in the place of a part, and returns
// what that used. Without a hook, and with an error, there is nothing.
func (l *loop) summary(ctx context.Context, c Compaction) (text string, used llm.Usage, err error) {
	if l.compacts == nil {
		return "", used, nil
	}
	c = deepCopy(c)
	m, id := l.turnModel()
	asked := &summarizer{l: l, id: id, m: m}
	c.Model = &refine.Again{Model: observe.Model(llm.Around(m, asked.stream), id), Attempts: l.Limits.Budget + 1}
	text, err = guarded(ctx, l, hookCompact, func() (string, error) { return l.compacts(ctx, c) })
	used = asked.end()
	if err != nil {
		return "", used, err
	}
	return l.cutText(strings.TrimSpace(text), c.Tokens), used, nil
}

// summarizer is a model as the hook of a compaction asks it: within the budgets of the run,
// until the hook is over.
type summarizer struct {
	l    *loop
	m    llm.Model
	id   string
	mu   sync.Mutex
	used llm.Usage
	over bool
}

func (s *summarizer) stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := s.may(); err != nil {
			yield(nil, err)
			return
		}
		for ev, err := range s.m.Stream(ctx, req) {
			if f, ok := ev.(llm.Finish); ok {
				s.count(f.Usage)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// may returns why nothing more is asked.
func (s *summarizer) may() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errors.New("agent: the compaction is over")
	}
	return s.l.broke(s.l.turnNo - 1)
}

func (s *summarizer) count(u llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.used = s.used.Add(u)
		s.l.used(s.m, s.id, u)
	}
}

// end returns what was used. Nothing more is asked.
func (s *summarizer) end() llm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.used
}

// pick returns some messages of a conversation.
func pick(msgs []llm.Message, at []int) []llm.Message {
	out := make([]llm.Message, len(at))
	for i, j := range at {
		out[i] = msgs[j]
	}
	return out
}
