// Package chat is the command chat: a conversation on the whole screen of a terminal.
package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/task"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/llm"
)

func New() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat [MESSAGE]...",
		Short: "Talk to a model that has tools, in a terminal",
		Long: `A conversation with a model that has tools, on the whole screen of a terminal.

The model and the tools are found as run finds them. A MESSAGE is sent at once, with the
files of -f. -c goes on with the latest conversation, --resume with any.

Enter sends, Ctrl-J begins a new line, Tab completes, the arrows go through what you said
before, Page Up and Page Down scroll, Ctrl-C interrupts a turn. A line that is sent while a
turn is under way waits for its end. /help lists the commands: /model switches the model
without losing the conversation. Every turn is recorded as a run.`,
		Example: `  toolpost chat
  toolpost chat -m ollama/qwen3:8b --allow write
  toolpost chat -f README.md "What is missing here?"
  toolpost chat --continue`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			in, inOK := cmd.InOrStdin().(*os.File)
			out, outOK := cmd.OutOrStdout().(*os.File)
			if !inOK || !outOK || !cli.IsTerminal(in) || !cli.IsTerminal(out) {
				return errors.New("chat needs a terminal; 'toolpost run' works without one")
			}
			return f.chat(cmd, words, in, out)
		},
	}
	settings.AddFlags(cmd)
	settings.AddTalkFlags(cmd, &f.resume, &f.goOn, &f.files)
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "allow what would be asked about")
	cmd.Flags().BoolVar(&f.plain, "plain", false, term.PlainUsage)
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, view.VerboseUsage)
	return cmd
}

type chatFlags struct {
	resume           string
	goOn, yes, plain bool
	verbose          bool
	files            []string
}

func (f chatFlags) chat(cmd *cobra.Command, words []string, in, out *os.File) error {
	if slices.Contains(words, "-") || slices.Contains(f.files, "-") {
		return cli.Usagef(cmd, "standard input is the terminal; name a file with -f")
	}
	if len(words) == 0 && len(f.files) > 0 {
		return cli.Usagef(cmd, "what about the files? give a message with them")
	}
	first, err := task.Read(cmd, words, f.files, true)
	if err != nil {
		return err
	}
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	old, err := session.TakeUp(s, cmd, f.resume, f.goOn)
	if err != nil {
		return err
	}
	w, err := session.Open(cmd.Context(), s, cmd)
	if err != nil {
		return view.Advised(err)
	}
	defer w.Close()
	if err := old.Complete(cmd, w.ToolSet); err != nil {
		return err
	}
	w.ShowNotices(cmd)
	cli.MustEnd(cmd.Context())
	c := newModel(cmd.Context(), w, cli.Colours(out), f.yes)
	c.log.Warnings.All = f.verbose
	c.log.Plain, c.journal = f.plain, settings.RecordedAt(cmd)
	c.takeUp(old)
	if first, err = w.Attach(cmd.Context(), first); err != nil {
		return err
	}
	if len(first.Parts) > 0 {
		c.first = &first
	}
	return runChat(c, in, out)
}

