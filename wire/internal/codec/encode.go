package codec

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// PlainText returns the text of a single part that has only text.
func PlainText(parts []llm.Part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		t, ok := parts[0].(llm.Text)
		return t.Text, ok && !t.Refusal && t.State.IsZero() && len(t.Extra) == 0 && len(t.Citations) == 0
	}
	return "", false
}

// Flag writes a boolean if the host has the field, and otherwise adds a warning.
func (e *Encoder) Flag(has bool, key string, value bool) {
	if has {
		e.BoolField(key, value)
	} else {
		e.Lost(llm.Ignored, key, "the host has no such field")
	}
}

// SplitExtra closes an inner object with the extra fields named "inner.x"
// and returns the others.
func (e *Encoder) SplitExtra(inner int, x llm.Extra) map[string]json.RawMessage {
	in, out := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range e.OwnExtra(x) {
		if name, ok := loss.CutPrefix(key, loss.InnerPrefix); ok {
			in[name] = v
		} else {
			out[key] = v
		}
	}
	e.EndFields(inner, in)
	return out
}

// Encoder writes one body and remembers what it could not carry.
type Encoder struct {
	body
	loss.Log
	Host     Host
	refused  error
	Items    int    // ids minted for items
	AnswerID string // what they are made of
	// documents are the names of documents so far, with the number that the last one of that name got.
	Documents map[string]int
	// answering: an answer is encoded, not a request. An answer carries
	// everything; a request only what the vendor accepts.
	Answering bool
}

// Result returns the written body.
func (e *Encoder) Result(op string) ([]byte, []llm.Warning, error) {
	if e.refused != nil {
		return nil, nil, e.Host.Fail(op, llm.Unsupported, e.refused)
	}
	if e.Err != nil {
		return nil, nil, e.Host.Fail(op, llm.Invalid, e.Err)
	}
	return e.Buf, e.Warnings, nil
}

// Refuse stops the work: dropping this in silence or with a warning would be
// dangerous.
func (e *Encoder) Refuse(format string, args ...any) {
	if e.refused == nil {
		e.refused = fmt.Errorf(format, args...)
	}
}

// EndExtra closes the object that began at start, after the fields that only this
// format knows.
func (e *Encoder) EndExtra(start int, x llm.Extra) { e.EndFields(start, e.OwnExtra(x)) }

func (e *Encoder) EndFields(start int, fields map[string]json.RawMessage) {
	nested, many := false, e.manyKeys(start, len(fields))
	for _, key := range js.Keys(fields) {
		if strings.HasPrefix(key, loss.NestedMark) {
			nested = true
			continue
		}
		if key == surrogatesField {
			continue
		}
		if e.has(start, key, many) {
			e.Lost(llm.Ignored, key, "an extra field must not repeat a field of the request")
			continue
		}
		e.AnyKey(key)
		e.Raw(fields[key])
	}
	e.End()
	if nested {
		e.nest(start, fields)
	}
}

// DropUncarried removes a message that began at mark if it has parts other than text and none of them could be carried.
// It is for formats in which such a message has empty content.
func (e *Encoder) DropUncarried(mark int, m llm.Message) {
	if turns.HoldsMore(m) && !e.DropEmpty(mark, `"content":[]}`) {
		e.DropEmpty(mark, `"content":""}`)
	}
}

// TextOrParts writes what a user or a tool said, in the OpenAI formats: a string where
// that is enough, since many servers take nothing else, or a list in which text
// has the given type.
func (e *Encoder) TextOrParts(parts []llm.Part, textType string, media func(*Encoder, llm.Media)) {
	if s, ok := PlainText(parts); ok {
		e.Text(s)
		return
	}
	e.Array()
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			e.TextPart(p, textType)
		case llm.Media:
			media(e, p)
		default:
			e.Lost(llm.Ignored, "part", "a message of this role cannot hold such a part in the "+e.Host.Format+" format")
		}
	}
	e.EndArray()
}

func (e *Encoder) TextPart(t llm.Text, textType string) {
	if raw, ok := e.Opaque(t); ok {
		if raw != nil {
			e.Raw(raw)
		}
		return
	}
	key := "text"
	if t.Refusal && textType == key && len(t.Extra[e.Host.Format]) > 0 { // as the client wrote it
		textType, key = "refusal", "refusal"
	}
	start := e.Object()
	e.StringField("type", textType)
	e.StringField(key, t.Text)
	e.EndExtra(start, t.Extra)
}

// PartOf returns the part for an event in formats without pieces of calls, and nil for events that such formats do not
// have.
func (e *Encoder) PartOf(ev llm.Event) llm.Part {
	switch ev := ev.(type) {
	case llm.TextDelta:
		t := ev.About()
		return llm.Text{Text: ev.Text, Refusal: t.Refusal, Citations: t.Citations, LogProbs: t.LogProbs, State: t.State, Extra: t.Extra}
	case llm.ThinkingDelta:
		t := ev.About()
		return llm.Thinking{Text: ev.Text, Redacted: t.Redacted, State: t.State, Extra: t.Extra}
	case llm.Media:
		return ev
	case llm.Call:
		return ev
	case llm.HostedCall:
		ev.Hosted = true
		return ev.Call
	case llm.HostedResult:
		ev.Hosted = true
		return ev.Result
	case llm.InvalidCall:
		e.InvalidAsText(ev)
		return llm.Text{Text: ev.Raw}
	}
	return nil
}

// ClampUsage returns the usage for a client, with negative numbers of an upstream replaced by 0.
func ClampUsage(u llm.Usage) llm.Usage {
	u.Input, u.Output, u.Reasoning = max(0, u.Input), max(0, u.Output), max(0, u.Reasoning)
	u.CacheRead, u.CacheWrite = max(0, u.CacheRead), max(0, u.CacheWrite)
	return u
}

