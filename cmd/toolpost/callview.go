package main

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
)

// phase is the progress of a call.
type phase uint8

const (
	writing phase = iota // the model is still writing the arguments
	waiting              // the call is complete and waits for its turn or for a decision
	running
	over
)

// callView follows one call from its first characters to its result.
type callView struct {
	id, name string
	args     string // received so far
	phase    phase
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
	all []*callView
	now func() time.Time
}

func (c *calls) find(id string) *callView {
	for _, v := range slices.Backward(c.all) {
		if v.id == id {
			return v
		}
	}
	return nil
}

// open returns the calls that have not ended.
func (c *calls) open() []*callView {
	var out []*callView
	for _, v := range c.all {
		if v.phase != over {
			out = append(out, v)
		}
	}
	return out
}

// retract drops the calls that were still being written, because their answer was retracted. Complete calls are never
// retracted.
func (c *calls) retract() {
	c.all = slices.DeleteFunc(c.all, func(v *callView) bool { return v.phase == writing })
}

// stop ends the open calls of a finished turn. No more events will report their results.
func (c *calls) stop() {
	for _, v := range c.open() {
		v.took, v.phase, v.failed, v.result = c.now().Sub(v.since), over, true, "interrupted"
	}
}

// begin returns the view of an open call, and adds one if there is none.
func (c *calls) begin(id, name string) *callView {
	if v := c.find(id); v != nil && v.phase != over {
		return v
	}
	v := &callView{id: id, name: name, since: c.now()}
	c.all = append(c.all, v)
	return v
}

func (c *calls) enter(v *callView, p phase) {
	if v != nil && v.phase < p {
		v.phase, v.since = p, c.now()
	}
}

// add handles an event. It returns the view of the call that the event ended, or nil.
func (c *calls) add(ev llm.Event) *callView {
	switch ev := ev.(type) {
	case llm.CallStart:
		c.begin(ev.ID, ev.Name)
	case llm.CallDelta:
		if v := c.find(ev.ID); v != nil && v.phase == writing {
			v.write(ev.Args)
		}
	case llm.Call:
		v := c.begin(ev.ID, ev.Name)
		v.args, v.repairs = string(ev.Args), ev.Provenance.Repairs
		c.enter(v, waiting)
	case invoke.Checked:
		if v := c.find(ev.CallID); v != nil {
			v.args, v.repairs = string(ev.Args), ev.Repairs
		}
	case invoke.Started:
		c.enter(c.find(ev.CallID), running)
	case invoke.Progress:
		if v := c.find(ev.CallID); v != nil {
			v.progress = progressText(ev)
		}
	case invoke.ToolRetry:
		if v := c.find(ev.CallID); v != nil {
			v.note = fmt.Sprintf("attempt %d failed (%s), again in %s", ev.Attempt, ev.Error.Code, short(ev.Delay))
		}
	case invoke.Truncated:
		if v := c.find(ev.CallID); v != nil {
			v.note = fmt.Sprintf("the model sees %d of %d characters", ev.Kept, ev.Chars)
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
		v.args, v.note = string(call.Args), byProvider
		c.enter(v, running)
	}
}

// hosted adds the result of a call that the provider ran.
func (c *calls) hosted(r llm.Result) *callView {
	if c.ran(r.CallID) {
		return nil
	}
	v := c.begin(r.CallID, r.Name)
	v.took, v.phase, v.failed, v.result = c.now().Sub(v.since), over, r.Failed, summary(r, false)
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
	text := cli.InOneLine(ev.Message)
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
func (v *callView) write(piece string) {
	if v.args += piece; len(v.args) > 4<<10 {
		v.args = strings.ToValidUTF8(v.args[len(v.args)-1<<10:], "")
	}
}

// end stores the outcome of a call. It adds a view for a call that could not be parsed.
func (c *calls) end(o invoke.Outcome) *callView {
	v := c.find(o.Call.ID)
	if v == nil || v.phase == over {
		v = c.begin(o.Call.ID, o.Call.Name)
		v.args = string(o.Call.Args)
	}
	if v.phase, v.ours = over, true; v.note == byProvider {
		v.note = ""
	}
	if o.Error != nil {
		v.failed, v.result = true, fmt.Sprintf("%s: %s", o.Error.Code, cli.InOneLine(o.Error.Message))
		return v
	}
	v.failed, v.result = o.Result.Failed, summary(o.Result, o.Receipt.Truncated)
	return v
}

// spinner holds the frames of the progress animation.
var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// line returns the call in one line of at most width cells; 0 means any width.
func (v *callView) line(p cli.Palette, width int, frame int, now time.Time) string {
	head := p.Cyan(string(spinner[frame%len(spinner)]))
	took := v.took
	tail := ""
	switch {
	case v.phase == over && v.failed:
		head, tail = p.Red("✗"), p.Red(v.result)
	case v.phase == over:
		head, tail = p.Green("✓"), v.result
	case v.phase == running:
		took, tail = now.Sub(v.since), cmp.Or(v.progress, "running")
	case v.phase == waiting:
		tail = "waiting"
	}
	parts := []string{head + " " + p.Bold(cli.Printable(v.name))}
	if args := v.shownArgs(width); args != "" {
		parts[0] += " " + args
	}
	if v.phase != writing && v.phase != waiting {
		parts = append(parts, p.Dim(short(took)))
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

// maxArgs limits how much of a call's arguments a line shows, to leave room for the result.
const maxArgs = 60

// shownArgs returns the arguments as name=value once they are complete.
func (v *callView) shownArgs(width int) string {
	text := v.args
	var order []string
	values := make(map[string]json.RawMessage)
	if v.phase != writing && json.Unmarshal([]byte(v.args), &values) == nil {
		for _, name := range keyOrder(v.args) {
			order = append(order, name+"="+shownValue(values[name]))
		}
		text = strings.Join(order, " ")
	}
	limit := maxArgs
	if width > 0 {
		limit = max(width/2, 20)
	}
	if text = cli.Printable(text); v.phase == writing { // show the newest part
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

// keyOrder returns the keys of a JSON object in document order.
func keyOrder(text string) []string {
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
		return cli.InOneLine(text)
	}
	first, _, _ := strings.Cut(text, "\n")
	if cut { // line counts of a shortened result are not those of the tool's result
		return cli.InOneLine(first) + " …"
	}
	return fmt.Sprintf("%d lines: %s …", lines, cli.InOneLine(first))
}

// short formats a duration in a few characters.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
