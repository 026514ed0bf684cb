package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Heal makes a history one that every vendor accepts: each call has exactly one
// result, all results of a turn follow it at once in the order of its calls,
// nothing that another vendor signed is in it, failures say something, and no
// message is empty or has blank text beside other parts. A history that is in
// order stays as it is. The warnings say what was changed.
//
// The vendor is the one whose signatures stay, as in Codec.Vendor. The messages
// given are not changed.
func Heal(messages []llm.Message, vendor string) ([]llm.Message, []llm.Warning) {
	h := healing{vendor: vendor, results: map[string][]llm.Result{}}
	h.collect(messages)
	for _, msg := range messages {
		h.message(msg)
	}
	h.orphans()
	return h.out, h.report()
}

// Interrupted is the result of a call that has none: its run was stopped
// before it ended.
const Interrupted = "interrupted: this call did not come to an end, and there is no result. It may or may not have had an effect."

// Silent is the result of a call that failed without a word: some vendors refuse
// failures that say nothing.
const Silent = "The call failed. It said nothing about why."

// healing is one history being healed.
type healing struct {
	vendor  string
	results map[string][]llm.Result // by call id, in their order
	out     []llm.Message

	missing, twice, foreign, broken, silent int
}

// collect gathers all results.
func (h *healing) collect(messages []llm.Message) {
	for _, msg := range messages {
		for _, p := range msg.Parts {
			if r, ok := p.(llm.Result); ok && !r.Hosted {
				h.results[r.CallID] = append(h.results[r.CallID], r)
			}
		}
	}
}

// message takes the next message over. Results have their place after their
// calls; what else stands in their message follows as the user's.
func (h *healing) message(msg llm.Message) {
	var parts []llm.Part
	var calls []llm.Call
	var broken []llm.Call
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Result:
			if p.Hosted {
				parts = append(parts, p)
			}
			continue
		case llm.Call:
			p.State = h.own(p.State)
			if !p.Hosted && !whole(p) {
				broken = append(broken, p)
				parts = append(parts, llm.Text{Text: attempt(p)})
				continue
			}
			if !p.Hosted {
				calls = append(calls, p)
			}
			parts = append(parts, p)
		default:
			parts = append(parts, h.part(p)...)
		}
	}
	if msg.Role == llm.RoleTool {
		msg.Role = llm.RoleUser
	}
	if len(parts) > 1 || msg.Role != llm.RoleUser { // what the user says is his, blank or not
		parts = slices.DeleteFunc(parts, blank)
	}
	if len(parts) > 0 {
		msg.Parts = parts
		h.out = append(h.out, msg)
	}
	h.answer(calls)
	h.explain(broken)
}

// blank reports whether a part is text of which nothing can be seen, as calls read
// from text leave it between them. Some vendors refuse it.
func blank(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return ok && strings.TrimSpace(t.Text) == "" && t.State.IsZero()
}

// part returns a part without what another vendor signed.
func (h *healing) part(p llm.Part) []llm.Part {
	switch p := p.(type) {
	case llm.Text:
		opaque := !p.State.IsZero() && p.Text == ""
		if p.State = h.own(p.State); opaque && p.State.IsZero() {
			return nil
		}
		return []llm.Part{p}
	case llm.Thinking:
		if p.State = h.own(p.State); p.State.IsZero() && (p.Redacted || p.Text == "") {
			return nil
		}
		return []llm.Part{p}
	case llm.Media:
		p.State = h.own(p.State)
		return []llm.Part{p}
	}
	return []llm.Part{p}
}

// own returns a state if this vendor made it.
func (h *healing) own(s llm.State) llm.State {
	if s.IsZero() || s.Vendor == h.vendor {
		return s
	}
	h.foreign++
	return llm.State{}
}

// whole reports whether a call can be sent back as a call: it was not cut off,
// and its arguments are what its kind has.
func whole(c llm.Call) bool {
	if c.Provenance.Truncated || c.Name == "" {
		return false
	}
	if c.Kind == llm.FreeTool {
		var s string
		return json.Unmarshal(c.Args, &s) == nil
	}
	var args map[string]json.RawMessage
	return len(c.Args) == 0 || json.Unmarshal(c.Args, &args) == nil
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
func (h *healing) answer(calls []llm.Call) {
	if len(calls) == 0 {
		return
	}
	parts := make([]llm.Part, len(calls))
	for i, c := range calls {
		parts[i] = h.result(c)
	}
	h.out = append(h.out, llm.Message{Role: llm.RoleTool, Parts: parts})
}

// result takes the result of a call, or says that there is none.
func (h *healing) result(c llm.Call) llm.Result {
	waiting := h.results[c.ID]
	if len(waiting) == 0 {
		h.missing++
		return llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: Interrupted}}}
	}
	r := waiting[0]
	h.results[c.ID] = waiting[1:]
	if r.Name == "" {
		r.Name = c.Name
	}
	r.State = h.own(r.State)
	if r.Failed && r.Text() == "" && !slices.ContainsFunc(r.Parts, isMedia) {
		h.silent++
		r.Parts = []llm.Part{llm.Text{Text: Silent}}
	}
	return r
}

func isMedia(p llm.Part) bool {
	_, ok := p.(llm.Media)
	return ok
}

// explain tells what was wrong with calls that cannot be sent back.
func (h *healing) explain(calls []llm.Call) {
	for _, c := range calls {
		h.broken++
		text := "That call was not run: it was cut off or its arguments are no JSON object."
		if waiting := h.results[c.ID]; len(waiting) > 0 {
			h.results[c.ID] = waiting[1:]
			text = waiting[0].Text()
		}
		h.out = append(h.out, llm.User(text))
	}
}

// orphans counts the results that answer no call, or one that has its result.
func (h *healing) orphans() {
	for _, waiting := range h.results {
		h.twice += len(waiting)
	}
}

// report says what was changed.
func (h *healing) report() []llm.Warning {
	var out []llm.Warning
	for _, w := range []struct {
		n    int
		code llm.WarningCode
		text string
	}{
		{h.missing, llm.Corrected, "%d calls of the history had no result; the model is told that they were interrupted"},
		{h.twice, llm.Ignored, "%d results of the history answer no call, or one that has its result"},
		{h.broken, llm.Corrected, "%d calls of the history cannot be sent back as calls; they go back as the text they were"},
		{h.silent, llm.Corrected, "%d failures of the history said nothing; the model is told that they are failures"},
		{h.foreign, llm.Ignored, "%d parts of the history were signed by another vendor; their signatures stay behind"},
	} {
		if w.n > 0 {
			out = append(out, llm.Warning{Code: w.code, Feature: "history", Detail: fmt.Sprintf(w.text, w.n)})
		}
	}
	return out
}
