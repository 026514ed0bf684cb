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

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/refine"
)

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

// Compacted reports that the oldest part of the conversation was left out because it
// had outgrown the window, and the text that replaces it. The record keeps the part whole.
type Compacted struct {
	Messages int       `json:"messages"`          // how many were left out
	Tokens   int       `json:"tokens"`            // that they had, by estimate
	Kept     int       `json:"kept"`              // in the text that replaces them
	Summary  string    `json:"summary,omitempty"` // the text that the model reads; "" without a summary
	Usage    llm.Usage `json:"usage,omitzero"`    // of asking for the summary
}

// EventType returns "compacted".
func (Compacted) EventType() string { return "compacted" }

// The shares of the window, in hundredths, that the newest turns, the first task and the
// summary may have after a compaction. The rest is for new messages.
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

// division is the parts of a conversation in a compaction.
type division struct {
	task int   // the first message of the user; -1 if there is none
	tail int   // where the newest turns begin, which stay
	stay []int // other messages before the tail that stay
	out  []int // the messages to leave out
}

// divide finds the messages that a compaction can leave out. Instructions, the first and the last
// message of the user, and the newest turns of up to room tokens stay. The very last turn always
// stays, and so does a call with its result.
func divide(msgs []llm.Message, room int) division {
	d := division{task: -1, tail: len(msgs)}
	last := -1 // message of the user
	for i, m := range msgs {
		if m.Role == llm.RoleUser && !isOwn(m) {
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
		if msgs[i].Role != llm.RoleTool { // the calls of a tool message precede it
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

// with returns the conversation with the message instead for the part that is left out.
func (d division) with(msgs []llm.Message, instead, task llm.Message) []messageRange {
	var list []messageRange
	keep := func(i int) { list = append(list, messageRange{From: i, To: i + 1}) }
	rest := d.stay
	for len(rest) > 0 && rest[0] < d.task { // instructions before the task
		keep(rest[0])
		rest = rest[1:]
	}
	switch {
	case d.task < 0 || d.task >= d.tail:
		list = append(list, messageRange{Message: new(llm.Note(beginsLater))})
	case task.Parts != nil:
		list = append(list, messageRange{Message: &task})
	default:
		keep(d.task)
	}
	list = append(list, messageRange{Message: &instead})
	next := d.tail
	if len(rest) > 0 {
		next = rest[len(rest)-1]
	}
	if next < len(msgs) && msgs[next].Role != llm.RoleUser && instead.Role != llm.RoleUser {
		list = append(list, messageRange{Message: new(llm.Note(goOnNote))})
	}
	for _, i := range rest {
		keep(i)
	}
	return append(list, messageRange{From: d.tail, To: len(msgs)})
}

// What the library says around a part that was left out.
const (
	beginsLater = "The conversation began earlier. What follows stands for that part."
	goOnNote    = "Go on from there."
	summaryHead = "[Summary of %d earlier messages, which were left out to save space.]\n"
	cutHead     = "[%d earlier messages were left out here, because the conversation had grown too long.]"
	cutTail     = "\n[cut here: %d characters -> %d kept, because the conversation had grown too long]"
)

// compact plans to leave the oldest part of the conversation out, nil if there is no such
// part. Without force it does so only if that makes enough room.
func (r *reducer) compact(ctx context.Context, force bool) (*reduction, error) {
	if r.turn.view != nil { // a hook decides which messages the model reads
		return nil, nil
	}
	window := r.window.estimated(r.limit)
	fixed := r.window.size - llm.EstimateMessages(r.messages...)
	room := window - fixed
	d := divide(r.messages, room*tailShare/100)
	c := Compaction{Turn: r.turn.n, Messages: pick(r.messages, d.out), Window: window}
	tokens := llm.EstimateMessages(c.Messages...)
	c.Tokens = min(room*summaryShare/100, tokens*3/4, maxSummary)
	if m, _ := r.turnModel(); m != nil {
		if info, ok := infoOf(m); ok && info.MaxOutput > 0 {
			c.Tokens = min(c.Tokens, info.MaxOutput/2)
		}
	}
	if c.Tokens < leastSummary || force && len(d.out) < 2 || !force && r.window.size-tokens+c.Tokens > window*9/10 {
		return nil, nil
	}
	text, used, err := r.summary(ctx, c)
	event := Compacted{Messages: len(d.out), Tokens: tokens, Usage: used}
	if over := r.endsCompaction(ctx, err); over != nil {
		if !used.IsZero() {
			_, werr := r.recordCompaction(ctx, nil, used)
			over = errors.Join(over, werr)
		}
		return nil, over
	}
	instead := llm.Note(fmt.Sprintf(cutHead, len(d.out)))
	if text != "" {
		instead = llm.Assistant(llm.Text{Text: fmt.Sprintf(summaryHead, len(d.out)) + text, Origin: llm.OriginOfSummary(c.Messages)})
		event.Summary = text
	} else {
		why := "no function writes one"
		switch {
		case err != nil:
			why = r.redact(err.Error()).Cut(maxTask)
		case r.agent.Compact != nil:
			why = "the summary was empty"
		}
		r.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
			"the conversation is longer than the model can take: its oldest %d messages were left out without a summary: %s", event.Messages, why)})
	}
	event.Kept = llm.EstimateMessages(instead)
	list := d.with(r.messages, instead, r.shortTask(d, room*taskShare/100))
	plan, err := r.recordCompaction(ctx, &list, used)
	if err == nil {
		r.emit(event)
	}
	return plan, err
}

// recordCompaction records a new conversation, or only what a summary used.
func (r *reducer) recordCompaction(ctx context.Context, list *[]messageRange, used llm.Usage) (*reduction, error) {
	e := compactEntry{Turn: r.turn.n, Messages: list, Of: len(r.messages), Used: used, Cost: r.spending.cost(), Unpriced: r.spending.unpriced.Load()}
	return &reduction{compact: &e}, r.write(ctx, kindCompact, e)
}

// endsCompaction returns the error that ends the run after a summary was requested.
func (r *reducer) endsCompaction(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case aborted(err):
		return fmt.Errorf("agent: the compaction before turn %d: %w", r.turn.n, err)
	}
	return r.exhausted(ctx, r.turn.n-1)
}

