package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Question is a decision of the person at the terminal: its text and the choices that answer it. run shows it below the
// earlier output, chat in place of the input.
//
// A choice is its key, or arrows, followed by Enter. Enter clears the beginning of a choice's word, such as "yes". Any
// other text refuses, and is the reason for the model. Keys count only after the question has been on the screen for a
// while without a key press. Choices that allow something count only after the whole text has been on the screen.
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
	early         bool // keys came before they counted: the person may be in the middle of a sentence

	stage  stage
	mark   int             // the choice that arrows selected, from 1
	line   textinput.Model // the text of the line
	pasted bool            // part of the line did not come from single key presses, so the line is not a choice
	unseen bool            // the line was begun before the end of the text was visible, so the line is not a choice
	texts  int64           // how many texts of Keys came before the line was begun
	breaks int64           // how many line breaks of Keys are over
	last   time.Time       // of the last key
	hint   string

	// Keys is where the keys come from; nil if that cannot tell pasted line breaks from Enter.
	Keys *Keys
	// Away means that keys go elsewhere, and Tab brings them here.
	Away bool

	Word   string // the answer; "" if undecided
	grant  *Grant // for "always"
	typed  string // the typed text of an answer
	gives  string // what that text is
	reason string // why the person refuses, for the model
}

// stage is the part of a question that the person answers now.
type stage uint8

const (
	choosing   stage = iota // one of the answers
	picking                 // a scope of "always"
	confirming              // the widest scope, by a typed word
	writing                 // the text of an answer
)

// answer is a possible answer with its key.
type answer struct {
	word, help string
	whole      bool   // only after the whole text was visible
	typed      bool   // requires a typed line
	gives      string // what the typed line is
}

// The answers that are not words of the question.
const (
	always      = "always"
	instead     = "instead"
	Interrupted = "interrupted" // Ctrl-C
	closed      = "closed"      // Ctrl-D: the input is closed
)

// everything is the word that confirms the widest scope.
const everything = "everything"

// maxReason limits the text of a refusal.
const maxReason = 2000

// Settle is how long a question must be visible without a key press before keys count. Only tests change it.
var Settle = 600 * time.Millisecond

// now is the clock of questions.
var now = time.Now

// beat is the shortest time between a key and the Enter that confirms it. A line break that follows faster was pasted or
// sent by a program.
func beat() time.Duration { return Settle / 12 }

// Consent asks about a call, or shows a tool's question during a call.
func Consent(c cli.Palette, p *Proposal, until string) *Question {
	if p.Prompt > 0 {
		return newQuestion(c, func(width int) []string { return p.screen(c, width) },
			answer{word: typedAnswer, help: "type it", whole: true, typed: true, gives: "the answer"}, answer{word: "no", help: "do not answer"})
	}
	q := newQuestion(c, func(width int) []string { return p.screen(c, width) },
		answer{word: "yes", help: "once", whole: true}, answer{word: "no"},
		answer{word: instead, help: "say what", typed: true}, answer{word: always, help: "say how far", whole: true})
	q.until, q.scopes = until, p.scopes()
	return q
}

func newQuestion(c cli.Palette, text func(width int) []string, answers ...answer) *Question {
	q := &Question{p: c, text: text, answers: answers, line: textinput.New()}
	q.line.SetStyles(textinput.Styles{})
	q.line.CharLimit = maxReason
	q.line.Focus()
	return q
}

// Resize sets the size of the question.
func (q *Question) Resize(width, height int) {
	if q.width != width { // the rows change and have not been shown
		q.rows, q.top, q.seen = q.text(max(20, width)), 0, 0
	}
	if q.quiet.IsZero() {
		q.quiet = now()
		q.catchUp()
	}
	q.width, q.height = width, max(4, height)
	q.Look()
}

// Look computes which rows are visible. What was marked or typed before the choices were complete chooses none of them.
func (q *Question) Look() {
	defer func(whole bool) {
		if q.whole() != whole {
			q.mark, q.unseen = 0, q.line.Value() != ""
		}
	}(q.whole())
	q.area = max(1, q.height-len(q.foot()))
	q.top = max(0, min(q.top, len(q.rows)-q.area))
	if q.top <= q.seen {
		q.seen = max(q.seen, min(len(q.rows), q.top+q.area))
	}
}

// armed reports whether keys count. After a key that did not count the delay is longer, for people who type slowly.
func (q *Question) armed() bool {
	delay := Settle
	if q.early {
		delay *= 3
	}
	return !q.quiet.IsZero() && now().Sub(q.quiet) >= delay
}

// Rest makes keys count again only after a delay, for a question that was away from the screen.
func (q *Question) Rest() {
	q.clear()
	q.tooEarly()
}

// tooEarly notes a key or a paste that did not count.
func (q *Question) tooEarly() {
	q.quiet, q.early = now(), true
	q.catchUp()
}

