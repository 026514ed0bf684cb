package chat

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func encodeMessage(e *codec.Encoder, m llm.Message) {
	mark := len(e.Buf)
	switch m.Role {
	case llm.RoleTool:
		encodeResults(e, m)
	case llm.RoleAssistant:
		start := e.Object()
		e.StringField("role", "assistant")
		encodeAssistant(e, m.Parts, false)
		e.EndExtra(start, m.Extra)
		e.DropUncarried(mark, m)
	default:
		start := e.Object()
		e.StringField("role", string(m.Role))
		e.Key("content")
		encodeContent(e, m.Parts)
		e.EndExtra(start, m.Extra)
		e.DropUncarried(mark, m)
	}
}

func encodeContent(e *codec.Encoder, parts []llm.Part) {
	e.TextOrParts(parts, "text", encodeSaidMedia)
}

// encodeSaidMedia writes a medium that the user says. Files are PDF, with their bytes: a text is said as text, and of an address
// the model is told. What a client of this format wrote otherwise stays, since servers differ.
func encodeSaidMedia(e *codec.Encoder, m llm.Media) {
	if e.OwnState(m.State) == nil {
		if t, said := e.DocumentText(m); said {
			e.TextPart(t, "text")
			return
		}
	}
	encodeMedia(e, m)
}

func encodeMedia(e *codec.Encoder, m llm.Media) {
	if e.ForeignFile(m) {
		return
	}
	start := e.Object()
	inner := 0
	file := e.IsOwnFile(m)
	switch {
	case m.Kind == llm.Image && m.ID == "" && !file:
		inner = openMedia(e, "image_url")
		e.StringField("url", codec.MediaURL(m))
	case m.Kind == llm.Video && m.ID == "" && !file:
		inner = openMedia(e, "video_url")
		e.StringField("url", codec.MediaURL(m))
	case m.Kind == llm.Audio && m.ID == "" && m.URL == "" && !file:
		inner = openMedia(e, "input_audio")
		e.StringField("data", codec.Base64Text(m.Data))
		e.StringField("format", codec.AudioFormat(m.MIME))
	default:
		inner = openMedia(e, "file")
		e.OptString("filename", e.FileName(m))
		if m.ID != "" {
			e.StringField("file_id", m.ID)
		} else {
			e.StringField("file_data", codec.MediaURL(m))
		}
		if m.Kind != llm.Document && !file {
			e.Lost(llm.Degraded, string(m.Kind), "the chat format can refer to it as a file only")
		}
	}
	outer := e.SplitExtra(inner, m.Extra)
	e.EndFields(start, outer)
}

// openMedia begins {"type":kind,kind:{ and returns where the inner object is.
func openMedia(e *codec.Encoder, kind string) int {
	e.StringField("type", kind)
	e.Key(kind)
	return e.Object()
}

func encodeAssistant(e *codec.Encoder, parts []llm.Part, answer bool) {
	var said []llm.Part
	var refusal, thought strings.Builder
	var calls []llm.Call
	var cites []llm.Citation
	var media []llm.Media
	var states [][]byte
	sawThinking, inContent := false, e.Host.Quirks.ThinkingParts && !answer
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.LogProbs != nil && !answer {
				e.Lost(llm.Ignored, "logprobs", "a request of the chat format has no place for log probabilities")
			}
			if raw, opaque := e.Opaque(p); opaque && raw == nil {
				continue
			}
			cites = append(cites, p.Citations...)
			if p.Refusal && (answer || len(p.Extra[e.Host.Format]) == 0) { // else it stays the part that has those
				refusal.WriteString(p.Text)
			} else {
				p.Citations = nil
				said = append(said, p)
			}
			if len(calls) > 0 {
				e.Lost(llm.Degraded, "order", "the chat format puts text before calls")
			}
		case llm.Thinking:
			states = append(states, thinkingState(e, p))
			if inContent {
				said = appendThought(said, p)
			} else {
				sawThinking = true
				codec.JoinThinking(&thought, p)
				e.Unsupported(p.Extra[e.Host.Format][codec.References] != nil, codec.References)
			}
		case llm.Media:
			media = append(media, p)
		case llm.Call:
			if p.Hosted {
				e.Lost(llm.Ignored, "hosted call", "the chat format has no place for calls the provider ran")
			} else {
				calls = append(calls, p)
			}
		case llm.Result:
			e.Lost(llm.Ignored, "hosted result", "the chat format has no place for results the provider made")
		}
	}
	encodeThinkingStates(e, states...)
	encodeSaid(e, said, answer, len(calls) > 0 || refusal.Len() > 0)
	e.OptString("refusal", refusal.String())
	encodeThinking(e, thought.String(), sawThinking, len(calls) > 0, answer)
	encodeCalls(e, calls, nil)
	encodeCitations(e, cites, answer)
	encodeAssistantMedia(e, media)
}

