// Package history prepares a conversation for a vendor: it repairs calls and results that do not match, and replaces names and
// ids that the vendor does not accept.
package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// Repair returns a history that every vendor accepts. Each call has exactly one result. The results of a turn follow it
// directly, in the order of its calls and with their names. Signatures of other vendors are removed. Failures have a
// text, and no message is empty or has blank text next to other parts. If nothing of a turn is left, a text replaces
// it. A correct history is returned unchanged. The warnings list the changes. Signatures of the given vendor stay, as
// in Codec.Vendor. The given messages are not changed.
func Repair(messages []llm.Message, vendor string) ([]llm.Message, []llm.Warning) {
	h := newRepairer(vendor)
	h.collect(messages)
	for _, msg := range messages {
		h.message(msg)
	}
	healed := h.withoutGaps()
	return healed, h.report()
}

// Interrupted is the result of a call that has none: its run was stopped
// before it ended.
const Interrupted = "interrupted: this call did not come to an end, and there is no result. It may or may not have had an effect."

// Silent is the result of a call that failed without a word: some vendors refuse
// failures that say nothing.
const Silent = "The call failed. It said nothing about why."

// repairer is one history being healed.
type repairer struct {
	vendor  string
	results []repairedResult // of the calls, in their order
	next    int              // place of the next call among them
	out     []llm.Message
	gaps    map[int]bool // the messages of out of which nothing is left
	notes   loss.Log     // fields that stay behind

	missing, twice, misnamed, foreign, broken, silent int
}

// newRepairer returns an empty repairer. It is not inlined: that keeps its encoder off the caller's stack, which stays
// large for as long as a stream is open.
//
//go:noinline
func newRepairer(vendor string) *repairer {
	h := &repairer{vendor: vendor}
	h.notes.Vendor = vendor
	return h
}

// repairedResult is a result and the extra fields of its message, which go where it goes if nothing else was in that message.
type repairedResult struct {
	llm.Result
	of    llm.Extra
	there bool // not a placeholder for a missing result
}

// collect finds the results of all calls. A result that precedes all calls with its id belongs to the first of them
// without another result.
func (h *repairer) collect(messages []llm.Message) {
	var open turns.OpenCalls
	var early []repairedResult
	for _, msg := range messages {
		of := msg.Extra
		if !onlyResults(msg) {
			of = nil
		}
		open.Message(msg.Role)
		for _, p := range msg.Parts {
			switch p := p.(type) {
			case llm.Call:
				if !p.Hosted {
					keys := turns.CallKeys(p.ID, p.Name)
					open.Add(&turns.OpenCall{At: len(h.results)}, keys[:]...)
					h.results = append(h.results, repairedResult{})
				}
			case llm.Result:
				if p.Hosted {
					continue
				}
				keys, r := turns.CallKeys(p.CallID, p.Name), repairedResult{p, of, true}
				of = nil
				if c := open.Take(keys[:]...); c != nil {
					h.results[c.At] = r
				} else if open.Knows(keys[1]) {
					h.orphan(r)
				} else {
					early = append(early, r)
				}
			}
		}
	}
	h.collectEarly(messages, early)
}

// collectEarly assigns results that precede their calls to calls without a result.
func (h *repairer) collectEarly(messages []llm.Message, early []repairedResult) {
	if len(early) == 0 {
		return
	}
	var open turns.OpenCalls
	at := 0
	for _, msg := range messages {
		for _, c := range msg.Calls() {
			if !h.results[at].there {
				keys := turns.CallKeys(c.ID, c.Name)
				open.Add(&turns.OpenCall{At: at}, keys[:]...)
			}
			at++
		}
	}
	for _, r := range early {
		keys := turns.CallKeys(r.CallID, r.Name)
		if c := open.Take(keys[:]...); c != nil {
			h.results[c.At] = r
		} else {
			h.orphan(r)
		}
	}
}

// onlyResults reports whether all parts of a message are results of client calls.
func onlyResults(m llm.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		r, ok := p.(llm.Result)
		return !ok || r.Hosted
	})
}

// message copies the next message. Its results move after their calls; its other parts follow as a user message.
func (h *repairer) message(msg llm.Message) {
	var t repairedTurn
	for _, p := range msg.Parts {
		switch p.(type) {
		case llm.Call, llm.Result:
			h.work(&t, p)
		default:
			t.parts = append(t.parts, h.part(p)...)
		}
	}
	if msg.Role == llm.RoleTool {
		msg.Role = llm.RoleUser
	}
	if len(t.parts) > 1 || msg.Role != llm.RoleUser { // what the user says is his, blank or not
		t.parts = slices.DeleteFunc(t.parts, h.blank)
	}
	switch {
	case len(t.parts) > 0:
		msg.Parts = t.parts
		h.out = append(h.out, msg)
	case !onlyResults(msg): // else they go with those
		h.left(msg.Extra)
		h.gap(msg)
	}
	h.answer(t.calls)
	h.explain(t.broken)
}

