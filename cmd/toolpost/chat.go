package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
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
	c := &chat{ctx: ctx, w: w, yes: yes, p: p, input: input, page: viewport.New(), log: newTranscript(p), history: loadHistory(), always: make(map[string]bool)}
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

// happened is an event of the turn that is under way.
type happened struct{ llm.Event }

// begin asks the model: the conversation so far, and text.
func (c *chat) begin(text string) tea.Cmd {
	c.log.add(said, printable(text))
	c.last = text
	ctx, stop := context.WithCancel(c.ctx)
	c.stop, c.began = stop, time.Now()
	ag := c.w.agent(&asker{yes: c.yes, always: c.always})
	ag.Tools.Approve, ag.Parent = c.approve, ""
	if !c.yes {
		ag.Checkpoint = c.checkpoint
	}
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
			c.send(happened{ev})
		}
		c.send(over)
	})
	return c.tick()
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

// asking is a question to the person, at which the turn waits.
type asking struct {
	text   string // shown in the transcript
	words  []string
	typing bool // a line is being typed
	reply  chan string
}

// put asks the person and waits for the word that answers, or for a line after
// "manual".
func (c *chat) put(ctx context.Context, a *asking) (string, error) {
	a.reply = make(chan string, 1)
	c.send(a)
	select {
	case word := <-a.reply:
		return word, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// approve asks about a call that may change things.
func (c *chat) approve(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	if c.yes || c.always[q.Tool] {
		return q.Answer(true, "the person at the terminal", "allowed before"), nil
	}
	text := fmt.Sprintf("%s allow %s %s?\n  %ses, %so, %slways", c.p.yellow("?"), c.p.bold(q.Tool), inOneLine(string(q.Args)), c.p.cyan("[y]"), c.p.cyan("[n]"), c.p.cyan("[a]"))
	word, err := c.put(ctx, &asking{text: text, words: []string{"yes", "no", "always"}})
	if err != nil {
		return journal.Approval{}, err
	}
	if word == "always" {
		c.always[q.Tool] = true
	}
	return q.Answer(word != "no", "the person at the terminal", ""), nil
}

// checkpoint asks how to go on after a failure.
func (c *chat) checkpoint(ctx context.Context, cp agent.Checkpoint) (agent.Choice, error) {
	words := make([]string, len(cp.Options))
	for i, o := range cp.Options {
		words[i] = string(o)
	}
	word, err := c.put(ctx, &asking{text: strings.TrimRight(menu(c.p, cp, max(20, c.width)), "\n"), words: words})
	choice := agent.Choice{By: "the person at the terminal"}
	choice.Action = agent.Action(word)
	if text, typed := strings.CutPrefix(word, string(agent.Manual)+" "); typed {
		choice.Action, choice.Text = agent.Manual, text
	}
	return choice, err
}
