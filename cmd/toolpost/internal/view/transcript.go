package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/llm"
)

// itemKind is the kind of an item in a transcript.
type itemKind uint8

const (
	Said     itemKind = iota // text of the person
	answered                 // text of the model
	struck                   // text of the model that does not count: the answer was asked for again
	thought                  // thinking of the model
	asked                    // an answered question
	called                   // a call
	Noted                    // a note
	ShownAs                  // preformatted text
)

// item is one entry of a transcript.
type item struct {
	kind itemKind
	text string
	call *Call
	// whole means that the text continues in the next item, after a newline.
	whole bool
	flow  *term.Flow     // the growing text of an answer, unformatted
	md    *term.Markdown // or as Markdown

	lines []string // the last drawn rows
	width int      // the width of lines; 0 means redraw
}

// Transcript is a conversation as a person sees it.
type Transcript struct {
	p        cli.Palette
	Plain    bool // answers are not formatted
	Items    []*item
	Calls    calls
	Warnings warnings
	Status   string // activity of the model while it sends no text
	answer   int    // index in items of the turn's answer
	memory   bool   // the model was offered no tool, and the request names something to look at
}

func NewTranscript(p cli.Palette) *Transcript {
	return &Transcript{p: p, Calls: calls{now: time.Now}}
}

// Add appends an item.
func (t *Transcript) Add(kind itemKind, text string) {
	if text != "" {
		t.Items = append(t.Items, &item{kind: kind, text: text})
	}
}

// Answered adds an answered question. It precedes the line of its call, because the call runs only after the answer.
func (t *Transcript) Answered(callID, text string) {
	at := slices.IndexFunc(t.Items, func(it *item) bool {
		return it.kind == called && it.call.id == callID && it.call.Phase != CallOver
	})
	if at < 0 {
		at = len(t.Items)
	}
	t.Items = slices.Insert(t.Items, at, &item{kind: asked, text: text})
	if at < t.answer {
		t.answer++
	}
}

// grow appends text to the last item if it has that kind, else it adds an item. Complete lines of an answer become
// separate items.
func (t *Transcript) grow(kind itemKind, text string) {
	if n := len(t.Items); n == 0 || t.Items[n-1].kind != kind {
		if text = strings.TrimLeft(text, "\n"); text == "" {
			return
		}
		t.Items = append(t.Items, t.newGrowing(kind))
	}
	last := t.Items[len(t.Items)-1]
	last.width = 0
	if last.md != nil {
		last.md.Write(text)
		return
	}
	if kind != answered {
		last.text = lastBytes(last.text+text, maxThought)
		return
	}
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		last.flow.Write(text)
		return
	}
	last.flow.Write(text[:i])
	last.whole = true
	t.Items = append(t.Items, t.newGrowing(kind))
	t.Items[len(t.Items)-1].flow.Write(text[i+1:])
}

// maxThought limits the stored thinking, because only its end is shown.
const maxThought = 4 << 10

// lastBytes shortens a text to its end if it is longer than n.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-n/2:], "")
}

func (t *Transcript) newGrowing(kind itemKind) *item {
	it := &item{kind: kind}
	switch {
	case kind != answered:
	case t.Plain:
		it.flow = new(term.Flow)
	default:
		it.md = &term.Markdown{P: t.p}
	}
	return it
}

// Event handles an event of a turn.
func (t *Transcript) Event(ev llm.Event) {
	if _, ok := ev.(llm.Warning); !ok {
		t.Add(Noted, t.Warnings.Flush())
	}
	switch ev := ev.(type) {
	case llm.Warning:
		t.memory = t.memory || FromMemory(ev)
		t.Add(Noted, t.Warnings.add(ev))
	case llm.TextDelta:
		t.Status = ""
		t.grow(answered, ev.Text)
	case llm.ThinkingDelta:
		t.Status = "thinking"
		t.grow(thought, ev.Text)
	case agent.Turn:
		t.Status, t.answer, t.memory = "asking "+ev.Model, len(t.Items), false
	case llm.Retract:
		t.retract()
	default:
		t.other(ev)
	}
}

// End adds the notes after the last answer of a turn.
func (t *Transcript) End(messages []llm.Message) {
	t.Status = ""
	t.Add(Noted, t.Warnings.Flush())
	t.Add(Noted, t.Warnings.End())
	if t.memory {
		t.Add(Noted, MemoryNote)
	}
	t.memory = false
	for _, line := range Unfounded(messages) {
		t.Add(Noted, line)
	}
}

