package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// phase is the progress of a call.
type phase uint8

const (
	CallWriting phase = iota // the model is still writing the arguments
	waiting                  // the call is complete and waits for its turn or for a decision
	running
	CallOver
)

// Call follows one call from its first characters to its result.
type Call struct {
	id, name string
	Args     string // received so far
	Phase    phase
	since    time.Time // start of the phase
	took     time.Duration
	note     string // anything unusual about the call
	progress string // as the tool reports it
	repairs  []llm.Repair
	failed   bool
	result   string // in one line
	ours     bool   // run by us
}

// calls holds the calls of a conversation in the order of their arrival.
type calls struct {
	all []*Call
	now func() time.Time
}

func (c *calls) find(id string) *Call {
	for _, v := range slices.Backward(c.all) {
		if v.id == id {
			return v
		}
	}
	return nil
}

// open returns the calls that have not ended.
func (c *calls) open() []*Call {
	var out []*Call
	for _, v := range c.all {
		if v.Phase != CallOver {
			out = append(out, v)
		}
	}
	return out
}

// retract drops the calls that were still being written, because their answer was retracted. Complete calls are never
// retracted.
func (c *calls) retract() {
	c.all = slices.DeleteFunc(c.all, func(v *Call) bool { return v.Phase == CallWriting })
}

// Stop ends the open calls of a finished turn. No more events will report their results.
func (c *calls) Stop() {
	for _, v := range c.open() {
		v.took, v.Phase, v.failed, v.result = c.now().Sub(v.since), CallOver, true, "interrupted"
	}
}

// begin returns the view of an open call, and adds one if there is none.
func (c *calls) begin(id, name string) *Call {
	if v := c.find(id); v != nil && v.Phase != CallOver {
		return v
	}
	v := &Call{id: id, name: name, since: c.now()}
	c.all = append(c.all, v)
	return v
}

func (c *calls) enter(v *Call, p phase) {
	if v != nil && v.Phase < p {
		v.Phase, v.since = p, c.now()
	}
}

// add handles an event. It returns the view of the call that the event ended, or nil.
func (c *calls) add(ev llm.Event) *Call {
	switch ev := ev.(type) {
	case llm.CallStart:
		c.begin(ev.ID, ev.Name)
	case llm.CallDelta:
		if v := c.find(ev.ID); v != nil && v.Phase == CallWriting {
			v.write(ev.Args)
		}
	case llm.Call:
		v := c.begin(ev.ID, ev.Name)
		v.Args, v.repairs = string(ev.Args), ev.Provenance.Repairs
		c.enter(v, waiting)
	case invoke.Checked:
		if v := c.find(ev.CallID); v != nil {
			v.Args, v.repairs = string(ev.Args), ev.Repairs
		}
	case invoke.Started:
		c.enter(c.find(ev.CallID), running)
	case invoke.Progress:
		if v := c.find(ev.CallID); v != nil {
			v.progress = progressText(ev)
		}
	case invoke.ToolRetry:
		if v := c.find(ev.CallID); v != nil {
			v.note = fmt.Sprintf("attempt %d failed (%s), again in %s", ev.Attempt, ev.Error.Code, cli.ShortDuration(ev.Delay))
		}
	case invoke.Truncated:
		if v := c.find(ev.CallID); v != nil {
			if v.note = fmt.Sprintf("the model sees %d of %d characters", ev.Kept, ev.Chars); ev.Omitted > 0 {
				v.note += fmt.Sprintf(", and the tool left out %d bytes", ev.Omitted)
			}
		}
	case invoke.Ended:
		if v := c.find(ev.CallID); v != nil {
			v.took = ev.Took
		}
	case invoke.Outcome:
		return c.end(ev)
	case llm.HostedCall:
		c.hostedCall(ev.Call)
	case llm.HostedResult:
		return c.hosted(ev.Result)
	}
	return nil
}

// hostedCall adds a call that the provider runs.
func (c *calls) hostedCall(call llm.Call) {
	if !c.ran(call.ID) {
		v := c.begin(call.ID, call.Name)
		v.Args, v.note = string(call.Args), byProvider
		c.enter(v, running)
	}
}

// hosted adds the result of a call that the provider ran.
func (c *calls) hosted(r llm.Result) *Call {
	if c.ran(r.CallID) {
		return nil
	}
	v := c.begin(r.CallID, r.Name)
	v.took, v.Phase, v.failed, v.result = c.now().Sub(v.since), CallOver, r.Failed, summary(r, false)
	return v
}

// byProvider is the note on calls that the provider runs.
const byProvider = "run by the provider"

// ran reports whether we ran the call. Agent programs also report calls that we run for them.
func (c *calls) ran(id string) bool {
	v := c.find(id)
	return v != nil && v.ours
}

// progressText formats the progress of a call: a message, a count, or both.
func progressText(ev invoke.Progress) string {
	text := inLine(ev.Message)
	switch {
	case ev.Total > 0:
		text = strings.TrimSpace(fmt.Sprintf("%s %g of %g", text, ev.Done, ev.Total))
	case ev.Done > 0:
		text = strings.TrimSpace(fmt.Sprintf("%s %g", text, ev.Done))
	}
	return text
}

