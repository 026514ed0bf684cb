package agentcli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// answer is how far a question has come.
type answer struct {
	bytes, text, thinking, events int64

	started bool // the Start was passed on
	checked bool // the program said what it has
	spoke   bool // text that is not blank
	over    bool // there is nothing more to say
	stopped bool // the reader has stopped
	end     *ending

	calls   []*seenCall       // that the program reported, in order
	runs    []*ranCall        // that reached the bridge and were run
	held    []asked           // that reached the bridge and were not reported yet
	aliases map[string]string // ids of calls as the program knows them: as the record does
	turned  bool              // the one turn of an answer without a runner is over
}

// seenCall is a call that the program reported.
type seenCall struct {
	id, name string
	params   journal.Hash
	known    bool // it is of the bridge
	bound    bool // its run is known
	settled  bool // its result was reported
}

// ranCall is a call that was run for the program.
type ranCall struct {
	call     llm.Call
	params   journal.Hash
	theirs   string // the id that came with it
	result   llm.Result
	reported bool // the program reported it
}

// emit passes an event on, and reports whether anybody still listens.
func (q *question) emit(ev llm.Event) bool {
	if !q.stopped && !q.yield(ev, nil) {
		q.stopped = true
	}
	return !q.stopped
}

// take follows an event of the decoder.
func (q *question) take(ev llm.Event) error {
	if q.events++; q.events > q.limits.Events {
		return q.fail(llm.EventLimit, "", "the program wrote more than %d events", q.limits.Events)
	}
	if q.nextTurn(ev) {
		return q.finish()
	}
	if q.unchecked(ev) {
		return q.fail(llm.Unsupported, codeOutside, "the program did not say which tools it has before it began; it was ended")
	}
	switch ev := ev.(type) {
	case llm.Start:
		if !q.started {
			q.started = true
			q.emit(ev)
		}
	case inventory:
		return q.check(ev)
	case outsider:
		return q.fail(llm.Unsupported, codeOutside, "the program did something else than call the tools it was given: %s; it was ended", ev.What)
	case llm.TextDelta:
		q.spoke = q.spoke || strings.TrimSpace(ev.Text) != ""
		q.emit(ev)
		return q.wrote(len(ev.Text))
	case llm.ThinkingDelta:
		if q.thinking += int64(len(ev.Text)); q.thinking > q.limits.Thinking {
			return q.fail(llm.ThinkingLimit, "", "the answer has more than %d bytes of thinking", q.limits.Thinking)
		}
		q.emit(ev)
	case llm.Warning:
		ev.Detail = clip.Bytes(child.PlainText(q.m.Program.redact(ev.Detail)), maxErrorText)
		q.emit(ev)
	case llm.CallStart:
		ev.Name, _ = q.bridge.Original(ev.Name)
		q.emitCaller(ev)
	case llm.CallDelta:
		q.emitCaller(ev)
		return q.wrote(len(ev.Args))
	case llm.Call:
		q.reported(ev)
	case llm.InvalidCall:
		q.broken(ev)
	case llm.HostedResult:
		return q.settled(ev.Result)
	case ending:
		q.end = &ev
		return q.finish()
	default:
		q.emit(ev)
	}
	return nil
}

// emitCaller passes on a piece of a call, if the caller is to run it.
func (q *question) emitCaller(ev llm.Event) {
	if q.run == nil {
		q.emit(ev)
	}
}

// wrote counts bytes of text, arguments and results.
func (q *question) wrote(n int) error {
	if q.text += int64(n); q.text > q.limits.Text {
		return q.fail(llm.TextLimit, "", "the answer has more than %d bytes of text, arguments and results", q.limits.Text)
	}
	return nil
}

// nextTurn reports whether an event begins another turn of a program that has but one.
func (q *question) nextTurn(ev llm.Event) bool {
	if !q.turned {
		return false
	}
	switch ev.(type) {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallStart:
		return true
	}
	return false
}

