package receipts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// narrator prints a run as a conversation: questions, answers, calls and their results.
type narrator struct {
	*shower
	width   int
	full    bool     // show complete results
	seen    int      // the number of messages shown so far
	pending string   // the task, until a request shows it
	from    string   // team and route of a request to a gateway
	rules   []string // the kinds of redacted secrets that were reported
}

// How many lines of thinking and of results a transcript shows.
const (
	shownThinking = 3
	shownResult   = 12
)

// entry prints what an entry adds to the conversation.
func (n *narrator) entry(e journal.Entry) {
	if whole, err := n.refs.Whole(e); err == nil { // on error the entry is shown unchanged
		e = whole
	}
	if n.begun.IsZero() {
		n.begun = e.At
		fmt.Fprintf(n.out, "%s  %s", n.palette.Bold(e.Run), e.At.Format("2006-01-02 15:04:05 MST"))
		n.start(e)
	}
	tell, ok := narrated[e.Kind]
	if !ok {
		return
	}
	if e.Kind != journal.KindStart && e.Kind != journal.KindRequest {
		n.flush()
	}
	if err := tell(n, e); err != nil {
		n.note(string(e.Kind) + " cannot be read: " + err.Error())
	}
	n.stripped(e.Stripped)
}

// stripped reports each kind of redacted secret once.
func (n *narrator) stripped(s *journal.Stripped) {
	if s == nil {
		return
	}
	var rules []string
	for _, r := range s.Rules {
		if !slices.Contains(n.rules, r) {
			rules = append(rules, r)
		}
	}
	if n.rules = append(n.rules, rules...); len(rules) > 0 {
		n.note("secrets were taken out of the record: " + strings.Join(rules, ", "))
	}
}

// start ends the first line with the model, if it is known.
func (n *narrator) start(e journal.Entry) {
	var s journal.Start
	if e.Kind == journal.KindStart && e.Decode(&s) == nil && s.Model != "" {
		fmt.Fprintf(n.out, "  on %s", cli.OneLine(s.Model, 80))
	}
	fmt.Fprintln(n.out)
}

// narrated are the kinds of entries that belong to a conversation. Intents do not: their receipts follow, or the end of
// the output lists them as unknown.
var narrated = map[journal.Kind]func(*narrator, journal.Entry) error{
	journal.KindStart:        told((*narrator).task),
	journal.KindRequest:      told((*narrator).request),
	journal.KindAnswer:       told((*narrator).answer),
	journal.KindApproval:     told((*narrator).approval),
	journal.KindReceipt:      told((*narrator).receipt),
	journal.KindRefusal:      told((*narrator).receipt),
	journal.KindVerification: told((*narrator).verification),
	journal.KindEnd:          told((*narrator).ended),
	journal.KindTorn:         told(func(n *narrator, _ journal.Torn) { n.note("the process died here; the run was taken up again") }),
}

func told[T any](tell func(*narrator, T)) func(*narrator, journal.Entry) error {
	return func(n *narrator, e journal.Entry) error {
		var body T
		if err := e.Decode(&body); err != nil {
			return err
		}
		tell(n, body)
		return nil
	}
}

// task keeps the task of a run until its first request, whose messages show it in its place. A run without a model has no
// request, and no other entry with the task.
func (n *narrator) task(s journal.Start) {
	n.pending, n.from = runstore.TaskOf(s.Task, s.Team, s.Route), runstore.TaskOf("", s.Team, s.Route)
}

// flush shows the task of a run without a request.
func (n *narrator) flush() {
	n.paragraph(n.pending, n.palette.Cyan("› "), n.palette.Bold)
	n.pending = ""
}

// request shows the messages since the previous request, each once and in order. Answers of this run have been shown. The
// first request also holds the turns of the runs before.
func (n *narrator) request(r journal.Request) {
	first, from := n.seen == 0, max(n.seen-r.Keep, 0)
	if r.Keep+len(r.Messages) <= n.seen { // the conversation was shortened
		from = 0
	}
	n.seen = r.Keep + len(r.Messages)
	var messages []llm.Message
	said := 0
	for _, raw := range r.Messages[min(from, len(r.Messages)):] {
		var m llm.Message
		if json.Unmarshal(raw, &m) == nil && (m.Role == llm.RoleUser || first && m.Role == llm.RoleAssistant) {
			messages = append(messages, m)
		}
		if m.Role == llm.RoleUser {
			said++
		}
	}
	if said > 0 {
		n.pending = ""
	} else if first {
		n.flush()
	}
	for i, m := range messages {
		if from := n.from; first && i == len(messages)-1 && from != "" && m.Role == llm.RoleUser { // of a gateway
			m.Parts = append([]llm.Part{llm.Text{Text: from + m.Text()}}, slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool { _, text := p.(llm.Text); return text })...)
		}
		n.message(m)
	}
}

