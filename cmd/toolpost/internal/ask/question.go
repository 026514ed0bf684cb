package ask

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

// Question is a decision of the person at the terminal: its text and the keys that answer it. run shows it below the
// earlier output, chat in place of the input.
//
// Keys count only after the question has been on the screen for a while without a key press. Keys that allow something
// count only after the whole text has been on the screen.
type Question struct {
	p       cli.Palette
	text    func(width int) []string // the text of the question
	answers []answer
	scopes  []Grant // the scopes of "always", narrowest first
	until   string  // when such a permission ends

	width, height int
	rows          []string
	top, area     int // the visible part of rows
	seen          int // how many rows, from the first, have been visible
	quiet         time.Time
	Picking       bool // choosing a scope
	Typing        *textinput.Model

	Word  string // the answer; "" if undecided
	grant *Grant // for "always"
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
	Interrupted = "interrupted" // Ctrl-C
	closed      = "closed"      // Ctrl-D: the input is closed
)

// Settle is how long a question must be visible without a key press before keys count. Only tests change it.
var Settle = 600 * time.Millisecond

// Consent asks about a call, or shows a tool's question during a call.
func Consent(c cli.Palette, p *Proposal, until string) *Question {
	if p.Prompt > 0 {
		return &Question{p: c, text: func(width int) []string { return p.screen(c, width) },
			answers: []answer{{word: typedAnswer, help: "type it", whole: true, typed: true}, {word: "no", help: "do not answer"}}}
	}
	return &Question{
		p: c, until: until, scopes: p.scopes(),
		text: func(width int) []string { return p.screen(c, width) },
		answers: []answer{
			{word: "yes", help: "this once", whole: true}, {word: "no", help: "go on without it"},
			{word: always, help: "say how far", whole: true},
		},
	}
}

// Resize sets the size of the question.
func (q *Question) Resize(width, height int) {
	if q.width != width { // the rows change and have not been shown
		q.rows, q.top, q.seen = q.text(max(20, width)), 0, 0
	}
	if q.quiet.IsZero() {
		q.quiet = time.Now()
	}
	q.width, q.height = width, max(4, height)
	q.Look()
}

// Look computes which rows are visible.
func (q *Question) Look() {
	q.area = max(1, q.height-len(q.foot()))
	q.top = max(0, min(q.top, len(q.rows)-q.area))
	if q.top <= q.seen {
		q.seen = max(q.seen, min(len(q.rows), q.top+q.area))
	}
}

// armed reports whether keys count.
func (q *Question) armed() bool { return !q.quiet.IsZero() && time.Since(q.quiet) >= Settle }

// whole reports whether the whole text has been visible.
func (q *Question) whole() bool { return q.seen >= len(q.rows) }

// Press handles a key and reports whether it counted.
func (q *Question) Press(k tea.KeyPressMsg) bool {
	name := k.String()
	if name == "ctrl+c" {
		q.Word = Interrupted
		return true
	}
	if !q.armed() {
		q.quiet = time.Now()
		return false
	}
	switch {
	case name == "ctrl+d":
		q.Word = closed
	case q.Typing != nil:
		q.write(k, name)
	case q.Picking:
		q.pick(name)
	case q.scroll(name):
	default:
		q.decide(name)
	}
	q.Look()
	return true
}

func (q *Question) scroll(name string) bool {
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
func (q *Question) decide(name string) {
	i := slices.IndexFunc(q.answers, func(a answer) bool { return name == a.word[:1] })
	switch {
	case i < 0 || q.answers[i].whole && !q.whole():
	case q.answers[i].word == always:
		q.Picking = true
	case q.answers[i].typed:
		field := textinput.New()
		field.Prompt, field.CharLimit = "  › ", cli.MaxTask
		field.SetStyles(textinput.Styles{})
		field.SetWidth(max(10, q.width-6))
		field.Focus()
		q.Typing, q.Word, q.typed = &field, "", q.answers[i].word
	default:
		q.Word = q.answers[i].word
	}
}

// pick selects a scope by number; Enter selects the narrowest.
func (q *Question) pick(name string) {
	i := 0
	switch {
	case name == "esc":
		q.Picking = false
		return
	case name == "enter":
	case len(name) == 1 && name >= "1" && int(name[0]-'1') < len(q.scopes):
		i = int(name[0] - '1')
	default:
		return
	}
	q.Word, q.grant = always, &q.scopes[i]
}

// write handles a key of the typed line.
func (q *Question) write(k tea.KeyPressMsg, name string) {
	switch text := q.Typing.Value(); {
	case name == "esc":
		q.Typing = nil
	case name == "enter" && strings.TrimSpace(text) != "":
		q.Word, q.typed = q.typed, text
	case name != "enter":
		field, _ := q.Typing.Update(k)
		q.Typing = &field
	}
}

// Paste inserts text into the typed line, if there is one. It never answers the question.
func (q *Question) Paste(m tea.PasteMsg) bool {
	if q.Typing != nil {
		field, _ := q.Typing.Update(m)
		q.Typing = &field
	}
	return q.Typing != nil
}

// Draw draws the question.
func (q *Question) Draw() string {
	end := min(len(q.rows), q.top+q.area)
	return strings.Join(append(slices.Clone(q.rows[q.top:end]), q.foot()...), "\n")
}

// foot returns the lines below the text: the possible keys, or the answer. The keys appear when they count.
func (q *Question) foot() []string {
	var out []string
	switch {
	case q.Word != "":
		return []string{"  " + q.p.Cyan("→") + " " + q.verdict()}
	case q.Typing != nil:
		return append(out, q.Typing.View(), q.p.Dim("  Enter gives this as the answer, Esc goes back"))
	case q.Picking:
		out = append(out, "  allow until "+q.until+":")
		for i, g := range q.scopes {
			line := fmt.Sprintf("  %s %s", q.key(fmt.Sprint(i+1)), g)
			if g.Scope == thisCall { // the call is shown above
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
func (q *Question) offers() []string {
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

func (q *Question) key(name string) string { return q.p.Cyan("[" + name + "]") }

// verdict describes the answer.
func (q *Question) verdict() string {
	switch {
	case q.grant != nil:
		return "allowed until " + q.until + ": " + q.grant.String()
	case q.Word == "yes":
		return "allowed this once"
	case q.Word == typedAnswer:
		return "answered: " + cli.Revealed(strings.ReplaceAll(q.typed, "\n", " "))
	case q.Word == "no":
		return "refused"
	case q.Word == closed:
		return "refused: Ctrl-D, so nobody is asked any more"
	case q.Word == Interrupted:
		return "interrupted"
	}
	return q.Word
}

// Ticked reports that time has passed during a turn.
type Ticked struct{}

func Tick() tea.Cmd {
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return Ticked{} })
}
