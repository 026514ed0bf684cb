package wire

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// What the messages and converse formats share: a message is a role and a list
// of blocks, one for each part, and a stream has one block open at a time.

// blockFormat writes each kind of part as a block.
type blockFormat interface {
	encodeText(e *encoder, t llm.Text)
	encodeThinking(e *encoder, t llm.Thinking)
	encodeMedia(e *encoder, m llm.Media)
	encodeCall(e *encoder, c llm.Call)
	encodeResult(e *encoder, r llm.Result)
}

func encodeBlock(f blockFormat, e *encoder, p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		f.encodeText(e, p)
	case llm.Thinking:
		f.encodeThinking(e, p)
	case llm.Media:
		f.encodeMedia(e, p)
	case llm.Call:
		f.encodeCall(e, p)
	case llm.Result:
		f.encodeResult(e, p)
	}
}

func encodeBlocks(f blockFormat, e *encoder, parts []llm.Part) {
	for _, p := range parts {
		encodeBlock(f, e, p)
	}
}

// blockRole returns the role of a message. Results are a message of the user.
func blockRole(e *encoder, r llm.Role) string {
	switch r {
	case llm.RoleAssistant, llm.RoleSystem:
		return string(r)
	case llm.RoleDeveloper:
		e.lost(llm.Degraded, "developer", "the "+e.c.Format+" format calls developers system")
		return "system"
	}
	return "user"
}

var blockRoles = map[string]llm.Role{"user": llm.RoleUser, "assistant": llm.RoleAssistant, "system": llm.RoleSystem}

// decodeBlockMessage reads one message, whose content is read by content. It
// becomes several messages where results stand beside other parts.
func decodeBlockMessage(d *decoder, v []byte, content func(*decoder, []byte) []llm.Part) []llm.Message {
	var m llm.Message
	known := false
	for key, val := range d.members(v) {
		switch string(key) {
		case "role":
			if m.Role, known = blockRoles[d.str(val)]; !known {
				d.want(val, "user, assistant or system")
			}
		case "content":
			m.Parts = content(d, val)
		default:
			d.extra(&m.Extra, key, val)
		}
	}
	if !known {
		d.want(v, "a message with a role")
	}
	return splitResults(m)
}

// splitResults moves the results of a user's message into messages of their
// own.
func splitResults(m llm.Message) []llm.Message {
	if m.Role != llm.RoleUser {
		return []llm.Message{m}
	}
	var out []llm.Message
	for _, p := range m.Parts {
		role := llm.RoleUser
		if r, ok := p.(llm.Result); ok && !r.Hosted {
			role = llm.RoleTool
		}
		if n := len(out); n == 0 || out[n-1].Role != role {
			out = append(out, llm.Message{Role: role})
		}
		last := &out[len(out)-1]
		last.Parts = append(last.Parts, p)
	}
	if len(out) == 0 {
		return []llm.Message{m}
	}
	out[len(out)-1].Extra = m.Extra
	return out
}

// lateFields notes the extra fields of a call that were not said where it began.
func (e *encoder) lateFields(x llm.Extra, said map[string]json.RawMessage) {
	fields := e.ownExtra(x)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := said[key]; !ok {
			e.lostField(e.c.Format, key, fields[key], "a stream names the fields of a call before they are known")
		}
	}
}

// ownCitations returns the citations that the vendor made. Others lack what it
// demands.
func ownCitations(e *encoder, cites []llm.Citation) []json.RawMessage {
	var own []json.RawMessage
	for _, c := range cites {
		if raw := e.own(c.Raw); raw != nil {
			own = append(own, raw)
		} else {
			e.lost(llm.Ignored, "citations", "the "+e.c.Format+" format takes its own citations only")
		}
	}
	return own
}

// blockPlace is how far a stream of blocks is; B is a block of the format.
type blockPlace[B any] struct {
	next   int  // the index of the next block
	open   *B   // nil between blocks
	signed bool // the open block has its signature
	calls  int  // how many calls began
}

// resume lets the sequence go on in the middle of a stream that was relayed so
// far: the client has the beginnings of the calls, and the open block is a call,
// or text of the given kind. It reports false if an open block is neither.
func (s *sequence) resume(w blockWriter, begun []*pending, open *pending, kind spanKind) bool {
	s.w = w
	s.begun = make(map[string]bool, len(begun))
	for _, p := range begun {
		s.begun[p.id] = true
	}
	switch {
	case open != nil:
		s.call, s.open = open.id, true
	case kind == textSpan || kind == thinkingSpan:
		s.span = kind
	default:
		return false
	}
	return true
}