// unchecked reports whether an event is of a program that should have said before what
// it has.
func (q *question) unchecked(ev llm.Event) bool {
	if q.checked || !q.format.introduces {
		return false
	}
	switch ev := ev.(type) {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallStart, llm.Call, llm.HostedResult:
		return true
	case ending:
		return !ev.Failed
	}
	return false
}

// check refuses a program that has more than the bridge, or not the bridge.
func (q *question) check(inv inventory) error {
	q.checked = true
	allowed := q.bridge.Allowed()
	for _, name := range inv.Tools {
		if !slices.Contains(allowed, name) {
			return q.fail(llm.Unsupported, codeOutside, "the program has the tool %.80q, which it was not given; it was ended", name)
		}
	}
	for name, state := range inv.Servers {
		switch {
		case name != bridgeName(q.bridge) || q.address == nil:
			return q.fail(llm.Unsupported, codeOutside, "the program has the MCP server %.80q, which it was not given; it was ended", name)
		case state == "failed" || state == "needs-auth":
			return q.fail(llm.Unsupported, codeError, "the program does not reach its tools: %s", state)
		}
	}
	if i := slices.IndexFunc(allowed, func(name string) bool { return !slices.Contains(inv.Tools, name) }); i >= 0 {
		q.emit(llm.Warning{Code: llm.Compatibility, Feature: "tools", Detail: "when it began, the program did not have all tools that it was given: there was no " + allowed[i]})
	}
	return nil
}

// reported takes a call that the program says it makes.
func (q *question) reported(c llm.Call) {
	name, known := q.bridge.Original(c.Name)
	seen := &seenCall{id: c.ID, name: name, known: known, params: argsHash(c.Args)}
	q.calls = append(q.calls, seen)
	c.Name = name
	if q.run == nil {
		if known {
			q.emit(c)
			return
		}
		q.emit(llm.InvalidCall{ID: c.ID, Name: name, Raw: string(c.Args), Reason: llm.UnknownTool,
			Problem: fmt.Sprintf("there is no tool called %q", name), Nearest: near.Names(name, q.names(), 3)})
		return
	}
	if r := q.unreported(seen); r != nil {
		seen.bound, r.reported = true, true
		q.alias(c.ID, r.call.ID)
		c.ID = r.call.ID
	}
	c.Hosted = true
	q.emit(llm.HostedCall{Call: c})
}

// names are those of the tools of the question.
func (q *question) names() []string {
	var out []string
	for _, n := range q.bridge.Allowed() {
		name, _ := q.bridge.Original(n)
		out = append(out, name)
	}
	return out
}

func (q *question) alias(theirs, ours string) {
	if q.aliases == nil {
		q.aliases = make(map[string]string)
	}
	q.aliases[theirs] = ours
}

// argsHash identifies arguments after a program passed them on: a program that reads numbers as
// floating point changes long ones.
func argsHash(args json.RawMessage) journal.Hash {
	var v any
	if json.Unmarshal(args, &v) == nil {
		if text, err := json.Marshal(v); err == nil {
			args = text
		}
	}
	return journal.ParamsHash(args)
}

// unreported returns the run of a call that the program reports after it was run.
func (q *question) unreported(seen *seenCall) *ranCall {
	for _, r := range q.runs {
		if !r.reported && r.theirs == seen.id && r.call.Name == seen.name && r.params == seen.params {
			return r
		}
	}
	for _, r := range q.runs {
		if !r.reported && r.call.Name == seen.name && r.params == seen.params {
			return r
		}
	}
	return nil
}

// broken takes a call that was cut off.
func (q *question) broken(c llm.InvalidCall) {
	c.Name, _ = q.bridge.Original(c.Name)
	if q.run == nil {
		q.emit(c)
		return
	}
	q.emit(llm.Warning{Code: llm.Compatibility, Feature: c.Name, Detail: c.Problem})
}

