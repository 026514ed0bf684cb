package provider

import (
	"encoding/json"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// What vendors demand of the turn that is under way: what the model said and did
// since the user spoke last.

// underWay returns the messages of that turn.
func underWay(messages []llm.Message) []llm.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.RoleUser {
			return messages[i+1:]
		}
	}
	return messages
}

// adopt takes over signatures of thinking that the same vendor made in another
// format, where both hold them in the same way.
func (m *Model) adopt(messages []llm.Message) {
	member := m.format().Signature
	if member == "" {
		return
	}
	for _, format := range wire.Formats() {
		other, _ := wire.For(format)
		if format == m.wire || other.Properties().Signature != member {
			continue
		}
		from, to := m.owner()+"/"+format, m.owner()+"/"+m.wire
		for i := range messages {
			for k, p := range messages[i].Parts {
				if t, ok := p.(llm.Thinking); ok && t.State.Vendor == from && !t.Redacted && js.Get(t.State.Data, member) != nil {
					t.State.Vendor = to
					messages[i].Parts[k] = t
				}
			}
		}
	}
}

// beginWithThinking lets a model answer without thinking where it was asked to
// count its thinking and the turn began without any: another model began it, or
// it did not think then. Its maker refuses such requests.
func (m *Model) beginWithThinking(j *job) {
	if !m.format().Thinking.BeginTurn || !thinks(j.req) || j.req.Reasoning.Budget == 0 {
		return
	}
	calls, begun := 0, true
	first := true
	for _, msg := range underWay(j.req.Messages) {
		if msg.Role != llm.RoleAssistant {
			continue
		}
		calls += len(msg.Calls())
		if first {
			t, thought := msg.Parts[0].(llm.Thinking)
			begun, first = thought && !t.State.IsZero(), false
		}
	}
	if calls == 0 || begun {
		return
	}
	j.req.Reasoning = nil
	j.warn(llm.Degraded, "reasoning", "this turn began without thinking of %s, so it goes on without; the next one thinks again", m.model)
}

// unsigned tells a model that the first call of an answer was not its own, where
// it would refuse the call without a signature.
func (m *Model) unsigned(j *job) {
	rules := m.format().Thinking
	if rules.Unsigned == "" || makers[m.settled.family] == "" || !since(m.info.ID.Version, rules.UnsignedSince) {
		return
	}
	data, _ := json.Marshal(map[string]string{m.format().Signature: rules.Unsigned}) // a string
	n := 0
	for _, msg := range underWay(j.req.Messages) {
		for k, p := range msg.Parts {
			c, ok := p.(llm.Call)
			if !ok || c.Hosted {
				continue
			}
			if c.State.IsZero() {
				c.State = llm.State{Vendor: j.codec.Vendor, Data: data}
				msg.Parts[k] = c
				n++
			}
			break // the others of an answer need none
		}
	}
	if n > 0 {
		j.warn(llm.Corrected, "history", "%d calls of this turn are not signed by %s; it is told not to look for signatures", n, m.model)
	}
}

// since reports whether a version is at least another; one that is not known is
// taken for the newest.
func since(v, first catalog.Version) bool { return v.IsZero() || v.Compare(first) >= 0 }

// limit gives a request the limit that its format demands, if it has none: all
// that the model can give, or what its window leaves. It is said once. More than
// the model gives is refused by its maker, so it is not asked for.
func (m *Model) limit(j *job) {
	if !m.format().NeedsLimit {
		return
	}
	if most := m.info.MaxOutput; most > 0 && j.req.MaxTokens > most {
		j.warn(llm.Degraded, "max_tokens", "%s gives at most %d tokens; a larger limit is refused", m.model, most)
		j.req.MaxTokens = most
	}
	if j.req.MaxTokens > 0 {
		return
	}
	j.req.MaxTokens = m.info.MaxOutput
	if j.req.MaxTokens == 0 {
		j.req.MaxTokens = room
	}
	what := "all that the model gives"
	if m.info.MaxOutput == 0 {
		what = "as nobody knows what the model gives"
	}
	if left := m.info.ContextWindow - estimate(j.req); m.info.ContextWindow > 0 && left < j.req.MaxTokens {
		j.req.MaxTokens, what = max(left, room), "about what its window leaves"
	}
	if m.sayOnce("max_tokens, " + what) {
		j.warn(llm.Compatibility, "max_tokens", "%s demands a limit for the answer: %d was set, %s", m.vendor.Name, j.req.MaxTokens, what)
	}
}

// estimate is about how many tokens a request takes up, rather too many than too
// few: vendors count differently, and refuse what is too much.
func estimate(req *llm.Request) int { return llm.EstimateRequest(req) * 3 / 2 }