// catchUp notes that what Keys has counted so far is not about the line.
func (q *Question) catchUp() { q.texts, q.breaks = q.Keys.Texts(), q.Keys.Breaks() }

// Return makes keys count after the delay of a new question: the person has called it back.
func (q *Question) Return() {
	q.Rest()
	q.early = false
}

// Armed reports whether keys count.
func (q *Question) Armed() bool { return q.armed() }

// Offers reports whether text is the key of an answer.
func (q *Question) Offers(text string) bool {
	return slices.ContainsFunc(q.answers, func(a answer) bool { return strings.EqualFold(text, a.word[:1]) })
}

// whole reports whether the whole text has been visible.
func (q *Question) whole() bool { return q.seen >= len(q.rows) }

// Busy reports whether the person has begun to answer, so that Esc goes back one step.
func (q *Question) Busy() bool { return q.stage != choosing || q.line.Value() != "" || q.mark > 0 }

// Press handles a key and reports whether it counted.
func (q *Question) Press(k tea.KeyPressMsg) bool {
	name := k.String()
	if name == "ctrl+c" {
		q.Word = Interrupted
		return true
	}
	if !q.armed() {
		q.tooEarly()
		return false
	}
	switch {
	case name == "ctrl+d":
		q.Word = closed
	case name == "esc":
		q.back()
	case name == "enter":
		q.enter()
	case q.line.Value() == "" && q.stage != writing && (q.move(name) || q.scroll(name)):
	case (name == "pgdown" || name == "pgup") && q.scroll(name):
	case k.Text != "" && k.Mod&^tea.ModShift == 0 || q.line.Value() != "":
		q.edit(k)
		q.mark, q.hint = 0, ""
	}
	q.last, q.early = now(), false
	q.Look()
	return true
}

// edit changes the line.
func (q *Question) edit(m tea.Msg) {
	q.line, _ = q.line.Update(m)
	if q.line.Value() == "" {
		q.pasted, q.unseen, q.texts = false, false, q.Keys.Texts()
	} else if q.texts < q.Keys.Texts() {
		q.pasted = true
	}
}

// clear empties the line and unmarks the choice.
func (q *Question) clear() {
	q.line.Reset()
	q.mark, q.pasted, q.unseen, q.hint = 0, false, false, ""
	q.catchUp()
}

// back undoes one step: the text of the line, else the stage.
func (q *Question) back() {
	text := q.line.Value()
	q.clear()
	switch {
	case text != "" && q.stage != writing:
	case q.stage == confirming:
		q.stage = picking
	default:
		q.stage = choosing
	}
}

// move moves the mark over the choices.
func (q *Question) move(name string) bool {
	step := map[string]int{"right": 1, "tab": 1, "left": -1, "shift+tab": -1}[name]
	if q.stage == picking {
		step += map[string]int{"down": 1, "up": -1}[name]
	}
	n := len(q.choices())
	if step == 0 || n == 0 {
		return false
	}
	if name == "tab" && now().Sub(q.last) < beat() { // of a pasted text
		return true
	}
	if q.mark += step; q.mark < 1 {
		q.mark = n
	} else if q.mark > n {
		q.mark = 1
	}
	q.hint = ""
	return true
}

func (q *Question) scroll(name string) bool {
	switch name {
	case "space", "pgdown":
		q.top += q.area
	case "pgup":
		q.top -= q.area
	case "down":
		q.top++
	case "up":
		q.top--
	case "home":
		q.top = 0
	case "end":
		q.top = len(q.rows)
	default:
		return false
	}
	return true
}

// choices returns the choices of the stage with their keys and words.
func (q *Question) choices() (out []choice) {
	switch q.stage {
	case choosing:
		for i, a := range q.answers {
			if !a.whole || q.whole() {
				out = append(out, choice{a.word[:1], a.word, cmp.Or(a.help, a.word), i})
			}
		}
	case picking:
		for i := range q.scopes {
			out = append(out, choice{key: fmt.Sprint(i + 1), help: fmt.Sprintf("choose %d", i+1), index: i})
		}
	case confirming:
		out = []choice{{key: everything, word: everything, help: "allow everything until " + q.until}}
	}
	return out
}

// choice is an answer that Enter can confirm now.
type choice struct {
	key, word, help string
	index           int // of the answer or scope
}

// chosen returns the choice that Enter confirms.
func (q *Question) chosen() (choice, bool) {
	all, text := q.choices(), strings.ToLower(q.line.Value())
	if q.pasted || q.unseen || q.stage == writing {
		return choice{}, false
	}
	if i := slices.IndexFunc(all, func(c choice) bool { return c.key == text }); i >= 0 {
		return all[i], true
	}
	if text == "" && q.mark > 0 && q.mark <= len(all) && q.stage != confirming {
		return all[q.mark-1], true
	}
	return choice{}, false
}

