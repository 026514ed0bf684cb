package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/internal/advice"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// noteOf returns one line about an event that a person should know but need not act on, or "" for any other event.
func noteOf(ev llm.Event) string {
	switch ev := ev.(type) {
	case provider.RequestRetry:
		return fmt.Sprintf("%s; trying again in %s, attempt %d of %d: %s", cli.KindWords(ev.Kind), cli.ShortDuration(ev.Wait), ev.Attempt+1, ev.Of, inLine(strings.TrimPrefix(cli.PlainText(ev.Problem), cli.KindWords(ev.Kind)+": ")))
	case refine.AnswerRetry:
		return fmt.Sprintf("asking again after %s, attempt %d of %d%s: %s", ev.Cause, ev.Attempt+1, ev.Max, After(cli.ShortDuration(ev.Delay), ev.Delay > 0), inLine(cli.PlainText(ev.Error)))
	case refine.Recovery:
		return fmt.Sprintf("asking the model to mend its answer, %d of %d: %s", ev.Attempt, ev.Max, inLine(strings.TrimPrefix(cli.PlainText(ev.Error), string(ev.Cause)+": ")))
	case agent.Switched:
		return fmt.Sprintf("%s continues in place of %s: %s", ev.To, ev.From, inLine(cli.PlainText(ev.Why)))
	case agent.Escalated:
		return fmt.Sprintf("%s failed %d times; asking in another way (%s%s)", ev.Tool, ev.Attempt, ev.Strategy, After(ev.Model, ev.Model != ""))
	case agent.LaneChosen:
		return fmt.Sprintf("%s is run by: %s (%s)", ev.Tool, ev.Lane, inLine(ev.Why))
	case agent.Found:
		return "from now on also offered: " + strings.Join(ev.Tools, ", ")
	case agent.Shortened:
		return fmt.Sprintf("the conversation outgrew the model's context: results of %d calls were cut from %d to %d characters; the record keeps them", len(ev.Calls), ev.Chars, ev.Kept)
	case agent.Compacted:
		if ev.Summary != "" { // without a summary there is a warning
			return fmt.Sprintf("the conversation outgrew the model's context: a summary replaces its oldest %d messages (%d tokens for %d); the record keeps them", ev.Messages, ev.Kept, ev.Tokens)
		}
	case agent.Chosen:
		if ev.By != "default" {
			return fmt.Sprintf("%s, chosen by %s", ev.Action, ev.By)
		}
	case invoke.Stopped:
		return "stopped: " + inLine(ev.Reason)
	case invoke.Decided:
		if !ev.Allowed && !slices.Contains([]string{"policy", ByPerson, ByProgram}, ev.By) { // otherwise the result contains it
			if ev.Prompt != "" {
				return fmt.Sprintf("%s declined to answer %s", ev.By, ev.Tool)
			}
			return fmt.Sprintf("%s was refused by %s", ev.Tool, ev.By)
		}
	}
	return ""
}

// maxNote limits a note and a line about a call. Terminals wrap notes and cut lines about calls at their width.
const maxNote = 4000

// inLine returns a text in one line, without characters that control a terminal.
func inLine(text string) string {
	return cli.OneLine(strings.Join(strings.Fields(cli.Printable(text)), " "), maxNote)
}

// bareID returns the id of a model without the address of its server.
func bareID(id string) string {
	if _, model, ok := strings.Cut(id, "#"); ok && strings.Contains(id, "://") {
		return model
	}
	return id
}

// After returns the text after a comma if say is true, else "".
func After(text string, say bool) string {
	if !say {
		return ""
	}
	return ", " + text
}

// heading describes the failure of a checkpoint. It names the model if the model failed.
func heading(c agent.Checkpoint) string {
	switch c.Cause {
	case agent.ToolFailed:
		return fmt.Sprintf("%s failed, and nothing that can be tried is left", c.Call.Name)
	case agent.LoopStopped:
		return "the run was stopped"
	}
	return fmt.Sprintf("the model %s gave no usable answer", c.Model)
}