// HasUsage reports whether there is a usage to write. Unknown usage is not written as 0, except in the messages and
// converse formats, which require numbers.
func (e *Encoder) HasUsage(f llm.Finish, key string) bool {
	return !ClampUsage(f.Usage).IsZero() || len(f.Extra[e.Host.Format][key]) > 0
}

// NewEncoder returns an encoder for a host.
func NewEncoder(h Host) Encoder {
	e := Encoder{Host: h, Log: loss.Log{Format: h.Format, Vendor: h.Vendor}}
	if h.Impl != nil {
		e.LogProbs = h.Impl.Properties().LogProbs
	}
	return e
}

// ArgsObject returns the arguments of a call as an object, for formats that
// take nothing else.
func (e *Encoder) ArgsObject(c llm.Call) json.RawMessage {
	args := ObjectOf(c.Args)
	if js.Kind(js.Trim(args)) == '{' {
		return args
	}
	if c.Kind != llm.FreeTool {
		e.Lost(llm.Degraded, "arguments", objectsOnly)
	}
	return append(append([]byte(wrapOpen), args...), '}')
}

func OmitFields[V any](m map[string]V, key string) map[string]V {
	c := make(map[string]V, len(m))
	for k, v := range m {
		if k != key {
			c[k] = v
		}
	}
	return c
}

func IsSystem(r llm.Role) bool { return r == llm.RoleSystem || r == llm.RoleDeveloper }

// OfferedTools returns the tools that the choice allows, for formats that cannot list allowed tools. The model cannot
// call the others.
func (e *Encoder) OfferedTools(req *llm.Request) []llm.ToolDef {
	ch := IsForced(req.Choice)
	if len(ch.Allowed) == 0 || ch.Mode == llm.MustNotCall {
		return req.Tools
	}
	var kept []llm.ToolDef
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool || (llm.ToolChoice{Allowed: ch.Allowed}).Permits(t.Name) {
			kept = append(kept, t)
		}
	}
	if len(kept) < len(req.Tools) {
		e.Lost(llm.Degraded, "tool_choice.allowed", "the format cannot name the allowed tools; the others are not offered")
	}
	return kept
}

// IsForced turns a choice that demands a call and allows a single tool into one
// that names that tool.
func IsForced(ch llm.ToolChoice) llm.ToolChoice {
	if ch.Mode == llm.MustCall && ch.Name == "" && len(ch.Allowed) == 1 {
		ch.Name, ch.Allowed = ch.Allowed[0], nil
	}
	return ch
}

// FreeSchema is the schema of a free-text tool where there are only functions.
func (e *Encoder) FreeSchema(t llm.ToolDef) []byte {
	e.Lost(llm.Degraded, "free-text tool", "the format has functions only; the text is the argument "+history.FreeInput)
	e.Unsupported(t.Grammar != nil, "grammar")
	return []byte(`{"type":"object","properties":{"` + history.FreeInput + `":{"type":"string"}},"required":["` + history.FreeInput + `"]}`)
}

// StateFields writes the members of a state of this vendor.
func (e *Encoder) StateFields(s llm.State) {
	for key, v := range js.Members(e.OwnState(s)) {
		e.AnyKey(string(key))
		e.Raw(v)
	}
}

// Turns has write say a conversation, a turn at a time, and takes care that none is missing of which write could say nothing. A conversation
// of which nothing can be carried is one turn of the user: vendors refuse requests without any.
func (e *Encoder) Turns(list []llm.Message, write func([]llm.Message)) {
	begin, c := len(e.Buf), turns.ConversationOf(list)
	for from := 0; from < len(list); {
		to, mark := c.End(from), len(e.Buf)
		write(list[from:to])
		if len(e.Buf) == mark {
			if m, needed := c.StandIn(&e.Log, from, to); needed {
				write([]llm.Message{m})
			}
		}
		from = to
	}
	if len(list) > 0 && len(e.Buf) == begin {
		e.Lost(llm.Corrected, "history", "nothing of the conversation can be carried; the user says: "+turns.NotCarried)
		write([]llm.Message{llm.User(turns.NotCarried)})
	}
}

// CallsByID returns the calls of a conversation by their ids.
func CallsByID(messages []llm.Message) map[string]llm.Call {
	calls := make(map[string]llm.Call)
	for _, m := range messages {
		for _, c := range m.Calls() {
			calls[c.ID] = c
		}
	}
	return calls
}

// ObjectOf returns raw, and an empty object where there is none.
func ObjectOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// objectsOnly is the warning about arguments that are not an object.
const objectsOnly = "the format takes objects only; the value is under " + history.FreeInput

// wrapOpen begins the object around a value.
const wrapOpen = `{"` + history.FreeInput + `":`

// Piece returns the text to write for a piece.
func (o *ObjectArgs) Piece(e *Encoder, args string) string {
	first := strings.TrimLeft(args, " \t\r\n")
	if o.Begun || first == "" {
		return args
	}
	if o.Begun = true; first[0] == '{' {
		return args
	}
	o.wrapped = true
	e.Lost(llm.Degraded, "arguments", objectsOnly)
	return wrapOpen + args
}

// LostSurrogates warns if the encoded request has more U+FFFD than the client's. Arguments and schemas are copied
// unchanged and keep their halves.
func (e *Encoder) LostSurrogates(req *llm.Request) {
	for _, fields := range req.Extra {
		if n, ok := js.Int(fields[surrogatesField]); ok && replacements(e.Buf) > int(n) {
			e.Lost(llm.Degraded, "text", loss.Surrogates)
		}
	}
}