// runChat shows the conversation until the person leaves.
func runChat(c *chat, in, out *os.File) error {
	ctx := c.ctx
	c.keys = &ask.Keys{File: in}
	program := tea.NewProgram(c, tea.WithContext(ctx), tea.WithInput(c.keys), tea.WithOutput(out), tea.WithoutSignalHandler())
	c.send = program.Send
	show := func(line string) { go c.send(notice(line)) }
	c.w.ShowLog.Store(&show)
	_, err := program.Run()
	c.interrupt()
	c.turns.Wait()
	if n := len(c.runs); n > 0 {
		fmt.Fprintf(out, "%s recorded; toolpost receipts verify %s%s\n", cli.Count(n, "turn"), c.runs[n-1], c.journal)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// newModel builds the screen of a conversation.
func newModel(ctx context.Context, w *session.Session, p cli.Palette, yes bool) *chat {
	input := textarea.New()
	input.Prompt, input.Placeholder, input.ShowLineNumbers = "› ", "Say something, or /help", false
	input.CharLimit, input.MaxHeight, input.DynamicHeight, input.MinHeight = cli.MaxTask, 8, true, 1
	input.EndOfBufferCharacter = ' '
	input.SetStyles(plainStyles())
	input.SetVirtualCursor(false)
	input.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("ctrl+j", "alt+enter", "shift+enter"))
	input.Focus()
	c := &chat{ctx: ctx, w: w, p: p, Approver: ask.Approver{Yes: yes, Tools: w.ToolSet, Clean: w.Redact}}
	c.input, c.news, c.log, c.history = input, newNews(), view.NewTranscript(p), loadHistory()
	c.Put = c.consent
	c.at = len(c.history)
	note := w.Announce()
	if !strings.HasPrefix(note, w.Found.ID+": ") {
		c.log.Add(view.Noted, w.Found.ID+", "+w.Found.Why)
	}
	if note != "" {
		c.log.Add(view.Noted, note)
	}
	return c
}

// turnOver reports the end of a turn.
type turnOver struct {
	done agent.Done
	err  error
}

// arrived reports that the current turn has new events.
type arrived struct{}

// news is the queue of events for the screen. Events that arrive faster than the screen is drawn are handled together.
type news struct {
	events chan llm.Event
	said   atomic.Bool // an arrived message is already sent
}

// maxNews limits how far a model gets ahead of the screen.
const maxNews = 1024

func newNews() *news { return &news{events: make(chan llm.Event, maxNews)} }

// tell queues an event and wakes the screen. After an interruption it does not wait for room in the queue, so some
// results of calls may not be shown.
func (n *news) tell(ctx context.Context, ev llm.Event, send func(tea.Msg)) {
	select {
	case n.events <- ev:
	default:
		select {
		case n.events <- ev:
		case <-ctx.Done():
			return
		}
	}
	if !n.said.Swap(true) {
		send(arrived{})
	}
}

// takeUp starts with an earlier conversation.
func (c *chat) takeUp(old session.Earlier) {
	if old.Run == "" {
		return
	}
	c.messages, c.before, c.parent = old.Messages, old.Messages, old.Run
	c.whole, c.previous = old.Messages, old.Messages
	c.log.Recount(old.Messages)
	if old.Open() {
		c.open = old.Run
		c.log.Add(view.Noted, "the last turn was interrupted; your next message continues it")
	}
}

// firstQuestion returns the person's first message of a conversation: tools that it prefers stay the same in all turns.
func firstQuestion(before []llm.Message, next llm.Message) string {
	for _, m := range before {
		if m.Role == llm.RoleUser {
			return m.Text()
		}
	}
	return next.Text()
}

// begin adds a message to the conversation and asks the model.
func (c *chat) begin(msg llm.Message) tea.Cmd {
	c.log.Add(view.Said, view.Sayable(msg))
	c.last = &msg
	if c.w.Budgeted > 0 && c.spent >= c.w.Budgeted {
		c.log.Add(view.ShownAs, c.p.Red("✗ ")+fmt.Sprintf("the budget of %s is used up: this conversation cost %s; begin it again with -c and a larger --budget-usd", c.w.Budgeted, c.spent))
		return nil
	}
	ctx, stop := context.WithCancel(c.ctx)
	if c.w.Timeout > 0 {
		ctx, stop = context.WithTimeoutCause(c.ctx, c.w.Timeout, fmt.Errorf("the time of the turn is over: timeout is %s", c.w.Timeout))
	}
	c.stop, c.began = stop, time.Now()
	var check session.Checking
	if !c.Yes {
		check = c.checkpoint
	}
	ag := c.w.Agent(c.Approve, check)
	if err := c.w.Prefer(ag, firstQuestion(c.messages, msg)); err != nil {
		c.log.Add(view.Noted, cli.Printable(cli.Plain(err)))
	}
	program, err := c.w.Save()
	if err != nil {
		c.log.Add(view.Noted, cli.Printable(cli.Plain(err)))
	}
	ag.Program = program
	if ag.Money > 0 {
		ag.Money -= c.spent
	}
	events := ag.Resume(ctx, c.open, msg)
	if c.open == "" {
		ag.Parent = c.parent
		events = ag.Run(ctx, append(c.messages[:len(c.messages):len(c.messages)], msg)...)
	}
	c.open = ""
	c.turns.Go(func() {
		var over turnOver
		for ev, err := range events {
			if err != nil {
				over.err = err
				break
			}
			ev = c.w.RedactEvent(ev)
			if d, ok := ev.(agent.Done); ok {
				over.done = d
				continue
			}
			c.news.tell(ctx, ev, c.send)
		}
		if over.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			over.err = context.Cause(ctx)
		}
		c.send(over)
	})
	return ask.Tick()
}

