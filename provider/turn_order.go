package provider

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// The rules of this file fit the order of turns to the chat template of a model. Servers that imitate a format write
// requests into it, and pass on its refusals as errors.

// Values of [catalog.Model.Turns].
const (
	turnsNeedUser  = "user"
	turnsAlternate = "alternate"
	turnsAnswered  = "answered"
	turnsSingle    = "single"
)

// resultsNoted is a turn of the model between results and what the user says next.
const resultsNoted = "(The results are noted.)"

// orderTurns merges, divides and adds turns as the template demands. A model that nobody knows gets turns that every
// template takes.
func (p planner) orderTurns() {
	demands := p.info.Turns
	if demands == "" && !p.info.Known() {
		demands = turnsAlternate
	}
	switch {
	case !p.format().Imitated || p.info.SystemTurns.Support == catalog.Yes:
		return
	case demands == turnsNeedUser && len(p.req.Messages) > 0 && !slices.ContainsFunc(p.req.Messages, isUser):
		p.beginWithUser()
	case demands == turnsSingle:
		p.divideCalls()
	case demands == turnsAnswered:
		p.moveMedia()
		p.mergeTurns()
		p.answerResults()
	case demands == turnsAlternate:
		p.mergeTurns()
	}
	instructed := len(p.req.Messages) == 0 && p.req.System != "" // and nothing else was said
	if instructed || len(p.req.Messages) > 0 && (demands == turnsAlternate || demands == turnsAnswered) {
		p.beginWithUser()
	}
	p.markPrefix()
}

func isUser(msg llm.Message) bool { return msg.Role == llm.RoleUser }

// beginWithUser puts a turn of the user first, if the first turn is another's.
func (p planner) beginWithUser() {
	at := slices.IndexFunc(p.req.Messages, func(msg llm.Message) bool { return !systemRole(msg.Role) })
	if at >= 0 && isUser(p.req.Messages[at]) {
		return
	}
	if at < 0 {
		at = len(p.req.Messages)
	}
	p.req.Messages = slices.Insert(slices.Clip(p.req.Messages), at, llm.User(userBegins))
	p.warn(llm.Corrected, "history", "%s wants a turn of the user first, so one was added", p.model)
}

// mergeTurns joins turns of one side that follow each other.
func (p planner) mergeTurns() {
	var out []llm.Message
	merged := 0
	for _, msg := range p.req.Messages {
		if n := len(out) - 1; n >= 0 && mergeable(out[n], msg) {
			out[n].Parts = joinedParts(out[n].Parts, msg.Parts)
			out[n].Extra = joinedExtra(out[n].Extra, msg.Extra)
			merged++
			continue
		}
		out = append(out, msg)
	}
	if merged > 0 {
		p.req.Messages = out
		p.warn(llm.Compatibility, "history", "the turns of %s alternate; %d messages were joined with the message before", p.model, merged)
	}
}

// mergeable reports whether a message can become a part of the one before. Calls stay next to their results.
func mergeable(before, msg llm.Message) bool {
	return before.Role == msg.Role && (msg.Role == llm.RoleUser || msg.Role == llm.RoleAssistant && len(before.Calls()) == 0)
}

// joinedParts joins the parts of two messages. Plain texts stay one text, since some templates take no lists.
func joinedParts(a, b []llm.Part) []llm.Part {
	plain := func(parts []llm.Part) (llm.Text, bool) {
		if len(parts) != 1 {
			return llm.Text{}, false
		}
		t, ok := parts[0].(llm.Text)
		return t, ok && t.State.IsZero() && len(t.Extra) == 0 && len(t.Citations) == 0 && !t.Refusal
	}
	one, first := plain(a)
	two, second := plain(b)
	if first && second {
		one.Text = strings.TrimSpace(one.Text + "\n\n" + two.Text)
		return []llm.Part{one}
	}
	return slices.Concat(a, b)
}

func joinedExtra(a, b llm.Extra) llm.Extra {
	out := maps.Clone(b)
	if out == nil {
		return a
	}
	for name, fields := range a {
		out[name] = maps.Clone(out[name])
		if out[name] == nil {
			out[name] = make(map[string]json.RawMessage)
		}
		maps.Copy(out[name], fields)
	}
	return out
}

// answerResults puts a turn of the model between results and a turn of the user.
func (p planner) answerResults() {
	added := 0
	for i := len(p.req.Messages) - 1; i > 0; i-- {
		if isUser(p.req.Messages[i]) && p.req.Messages[i-1].Role == llm.RoleTool {
			p.req.Messages = slices.Insert(slices.Clip(p.req.Messages), i, llm.Assistant(llm.Text{Text: resultsNoted}))
			added++
		}
	}
	if added > 0 {
		p.warn(llm.Corrected, "history", "%s takes no turn of the user after results; the model says %q between them", p.model, resultsNoted)
	}
}

