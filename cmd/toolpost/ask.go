package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// The deciders that the record names.
const (
	byPerson  = "the person at the terminal"
	byYes     = "--yes"
	byProgram = "toolpost"
)

// approver decides about calls that may change things: by --yes, by an earlier grant, or by asking.
type approver struct {
	yes    bool
	tools  *tool.Set
	grants grants
	// put asks the person. It is nil if there is no person to ask.
	put func(ctx context.Context, p *proposal) (*question, error)
	// wait tells whether calls wait for an absent person. It is nil if they never wait.
	wait *pendingFlags
	// clean redacts secrets in the text of a tool's question. With nil the text is unchanged.
	clean func(string) string
}

// approve answers a question of the runtime.
func (a *approver) approve(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	once := q.Repeats == "" && q.Prompt == 0 // a suspicious call is not covered by --yes or a grant
	if a.yes && once {
		return q.Answer(true, byYes, ""), nil
	}
	if q.Prompt > 0 && a.put != nil && (a.wait == nil || !a.wait.later) {
		return a.inform(ctx, q)
	}
	p := propose(ctx, a.tools, q)
	if g, ok := a.grants.find(p); ok && once {
		return q.Answer(true, byPerson, "granted before: "+g.String()), nil
	}
	if a.wait != nil && (a.wait.later || q.Prompt > 0 && !q.Held || q.Waited && a.put == nil) {
		return journal.Approval{}, a.wait.pending()
	}
	if a.put == nil && a.yes {
		return q.Answer(false, byProgram, "--yes does not allow it: "+q.Reason), nil
	}
	if a.put == nil {
		return q.Answer(false, byProgram, "nobody can be asked here; --yes allows it beforehand"), nil
	}
	return a.consult(ctx, p)
}

// consult asks the person about a call.
func (a *approver) consult(ctx context.Context, p *proposal) (journal.Approval, error) {
	answered, err := a.put(ctx, p)
	if err != nil {
		return journal.Approval{}, err
	}
	q := p.Question
	switch answered.word {
	case "yes":
		return q.Answer(true, byPerson, ""), nil
	case always:
		a.grants.add(*answered.grant)
		return q.Answer(true, byPerson, "granted: "+answered.grant.String()), nil
	case closed:
		return q.Answer(false, byPerson, "nobody answers any more"), nil
	}
	return q.Answer(false, byPerson, ""), nil
}

// asker asks the person at the terminal of run.
type asker struct {
	approver
	in   *os.File // nil if there is no person to ask
	pr   *printer
	stop func() // ends the run, as Ctrl-C does
}

// newAsker asks on in, if that is a terminal.
func newAsker(in io.Reader, pr *printer, tools *tool.Set, yes bool, stop func()) *asker {
	a := &asker{approver: approver{yes: yes, tools: tools}, pr: pr, stop: stop}
	if f, ok := in.(*os.File); ok && cli.IsTerminal(f) && pr.live && !yes {
		a.in = f
		a.put = func(ctx context.Context, p *proposal) (*question, error) {
			q := consent(pr.p, p, "this run ends")
			return q, a.ask(ctx, q)
		}
	}
	return a
}

// checkpoint shows the failure and asks how to continue.
func (a *asker) checkpoint(ctx context.Context, c agent.Checkpoint) (agent.Choice, error) {
	if a.in == nil { // there is no person to ask
		choice := agent.Choice{Action: agent.Abort, By: "default"}
		if slices.Contains(c.Options, agent.Skip) {
			choice.Action = agent.Skip
		}
		return choice, nil
	}
	q := failure(a.pr.p, c)
	err := a.ask(ctx, q)
	return q.choice(), err
}

// failure returns the question of a checkpoint.
func failure(p cli.Palette, c agent.Checkpoint) *question {
	q := &question{p: p, text: func(width int) []string { return strings.Split(strings.TrimRight(menu(p, c, width), "\n"), "\n") }}
	for _, o := range c.Options {
		q.answers = append(q.answers, answer{word: string(o), help: choices[o][c.Cause], typed: o == agent.Manual})
	}
	return q
}

// choice returns the answer to a checkpoint.
func (q *question) choice() agent.Choice {
	c := agent.Choice{By: byPerson, Action: agent.Action(q.word)}
	switch q.word {
	case string(agent.Manual):
		c.Text = q.typed
	case closed, interrupted:
		c.Action = agent.Abort
	}
	return c
}

// ask shows a question below the earlier output until it is answered. Keys typed before the question are dropped.
func (a *asker) ask(ctx context.Context, q *question) error {
	var err error
	a.pr.pause(func() {
		flushInput(a.in)
		out, _ := a.pr.log.(*os.File)
		on := asked{q, new(int)}
		_, err = tea.NewProgram(on, tea.WithContext(ctx), tea.WithInput(a.in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
		flushInput(a.in) // keys pressed after the answer must not answer the next question
		fmt.Fprintf(out, "\r%s\x1b[J%s\n", ansi.CursorUp(max(0, *on.tall-1)), q.view())
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case q.word == interrupted:
		a.stop()
		return ctx.Err()
	case q.word == closed:
		a.in, a.put = nil, nil
	}
	return nil
}

// asked is a question at the end of the screen. Its height never shrinks, because uncovered rows would stay on the
// screen.
type asked struct {
	*question
	tall *int
}

// Init starts the clock, because keys count only after a delay.
func (a asked) Init() tea.Cmd { return tick() }

// Update handles a key or another message.
func (a asked) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.resize(msg.Width, msg.Height-1)
	case tea.PasteMsg:
		a.paste(msg)
	case ticked:
		return a, tick()
	case tea.KeyPressMsg:
		if a.press(msg); a.word != "" {
			return a, tea.Quit
		}
	}
	return a, nil
}

// View returns the question, padded to its largest height.
func (a asked) View() tea.View {
	if a.width == 0 {
		return tea.NewView("")
	}
	text := a.view()
	*a.tall = max(*a.tall, 1+strings.Count(text, "\n"))
	return tea.NewView(text + strings.Repeat("\n", *a.tall-1-strings.Count(text, "\n")))
}