// interrupt stops the current turn.
func (c *chat) interrupt() {
	if c.stop != nil {
		c.stop()
	}
}

// end takes over the messages and the state of a finished turn.
func (c *chat) end(over turnOver) {
	interrupted := errors.Is(over.err, context.Canceled)
	c.stop()
	c.stop, c.ask = nil, nil
	c.log.End(over.done.Messages)
	for _, n := range c.w.TakeNotices() {
		c.log.Add(view.Noted, cli.Printable(n))
	}
	c.spent += over.done.Cost
	if over.done.Run != "" {
		if c.parent = over.done.Run; !c.w.Unrecorded {
			c.runs = append(c.runs, c.parent)
		}
		c.before, c.messages = c.messages, over.done.Messages
		c.previous, c.whole = c.whole, grown(c.whole, over.done.Messages, c.last)
	}
	switch {
	case interrupted:
		c.log.Add(view.Noted, "interrupted; what was done is kept, and /retry asks again")
	case over.err != nil:
		c.log.Add(view.ShownAs, c.p.Red("✗ ")+cli.Printable(cli.Plain(view.Advised(over.err))))
	}
	c.log.Calls.Stop()
	if over.err != nil { // after a failure the person decides about queued lines
		c.unqueue()
	}
	if len(over.done.Did) > 0 {
		var did []string
		for _, e := range over.done.Did {
			did = append(did, view.Effect(e))
		}
		c.log.Add(view.Noted, "changed: "+strings.Join(did, "; "))
	}
}

// grown appends the messages of a turn to the whole conversation. The messages shown to the model may begin with a
// summary, so the turn starts at its question.
func grown(whole, shown []llm.Message, question *llm.Message) []llm.Message {
	for i, m := range slices.Backward(shown) {
		if question != nil && m.Role == llm.RoleUser && m.Text() == question.Text() {
			return append(slices.Clip(whole), shown[i:]...)
		}
	}
	return shown
}

// asking is a question that the turn waits for.
type asking struct {
	*ask.Question
	call  string // the ID of the call that the question is about
	reply chan struct{}
}

// wait shows a question about a call and blocks until it is answered.
func (c *chat) wait(ctx context.Context, call string, q *ask.Question) error {
	q.Keys = c.keys
	a := &asking{q, call, make(chan struct{})}
	c.send(a)
	select {
	case <-a.reply:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consent asks about a call that may change things.
func (c *chat) consent(ctx context.Context, p *ask.Proposal) (*ask.Question, error) {
	q := ask.Consent(c.p, p, "you leave")
	return q, c.wait(ctx, p.Question.CallID, q)
}

// checkpoint asks how to continue after a failure.
func (c *chat) checkpoint(ctx context.Context, cp agent.Checkpoint) (agent.Choice, error) {
	q := ask.Failure(c.p, cp, "this turn")
	err := c.wait(ctx, cp.Call.ID, q)
	return q.Choice(), err
}