// moveMedia puts the media of results into a turn of the user after them, as the format does where it takes text only.
func (p planner) moveMedia() {
	var out []llm.Message
	moved := false
	for _, msg := range p.req.Messages {
		var media []llm.Part
		if msg.Role == llm.RoleTool && slices.ContainsFunc(msg.Parts, holdsMedia) {
			msg.Parts = slices.Clone(msg.Parts)
			for i, part := range msg.Parts {
				if r, ok := part.(llm.Result); ok && holdsMedia(r) {
					media = append(media, llm.Text{Text: turns.ResultLabel(r)})
					media = append(media, slices.DeleteFunc(slices.Clone(r.Parts), func(p llm.Part) bool { return !turns.IsMedia(p) })...)
					r.Parts = slices.DeleteFunc(slices.Clone(r.Parts), turns.IsMedia)
					msg.Parts[i] = r
				}
			}
		}
		out = append(out, msg)
		if media != nil {
			out = append(out, llm.Message{Role: llm.RoleUser, Parts: media})
			moved = true
		}
	}
	if moved {
		p.req.Messages = out
		p.warn(llm.Degraded, "media in results", "%s takes text in results only; the rest follows in a message of the user", p.model)
	}
}

// divideCalls gives each call of a turn a turn with its result.
func (p planner) divideCalls() {
	var out []llm.Message
	divided := 0
	for i, msg := range p.req.Messages {
		calls := msg.Calls()
		if len(calls) < 2 || i+1 == len(p.req.Messages) || p.req.Messages[i+1].Role != llm.RoleTool {
			out = append(out, msg)
			continue
		}
		divided++
		results := p.req.Messages[i+1]
		msg.Parts = slices.Clone(msg.Parts)
		for n, c := range calls {
			last := func(part llm.Part) bool { call, ok := part.(llm.Call); return ok && call.ID != c.ID }
			turn := msg
			if turn.Parts = slices.DeleteFunc(slices.Clone(msg.Parts), last); n > 0 {
				turn.Parts = []llm.Part{c}
			}
			out = append(out, turn)
			answer := llm.Message{Role: llm.RoleTool}
			for k, part := range results.Parts {
				if r, ok := part.(llm.Result); ok && r.CallID == c.ID {
					answer.Parts = append(answer.Parts, part)
					results.Parts = slices.Delete(slices.Clone(results.Parts), k, k+1)
					break
				}
			}
			if n+1 == len(calls) {
				answer.Parts, answer.Extra = append(answer.Parts, results.Parts...), results.Extra
			}
			out = append(out, answer)
		}
		p.req.Messages[i+1].Parts = nil // they went with the calls
	}
	if divided > 0 {
		p.req.Messages = slices.DeleteFunc(out, func(msg llm.Message) bool { return msg.Role == llm.RoleTool && len(msg.Parts) == 0 })
		p.warn(llm.Compatibility, "history", "%s takes one call in a turn; %d turns with several were divided", p.model, divided)
	}
}

// markPrefix marks a last message of the model, where the host wants that.
func (p planner) markPrefix() {
	n := len(p.req.Messages) - 1
	if member := p.vendor.bounds.Prefix; member != "" && n >= 0 && p.req.Messages[n].Role == llm.RoleAssistant {
		mark := llm.Extra{p.wire: {member: json.RawMessage("true")}}
		p.req.Messages[n].Extra = joinedExtra(mark, p.req.Messages[n].Extra)
	}
}

// refusedMembers leaves out the members of a client's request that the host refuses.
func (p planner) refusedMembers() {
	b := p.vendor.bounds
	gone := map[string]bool{}
	p.req.Extra = keptExtra(p.req.Extra, p.wire, b.Refuses, gone)
	for i, msg := range p.req.Messages {
		p.req.Messages[i].Extra = keptExtra(msg.Extra, p.wire, b.RefusesInMessages, gone)
		for k, part := range msg.Parts {
			if r, ok := part.(llm.Result); ok && len(r.Extra) > 0 {
				r.Extra = keptExtra(r.Extra, p.wire, b.RefusesInMessages, gone)
				p.req.Messages[i].Parts[k] = r
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		p.warn(llm.Ignored, name, "%s refuses this field; it was left out", p.vendor.Name)
	}
}

// keptExtra returns the extra fields of a format without those of a list, which it notes.
func keptExtra(x llm.Extra, format, refused string, gone map[string]bool) llm.Extra {
	if refused == "" || len(x[format]) == 0 {
		return x
	}
	kept := maps.Clone(x)
	kept[format] = maps.Clone(x[format])
	maps.DeleteFunc(kept[format], func(name string, _ json.RawMessage) bool {
		if !slices.Contains(strings.Fields(refused), name) {
			return false
		}
		gone[name] = true
		return true
	})
	return kept
}