// ActionTexts describe the actions that continue after a checkpoint, by cause.
var ActionTexts = map[agent.Action]map[agent.Cause]string{
	agent.Retry:  {agent.ToolFailed: "run the call again", agent.ModelFailed: "ask the model again", agent.LoopStopped: "go on all the same"},
	agent.Skip:   {agent.ToolFailed: "leave it to the model", agent.ModelFailed: "go on without this answer", agent.LoopStopped: "have the model answer now"},
	agent.Manual: {agent.ToolFailed: "type the result yourself", agent.ModelFailed: "type a hint for the model", agent.LoopStopped: "type a hint for the model"},
}

// Menu describes a checkpoint for a person: the failure and its details, in lines of at most width cells.
func Menu(p cli.Palette, c agent.Checkpoint, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", p.Red("✗"), p.Bold(cli.Printable(heading(c))))
	row := func(name, text string) {
		if text = strings.TrimSpace(cli.Printable(text)); text != "" {
			b.WriteString(strings.Join(term.Wrap(text, width, p.Dim(fmt.Sprintf("  %-9s ", name)), term.Plainly), "\n") + "\n")
		}
	}
	if e := c.Error; e != nil {
		code := string(e.Code)
		if e.Recoverable {
			code += " (may succeed another time)"
		}
		row("code", code)
		row("message", e.Message)
		row("fix", fixOf(c))
		row("strategy", strategy(e, c.Attempt))
	}
	if c.Cause == agent.ToolFailed {
		row("call", c.Call.Name+" "+inLine(string(c.Call.Args)))
	}
	row("it wrote", cli.FirstLine(c.Raw, 200))
	return b.String()
}

// fixOf returns advice for a person about a failure. It leaves out the advice in a tool's error, which is meant for the
// model.
func fixOf(c agent.Checkpoint) string {
	if c.Cause == agent.ModelFailed {
		return advice.For(c.Error, advice.TheTerminal)
	}
	return c.Error.Fix
}

// strategy returns what the error suggests after the given number of attempts.
func strategy(e *tool.Error, attempt int) string {
	if attempt <= 0 {
		return string(e.Strategy)
	}
	return fmt.Sprintf("%s, after attempt %d", e.Next(attempt), attempt)
}

// VerboseUsage describes the flag that shows all warnings.
const VerboseUsage = "show every warning, also those about how the answer was made, and logs and progress of MCP servers"

// FromMemory reports whether a warning means that the model answers without having seen a tool.
func FromMemory(ev llm.Event) bool {
	w, ok := ev.(llm.Warning)
	return ok && w.Feature == emulate.FromMemory
}

// MemoryNote is the last line of an answer without tools to a request that needs one.
const MemoryNote = "no tool was offered; this answer is from memory"

// warnings collects warnings and reports each kind once, in one line: the first warning, and the number of further ones
// that came at the same time. Warnings that a person can do nothing about are left out unless All is set.
type warnings struct {
	All    bool
	seen   map[llm.Warning]bool // repeated warnings are dropped
	said   map[warningKind]bool
	first  llm.Warning
	others int
	later  int // further warnings of reported kinds
}

// quiet reports whether a warning tells how Toolpost did what was asked, and nothing is lost or weaker for the person.
// The record has it.
func quiet(w llm.Warning) bool {
	switch w.Code {
	case llm.Repaired, llm.Corrected:
		return true
	case llm.Degraded:
		return w.Feature == "tools.examples" || w.Feature == "schema" || w.Feature == "text parts" || w.Feature == "failed"
	case llm.Emulated:
		return true // the end of the answer reports an answer from memory
	}
	return false
}