// encodeSaid writes the text of an assistant. An answer has it as one string.
// A message may lack text only if it holds something else.
func encodeSaid(e *codec.Encoder, said []llm.Part, answer, more bool) {
	e.Key("content")
	switch {
	case len(said) == 0 && !answer && e.Host.Quirks.EmptyText:
		e.Text("")
	case len(said) == 0 && (answer || more):
		e.Null()
	case answer:
		e.Text(llm.Message{Parts: said}.Text())
	case slices.ContainsFunc(said, isThinking):
		e.Array()
		for _, p := range said {
			switch p := p.(type) {
			case llm.Text:
				e.TextPart(p, "text")
			case llm.Thinking:
				encodeThought(e, p)
			}
		}
		e.EndArray()
	default:
		encodeContent(e, said)
	}
}

// appendThought adds thinking to parts, if it has text.
func appendThought(said []llm.Part, t llm.Thinking) []llm.Part {
	if t.Text == "" && len(t.Extra) == 0 {
		return said
	}
	return append(said, t)
}

func isThinking(p llm.Part) bool { _, is := p.(llm.Thinking); return is }

// encodeThought writes thinking as a part of the content.
func encodeThought(e *codec.Encoder, t llm.Thinking) {
	start := e.Object()
	e.StringField("type", thoughtPart)
	fields := e.OwnExtra(t.Extra)
	if parts := fields[codec.References]; parts != nil && stillThought(e, parts, t.Text) {
		e.RawField(thoughtPart, parts)
	} else {
		e.ArrayField(thoughtPart)
		e.Object()
		e.StringField("type", "text")
		e.StringField("text", t.Text)
		e.End()
		e.EndArray()
	}
	fields = codec.OmitFields(fields, codec.References)
	if fields["closed"] == nil {
		e.BoolField("closed", true)
	}
	e.EndFields(start, fields)
}

// stillThought reports whether parts of thinking say a text, and notes that they are left out if they do not.
func stillThought(e *codec.Encoder, parts []byte, text string) bool {
	said, _ := thoughtText(&codec.Decoder{Host: e.Host}, parts)
	if said != text {
		e.Lost(llm.Ignored, codec.References, "the thinking is no longer the one that has them")
	}
	return said == text
}

// thoughtPart is the type of a part that is thinking, and its member with the texts of it.
const thoughtPart = "thinking"

// decodeSaid reads the content of an answer, or of one of history. Its parts may be thinking.
func decodeSaid(d *codec.Decoder, v []byte) []llm.Part {
	if js.Kind(v) != '[' {
		return DecodeContent(d, v)
	}
	var parts []llm.Part
	for el := range d.Objects(v) {
		if !js.Is(d.Get(el, "type"), thoughtPart) {
			parts = append(parts, decodePart(d, el))
		} else if t := decodeThought(d, el); t.Text != "" || len(t.Extra) > 0 {
			parts = append(parts, t)
		}
	}
	return parts
}

// thoughtText joins the texts of the parts of thinking, and reports whether all parts are texts.
func thoughtText(d *codec.Decoder, v []byte) (text string, texts bool) {
	var b strings.Builder
	texts = true
	for el := range d.Objects(v) {
		said := d.Get(el, "text")
		texts = texts && said != nil
		b.WriteString(d.Text(said))
	}
	return b.String(), texts
}