// settled takes the result of a call as the program reports it.
func (q *question) settled(r llm.Result) error {
	i := slices.IndexFunc(q.calls, func(c *seenCall) bool { return c.id == r.CallID })
	if i < 0 {
		if !r.Failed {
			return q.fail(llm.Unsupported, codeOutside, "the program has a result of a call that it did not report; it was ended")
		}
		return nil // of a call that was cut off
	}
	c := q.calls[i]
	again := c.settled
	c.settled = true
	if !c.known && !r.Failed {
		return q.fail(llm.Unsupported, codeOutside, "the program ran %.80q, which it was not given; it was ended", c.name)
	}
	if q.run != nil && !c.bound && !r.Failed {
		c.settled = false
		q.disown()
		return q.fail(llm.Unsupported, codeOutside, "the program has a result of %.80q, but did not call it with these arguments; it was ended", c.name)
	}
	if q.run == nil {
		q.turned = !slices.ContainsFunc(q.calls, func(c *seenCall) bool { return !c.settled })
		if q.turned && !q.format.bounds {
			return q.finish()
		}
		return nil
	}
	if again {
		return nil
	}
	if err := q.wrote(len(r.Text())); err != nil {
		return err
	}
	r.CallID, r.Name, r.Hosted = cmp.Or(q.aliases[r.CallID], r.CallID), c.name, true
	q.emit(llm.HostedResult{Result: r})
	return nil
}

// serveHeld runs the calls that the program reported, or all of them, in the order in
// which they reached the bridge.
func (q *question) serveHeld(all bool) error {
	for i := 0; i < len(q.held); {
		a := q.held[i]
		r := &ranCall{call: a.call, params: argsHash(a.call.Args), theirs: a.call.ID}
		seen := q.waiting(r)
		if seen == nil && !all {
			i++
			continue
		}
		q.held = slices.Delete(q.held, i, i+1)
		if err := q.serve(a, r, seen); err != nil || q.stopped {
			return err
		}
	}
	return nil
}

// serve runs a call that reached the bridge. The program gets what the runtime says; an
// error of the runtime itself ends the answer.
func (q *question) serve(a asked, r *ranCall, seen *seenCall) error {
	if len(q.runs) >= maxCalls {
		a.reply <- answered{err: fmt.Errorf("there were more than %d calls", maxCalls)}
		return q.fail(llm.EventLimit, "", "the program made more than %d calls", maxCalls)
	}
	if other := q.claimed(r); seen == nil && other != nil {
		q.disown()
		a.reply <- answered{err: errors.New("the call is not the one that was reported under its id")}
		return q.fail(llm.Unsupported, codeOutside, "the program reported a call of %.80q and made another one under its id; it was ended", other.name)
	}
	if seen != nil {
		seen.bound, r.reported, r.call.ID = true, true, seen.id
	}
	q.runs = append(q.runs, r)
	result, err := q.run(q.ctx, r.call)
	a.reply <- answered{result, err}
	if err != nil {
		return err
	}
	r.result = result
	if !r.reported {
		r.call.ID = result.CallID
	}
	return nil
}

// waiting returns the call that the program reported before it reached the bridge.
func (q *question) waiting(r *ranCall) *seenCall {
	same := func(c *seenCall) bool {
		return !c.bound && c.known && c.name == r.call.Name && c.params == r.params
	}
	for _, c := range q.calls {
		if same(c) && c.id == r.theirs {
			return c
		}
	}
	for _, c := range q.calls {
		if same(c) {
			return c
		}
	}
	return nil
}

// claimed returns the call that the program reported under the id of another of its calls.
func (q *question) claimed(r *ranCall) *seenCall {
	for _, c := range q.calls {
		if !c.bound && r.theirs != "" && c.id == r.theirs {
			return c
		}
	}
	return nil
}