// message shows a message of a request.
func (n *narrator) message(m llm.Message) {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			switch {
			case m.Role == llm.RoleAssistant:
				n.paragraph(p.Text, "", term.Plainly)
			case p.Ours:
				n.note("told the model: " + cli.OneLine(p.Text, 300))
			default:
				n.paragraph(p.Text, n.palette.Cyan("› "), n.palette.Bold)
			}
		case llm.Call:
			n.note("called " + view.CallLine(p))
		}
	}
}

func (n *narrator) answer(a journal.Answer) {
	for _, p := range a.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			n.paragraph(term.LastLines(p.Text, shownThinking), "  ", n.palette.Dim)
		case llm.Text:
			n.paragraph(p.Text, "", term.Plainly)
		}
	}
	for _, c := range a.Invalid {
		n.line(n.palette.Red("✗"), fmt.Sprintf("a call of %s cannot be read: %s", cli.OneLine(c.Name, 60), cli.OneLine(c.Problem, 200)))
	}
	if a.Error != nil {
		n.line(n.palette.Red("✗"), "the model failed: "+cli.OneLine(a.Error.Message, 300))
	}
	if a.Finish == nil && a.Error == nil {
		n.note("the answer broke off")
	}
}

func (n *narrator) approval(a journal.Approval) {
	verb := "refused"
	switch {
	case a.Allowed && a.Prompt > 0:
		verb = "answered"
	case a.Prompt > 0:
		verb = "not answered"
	case a.Allowed:
		verb = "allowed"
	}
	text := verb + " by " + cmp.Or(a.By, "the policy")
	if a.Scope != "" {
		text += ", " + a.Scope
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	n.note(cli.OneLine(a.Tool+" "+text, 200))
}

// receipt shows a call: its arguments, its outcome, and the result that the model saw.
func (n *narrator) receipt(r journal.Receipt) {
	mark := n.palette.Green("✓")
	if r.Status != journal.OK {
		mark = n.palette.Red("✗")
	}
	v := view.Call{Args: string(r.Args), Phase: view.CallOver}
	text := n.describeReceipt(r)
	if args := v.ShownArgs(2 * n.width); args != "" && args != "null" {
		text += "  " + n.palette.Dim(args)
	}
	n.line(mark, text)
	if r.Result == nil || r.Error != nil {
		return
	}
	lines := strings.Split(strings.TrimRight(cli.Printable(r.Result.Text()), "\n"), "\n")
	if cut := len(lines) - shownResult; cut > 0 && !n.full {
		lines = append(lines[:shownResult:shownResult], fmt.Sprintf("… %s more; --full shows all", cli.Count(cut, "line")))
	}
	if lines[0] != "" || len(lines) > 1 {
		n.lines(term.Wrap(strings.Join(lines, "\n"), n.width, "    ", n.palette.Dim))
	}
}

func (n *narrator) verification(v journal.Verification) {
	n.note(fmt.Sprintf("checked with %s: exit code %d", cli.OneLine(v.Command, 200), v.ExitCode))
}

func (n *narrator) ended(e journal.End) {
	text := "the run ended: " + cli.OneLine(e.Status, 40)
	if e.Usage != nil {
		text += fmt.Sprintf(", %d tokens read and %d written", e.Usage.Input, e.Usage.Output)
	}
	n.note(text)
}

// paragraph prints a text after an empty line.
func (n *narrator) paragraph(text, mark string, style func(string) string) {
	if text = strings.Trim(cli.Printable(text), "\n"); text != "" {
		fmt.Fprintln(n.out)
		n.lines(term.Wrap(text, n.width, mark, style))
	}
}

func (n *narrator) line(mark, text string) { fmt.Fprintf(n.out, "\n%s %s\n", mark, text) }

func (n *narrator) note(text string) {
	n.lines(term.Wrap(text, n.width, n.palette.Dim("· "), n.palette.Dim))
}

func (n *narrator) lines(lines []string) {
	for _, l := range lines {
		io.WriteString(n.out, l+"\n")
	}
}
