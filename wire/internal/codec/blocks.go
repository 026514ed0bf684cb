package codec

import (
	"encoding/json"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// What the messages and converse formats share: a message is a role and a list
// of blocks, one for each part, and a stream has one block open at a time.

// blockFormat writes each kind of part as a block.
type blockFormat interface {
	EncodeText(e *Encoder, t llm.Text)
	EncodeThinking(e *Encoder, t llm.Thinking)
	EncodeMedia(e *Encoder, m llm.Media)
	EncodeCall(e *Encoder, c llm.Call)
	EncodeResult(e *Encoder, r llm.Result)
}

func EncodeBlock(f blockFormat, e *Encoder, p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		f.EncodeText(e, p)
	case llm.Thinking:
		f.EncodeThinking(e, p)
	case llm.Media:
		f.EncodeMedia(e, p)
	case llm.Call:
		f.EncodeCall(e, p)
	case llm.Result:
		f.EncodeResult(e, p)
	}
}

func EncodeBlocks(f blockFormat, e *Encoder, parts []llm.Part) {
	for _, p := range parts {
		EncodeBlock(f, e, p)
	}
}

// BlockRole returns the role of a message. Results are a message of the user.
func BlockRole(e *Encoder, r llm.Role) string {
	switch r {
	case llm.RoleAssistant, llm.RoleSystem:
		return string(r)
	case llm.RoleDeveloper:
		e.Lost(llm.Degraded, "developer", "the "+e.Host.Format+" format calls developers system")
		return "system"
	}
	return "user"
}

var blockRoles = map[string]llm.Role{"user": llm.RoleUser, "assistant": llm.RoleAssistant, "system": llm.RoleSystem}

// DecodeBlockMessage reads one message, with content for its content. A message with both results and other parts
// becomes several messages.
func DecodeBlockMessage(d *Decoder, v []byte, content func(*Decoder, []byte) []llm.Part) []llm.Message {
	var m llm.Message
	known := false
	for key, val := range d.Members(v) {
		switch string(key) {
		case "role":
			if m.Role, known = blockRoles[d.Str(val)]; !known {
				d.Want(val, "user, assistant or system")
			}
		case "content":
			m.Parts = content(d, val)
		default:
			d.Extra(&m.Extra, key, val)
		}
	}
	if !known {
		d.Want(v, "a message with a role")
	}
	return SplitResults(m)
}

// SplitResults moves the results of a user's message into messages of their
// own.
func SplitResults(m llm.Message) []llm.Message {
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

// LateFields notes the extra fields of a call that were not said where it began.
func (e *Encoder) LateFields(x llm.Extra, said map[string]json.RawMessage) {
	fields := e.OwnExtra(x)
	for _, key := range js.Keys(fields) {
		if _, ok := said[key]; !ok {
			e.LostField(e.Host.Format, key, fields[key], "a stream names the fields of a call before they are known")
		}
	}
}

// OwnCitations returns the citations that the vendor made. Others lack what it
// demands.
func OwnCitations(e *Encoder, cites []llm.Citation) []json.RawMessage {
	var own []json.RawMessage
	for _, c := range cites {
		if raw := e.OwnState(c.Raw); raw != nil {
			own = append(own, raw)
		} else {
			e.Lost(llm.Ignored, "citations", "the "+e.Host.Format+" format takes its own citations only")
		}
	}
	return own
}

// BlockPosition is how far a stream of blocks is; B is a block of the format.
type BlockPosition[B any] struct {
	Next   int  // the index of the next block
	Open   *B   // nil between blocks
	Signed bool // the open block has its signature
	Calls  int  // how many calls began
}

// Resume lets the sequence go on in the middle of a stream that was relayed so
// far: the client has the beginnings of the calls, and the open block is a call,
// or text of the given kind. It reports false if an open block is neither.
func (s *BlockStream) Resume(w blockWriter, begun []*PendingCall, open *PendingCall, kind SpanKind) bool {
	s.W = w
	s.Begun = make(map[string]bool, len(begun))
	for _, p := range begun {
		s.Begun[p.ID] = true
	}
	switch {
	case open != nil:
		s.Call, s.Open = open.ID, true
	case kind == TextSpan || kind == ThinkingSpan:
		s.Span = kind
	default:
		return false
	}
	return true
}

const MaxBlocks = 4096

// ObjectArgs puts the arguments of streamed calls into objects, for formats that take nothing else: what [Encoder.ArgsObject] does for
// calls in one piece. The first letter of the arguments decides.
type ObjectArgs struct {
	free    bool // the call is of a free-text tool
	Begun   bool // it is decided; a call that a relay began is its vendor's
	wrapped bool // the value is inside an object
}

// Begin returns the text before the pieces of a call.
func (o *ObjectArgs) Begin(start llm.CallStart) string {
	*o = ObjectArgs{free: start.Kind == llm.FreeTool}
	if o.free {
		o.Begun, o.wrapped = true, true
		return wrapOpen
	}
	return ""
}

// End returns the text after the pieces. A call that cannot run stays open.
func (o *ObjectArgs) End(call *llm.Call) string {
	if o.wrapped && (o.free || call != nil) {
		return "}"
	}
	return ""
}