// begun reports whether the line is the beginning of a word of the question, which refuses nothing.
func (q *Question) begun() bool {
	text := strings.ToLower(strings.TrimSpace(q.line.Value()))
	starts := func(word string) bool { return word != "" && strings.HasPrefix(word, text) }
	if q.stage == confirming {
		return starts(everything)
	}
	return slices.ContainsFunc(q.answers, func(a answer) bool { return starts(a.word) })
}

// refuses reports whether text refuses.
func (q *Question) refuses() bool {
	return slices.ContainsFunc(q.answers, func(a answer) bool { return a.word == "no" })
}

// declines reports whether the line is the word "no", which refuses without a reason.
func (q *Question) declines() bool {
	return strings.EqualFold(strings.TrimSpace(q.line.Value()), "no") && q.refuses() && !q.pasted
}

// pastedBreak reports whether an Enter is a line break of a pasted text: it came together with other input, or at once
// after a key.
func (q *Question) pastedBreak() bool {
	if q.breaks < q.Keys.Breaks() {
		q.breaks++
		return true
	}
	return now().Sub(q.last) < beat()
}

// keyAsText reports whether the line is a key or the beginning of a word that chooses nothing, because its Enter came too
// fast or the choice was not there yet.
func (q *Question) keyAsText() bool {
	text := strings.ToLower(strings.TrimSpace(q.line.Value()))
	return (q.pasted || q.unseen) && text != "" && (q.begun() || slices.ContainsFunc(q.choices(), func(c choice) bool { return c.key == text }))
}

// enter confirms a choice or sends the line.
func (q *Question) enter() {
	text := strings.TrimSpace(q.line.Value())
	c, ok := q.chosen()
	switch {
	case q.pastedBreak():
		if text != "" {
			q.line.SetValue(q.line.Value() + " ")
			q.line.CursorEnd()
			q.pasted = true
		}
		q.mark = 0
	case q.stage == writing && text != "":
		q.finish(text)
	case ok:
		q.take(c.index)
	case text == "":
	case q.declines():
		q.Word = "no"
	case !q.pasted && (q.begun() || q.keyAsText()), !q.refuses():
		q.clear()
		q.hint = "that is not a choice: press its key, then Enter"
		if q.stage == confirming {
			q.hint = "type the whole word, then Enter"
		}
	default:
		q.Word, q.reason = "no", text
	}
}

// finish takes the line as the text of an answer.
func (q *Question) finish(text string) {
	if q.typed == instead {
		q.Word, q.reason = "no", "do this instead: "+text
		return
	}
	q.Word, q.typed = q.typed, text
}

// take takes a choice: an answer, or a scope.
func (q *Question) take(i int) {
	at := q.stage
	q.clear()
	switch {
	case at == choosing && q.answers[i].word == always:
		q.stage = picking
	case at == choosing && q.answers[i].typed:
		q.stage, q.typed, q.gives = writing, q.answers[i].word, q.answers[i].gives
		if q.line.CharLimit = maxReason; q.typed != instead {
			q.line.CharLimit = cli.MaxTask
		}
	case at == choosing:
		q.Word = q.answers[i].word
	case at == picking && q.scopes[i].Scope == Anything:
		q.stage = confirming
	case at == picking:
		q.Word, q.grant = always, &q.scopes[i]
	case at == confirming:
		q.Word, q.grant = always, &q.scopes[len(q.scopes)-1]
	}
}

// Paste inserts text into the line. Pasted text never is a choice.
func (q *Question) Paste(m tea.PasteMsg) bool {
	if !q.armed() {
		q.tooEarly()
		return false
	}
	q.catchUp()
	m.Content = strings.Join(strings.Fields(m.Content), " ")
	q.pasted, q.mark, q.hint = true, 0, ""
	q.edit(m)
	q.last, q.early = now(), false
	q.Look()
	return true
}

// Draw draws the question.
func (q *Question) Draw() string {
	end := min(len(q.rows), q.top+q.area)
	return strings.Join(append(slices.Clone(q.rows[q.top:end]), q.foot()...), "\n")
}