// decodeThought reads a part that is thinking: a text, or a list of parts with texts.
func decodeThought(d *codec.Decoder, v []byte) llm.Thinking {
	var t llm.Thinking
	for key, val := range d.Members(v) {
		switch {
		case string(key) == "type" || js.Kind(val) == 'n':
		case string(key) == "closed" && (js.Kind(val) == 't' || !d.IsRequest): // pieces of a stream are not
		case string(key) != thoughtPart:
			d.Extra(&t.Extra, key, val)
		case js.Kind(val) == '"':
			t.Text = d.Text(val)
		case d.OneOf(val, "[", "a text or an array of parts"):
			texts := false
			if t.Text, texts = thoughtText(d, val); !texts {
				d.ExtraField(&t.Extra, codec.References, val)
			}
		}
	}
	return t
}

// thinkingState returns what only the vendor can read of thinking, and notes that of others.
func thinkingState(e *codec.Encoder, t llm.Thinking) []byte {
	data := e.OwnState(t.State)
	if data == nil && !t.State.IsZero() {
		e.Lost(llm.Ignored, "signature", "the state of thinking can be read by "+t.State.Vendor+" only")
	}
	return data
}

// encodeThinkingStates writes the unchanged members of the states of thinking. A message has each member once: lists of
// several parts are joined, and of other members the last counts.
func encodeThinkingStates(e *codec.Encoder, states ...[]byte) {
	var names []string
	values := map[string][]byte{}
	for _, data := range states {
		for key, v := range js.Members(data) {
			name := string(key)
			old, there := values[name]
			if !there {
				names = append(names, name)
			}
			if js.Kind(old) == '[' && js.Kind(v) == '[' {
				v = joinLists(old, v)
			}
			values[name] = v
		}
	}
	for _, name := range names {
		e.AnyKey(name)
		e.Raw(values[name])
	}
}

// joinLists returns a list of the elements of two.
func joinLists(a, b []byte) []byte {
	var w js.Writer
	w.Array()
	for _, list := range [][]byte{a, b} {
		for el := range js.Elements(list) {
			w.Raw(el)
		}
	}
	w.EndArray()
	return w.Buf
}

func encodeThinking(e *codec.Encoder, thought string, saw, calls, answer bool) {
	q := e.Host.Quirks
	switch {
	case answer:
		e.OptString(cmp.Or(q.Thinking, "reasoning_content"), thought)
	case q.Thinking == "" || q.ThinkingForCalls && !calls:
		if saw && !q.ThinkingForCalls {
			e.Lost(llm.Ignored, "thinking", "the host does not take back thinking")
		}
	case thought != "" || q.ThinkingForCalls:
		e.StringField(q.Thinking, thought)
	}
}

func encodeCalls(e *codec.Encoder, calls []llm.Call, invalid []llm.InvalidCall) {
	if len(calls)+len(invalid) == 0 {
		return
	}
	e.ArrayField("tool_calls")
	for _, call := range calls {
		encodeCall(e, call)
	}
	for _, call := range invalid {
		e.Object()
		e.StringField("id", call.ID)
		e.StringField("type", "function")
		e.ObjectField("function")
		e.StringField("name", call.Name)
		e.StringField("arguments", call.Raw)
		e.End()
		e.End()
	}
	e.EndArray()
}

func encodeCall(e *codec.Encoder, call llm.Call) {
	start := e.Object()
	kind := ToolWord(call.Kind)
	e.StringField("id", call.ID)
	e.StringField("type", kind)
	inner := e.ObjectField(kind)
	e.StringField("name", call.Name)
	if call.Kind == llm.FreeTool {
		e.StringField("input", js.Text(call.Args))
	} else {
		e.StringField("arguments", string(codec.ObjectOf(call.Args)))
	}
	outer := e.SplitExtra(inner, call.Extra)
	for key, v := range js.Members(e.OwnState(call.State)) {
		e.AnyKey(string(key))
		e.Raw(v)
	}
	e.EndFields(start, outer)
}

func encodeCitations(e *codec.Encoder, cites []llm.Citation, answer bool) {
	if len(cites) == 0 {
		return
	}
	if !answer {
		e.Lost(llm.Ignored, "citations", "a request of the chat format has no place for citations")
		return
	}
	e.ArrayField("annotations")
	for _, c := range cites {
		if raw := e.OwnState(c.Raw); raw != nil {
			e.Raw(raw)
			continue
		}
		e.Object()
		e.StringField("type", "url_citation")
		e.ObjectField("url_citation")
		EncodeURLCitation(e, c)
		e.End()
		e.End()
	}
	e.EndArray()
}