// disown gives a failed result to calls that the program reported and did not make. Without it they
// would count as made.
func (q *question) disown() {
	for _, c := range q.calls {
		if q.run == nil || c.bound || c.settled {
			continue
		}
		c.settled = true
		q.emit(llm.HostedResult{Result: llm.Result{CallID: c.id, Name: c.name, Hosted: true, Failed: true, Parts: []llm.Part{llm.Text{Text: "The program reported this call and did not make it."}}}})
	}
}

// flush reports the calls that were run and that the program said nothing about: no call
// is lost in silence.
func (q *question) flush() {
	q.disown()
	for _, r := range q.runs {
		if r.reported || r.result.CallID == "" {
			continue
		}
		r.reported = true
		r.call.Hosted, r.result.Hosted = true, true
		q.emit(llm.HostedCall{Call: r.call})
		q.emit(llm.HostedResult{Result: r.result})
	}
}

// stops are why a model stopped, in the words of a program.
var stops = map[string]llm.Reason{
	"tool_use": llm.ToolCalls, "max_tokens": llm.Length, "model_context_window_exceeded": llm.Length, "refusal": llm.ContentFilter, "pause_turn": llm.OtherReason, "compaction": llm.OtherReason,
}

// rawCalls is the reason of an answer that ends with calls, however the program ended.
const rawCalls = "tool_use"

// finish ends an answer that the program ended, or whose one turn is over.
func (q *question) finish() error {
	q.over = true
	q.flush()
	f := llm.Finish{Reason: llm.Stop, Model: q.m.Model}
	if q.end != nil {
		f.Usage, f.Raw = q.end.Usage, cmp.Or(q.end.Stop, q.end.Subtype)
		f.Reason = cmp.Or(stops[q.end.Stop], llm.Stop)
	}
	if q.run == nil && len(q.calls) > 0 {
		f.Reason, f.Raw = llm.ToolCalls, rawCalls
		q.emit(f)
		return nil
	}
	if q.end == nil { // the one turn was over, with nothing to show for it
		return q.noResult()
	}
	if q.end.Failed {
		return q.failed()
	}
	if !q.spoke {
		if text := cmp.Or(string(q.end.Structured), q.end.Text); text != "" {
			q.emit(llm.TextDelta{Text: text})
		}
	}
	if f.Reason == llm.ToolCalls { // which were all run
		f.Reason = llm.OtherReason
	}
	q.emit(f)
	return nil
}

// failed is the error of an answer that the program ended with one.
func (q *question) failed() error {
	code, kind := classify(q.end.Text)
	if code == codeError && q.end.Subtype != "success" {
		code = q.end.Subtype
	}
	return q.fail(kind, code, "the program failed: %s", cmp.Or(q.end.Text, q.end.Subtype))
}

// ended ends an answer whose program ended without saying so. Calls that are complete
// count.
func (q *question) ended() error {
	for _, ev := range q.decoder.cut() {
		if err := q.take(ev); err != nil {
			return err
		}
	}
	select {
	case <-q.process.Ended():
	case <-time.After(child.Patience): // it closed its output and did not exit
	}
	if q.run == nil && len(q.calls) > 0 {
		q.emit(llm.Warning{Code: llm.Compatibility, Feature: "stream", Detail: q.m.Program.redact("the program ended after complete calls, which count: " + q.process.Why())})
		return q.finish()
	}
	q.over = true
	q.flush()
	return q.noResult()
}

// noResult is the error of an answer without an end. The last output of the program decides the kind
// of the error.
func (q *question) noResult() error {
	why := cmp.Or(q.process.Why(), "the program continues without an answer")
	code, kind := classify(q.process.Stderr.LastLines(20))
	if code != codeError {
		return q.fail(kind, code, "%s", why)
	}
	if q.process.Err() != nil {
		return q.fail(llm.Unknown, codeExit, "%s", why)
	}
	kind = llm.Incomplete
	if len(q.runs) > 0 {
		kind = llm.Unknown // to ask again would do things twice
	}
	return q.fail(kind, codeNoResult, "%s without an answer", strings.TrimSuffix(why, " without an answer"))
}