// gap keeps the place of a message of which nothing is left.
func (h *repairer) gap(msg llm.Message) {
	if !turns.HoldsMore(msg) {
		return
	}
	if h.gaps == nil {
		h.gaps = make(map[int]bool)
	}
	h.gaps[len(h.out)] = true
	h.out = append(h.out, msg)
}

// repairedTurn is a message being taken over: what stays in it, its calls, and those of them that cannot be sent back.
type repairedTurn struct {
	parts         []llm.Part
	calls, broken []repairedCall
}

// repairedCall is a call of the client and its result.
type repairedCall struct {
	llm.Call
	result repairedResult
}

// work copies a call, or the result of a hosted call. It is not inlined: histories are repaired deep in the stack of a
// request, and a stack that has grown stays large until the answer ends.
//
//go:noinline
func (h *repairer) work(t *repairedTurn, p llm.Part) {
	switch p := p.(type) {
	case llm.Result:
		if p.Hosted {
			t.parts = append(t.parts, p)
		}
	case llm.Call:
		h.call(t, p)
	}
}

// call takes a call over.
func (h *repairer) call(t *repairedTurn, c llm.Call) {
	if c.Hosted {
		c.State = h.own(c.State)
		t.parts = append(t.parts, c)
		return
	}
	r := h.results[h.next]
	h.next++
	h.notes.ForeignState("", c.State)
	c.State = h.own(c.State)
	if !whole(c) {
		h.left(c.Extra)
		t.broken = append(t.broken, repairedCall{c, r})
		t.parts = append(t.parts, llm.Text{Text: attempt(c)})
		return
	}
	t.calls = append(t.calls, repairedCall{c, r})
	t.parts = append(t.parts, c)
}

// blank reports whether a part is text of which nothing can be seen, as calls read
// from text leave it between them. Some vendors refuse it. It notes what else such a part says.
func (h *repairer) blank(p llm.Part) bool {
	t, ok := p.(llm.Text)
	if !ok || strings.TrimSpace(t.Text) != "" || !t.State.IsZero() {
		return false
	}
	h.left(t.Extra)
	return true
}

// left notes the extra fields of something that is not sent.
func (h *repairer) left(x llm.Extra) {
	for _, format := range slices.Sorted(maps.Keys(x)) {
		for _, key := range slices.Sorted(maps.Keys(x[format])) {
			if !strings.HasPrefix(key, loss.Restated) {
				name, _ := loss.CutPrefix(loss.Dotted(key), loss.InnerPrefix)
				h.notes.Lost(llm.Ignored, name, loss.NotSent)
			}
		}
	}
}

// part returns a part without what another vendor signed.
func (h *repairer) part(p llm.Part) []llm.Part {
	switch p := p.(type) {
	case llm.Text:
		if p.Text == "" && h.isForeign(p.State) {
			h.foreign++
			h.left(p.Extra)
			h.notes.Lost(llm.Ignored, "opaque part", loss.ForeignPart(p.State))
			return nil
		}
		h.notes.ForeignBlock(p.State)
		p.State = h.own(p.State)
		return []llm.Part{p}
	case llm.Thinking:
		h.notes.ForeignState("", p.State)
		foreign := h.isForeign(p.State)
		if (p.Redacted || p.Text == "") && (foreign || p.State.IsZero()) || foreign && signed(p.State) {
			h.left(p.Extra) // without its signature, a vendor would read it as the thinking of its own model
			if foreign {
				h.foreign++
			}
			if p.Text != "" {
				h.notes.Lost(llm.Ignored, "thinking", "another vendor signed it")
			}
			return nil
		}
		p.State = h.own(p.State)
		return []llm.Part{p}
	case llm.Media:
		if h.notes.ForeignFile(p) {
			h.left(p.Extra)
			return nil
		}
		h.notes.ForeignState("", p.State)
		p.State = h.own(p.State)
		return []llm.Part{p}
	}
	return []llm.Part{p}
}

// own returns a state if this vendor made it.
func (h *repairer) own(s llm.State) llm.State {
	if !h.isForeign(s) {
		return s
	}
	if signed(s) {
		h.foreign++
	}
	return llm.State{}
}

func (h *repairer) isForeign(s llm.State) bool { return !s.IsZero() && s.Vendor != h.vendor }

// signed reports whether a state holds data that only its vendor can read. The id of an item and its status do not
// count.
func signed(s llm.State) bool {
	if js.Kind(s.Data) != '{' {
		return true
	}
	for key := range js.Members(s.Data) {
		if slices.Contains(loss.SealedMembers, string(key)) {
			return true
		}
	}
	return false
}

