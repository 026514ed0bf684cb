package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// question is a decision of the person at the terminal: its text and the keys that answer it. run shows it below the
// earlier output, chat in place of the input.
//
// Keys count only after the question has been on the screen for a while without a key press. Keys that allow something
// count only after the whole text has been on the screen.
type question struct {
	p       cli.Palette
	text    func(width int) []string // the text of the question
	answers []answer
	scopes  []grant // the scopes of "always", narrowest first
	until   string  // when such a permission ends

	width, height int
	rows          []string
	top, area     int // the visible part of rows
	seen          int // how many rows, from the first, have been visible
	quiet         time.Time
	picking       bool // choosing a scope
	typing        *textinput.Model

	word  string // the answer; "" if undecided
	grant *grant // for "always"
	typed string // the typed text of an answer
}

// answer is a possible answer with its key.
type answer struct {
	word, help string
	whole      bool // only after the whole text was visible
	typed      bool // requires a typed line
}

// The answers that are not words of the question.
const (
	always      = "always"
	interrupted = "interrupted" // Ctrl-C
	closed      = "closed"      // Ctrl-D: the input is closed
)

// settle is how long a question must be visible without a key press before keys count. Only tests change it.
var settle = 600 * time.Millisecond

// consent asks about a call, or shows a tool's question during a call.
func consent(c cli.Palette, p *proposal, until string) *question {
	if p.Prompt > 0 {
		return &question{p: c, text: func(width int) []string { return p.screen(c, width) },
			answers: []answer{{word: typedAnswer, help: "type it", whole: true, typed: true}, {word: "no", help: "do not answer"}}}
	}
	return &question{
		p: c, until: until, scopes: p.scopes(),
		text: func(width int) []string { return p.screen(c, width) },
		answers: []answer{
			{word: "yes", help: "this once", whole: true}, {word: "no", help: "go on without it"},
			{word: always, help: "say how far", whole: true},
		},
	}
}

// resize sets the size of the question.
func (q *question) resize(width, height int) {
	if q.width != width { // the rows change and have not been shown
		q.rows, q.top, q.seen = q.text(max(20, width)), 0, 0
	}
	if q.quiet.IsZero() {
		q.quiet = time.Now()
	}
	q.width, q.height = width, max(4, height)
	q.look()
}

// look computes which rows are visible.
func (q *question) look() {
	q.area = max(1, q.height-len(q.foot()))
	q.top = max(0, min(q.top, len(q.rows)-q.area))
	if q.top <= q.seen {
		q.seen = max(q.seen, min(len(q.rows), q.top+q.area))
	}
}

// armed reports whether keys count.
func (q *question) armed() bool { return !q.quiet.IsZero() && time.Since(q.quiet) >= settle }

// whole reports whether the whole text has been visible.
func (q *question) whole() bool { return q.seen >= len(q.rows) }

// press handles a key and reports whether it counted.
func (q *question) press(k tea.KeyPressMsg) bool {
	name := k.String()
	if name == "ctrl+c" {
		q.word = interrupted
		return true
	}
	if !q.armed() {
		q.quiet = time.Now()
		return false
	}
	switch {
	case name == "ctrl+d":
		q.word = closed
	case q.typing != nil:
		q.write(k, name)
	case q.picking:
		q.pick(name)
	case q.scroll(name):
	default:
		q.decide(name)
	}
	q.look()
	return true
}

func (q *question) scroll(name string) bool {
	switch name {
	case "space", "pgdown", "f":
		q.top += q.area
	case "pgup", "b":
		q.top -= q.area
	case "down", "j":
		q.top++
	case "up", "k":
		q.top--
	case "home", "g":
		q.top = 0
	default:
		return false
	}
	return true
}

// decide selects an answer by the first letter of its word.
func (q *question) decide(name string) {
	i := slices.IndexFunc(q.answers, func(a answer) bool { return name == a.word[:1] })
	switch {
	case i < 0 || q.answers[i].whole && !q.whole():
	case q.answers[i].word == always:
		q.picking = true
	case q.answers[i].typed:
		field := textinput.New()
		field.Prompt, field.CharLimit = "  › ", maxTask
		field.SetStyles(textinput.Styles{})
		field.SetWidth(max(10, q.width-6))
		field.Focus()
		q.typing, q.word, q.typed = &field, "", q.answers[i].word
	default:
		q.word = q.answers[i].word
	}
}

