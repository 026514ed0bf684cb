package main

import (
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/llm"
)

// itemKind is the kind of an item in a transcript.
type itemKind uint8

const (
	said     itemKind = iota // text of the person
	answered                 // text of the model
	thought                  // thinking of the model
	called                   // a call
	noted                    // a note
	shownAs                  // preformatted text
)

// item is one entry of a transcript.
type item struct {
	kind itemKind
	text string
	call *callView
	// whole means that the text continues in the next item, after a newline.
	whole bool
	flow  *term.Flow     // the growing text of an answer, unformatted
	md    *term.Markdown // or as Markdown

	lines []string // the last drawn rows
	width int      // the width of lines; 0 means redraw
}

// transcript is a conversation as a person sees it.
type transcript struct {
	p        cli.Palette
	plain    bool // answers are not formatted
	items    []*item
	calls    calls
	warnings warnings
	status   string // activity of the model while it sends no text
	answer   int    // index in items of the turn's answer
}

func newTranscript(p cli.Palette) *transcript {
	return &transcript{p: p, calls: calls{now: time.Now}}
}

// add appends an item.
func (t *transcript) add(kind itemKind, text string) {
	if text != "" {
		t.items = append(t.items, &item{kind: kind, text: text})
	}
}

// grow appends text to the last item if it has that kind, else it adds an item. Complete lines of an answer become
// separate items.
func (t *transcript) grow(kind itemKind, text string) {
	if n := len(t.items); n == 0 || t.items[n-1].kind != kind {
		if text = strings.TrimLeft(text, "\n"); text == "" {
			return
		}
		t.items = append(t.items, t.newGrowing(kind))
	}
	last := t.items[len(t.items)-1]
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
	t.items = append(t.items, t.newGrowing(kind))
	t.items[len(t.items)-1].flow.Write(text[i+1:])
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

func (t *transcript) newGrowing(kind itemKind) *item {
	it := &item{kind: kind}
	switch {
	case kind != answered:
	case t.plain:
		it.flow = new(term.Flow)
	default:
		it.md = &term.Markdown{P: t.p}
	}
	return it
}

// event handles an event of a turn.
func (t *transcript) event(ev llm.Event) {
	if _, ok := ev.(llm.Warning); !ok {
		t.add(noted, t.warnings.flush())
	}
	switch ev := ev.(type) {
	case llm.Warning:
		t.add(noted, t.warnings.add(ev))
	case llm.TextDelta:
		t.status = ""
		t.grow(answered, ev.Text)
	case llm.ThinkingDelta:
		t.status = "thinking"
		t.grow(thought, ev.Text)
	case agent.Turn:
		t.status, t.answer = "asking "+ev.Model, len(t.items)
	case llm.Retract:
		t.retract()
	default:
		t.other(ev)
	}
}

// retract removes the answer's text from the screen. Notes and completed calls are kept.
func (t *transcript) retract() {
	t.status = ""
	t.calls.retract()
	from := min(t.answer, len(t.items))
	t.items = append(t.items[:from:from], slices.DeleteFunc(t.items[from:], func(it *item) bool {
		return it.kind == answered || it.kind == thought || it.kind == called && it.call.phase == writing
	})...)
}

// other handles events other than text and turns.
func (t *transcript) other(ev llm.Event) {
	t.add(noted, noteOf(ev))
	before := len(t.calls.all)
	t.calls.add(ev)
	for _, v := range t.calls.all[before:] {
		t.status = ""
		t.items = append(t.items, &item{kind: called, call: v})
	}
}

// lines draws the transcript for a width. Final items are drawn once.
func (t *transcript) lines(width, frame int, now time.Time) []string {
	var out []string
	for i, it := range t.items {
		moving := it.kind == called && it.call.phase != over
		if it.width != width || moving {
			it.lines = it.draw(t.p, width, frame, now)
			it.width = width
			if moving {
				it.width = 0
			}
		}
		if i > 0 && apart(t.items[i-1].kind, it.kind) {
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
	return a != b && !(a == noted && b == called || a == called && b == noted) || a == shownAs
}

func (it *item) draw(p cli.Palette, width, frame int, now time.Time) []string {
	switch it.kind {
	case called:
		return []string{it.call.line(p, width, frame, now)}
	case said:
		return term.Wrap(it.text, width, p.Cyan("› "), p.Bold)
	case noted:
		return term.Wrap(it.text, width, p.Dim("· "), p.Dim)
	case thought:
		return term.Wrap(term.LastLines(it.text, 3), width, "  ", p.Dim)
	case shownAs:
		return term.Wrap(it.text, width, "", term.Plainly)
	}
	if it.md != nil {
		return it.md.Draw(width)
	}
	return it.flow.Draw(width)
}
