package chat

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/llm"
)

// chat is a conversation on the screen: the transcript at the top, a status line, and the input at the bottom.
type chat struct {
	ctx  context.Context
	w    *session.Session
	p    cli.Palette
	send func(tea.Msg)
	ask.Approver
	conversation
	turnState
	entry
	drawing
}

// conversation is what was said so far, with its records.
type conversation struct {
	log      *view.Transcript
	messages []llm.Message // the conversation as the model sees it
	before   []llm.Message // messages before the last turn
	whole    []llm.Message // the conversation, including messages replaced by a summary
	previous []llm.Message // whole before the last turn
	last     *llm.Message  // the last input of the person; nil before the first
	runs     []string      // the record of each turn
	journal  string        // the flags that commands about these records need, see settings.RecordedAt
	parent   string        // the record of the turn before the next one
	open     string        // the run of a turn that an earlier process left open
	spent    catalog.Money // the cost of all turns
}

// turnState is the turn that is under way, and what waits for its end.
type turnState struct {
	stop  context.CancelFunc // nil if no turn is active
	began time.Time
	turns sync.WaitGroup
	ask   *asking
	news  *news
	first *llm.Message // the message from the command line, sent first
	queue []string     // lines entered during a turn
}

// entry is the line that the person writes.
type entry struct {
	input   textarea.Model
	history []string
	at      int    // position in history; len(history) is the current input
	draft   string // the current input
	aside   bool   // the question has the keys, although the input is not empty
	keys    *ask.Keys
	offers  []string // the candidates that Tab found
	served  []string // the models that /models found
}

// drawing is the state of the terminal.
type drawing struct {
	page          term.Page
	drawn         time.Time // time of the last drawing
	width, height int
	seen          tea.View
	same          bool // nothing has changed since seen
	frame         int
	leaving       bool // Ctrl-C was pressed while no turn was active
}

// plainStyles leaves the colours of the input to the terminal.
func plainStyles() textarea.Styles { return textarea.Styles{} }

// Init sends the message from the command line.
func (c *chat) Init() tea.Cmd {
	if c.first == nil {
		return nil
	}
	return func() tea.Msg { return *c.first }
}

// Update handles a message of the terminal or of the turn.
func (c *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	bottom := c.page.AtBottom()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.width, c.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd = c.pressed(msg)
		bottom = msg.String() != "pgup" && (bottom || msg.String() == "enter")
	case ask.Ticked:
		c.frame++
		if c.stop != nil {
			cmd = ask.Tick()
		}
	case arrived:
		c.news.said.Store(false)
		c.drain()
		if time.Since(c.drawn) < term.Redraw {
			return c, nil // a later message, or the clock, draws it
		}
	case llm.Message:
		cmd = c.begin(msg)
	case turnOver:
		c.drain()
		c.end(msg)
		cmd = c.next()
	case tea.ResumeMsg:
		if c.ask != nil {
			c.ask.Rest()
		}
	case modelsFound:
		c.showModels(msg)
	case notice:
		c.log.Add(view.ShownAs, cli.Printable(string(msg)))
	case fetched:
		cmd = c.fetched(msg)
	case *asking:
		c.drain()
		c.ask, c.aside, bottom = msg, false, true
	case tea.PasteMsg:
		if c.ask == nil || c.drafting() || !c.ask.Paste(msg) {
			c.input, cmd = c.input.Update(msg)
		}
	default:
		c.input, cmd = c.input.Update(msg)
	}
	c.layout(bottom)
	c.same = false
	return c, cmd
}

// layout sets the sizes of all parts. With bottom, the page stays scrolled to its end.
func (c *chat) layout(bottom bool) {
	if c.width == 0 {
		return
	}
	c.input.SetWidth(c.width)
	rows := c.input.Height() + 1 + len(c.above())
	if c.ask != nil {
		below := len(c.draftLines())
		c.ask.Away = c.drafting()
		c.ask.Resize(c.width, c.height-3-below)
		rows = strings.Count(c.ask.Draw(), "\n") + 1 + below
	}
	c.drawn = time.Now()
	c.page.Show(c.log.Lines(c.width, c.frame, c.drawn), max(1, c.height-rows-1), bottom)
}