// EncodeURLCitation writes the members that both OpenAI formats give a citation.
func EncodeURLCitation(e *codec.Encoder, c llm.Citation) {
	e.IntField("start_index", c.Start)
	e.IntField("end_index", c.End)
	e.StringField("url", c.URL)
	e.StringField("title", c.Title)
	e.Unsupported(c.Quote != "", "citation.quote")
	for _, where := range []string{"file_id", "container_id"} { // a file that only its vendor holds
		e.Unsupported(js.Text(js.Get(c.Raw.Data, where)) != "", "citations."+where)
	}
}

func encodeAssistantMedia(e *codec.Encoder, media []llm.Media) {
	open := false
	for _, m := range media {
		switch {
		case m.Kind == llm.Audio:
			start := e.ObjectField("audio")
			e.OptString("id", m.ID)
			if len(m.Data) > 0 {
				e.StringField("data", codec.Base64Text(m.Data))
			}
			e.EndExtra(start, m.Extra)
			continue
		case !open:
			open = true
			e.ArrayField("images")
		}
		encodeMedia(e, m)
	}
	if open {
		e.EndArray()
	}
}

func encodeResults(e *codec.Encoder, m llm.Message) {
	var moved []llm.Part
	for _, p := range m.Parts {
		r, ok := p.(llm.Result)
		if !ok {
			moved = append(moved, p)
			continue
		}
		var said []llm.Part
		for _, p := range e.ReadableParts(r.Parts) {
			if _, ok := p.(llm.Media); ok {
				moved = append(moved, llm.Text{Text: turns.ResultLabel(r)}, p)
			} else {
				said = append(said, p)
			}
		}
		start := e.Object()
		e.StringField("role", "tool")
		e.StringField("tool_call_id", r.CallID)
		e.Key("content")
		encodeContent(e, said)
		e.EndExtra(start, r.Extra)
		if r.Failed {
			e.Lost(llm.Degraded, "failed", "the chat format cannot mark a result as failed; its text has to say so")
		}
	}
	if len(moved) > 0 {
		e.Lost(llm.Degraded, "media in results", "the chat format takes text in results only; the rest follows in a message of the user")
		encodeMessage(e, llm.Message{Role: llm.RoleUser, Parts: moved})
	}
	e.OwnExtra(m.Extra)
}

// Decoding.

func decodeMessages(d *codec.Decoder, v []byte, req *llm.Request) {
	for el := range d.Objects(v) {
		m := decodeMessage(d, el)
		n := len(req.Messages)
		text, plain := codec.PlainText(m.Parts)
		switch {
		case n == 0 && req.System == "" && plain && m.Extra == nil && string(m.Role) == cmp.Or(d.Host.Quirks.SystemRole, "system"):
			req.System = text
		case m.Role == llm.RoleTool && n > 0 && req.Messages[n-1].Role == llm.RoleTool:
			req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, m.Parts...)
		default:
			req.Messages = append(req.Messages, m)
		}
	}
}

var Roles = map[string]llm.Role{
	"system": llm.RoleSystem, "developer": llm.RoleDeveloper, "user": llm.RoleUser,
	"assistant": llm.RoleAssistant, "tool": llm.RoleTool, "function": llm.RoleTool,
}

func decodeMessage(d *codec.Decoder, v []byte) llm.Message {
	word := d.Get(v, "role")
	role, ok := Roles[d.Str(word)]
	if !ok {
		if word == nil {
			word = v
		}
		d.Want(word, "a role: system, developer, user, assistant or tool")
	}
	m := llm.Message{Role: role}
	switch role {
	case llm.RoleTool:
		m.Parts = []llm.Part{decodeResult(d, v)}
	case llm.RoleAssistant:
		decodeAssistant(d, v, &m)
	default:
		for key, val := range d.Members(v) {
			switch string(key) {
			case "role":
			case "content":
				m.Parts = DecodeContent(d, val)
			default:
				d.Extra(&m.Extra, key, val)
			}
		}
	}
	return m
}

