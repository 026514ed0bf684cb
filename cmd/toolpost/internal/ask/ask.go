// Package ask asks the person about calls: proposals, questions, grants, and the answers that the record keeps.
package ask

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
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// Approver decides about calls that may change things: by --yes, by an earlier grant, or by asking.
type Approver struct {
	Yes    bool
	Tools  *tool.Set
	Grants Grants
	// put asks the person. It is nil if there is no person to ask.
	Put func(ctx context.Context, p *Proposal) (*Question, error)
	// wait tells whether calls wait for an absent person. It is nil if they never wait.
	Wait *PendingFlags
	// clean redacts secrets in the text of a tool's question. With nil the text is unchanged.
	Clean func(string) string
}

// Approve answers a question of the runtime.
func (a *Approver) Approve(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	once := q.Repeats == "" && q.Prompt == 0 // a suspicious call is not covered by --yes or a grant
	if a.Yes && once {
		return q.Answer(true, view.ByYes, changed(q)), nil
	}
	if q.Prompt > 0 && a.Put != nil && (a.Wait == nil || !a.Wait.later) {
		return a.inform(ctx, q)
	}
	p := Propose(ctx, a.Tools, q)
	if g, ok := a.Grants.find(p); ok && once && q.Changed == "" {
		return q.Answer(true, view.ByPerson, "granted before: "+g.String()), nil
	}
	if a.Wait != nil && (a.Wait.later || q.Prompt > 0 && !q.Held || q.Waited && a.Put == nil) {
		return journal.Approval{}, a.Wait.pending()
	}
	if a.Put == nil && q.Prompt > 0 {
		return q.Answer(false, view.ByProgram, "the tool asks a person, and none can answer here"), nil
	}
	if a.Put == nil && a.Yes {
		return q.Answer(false, view.ByProgram, "--yes does not allow it: "+q.Reason), nil
	}
	if a.Put == nil {
		return q.Answer(false, view.ByProgram, strings.TrimSuffix("nobody can be asked here; --yes allows it beforehand; "+changed(q), "; ")), nil
	}
	return a.consult(ctx, p)
}

// changed returns a note about a call that is not what was approved, "" for any other.
func changed(q invoke.Question) string {
	if q.Changed == "" {
		return ""
	}
	return "not what was approved before: " + q.Changed
}

// consult asks the person about a call.
func (a *Approver) consult(ctx context.Context, p *Proposal) (journal.Approval, error) {
	answered, err := a.Put(ctx, p)
	if err != nil {
		return journal.Approval{}, err
	}
	q := p.Question
	switch answered.Word {
	case "yes":
		return q.Answer(true, view.ByPerson, ""), nil
	case always:
		a.Grants.add(*answered.grant)
		return q.Answer(true, view.ByPerson, "granted: "+answered.grant.String()), nil
	case closed:
		return q.Answer(false, view.ByPerson, "the input has ended"), nil
	}
	return q.Answer(false, view.ByPerson, answered.reason), nil
}

// asker asks the person at the terminal of run.
type asker struct {
	Approver
	In   *os.File // nil if there is no person to ask
	pr   *view.Printer
	stop func() // ends the run, as Ctrl-C does
}

// NewAsker asks on in, if that is a terminal.
func NewAsker(in io.Reader, pr *view.Printer, tools *tool.Set, yes bool, stop func()) *asker {
	a := &asker{Approver: Approver{Yes: yes, Tools: tools}, pr: pr, stop: stop}
	if f, ok := in.(*os.File); ok && cli.IsTerminal(f) && pr.Live && !yes {
		a.In = f
		a.Put = func(ctx context.Context, p *Proposal) (*Question, error) {
			q := Consent(pr.Palette, p, "this run ends")
			return q, a.ask(ctx, q)
		}
	}
	return a
}

// Checkpoint shows the failure and asks how to continue.
func (a *asker) Checkpoint(ctx context.Context, c agent.Checkpoint) (agent.Choice, error) {
	if a.In == nil { // there is no person to ask
		choice := agent.Choice{Action: agent.Abort, By: "default"}
		if slices.Contains(c.Options, agent.Skip) {
			choice.Action = agent.Skip
		}
		return choice, nil
	}
	q := Failure(a.pr.Palette, c, "the run")
	err := a.ask(ctx, q)
	return q.Choice(), err
}

// Failure returns the question of a checkpoint. To abort ends the given work: the run, or a turn.
func Failure(p cli.Palette, c agent.Checkpoint, work string) *Question {
	q := newQuestion(p, func(width int) []string { return strings.Split(strings.TrimRight(view.Menu(p, c, width), "\n"), "\n") })
	for _, o := range c.Options {
		option := answer{word: string(o), help: view.ActionTexts[o][c.Cause]}
		switch {
		case o == agent.Abort:
			option.help = "end " + work
		case o == agent.Manual && c.Cause == agent.ToolFailed:
			option.typed, option.gives = true, "the result"
		case o == agent.Manual:
			option.typed, option.gives = true, "a hint for the model"
		}
		q.answers = append(q.answers, option)
	}
	return q
}

// Choice returns the answer to a checkpoint.
func (q *Question) Choice() agent.Choice {
	c := agent.Choice{By: view.ByPerson, Action: agent.Action(q.Word)}
	switch q.Word {
	case string(agent.Manual):
		c.Text = q.typed
	case closed, Interrupted:
		c.Action = agent.Abort
	}
	return c
}

// ask shows a question below the earlier output until it is answered. Keys typed before the question are dropped.
func (a *asker) ask(ctx context.Context, q *Question) error {
	var err error
	a.pr.Pause(func() {
		flushInput(a.In)
		out, _ := a.pr.Log.(*os.File)
		on := asked{q, new(int)}
		q.Keys = &Keys{File: a.In}
		_, err = tea.NewProgram(on, tea.WithContext(ctx), tea.WithInput(q.Keys), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
		flushInput(a.In) // keys pressed after the answer must not answer the next question
		fmt.Fprintf(out, "\r%s\x1b[J%s\n", ansi.CursorUp(max(0, *on.tall-1)), q.Draw())
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case q.Word == Interrupted:
		a.stop()
		return ctx.Err()
	case q.Word == closed:
		a.In, a.Put = nil, nil
	}
	return nil
}

// asked is a question at the end of the screen. Its height never shrinks, because uncovered rows would stay on the
// screen.
type asked struct {
	*Question
	tall *int
}

// Init starts the clock, because keys count only after a delay.
func (a asked) Init() tea.Cmd { return Tick() }

// Update handles a key or another message.
func (a asked) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.Resize(msg.Width, msg.Height-1)
	case tea.PasteMsg:
		a.Paste(msg)
	case Ticked:
		return a, Tick()
	case tea.ResumeMsg:
		a.Rest()
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+z" && CanSuspend() {
			return a, tea.Suspend
		}
		if a.Press(msg); a.Word != "" {
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
	text := a.Draw()
	*a.tall = max(*a.tall, 1+strings.Count(text, "\n"))
	return tea.NewView(text + strings.Repeat("\n", *a.tall-1-strings.Count(text, "\n")))
}