// drain handles all queued events.
func (c *chat) drain() {
	for {
		select {
		case ev := <-c.news.events:
			c.log.Event(ev)
		default:
			return
		}
	}
}

// View returns the screen. It draws it only after a change.
func (c *chat) View() tea.View {
	if !c.same {
		c.seen, c.same = c.draw(), true
	}
	return c.seen
}

func (c *chat) draw() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	v.WindowTitle = "toolpost " + c.w.Found.ID
	if c.width == 0 {
		return v
	}
	rule := c.p.Dim(strings.Repeat("─", c.width))
	if c.ask != nil {
		parts := append([]string{c.page.View(), rule, c.ask.Draw()}, c.draftLines()...)
		v.Content = strings.Join(parts, "\n")
		if cur := c.input.Cursor(); cur != nil && c.drafting() {
			cur.Y += strings.Count(v.Content, "\n") + 1 - c.input.Height()
			v.Cursor = cur
		}
		return v
	}
	parts := append([]string{c.page.View(), rule}, c.above()...)
	v.Content = strings.Join(append(parts, c.input.View(), c.statusLine()), "\n")
	if cur := c.input.Cursor(); cur != nil {
		cur.Y += c.page.Height + 1 + len(c.above())
		v.Cursor = cur
	}
	return v
}

// statusLine describes the state of the turn and the keys that apply.
func (c *chat) statusLine() string {
	text := c.w.Found.ID + " · " + cli.Count(c.w.ToolSet.Len(), "tool")
	switch {
	case c.stop != nil:
		text = fmt.Sprintf("%c %s%s · Ctrl-C interrupts", view.Spinner[c.frame%len(view.Spinner)], cmp.Or(c.log.Status, "working"), " "+cli.ShortDuration(time.Since(c.began)))
	case c.leaving:
		text += " · Ctrl-C once more leaves"
	default:
		text += " · /help"
	}
	if !c.page.AtBottom() {
		text += " · Page Down shows what is new"
	}
	return c.p.Dim(ansi.Truncate(text, c.width, "…"))
}

// pressed handles a key.
func (c *chat) pressed(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name != "ctrl+c" {
		c.leaving = false
	}
	if c.ask != nil && name != "ctrl+z" {
		if c.drafting() && name == "tab" {
			c.aside = true
			c.ask.Return()
			return nil
		}
		if (!c.drafting() || name == "ctrl+c") && c.answer(k) {
			return nil
		}
		defer c.draftDone(c.drafting())
	}
	c.offers = nil
	switch name {
	case "tab":
		c.completeInput()
		return nil
	case "ctrl+c":
		return c.ctrlC()
	case "esc":
		c.interrupt()
		return nil
	case "ctrl+d":
		if c.input.Value() == "" && c.stop == nil {
			return tea.Quit
		}
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		if ask.CanSuspend() {
			return tea.Suspend
		}
		return nil
	case "pgup":
		c.page.Move(-c.page.Height)
		return nil
	case "pgdown":
		c.page.Move(c.page.Height)
		return nil
	case "enter":
		return c.enter()
	}
	if c.recall(name) {
		return nil
	}
	var cmd tea.Cmd
	c.input, cmd = c.input.Update(k)
	return cmd
}

// ctrlC interrupts a turn. Without a turn it clears the input. With an empty input, pressing it twice leaves.
func (c *chat) ctrlC() tea.Cmd {
	switch {
	case c.stop != nil:
		c.interrupt()
	case c.input.Value() != "":
		c.input.Reset()
	case c.leaving:
		return tea.Quit
	default:
		c.leaving = true
	}
	return nil
}

// drafting reports whether the keys go to the input during a question: the person has begun a message, which does not
// answer it.
func (c *chat) drafting() bool { return c.ask != nil && !c.aside && c.input.Value() != "" }

// draftDone gives the keys to the question once the message that had them is sent or deleted.
func (c *chat) draftDone(drafted bool) {
	if drafted && c.ask != nil && !c.drafting() {
		c.ask.Rest()
	}
}