// foot returns the lines below the text: the choices and the line, or the answer. The choices appear when they count.
func (q *Question) foot() []string {
	var out []string
	switch {
	case q.Word != "":
		return []string{"  " + q.p.Cyan("→") + " " + q.verdict()}
	case q.stage == writing:
	case q.stage == confirming:
		out = append(out, "  allow until "+q.until+": "+q.scopes[len(q.scopes)-1].String())
	case q.stage == picking:
		out = append(out, "  allow until "+q.until+":")
		for i, g := range q.scopes {
			line := fmt.Sprintf(" %s %s", q.key(i, fmt.Sprint(i+1)), g)
			if g.Scope == thisCall { // the call is shown above
				out = append(out, line)
				continue
			}
			out = append(out, strings.Split(ansi.Wrap(line, max(20, q.width-1), ""), "\n")...)
		}
	case q.Away:
		return append(q.offers(), q.p.Dim("  the keys go to your message below: Tab brings them here"))
	default:
		if out = q.offers(); !q.armed() {
			clear(out)
			out[0] = q.p.Dim("  a moment…")
			return append(out, "")
		}
	}
	out = append(out, q.prompt()...)
	for i := range out {
		out[i] = ansi.Truncate(out[i], max(20, q.width-1), "…")
	}
	return out
}

// prompt returns the line with what Enter would do.
func (q *Question) prompt() []string {
	c, ok := q.chosen()
	text := strings.TrimSpace(q.line.Value())
	refuses := !ok && text != "" && q.refuses() && (q.pasted || !q.begun() && !q.keyAsText())
	counts := now().Sub(q.last) >= beat()
	var does string
	switch q.line.Prompt = "  › "; {
	case q.stage == writing && q.typed == instead:
		q.line.Prompt = "  no, do this instead: "
		does = "Enter refuses and says this, Esc goes back"
	case q.stage == writing:
		does = "Enter gives this as " + q.gives + ", Esc goes back"
	case q.unseen && !q.pasted && q.keyAsText():
		does = "typed before its end was visible: Esc, then the key, then Enter"
	case q.keyAsText():
		does = "taken as pasted text: Esc, then the key, then Enter"
		if refuses {
			q.line.Prompt = "  no, because: "
			does = "taken as pasted text: Esc, then the key; Enter refuses for this reason"
		}
	case refuses:
		q.line.Prompt = "  no, because: "
		does = "Enter refuses and gives the model this reason, Esc goes back"
	case q.declines():
		does = "Enter: no"
	case !ok && q.stage == choosing && q.Offers(text):
		does = "to allow it, see its end: Esc, then Space"
	case !ok && text != "" && q.stage != confirming:
		does = "not a choice: Enter clears this; a choice is its key, then Enter"
	case ok && counts:
		does = "Enter: " + c.help
	case q.hint != "":
		does = q.hint
	case q.stage == confirming:
		does = "type the word " + everything + ", then Enter; Esc goes back"
	case q.stage == picking:
		does = "a number, then Enter; Esc goes back"
	case q.refuses():
		does = "a key, then Enter; other text refuses, and is the reason for the model"
	default:
		does = "a key, then Enter"
	}
	below := q.p.Dim("  " + does)
	if q.line.Value() == "" && q.stage != writing {
		return []string{below}
	}
	q.line.SetWidth(max(10, q.width-ansi.StringWidth(q.line.Prompt)-3))
	return []string{q.line.View(), below}
}

// offers returns the choices, and the steps that are needed first.
func (q *Question) offers() []string {
	var keys []string
	for i, c := range q.choices() {
		a := q.answers[c.index]
		keys = append(keys, strings.TrimRight(fmt.Sprintf("%s%s %s", q.key(i, c.key), a.word[1:], q.p.Dim(a.help)), " "))
	}
	var out []string
	if len(q.rows) > q.area || !q.whole() {
		text := fmt.Sprintf("rows %d to %d of %d · Space: next, Page Up: back", q.top+1, min(len(q.rows), q.top+q.area), len(q.rows))
		if !q.whole() {
			text += " · to allow it, see its end"
		}
		out = append(out, "  "+q.p.Yellow(text))
	}
	if line := " " + strings.Join(keys, " ·"); ansi.StringWidth(line) < q.width {
		return append(out, line)
	}
	for _, k := range keys {
		out = append(out, " "+k)
	}
	return out
}

// key shows the key of choice i after a cell for the mark of the arrows.
func (q *Question) key(i int, name string) string {
	if q.mark == i+1 {
		return q.p.Bold(q.p.Cyan("▸[" + name + "]"))
	}
	return " " + q.p.Cyan("["+name+"]")
}

// verdict describes the answer.
func (q *Question) verdict() string {
	no := "refused"
	if len(q.answers) > 0 && q.answers[0].word == typedAnswer {
		no = "declined to answer"
	}
	switch {
	case q.grant != nil:
		return "allowed until " + q.until + ": " + q.grant.String()
	case q.Word == "yes":
		return "allowed this once"
	case q.Word == typedAnswer:
		return "answered: " + cli.Revealed(strings.ReplaceAll(q.typed, "\n", " "))
	case q.Word == "no" && q.reason != "":
		return no + ": " + cli.Revealed(q.reason)
	case q.Word == "no":
		return no
	case q.Word == closed:
		return no + ": Ctrl-D, so nobody is asked any more"
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