// pick selects a scope by number; Enter selects the narrowest.
func (q *question) pick(name string) {
	i := 0
	switch {
	case name == "esc":
		q.picking = false
		return
	case name == "enter":
	case len(name) == 1 && name >= "1" && int(name[0]-'1') < len(q.scopes):
		i = int(name[0] - '1')
	default:
		return
	}
	q.word, q.grant = always, &q.scopes[i]
}

// write handles a key of the typed line.
func (q *question) write(k tea.KeyPressMsg, name string) {
	switch text := q.typing.Value(); {
	case name == "esc":
		q.typing = nil
	case name == "enter" && strings.TrimSpace(text) != "":
		q.word, q.typed = q.typed, text
	case name != "enter":
		field, _ := q.typing.Update(k)
		q.typing = &field
	}
}

// paste inserts text into the typed line, if there is one. It never answers the question.
func (q *question) paste(m tea.PasteMsg) bool {
	if q.typing != nil {
		field, _ := q.typing.Update(m)
		q.typing = &field
	}
	return q.typing != nil
}

// view draws the question.
func (q *question) view() string {
	end := min(len(q.rows), q.top+q.area)
	return strings.Join(append(slices.Clone(q.rows[q.top:end]), q.foot()...), "\n")
}

// foot returns the lines below the text: the possible keys, or the answer. The keys appear when they count.
func (q *question) foot() []string {
	var out []string
	switch {
	case q.word != "":
		return []string{"  " + q.p.Cyan("→") + " " + q.verdict()}
	case q.typing != nil:
		return append(out, q.typing.View(), q.p.Dim("  Enter gives this as the answer, Esc goes back"))
	case q.picking:
		out = append(out, "  allow until "+q.until+":")
		for i, g := range q.scopes {
			line := fmt.Sprintf("  %s %s", q.key(fmt.Sprint(i+1)), g)
			if g.scope == thisCall { // the call is shown above
				out = append(out, line)
				continue
			}
			out = append(out, strings.Split(ansi.Wrap(line, max(20, q.width-1), ""), "\n")...)
		}
		out = append(out, q.p.Dim("  Enter is 1, the narrowest; Esc goes back"))
	default:
		if out = q.offers(); !q.armed() {
			clear(out)
			out[0] = q.p.Dim("  a moment…")
		}
	}
	for i := range out {
		out[i] = ansi.Truncate(out[i], max(20, q.width-1), "…")
	}
	return out
}

// offers returns the keys that answer, and the steps that are needed first.
func (q *question) offers() []string {
	var keys []string
	for _, a := range q.answers {
		if a.whole && !q.whole() {
			continue
		}
		keys = append(keys, fmt.Sprintf("%s%s %s", q.key(a.word[:1]), a.word[1:], q.p.Dim(a.help)))
	}
	var out []string
	if len(q.rows) > q.area || !q.whole() {
		text := fmt.Sprintf("rows %d to %d of %d · Space goes on, b goes back", q.top+1, min(len(q.rows), q.top+q.area), len(q.rows))
		if !q.whole() {
			text += " · to allow it, see its end"
		}
		out = append(out, "  "+q.p.Yellow(text))
	}
	if len(q.answers) > 3 {
		for _, k := range keys {
			out = append(out, "  "+k)
		}
		return out
	}
	return append(out, "  "+strings.Join(keys, " · "))
}

func (q *question) key(name string) string { return q.p.Cyan("[" + name + "]") }

// verdict describes the answer.
func (q *question) verdict() string {
	switch {
	case q.grant != nil:
		return "allowed until " + q.until + ": " + q.grant.String()
	case q.word == "yes":
		return "allowed this once"
	case q.word == typedAnswer:
		return "answered: " + cli.Revealed(strings.ReplaceAll(q.typed, "\n", " "))
	case q.word == "no":
		return "refused"
	case q.word == closed:
		return "refused: Ctrl-D, so nobody is asked any more"
	case q.word == interrupted:
		return "interrupted"
	}
	return q.word
}