// draftLines returns what is below a question: the message that the person has begun.
func (c *chat) draftLines() []string {
	if c.input.Value() == "" && len(c.queue) == 0 {
		return nil
	}
	out := append([]string{c.p.Dim(strings.Repeat("─", c.width))}, c.above()...)
	if c.input.Value() == "" {
		return out
	}
	return append(out, strings.Split(c.input.View(), "\n")...)
}

// answer passes a key to the current question. A key that was pressed too early goes to the input.
func (c *chat) answer(k tea.KeyPressMsg) bool {
	if k.String() == "esc" && !c.ask.Busy() {
		return false
	}
	took := c.ask.Press(k)
	switch c.ask.Word {
	case "":
		return took
	case ask.Interrupted:
		c.interrupt() // the turn stops waiting
	default:
		c.ask.Look()
		c.log.Answered(c.ask.call, c.ask.Draw())
		close(c.ask.reply)
	}
	c.ask = nil
	return true
}

// enter submits the input.
func (c *chat) enter() tea.Cmd {
	text := strings.TrimSpace(c.input.Value())
	switch {
	case c.ask != nil && !c.ask.Armed() && c.ask.Offers(text): // a choice and its Enter, typed before they counted
		c.input.Reset()
		return nil
	case text == "" || c.ask != nil && !(c.drafting() && c.ask.Armed()):
		return nil
	case strings.HasSuffix(text, `\`): // the backslash continues the line
		c.input.SetValue(strings.TrimSuffix(text, `\`) + "\n")
		return nil
	case c.stop != nil && !anytime(text):
		if len(c.queue) < maxQueue {
			c.input.Reset()
			c.remember(text)
			c.queue = append(c.queue, text)
		}
		return nil // a full queue leaves the text in the input
	}
	c.input.Reset()
	c.remember(text)
	return c.do(text)
}

// do runs a slash command or sends the text to the model.
func (c *chat) do(text string) tea.Cmd {
	if strings.HasPrefix(text, "/") {
		return c.command(text)
	}
	if msg := llm.User(text); len(c.w.Mentions(text)) > 0 {
		return c.fetch(func(ctx context.Context) (llm.Message, error) { return c.w.Attach(ctx, msg) })
	}
	return c.begin(llm.User(text))
}

// maxQueue is how many lines may wait for the end of a turn.
const maxQueue = 100

// next runs the queued lines in order, until another turn starts.
func (c *chat) next() tea.Cmd {
	var cmds []tea.Cmd
	for len(c.queue) > 0 && c.stop == nil {
		text := c.queue[0]
		c.queue = c.queue[1:]
		cmds = append(cmds, c.do(text))
	}
	return tea.Batch(cmds...)
}

// unqueue moves the queued lines back to the input after a failed turn.
func (c *chat) unqueue() {
	if len(c.queue) == 0 {
		return
	}
	c.input.SetValue(strings.Join(append(c.queue, c.input.Value()), "\n"))
	c.queue = nil
	c.log.Add(view.Noted, "what was waiting to be sent is below again")
}

// above returns the rows between the page and the input: queued lines and the candidates of Tab.
func (c *chat) above() []string {
	var out []string
	for i, text := range c.queue {
		if i == 3 {
			out = append(out, fmt.Sprintf("⋯ and %d more", len(c.queue)-i))
			break
		}
		out = append(out, "⋯ "+cli.InOneLine(text))
	}
	if len(c.offers) > 0 {
		out = append(out, strings.Join(c.offers, "  "))
	}
	for i := range out {
		out[i] = c.p.Dim(ansi.Truncate(out[i], c.width, "…"))
	}
	return out
}

// recall moves through the history when the cursor is on the first or last row of the input.
func (c *chat) recall(name string) bool {
	to := c.at
	switch {
	case name == "up" && c.input.Line() == 0 && c.input.LineInfo().RowOffset == 0:
		to--
	case name == "down" && c.input.Line() == c.input.LineCount()-1:
		to++
	default:
		return false
	}
	if to < 0 || to > len(c.history) {
		return true
	}
	if c.at == len(c.history) {
		c.draft = c.input.Value()
	}
	if c.at = to; to == len(c.history) {
		c.input.SetValue(c.draft)
	} else {
		c.input.SetValue(c.history[to])
	}
	return true
}