// whole reports whether a call can be sent back as a call: it was not cut off,
// and its arguments are what its kind has.
func whole(c llm.Call) bool {
	if c.Provenance.Truncated || c.Name == "" {
		return false
	}
	kind := byte('{')
	if c.Kind == llm.FreeTool {
		kind = '"'
	} else if len(c.Args) == 0 {
		return true
	}
	is := js.Kind(js.Trim(c.Args))
	return (is == kind || is == 'n') && js.Valid(c.Args)
}

// attempt is a call that cannot be sent back, as the model wrote it.
func attempt(c llm.Call) string {
	var s string
	if json.Unmarshal(c.Args, &s) == nil {
		return c.Name + " " + s
	}
	return c.Name + " " + string(c.Args)
}

// answer adds the results of a turn's calls.
func (h *repairer) answer(calls []repairedCall) {
	if len(calls) == 0 {
		return
	}
	m := llm.Message{Role: llm.RoleTool, Parts: make([]llm.Part, len(calls))}
	for i, c := range calls {
		r := h.result(c)
		m.Parts[i] = r.Result
		m.Extra = h.join(m.Extra, r.of)
	}
	h.out = append(h.out, m)
}

// join returns the extra fields of two messages that become one. What both say stays as the first says it.
func (h *repairer) join(x, y llm.Extra) llm.Extra {
	if len(x) == 0 {
		return y
	}
	out := maps.Clone(x)
	for _, format := range slices.Sorted(maps.Keys(y)) {
		out[format] = h.notes.JoinFields(x[format], y[format])
	}
	return out
}

// result takes the result of a call, or says that there is none.
func (h *repairer) result(c repairedCall) repairedResult {
	r := c.result
	if !r.there {
		h.missing++
		return repairedResult{Result: llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: Interrupted}}}}
	}
	if r.Name != "" && r.Name != c.Name {
		h.misnamed++
	}
	r.Name = c.Name
	h.notes.ForeignState("", r.State)
	h.notes.ForeignOutput(r.State)
	r.State = h.own(r.State)
	if r.Failed && r.Text() == "" && !slices.ContainsFunc(r.Parts, turns.IsMedia) {
		h.silent++
		r.Parts = []llm.Part{llm.Text{Text: Silent}}
	}
	return r
}

// explain adds the problems of calls that cannot be sent back.
func (h *repairer) explain(calls []repairedCall) {
	for _, c := range calls {
		h.broken++
		text := "That call was not run: it was cut off or its arguments are no JSON object."
		if r := c.result; r.there {
			text = r.Text()
			h.left(r.of)
			h.left(r.Extra)
		}
		h.out = append(h.out, llm.User(text))
	}
}

// orphan counts a result that has no call, or whose call already has a result.
func (h *repairer) orphan(r repairedResult) {
	h.twice++
	h.left(r.of)
	h.left(r.Extra)
}

// report returns the warnings about all changes.
func (h *repairer) report() []llm.Warning {
	var out []llm.Warning
	for _, w := range []struct {
		n    int
		code llm.WarningCode
		text string
	}{
		{h.missing, llm.Corrected, "%d calls of the history had no result; the model is told that they were interrupted"},
		{h.twice, llm.Ignored, "%d results of the history answer no call, or one that has its result"},
		{h.misnamed, llm.Corrected, "%d results of the history have the name of another tool than the call they answer; they are sent with the name of the call"},
		{h.broken, llm.Corrected, "%d calls of the history cannot be sent back as calls; they go back as the text they were"},
		{h.silent, llm.Corrected, "%d failures of the history said nothing; the model is told that they are failures"},
		{h.foreign, llm.Ignored, "%d parts of the history were signed by another vendor; the signatures stay behind, and so does signed thinking"},
	} {
		if w.n > 0 {
			out = append(out, llm.Warning{Code: w.code, Feature: "history", Detail: fmt.Sprintf(w.text, w.n)})
		}
	}
	return append(out, h.notes.Warnings...)
}

// withoutGaps returns the repaired messages without the empty ones among them. Each turn stays one turn.
func (h *repairer) withoutGaps() []llm.Message {
	if len(h.gaps) == 0 {
		return h.out
	}
	var out []llm.Message
	c := turns.ConversationOf(h.out)
	for from := 0; from < len(h.out); {
		to, n := c.End(from), len(out)
		for i := from; i < to; i++ {
			if !h.gaps[i] {
				out = append(out, h.out[i])
			}
		}
		if len(out) == n {
			if m, needed := c.StandIn(&h.notes, from, to); needed {
				out = append(out, m)
			}
		}
		from = to
	}
	return out
}

// FreeInput is the argument that holds the text of a free-text tool in formats
// that have functions only.
const FreeInput = "input"
