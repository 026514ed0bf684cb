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

// adoptSignatures takes over signatures of thinking that the same vendor made in another
// format, where both hold them in the same way.
func (p planner) adoptSignatures() {
	messages := p.req.Messages
	member := p.format().Signature
	if member == "" {
		return
	}
	for _, format := range wire.Formats() {
		other, _ := wire.For(format)
		if format == p.wire || other.Properties().Signature != member {
			continue
		}
		from, to := p.owner()+"/"+format, p.owner()+"/"+p.wire
		for i := range messages {
			for k, part := range messages[i].Parts {
				if t, ok := part.(llm.Thinking); ok && t.State.Vendor == from && !t.Redacted && js.Get(t.State.Data, member) != nil {
					t.State.Vendor = to
					messages[i].Parts[k] = t
				}
			}
		}
	}
}

// turnWithoutThinking lets a model answer without thinking where it was asked to
// count its thinking and the turn began without any: another model began it, or
// it did not think then. Its maker refuses such requests.
func (p planner) turnWithoutThinking() {
	if !p.format().Thinking.BeginTurn || !thinks(p.req) || p.req.Reasoning.Tokens == 0 {
		return
	}
	calls, begun := 0, true
	first := true
	for _, msg := range underWay(p.req.Messages) {
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
	p.req.Reasoning = nil
	p.warn(llm.Degraded, "reasoning", "this turn began without thinking of %s, so it continues without; the next one thinks again", p.model)
}

// markUnsigned tells a model that the first call of an answer was not its own, where
// it would refuse the call without a signature.
func (p planner) markUnsigned() {
	rules := p.format().Thinking
	if rules.Unsigned == "" || makers[p.settled.family] == "" || !since(p.info.ID.Version, rules.UnsignedSince) {
		return
	}
	data, _ := json.Marshal(map[string]string{p.format().Signature: rules.Unsigned}) // a string
	n := 0
	for _, msg := range underWay(p.req.Messages) {
		for k, part := range msg.Parts {
			c, ok := part.(llm.Call)
			if !ok || c.Hosted {
				continue
			}
			if c.State.IsZero() {
				c.State = llm.State{Vendor: p.codec.Vendor, Data: data}
				msg.Parts[k] = c
				n++
			}
			break // the others of an answer need none
		}
	}
	if n > 0 {
		p.warn(llm.Corrected, "history", "%d calls of this turn are not signed by %s; it is told not to look for signatures", n, p.model)
	}
}

// since reports whether a version is at least another version. An unknown version
// counts as the newest.
func since(v, first catalog.Version) bool { return v.IsZero() || v.Compare(first) >= 0 }