func decodeResult(d *codec.Decoder, v []byte) llm.Result {
	var r llm.Result
	for key, val := range d.Members(v) {
		switch string(key) {
		case "role":
		case "tool_call_id":
			r.CallID = d.Str(val)
		case "name":
			r.Name = d.Str(val)
		case "content":
			r.Parts = DecodeContent(d, val)
		default:
			d.Extra(&r.Extra, key, val)
		}
	}
	return r
}

func DecodeContent(d *codec.Decoder, v []byte) []llm.Part {
	switch js.Kind(v) {
	case '"':
		if s := d.Text(v); s != "" {
			return []llm.Part{llm.Text{Text: s}}
		}
	case '[':
		var parts []llm.Part
		for el := range d.Objects(v) {
			parts = append(parts, decodePart(d, el))
		}
		return parts
	case 'n':
	default:
		d.Want(v, "a string or an array of parts")
	}
	return nil
}

func decodePart(d *codec.Decoder, v []byte) llm.Part {
	kind := d.Str(d.Get(v, "type"))
	switch kind {
	case "text", "refusal", "output_text", "input_text":
		t := llm.Text{Refusal: kind == "refusal"}
		for key, val := range d.Members(v) {
			switch string(key) {
			case "type":
			case "text", "refusal":
				t.Text = d.Str(val)
			default:
				d.Extra(&t.Extra, key, val)
			}
		}
		return t
	case "image_url", "video_url", "input_audio", "file":
		return DecodeMedia(d, v, kind)
	}
	return d.Opaque(v)
}

var chatMedia = map[string]llm.MediaKind{"image_url": llm.Image, "video_url": llm.Video, "input_audio": llm.Audio, "file": llm.Document}

func DecodeMedia(d *codec.Decoder, v []byte, kind string) llm.Media {
	m := llm.Media{Kind: chatMedia[kind]}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
			continue
		case kind:
		default:
			d.Extra(&m.Extra, key, val)
			continue
		}
		if js.Kind(val) == '"' && strings.HasSuffix(kind, "_url") { // {"image_url":"https://…"} of lenient clients
			d.URL(val, &m)
			continue
		}
		for key, val := range d.Members(val) {
			switch string(key) {
			case "url", "file_data":
				d.URL(val, &m)
			case "data":
				m.Data = d.Data(val)
			case "format":
				m.MIME = codec.AudioMIME(d.Str(val))
			case "file_id":
				m.ID = d.Str(val)
			case "filename":
				m.Name = d.Str(val)
			default:
				d.ExtraField(&m.Extra, loss.InnerPrefix+string(key), val)
			}
		}
	}
	if kind == "file" && (!codec.IsPDF(m) || path.Ext(m.Name) == "") {
		m.State = d.State([]byte(loss.OwnFile))
	}
	codec.KindFromType(d, &m)
	return m
}

// decodeAssistant reads a message of a history like an answer, except that parts stay separate and calls are not
// checked.
func decodeAssistant(d *codec.Decoder, v []byte, m *llm.Message) {
	a := codec.NewAnswer(&d.Host, nil)
	a.Body, a.IsRequest = d.Body, d.IsRequest
	var b llm.Builder
	a.Send = func(ev llm.Event) bool { b.Add(ev); return true }
	s := &chatStream{Answer: a, history: true}
	s.parts = func(parts []llm.Part) {
		m.Parts = append(append(m.Parts, b.Response().Message.Parts...), parts...)
		b = llm.Builder{}
	}
	s.message(v, &m.Extra)
	s.flush()
	for _, p := range a.Calls {
		if !p.Done {
			keep(a, p)
		}
	}
	s.parts(nil)
	if d.Err == nil {
		d.Err = a.Err
	}
}

// keep sends a call of history as it stands: it was answered long ago, and a
// request must not lose it.
func keep(a *codec.Answer, p *codec.PendingCall) {
	if p.Open {
		p.Args.WriteByte('"')
	}
	args := json.RawMessage(p.Args.String())
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if !js.Valid(args) {
		args = js.AppendQuoted(nil, string(args))
	}
	a.Sent(p)
	a.Emit(llm.Call{ID: p.ID, Name: p.Name, Args: args, Kind: p.Kind, State: p.State, Extra: p.Extra})
}
