package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/llm"
)

func newChat() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to a model that has tools, in a terminal",
		Long: `A conversation with a model that has tools, on the whole screen of a terminal.

The model and the tools are found as run finds them. Enter sends, Ctrl-J begins a new
line, the arrows go through what you said before, Page Up and Page Down scroll, Ctrl-C
interrupts a turn. /help lists the commands: /model switches the model without losing
the conversation. Every turn is recorded as a run.`,
		Example: "  toolpost chat\n  toolpost chat -m ollama/qwen3:8b --allow write",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, inOK := cmd.InOrStdin().(*os.File)
			out, outOK := cmd.OutOrStdout().(*os.File)
			if !inOK || !outOK || !isTerminal(in) || !isTerminal(out) {
				return errors.New("chat needs a terminal; 'toolpost run' works without one")
			}
			s, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			w, err := s.wire(cmd.Context(), cmd)
			if err != nil {
				return advised(err)
			}
			defer w.done()
			mustEnd(cmd.Context())
			return runChat(cmd.Context(), w, in, out, yes)
		},
	}
	addSettingFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow what would be asked about")
	return cmd
}

// runChat shows the conversation until the person leaves.
func runChat(ctx context.Context, w *wiring, in, out *os.File, yes bool) error {
	c := newChatModel(ctx, w, colours(out), yes)
	program := tea.NewProgram(c, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	c.send = program.Send
	_, err := program.Run()
	c.interrupt()
	c.turns.Wait()
	if len(c.runs) > 0 {
		fmt.Fprintf(out, "%s recorded; toolpost receipts verify %s\n", counted(len(c.runs), "turn"), c.runs[len(c.runs)-1])
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// newChatModel puts the screen together.
func newChatModel(ctx context.Context, w *wiring, p palette, yes bool) *chat {
	input := textarea.New()
	input.Prompt, input.Placeholder, input.ShowLineNumbers = "› ", "Say something, or /help", false
	input.CharLimit, input.MaxHeight, input.DynamicHeight, input.MinHeight = maxTask, 8, true, 1
	input.EndOfBufferCharacter = ' '
	input.SetStyles(plainStyles())
	input.SetVirtualCursor(false)
	input.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("ctrl+j", "alt+enter", "shift+enter"))
	input.Focus()
	c := &chat{ctx: ctx, w: w, p: p, input: input, news: newNews(), log: newTranscript(p), history: loadHistory(), approver: approver{yes: yes, tools: w.tools}}
	c.put = c.consent
	c.at = len(c.history)
	if note := w.announce(); note != "" {
		c.log.add(noted, note)
	} else {
		c.log.add(noted, w.found.ID+", "+w.found.Why)
	}
	return c
}

// turnOver ends a turn.
type turnOver struct {
	done agent.Done
	err  error
}

// arrived says that there are events of the turn that is under way.
type arrived struct{}

// news is the queue of events for the screen. Events that come faster than the
// screen is drawn are handled together.
type news struct {
	events chan llm.Event
	said   atomic.Bool // an arrived message is under way
}

// maxNews bounds how far a model gets ahead of the screen.
const maxNews = 1024

func newNews() *news { return &news{events: make(chan llm.Event, maxNews)} }

// tell hands over an event, unless the turn is over.
func (n *news) tell(ctx context.Context, ev llm.Event, send func(tea.Msg)) {
	select {
	case n.events <- ev:
	case <-ctx.Done():
		return
	}
	if !n.said.Swap(true) {
		send(arrived{})
	}
}

// begin asks the model: the conversation so far, and text.
func (c *chat) begin(text string) tea.Cmd {
	c.log.add(said, printable(text))
	c.last = text
	ctx, stop := context.WithCancel(c.ctx)
	if c.w.Timeout > 0 {
		ctx, stop = context.WithTimeoutCause(c.ctx, c.w.Timeout, fmt.Errorf("the time of the turn is over: timeout is %s", c.w.Timeout))
	}
	c.stop, c.began = stop, time.Now()
	var check checking
	if !c.yes {
		check = c.checkpoint
	}
	ag := c.w.agent(c.approve, check)
	if n := len(c.runs); n > 0 {
		ag.Parent = c.runs[n-1]
	}
	messages := append(c.messages[:len(c.messages):len(c.messages)], llm.User(text))
	c.turns.Go(func() {
		var over turnOver
		for ev, err := range ag.Run(ctx, messages...) {
			if err != nil {
				over.err = err
				break
			}
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
	return tick()
}

// interrupt stops the turn that is under way.
func (c *chat) interrupt() {
	if c.stop != nil {
		c.stop()
	}
}

// end takes over what a turn has said and done.
func (c *chat) end(over turnOver) {
	interrupted := errors.Is(over.err, context.Canceled)
	c.stop()
	c.stop, c.ask, c.log.status = nil, nil, ""
	c.log.add(noted, c.log.warnings.flush())
	c.log.add(noted, c.log.warnings.end())
	if over.done.Run != "" {
		c.runs = append(c.runs, over.done.Run)
		c.before, c.messages = c.messages, over.done.Messages
	}
	switch {
	case interrupted:
		c.log.add(noted, "interrupted; what was done is kept, and /retry asks again")
	case over.err != nil:
		c.log.add(shownAs, c.p.red("✗ ")+printable(advised(over.err).Error()))
	}
	if len(over.done.Did) > 0 {
		var did []string
		for _, e := range over.done.Did {
			did = append(did, effect(e))
		}
		c.log.add(noted, "changed: "+strings.Join(did, "; "))
	}
}

// asking is a question at which the turn waits.
type asking struct {
	*question
	reply chan struct{}
}

// wait shows a question and waits until it is answered.
func (c *chat) wait(ctx context.Context, q *question) error {
	a := &asking{q, make(chan struct{})}
	c.send(a)
	select {
	case <-a.reply:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consent asks about a call that may change things.
func (c *chat) consent(ctx context.Context, p *proposal) (*question, error) {
	q := consent(c.p, p, "you leave")
	return q, c.wait(ctx, q)
}

// checkpoint asks how to go on after a failure.
func (c *chat) checkpoint(ctx context.Context, cp agent.Checkpoint) (agent.Choice, error) {
	q := failure(c.p, cp)
	err := c.wait(ctx, q)
	return q.choice(), err
}