// write appends to the arguments. While they stream, only their end is shown. Only their end is kept too, to avoid
// copying a long argument for every chunk.
func (v *Call) write(piece string) {
	if v.Args += piece; len(v.Args) > 4<<10 {
		v.Args = strings.ToValidUTF8(v.Args[len(v.Args)-1<<10:], "")
	}
}

// end stores the outcome of a call. It adds a view for a call that could not be parsed.
func (c *calls) end(o invoke.Outcome) *Call {
	v := c.find(o.Call.ID)
	if v == nil || v.Phase == CallOver {
		v = c.begin(o.Call.ID, o.Call.Name)
		v.Args = string(o.Call.Args)
	}
	if v.Phase, v.ours = CallOver, true; v.note == byProvider {
		v.note = ""
	}
	if o.Error != nil {
		v.failed, v.result = true, failureText(o.Error)
		return v
	}
	v.failed, v.result = o.Result.Failed, summary(o.Result, o.Receipt.Truncated)
	return v
}

// failureWords begin the text of a call's failure, for the codes whose messages do not explain themselves.
var failureWords = map[tool.Code]string{
	tool.Execution: "failed", tool.RateLimit: "too many requests", tool.Network: "no connection",
	tool.ModelRefusal: "declined", tool.Uncertain: "not known whether it took effect",
}

// failureText describes the failure of a call to the person who watches it.
func failureText(e *tool.Error) string {
	text := inLine(e.Message)
	if e.Code == tool.Permission {
		text = strings.Replace(text, ByPerson+" refused it", "you refused it", 1)
		text = strings.Replace(text, ByProgram+" refused it", "refused", 1)
	}
	if words := failureWords[e.Code]; words != "" {
		return words + ": " + text
	}
	return text
}

// Spinner holds the frames of the progress animation.
var Spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// line returns the call in one line of at most width cells; 0 means any width.
func (v *Call) line(p cli.Palette, width int, frame int, now time.Time) string {
	head := p.Cyan(string(Spinner[frame%len(Spinner)]))
	took := v.took
	tail := ""
	switch {
	case v.Phase == CallOver && v.failed:
		head, tail = p.Red("✗"), p.Red(v.result)
	case v.Phase == CallOver:
		head, tail = p.Green("✓"), v.result
	case v.Phase == running:
		took, tail = now.Sub(v.since), cmp.Or(v.progress, "running")
	case v.Phase == waiting:
		tail = "waiting"
	}
	parts := []string{head + " " + p.Bold(cli.Printable(v.name))}
	if args := v.ShownArgs(width); args != "" {
		parts[0] += " " + args
	}
	if v.Phase != CallWriting && v.Phase != waiting {
		parts = append(parts, p.Dim(cli.ShortDuration(took)))
	}
	if tail != "" {
		parts = append(parts, tail)
	}
	for _, r := range v.repairs {
		parts = append(parts, p.Dim("repaired "+r.Rule))
	}
	if v.note != "" {
		parts = append(parts, p.Dim(v.note))
	}
	line := strings.Join(parts, p.Dim(" · "))
	if width > 0 {
		line = ansi.Truncate(line, width, "…")
	}
	return line
}

// MaxArgs limits how much of a call's arguments a line shows, to leave room for the result.
const MaxArgs = 60

// ShownArgs returns the arguments as name=value once they are complete.
func (v *Call) ShownArgs(width int) string {
	text := v.Args
	var order []string
	values := make(map[string]json.RawMessage)
	if v.Phase != CallWriting && json.Unmarshal([]byte(v.Args), &values) == nil {
		for _, name := range KeyOrder(v.Args) {
			order = append(order, name+"="+shownValue(values[name]))
		}
		text = strings.Join(order, " ")
	}
	limit := maxNote
	if width > 0 {
		limit = max(width/2, 20)
	}
	if text = cli.Printable(text); v.Phase == CallWriting { // show the newest part
		return ansi.TruncateLeft(text, max(0, ansi.StringWidth(text)-limit), "…")
	}
	return ansi.Truncate(text, limit, "…")
}

// shownValue formats a value with a visible end: text that is not one plain word keeps its quotes.
func shownValue(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" || strings.ContainsFunc(text, func(r rune) bool { return cli.Unseen(r) || unicode.IsSpace(r) || strings.ContainsRune(`"'=,`, r) }) {
		return string(raw)
	}
	return text
}

// KeyOrder returns the keys of a JSON object in document order.
func KeyOrder(text string) []string {
	var names []string
	for key := range js.Members(js.Trim([]byte(text))) {
		names = append(names, string(key))
	}
	return names
}

// summary returns a result in one line. cut means that the model saw only a part of it.
func summary(r llm.Result, cut bool) string {
	text := strings.TrimSpace(r.Text())
	lines := strings.Count(text, "\n") + 1
	switch {
	case text == "" && len(r.Parts) > 0:
		return fmt.Sprintf("%d parts that are not text", len(r.Parts))
	case text == "":
		return "nothing"
	case lines == 1:
		return inLine(text)
	}
	first, _, _ := strings.Cut(text, "\n")
	if cut { // line counts of a shortened result are not those of the tool's result
		return inLine(first) + " …"
	}
	return fmt.Sprintf("%d lines: %s …", lines, inLine(first))
}
