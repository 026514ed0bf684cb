package compaction

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// LeastSummary is the number of tokens below which a summary saves too little.
const LeastSummary = 32

// The texts of the library around a part that was left out.
const (
	beginsLater = "The conversation began earlier. What follows stands for that part."
	goOnNote    = "Go on from there."
	cutTail     = "\n[cut here: %d characters -> %d kept, because the conversation had grown too long]"
)

// Division is the parts of a conversation in a compaction.
type Division struct {
	Task int   // the first message of the user; -1 if there is none
	Tail int   // where the newest turns begin, which stay
	Stay []int // other messages before the tail that stay
	Out  []int // the messages to leave out
}

// Divide finds the messages that a compaction can leave out. Instructions, the first and the last
// message of the user, and the newest turns of up to room tokens stay. The very last turn always
// stays, and so does a call with its result.
func Divide(msgs []llm.Message, room int) Division {
	d := Division{Task: -1, Tail: len(msgs)}
	last := -1 // message of the user
	for i, m := range msgs {
		if m.Role == llm.RoleUser && !isOwn(m) {
			if last = i; d.Task < 0 {
				d.Task = i
			}
		}
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		room -= llm.EstimateMessages(msgs[i])
		if room < 0 && d.Tail < len(msgs) {
			break
		}
		if msgs[i].Role != llm.RoleTool { // the calls of a tool message precede it
			d.Tail = i
		}
	}
	for i, m := range msgs[:d.Tail] {
		switch {
		case i == d.Task:
		case i == last || m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper:
			d.Stay = append(d.Stay, i)
		default:
			d.Out = append(d.Out, i)
		}
	}
	return d
}

// With returns the conversation with the message instead for the part that is left out.
func (d Division) With(msgs []llm.Message, instead, task llm.Message) []Range {
	var list []Range
	keep := func(i int) { list = append(list, Range{From: i, To: i + 1}) }
	rest := d.Stay
	for len(rest) > 0 && rest[0] < d.Task { // instructions before the task
		keep(rest[0])
		rest = rest[1:]
	}
	switch {
	case d.Task < 0 || d.Task >= d.Tail:
		list = append(list, Range{Message: new(llm.Note(beginsLater))})
	case task.Parts != nil:
		list = append(list, Range{Message: &task})
	default:
		keep(d.Task)
	}
	list = append(list, Range{Message: &instead})
	next := d.Tail
	if len(rest) > 0 {
		next = rest[len(rest)-1]
	}
	if next < len(msgs) && msgs[next].Role != llm.RoleUser && instead.Role != llm.RoleUser {
		list = append(list, Range{Message: new(llm.Note(goOnNote))})
	}
	for _, i := range rest {
		keep(i)
	}
	return append(list, Range{From: d.Tail, To: len(msgs)})
}

// ShortTask returns the first message of the user with its text cut to so many tokens; a
// message without parts if it is short enough, or part of what stays anyway.
func (d Division) ShortTask(msgs []llm.Message, tokens int, redact func(string) string) llm.Message {
	if d.Task < 0 || d.Task >= d.Tail {
		return llm.Message{}
	}
	m := msgs[d.Task]
	text := m.Text()
	if llm.EstimateMessages(m) <= max(tokens, LeastSummary) || text == "" {
		return llm.Message{}
	}
	short := llm.Message{Role: m.Role}
	has := max(llm.EstimateText(text), 1)
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Text != "" { // each keeps its origin
			share := llm.EstimateText(t.Text) * max(tokens, LeastSummary) / has
			short.Parts = append(short.Parts, llm.Text{Text: CutText(t.Text, share, redact), Ours: t.Ours, Origin: t.Origin})
		}
	}
	return short
}

// CutText returns the beginning of a text, about so many tokens of it, followed by a remark.
func CutText(text string, tokens int, redact func(string) string) string {
	n := utf8.RuneCountInString(text)
	has := max(llm.EstimateText(text), 1)
	if has <= tokens {
		return text
	}
	keep := int(float64(n) * float64(tokens) / float64(has))
	clean := []rune(redact(text)) // half of a secret would not be known as one
	keep = min(keep, len(clean))
	return string(clean[:keep]) + fmt.Sprintf(cutTail, n, keep)
}

// Trim cuts the longest text of a conversation to half: a text of the model, or the first task.
// The last message of the user, and calls, do not change. It returns the new conversation and the
// estimated tokens of the text; nil if there is no long text.
func Trim(msgs []llm.Message, redact func(string) string) (list []Range, tokens int) {
	longest, at, part := 4*LeastSummary, -1, 0
	task := Divide(msgs, 0).Task
	for i, m := range msgs {
		if m.Role != llm.RoleAssistant && (i != task || isLastOfUser(msgs, i)) {
			continue
		}
		for j, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && llm.EstimateText(t.Text) > longest {
				longest, at, part = llm.EstimateText(t.Text), i, j
			}
		}
	}
	if at < 0 {
		return nil, 0
	}
	m := msgs[at]
	m.Parts = slices.Clone(m.Parts)
	text := m.Parts[part].(llm.Text)
	m.Parts[part] = llm.Text{Text: CutText(text.Text, longest/2, redact), Ours: text.Ours, Origin: text.Origin}
	return []Range{{From: 0, To: at}, {Message: &m}, {From: at + 1, To: len(msgs)}}, longest
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

// isOwn reports whether the library wrote a message.
func isOwn(m llm.Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); !ok || !t.Ours {
			return false
		}
	}
	return len(m.Parts) > 0
}

// Pick returns some messages of a conversation.
func Pick(msgs []llm.Message, at []int) []llm.Message {
	out := make([]llm.Message, len(at))
	for i, j := range at {
		out[i] = msgs[j]
	}
	return out
}