// retract strikes the answer's text through and removes its thinking. Notes and completed calls are kept.
func (t *Transcript) retract() {
	t.Status = ""
	t.Calls.retract()
	from := min(t.answer, len(t.Items))
	t.Items = append(t.Items[:from:from], slices.DeleteFunc(t.Items[from:], func(it *item) bool {
		return it.kind == thought || it.kind == called && it.call.Phase == CallWriting
	})...)
	for _, it := range t.Items[from:] {
		if it.kind == answered {
			it.kind, it.width = struck, 0
		}
	}
	t.answer = len(t.Items)
}

// other handles events other than text and turns.
func (t *Transcript) other(ev llm.Event) {
	t.Add(Noted, noteOf(ev))
	before := len(t.Calls.all)
	t.Calls.add(ev)
	for _, v := range t.Calls.all[before:] {
		t.Status = ""
		t.Items = append(t.Items, &item{kind: called, call: v})
	}
}

// Lines draws the transcript for a width. Final items are drawn once.
func (t *Transcript) Lines(width, frame int, now time.Time) []string {
	var out []string
	for i, it := range t.Items {
		moving := it.kind == called && it.call.Phase != CallOver
		if it.width != width || moving {
			it.lines = it.draw(t.p, width, frame, now)
			it.width = width
			if moving {
				it.width = 0
			}
		}
		if i > 0 && apart(t.Items[i-1].kind, it.kind) {
			out = append(out, "")
		}
		if it.flow != nil && it.flow.Empty() && !it.whole {
			continue // the end of a text that ended with a newline
		}
		out = append(out, it.lines...)
	}
	return out
}

// apart reports whether an empty line separates two items.
func apart(a, b itemKind) bool {
	switch {
	case a == Noted && b == called, a == called && b == Noted, a == asked && b == called:
		return false
	}
	return a != b || a == ShownAs
}

func (it *item) draw(p cli.Palette, width, frame int, now time.Time) []string {
	switch it.kind {
	case called:
		return []string{it.call.line(p, width, frame, now)}
	case Said:
		return term.Wrap(it.text, width, p.Cyan("› "), p.Bold)
	case Noted:
		return term.Wrap(it.text, width, p.Dim("· "), p.Dim)
	case thought:
		return term.Wrap(term.LastLines(it.text, 3), width, "  ", p.Dim)
	case ShownAs, asked:
		return term.Wrap(it.text, width, "", term.Plainly)
	}
	if it.kind == struck {
		return it.strike(p, width)
	}
	if it.md != nil {
		return it.md.Draw(width)
	}
	return it.flow.Draw(width)
}

// strike draws the text of an answer struck through. Without colours a mark stands for that.
func (it *item) strike(p cli.Palette, width int) []string {
	const mark = "~ "
	var lines []string
	if it.md != nil {
		lines = it.md.Draw(width - len(mark))
	} else {
		lines = it.flow.Draw(width - len(mark))
	}
	for i, line := range lines {
		lines[i] = p.Dim(mark) + p.Paint("2;9", ansi.Strip(line))
	}
	return lines
}

// Sayable returns a message as the screen shows it: its text and the names of its attachments.
func Sayable(msg llm.Message) string {
	var lines []string
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			text, _, attached := strings.Cut(p.Text, "\n```")
			if name, ok := strings.CutPrefix(text, "\n\nThe content of "); ok && attached {
				lines = append(lines, "[text "+strings.TrimSuffix(name, ":")+"]")
				continue
			}
			lines = append(lines, p.Text)
		case llm.Media:
			lines = append(lines, fmt.Sprintf("[%s %s, %s]", p.Kind, p.Name, p.MIME))
		}
	}
	return cli.Printable(strings.TrimSpace(strings.Join(lines, "\n")))
}

// maxRecounted is how many messages of an earlier conversation are shown.
const maxRecounted = 50

// Recount shows the messages of an earlier conversation.
func (t *Transcript) Recount(messages []llm.Message) {
	if n := len(messages) - maxRecounted; n > 0 {
		t.Add(Noted, fmt.Sprintf("%d earlier messages are not shown", n))
		messages = messages[n:]
	}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			t.Add(Said, Sayable(m))
		case llm.RoleAssistant:
			if text := m.Text(); strings.TrimSpace(text) != "" {
				t.grow(answered, text)
			}
			for _, call := range m.Calls() {
				t.Add(Noted, "called "+CallLine(call))
			}
		}
	}
}

// CallLine formats a call in one line.
func CallLine(call llm.Call) string {
	return cli.FirstLine(cli.Printable(call.Name+" "+string(call.Args)), 100)
}