// shortTask returns the first message of the user with its text cut to so many tokens; a
// message without parts if it is short enough, or part of what stays anyway.
func (r *reducer) shortTask(d division, tokens int) llm.Message {
	if d.task < 0 || d.task >= d.tail {
		return llm.Message{}
	}
	m := r.messages[d.task]
	text := m.Text()
	if llm.EstimateMessages(m) <= max(tokens, leastSummary) || text == "" {
		return llm.Message{}
	}
	short := llm.Message{Role: m.Role}
	has := max(llm.EstimateText(text), 1)
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Text != "" { // each keeps its origin
			share := llm.EstimateText(t.Text) * max(tokens, leastSummary) / has
			short.Parts = append(short.Parts, llm.Text{Text: r.cutText(t.Text, share), Ours: t.Ours, Origin: t.Origin})
		}
	}
	return short
}

// cutText returns the beginning of a text, about so many tokens of it, followed by a remark.
func (r *reducer) cutText(text string, tokens int) string {
	n := utf8.RuneCountInString(text)
	has := max(llm.EstimateText(text), 1)
	if has <= tokens {
		return text
	}
	keep := int(float64(n) * float64(tokens) / float64(has))
	clean := []rune(r.redact(text).String()) // half of a secret would not be known as one
	keep = min(keep, len(clean))
	return string(clean[:keep]) + fmt.Sprintf(cutTail, n, keep)
}

// trim plans to cut the longest text of the conversation to half: a text of the model, or the first
// task. The last message of the user, and calls, do not change. It returns nil if there is no long
// text.
func (r *reducer) trim(ctx context.Context) (*reduction, error) {
	if r.turn.view != nil {
		return nil, nil
	}
	longest, at, part := 4*leastSummary, -1, 0
	task := divide(r.messages, 0).task
	for i, m := range r.messages {
		if m.Role != llm.RoleAssistant && (i != task || isLastOfUser(r.messages, i)) {
			continue
		}
		for j, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && llm.EstimateText(t.Text) > longest {
				longest, at, part = llm.EstimateText(t.Text), i, j
			}
		}
	}
	if at < 0 {
		return nil, nil
	}
	m := r.messages[at]
	m.Parts = slices.Clone(m.Parts)
	text := m.Parts[part].(llm.Text)
	m.Parts[part] = llm.Text{Text: r.cutText(text.Text, longest/2), Ours: text.Ours, Origin: text.Origin}
	list := []messageRange{{From: 0, To: at}, {Message: &m}, {From: at + 1, To: len(r.messages)}}
	r.emit(llm.Warning{Code: llm.Degraded, Feature: "context", Detail: fmt.Sprintf(
		"the conversation is longer than the model can take: a text of about %d tokens was cut to half", longest)})
	return r.recordCompaction(ctx, &list, llm.Usage{})
}

// isLastOfUser reports whether message i is the last one of the user.
func isLastOfUser(msgs []llm.Message, i int) bool {
	for j := len(msgs) - 1; j >= 0; j-- {
		if msgs[j].Role == llm.RoleUser && !isOwn(msgs[j]) {
			return i == j
		}
	}
	return false
}

// summary asks the hook of the program for the text that replaces a part, and returns the text with
// the usage of the hook. Without a hook, and with an error, the text is empty.
func (r *reducer) summary(ctx context.Context, c Compaction) (text string, used llm.Usage, err error) {
	if r.agent.Compact == nil {
		return "", used, nil
	}
	c = deepCopy(c)
	m, id := r.turnModel()
	asked := &summarizer{l: r.loop, id: id, m: m}
	c.Model = &refine.Again{Model: observe.Model(llm.Around(m, asked.stream), id), Attempts: r.Limits.Budget + 1}
	text, err = guarded(ctx, r.loop, hookCompact, func() (string, error) { return r.agent.Compact(ctx, c) })
	used = asked.end()
	if err != nil {
		return "", used, err
	}
	return r.cutText(strings.TrimSpace(text), c.Tokens), used, nil
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
		if err := s.may(ctx); err != nil {
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
func (s *summarizer) may(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errors.New("agent: the compaction is over")
	}
	return s.l.exhausted(ctx, s.l.turn.n-1)
}

func (s *summarizer) count(u llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.used = s.used.Add(u)
		s.l.spending.asked(s.m, s.id, u)
	}
}

// end returns the usage. Later requests are refused.
func (s *summarizer) end() llm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.used
}