// codeWords begin the line about a warning.
var codeWords = map[llm.WarningCode]string{
	llm.Ignored:       "not used",
	llm.SuspectedCall: "not run",
	llm.CallAsText:    "not run",
	llm.EchoedCall:    "not run",
	llm.Stripped:      "secret removed",
	llm.RefusedCall:   "refused",
	llm.FailedCall:    "failed",
}

// featureWords replace names of features that only programs know.
var featureWords = map[string]string{
	"gate": "choice of tools", "one_call": "parallel calls", "state": "conversation", "finish": "end of the answer", "tool_calls": "tool calls",
	"tools.examples": "examples of tools", "max_tokens": "length of the answer", "n": "number of answers",
}

// warningText returns a warning in words: what it is about, and its detail.
func warningText(w llm.Warning) string {
	if w.Code == llm.UnknownModel {
		_, assumed, _ := strings.Cut(w.Detail, ": ")
		return inLine(bareID(w.Feature)+" is not a model of the catalogue, so what it can do is not known; "+strings.TrimSuffix(assumed, "; models.yaml can say better")) + "; 'toolpost models probe' finds out"
	}
	feature := inLine(w.Feature)
	if words := featureWords[feature]; words != "" {
		feature = words
	}
	about := strings.Trim(codeWords[w.Code]+" ("+feature+")", " ")
	if codeWords[w.Code] == "" {
		about = feature
	} else if feature == "" {
		about = codeWords[w.Code]
	}
	if about == "" {
		return inLine(w.Detail)
	}
	detail := inLine(w.Detail)
	if words := codeWords[w.Code]; words != "" {
		detail = strings.TrimPrefix(detail, words+" ")
	}
	return about + ": " + detail
}

// maxSeen limits how many warnings are remembered.
const maxSeen = 1000

// warningKind groups the warnings that share one line.
type warningKind struct {
	code    llm.WarningCode
	feature string
}

// add adds a warning. If its kind is new, it returns the line about the previous ones.
func (w *warnings) add(next llm.Warning) string {
	if w.seen == nil {
		w.seen, w.said = make(map[llm.Warning]bool), make(map[warningKind]bool)
	}
	if !w.All && quiet(next) || FromMemory(next) { // the end of the answer says the latter
		return ""
	}
	kind := warningKind{next.Code, next.Feature}
	again := w.seen[next]
	if len(w.seen) < maxSeen {
		w.seen[next] = true
	}
	switch {
	case again:
		return ""
	case w.first != llm.Warning{} && kind == warningKind{w.first.Code, w.first.Feature}:
		w.others++
		return ""
	case w.said[kind]:
		w.later++
		return ""
	}
	line := w.Flush()
	w.said[kind], w.first = true, next
	return line
}

// Flush returns the line about the collected warnings, "" if there are none.
func (w *warnings) Flush() string {
	if w.first == (llm.Warning{}) {
		return ""
	}
	line := warningText(w.first)
	if w.others > 0 {
		line += fmt.Sprintf(" (and %d more)", w.others)
	}
	w.first, w.others = llm.Warning{}, 0
	return line
}

// End returns the line about further warnings of reported kinds, "" if there are none.
func (w *warnings) End() string {
	n := w.later
	if w.later = 0; n == 0 {
		return ""
	}
	return cli.Count(n, "more warning") + " of the kinds above"
}

// The deciders that the record names.
const (
	ByPerson  = "the person at the terminal"
	ByYes     = "--yes"
	ByProgram = "toolpost"
)

// Advised adds advice for a person about a failure of the model, unless a checkpoint has already shown it.
func Advised(err error) error {
	var ended *agent.AbortedError
	if kind := llm.KindOf(err); kind == llm.Unknown || kind == llm.Canceled || errors.As(err, &ended) {
		return err
	}
	return fmt.Errorf("%w\n%s", err, advice.For(err, advice.TheTerminal))
}

// Effect describes a change in a few words.
func Effect(e journal.SideEffect) string {
	return inLine(strings.ReplaceAll(e.Type, "_", " ") + ": " + e.Path)
}
