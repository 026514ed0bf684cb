package wire

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (c chat) encodeMessage(e *encoder, m llm.Message) {
	mark := len(e.Buf)
	switch m.Role {
	case llm.RoleTool:
		c.encodeResults(e, m)
	case llm.RoleAssistant:
		start := e.Object()
		e.StringField("role", "assistant")
		c.encodeAssistant(e, m.Parts, false)
		e.end(start, m.Extra)
		e.dropUnsaid(mark, m)
	default:
		start := e.Object()
		e.StringField("role", string(m.Role))
		e.Key("content")
		c.encodeContent(e, m.Parts)
		e.end(start, m.Extra)
		e.dropUnsaid(mark, m)
	}
}

// plainText returns the only part as text if it is nothing but text.
func plainText(parts []llm.Part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		t, ok := parts[0].(llm.Text)
		return t.Text, ok && !t.Refusal && t.State.IsZero() && len(t.Extra) == 0 && len(t.Citations) == 0
	}
	return "", false
}

func (c chat) encodeContent(e *encoder, parts []llm.Part) {
	e.said(parts, "text", c.encodeSaidMedia)
}

// encodeSaidMedia writes a medium that the user says. Files are PDF, with their bytes: a text is said as text, and of an address
// the model is told. What a client of this format wrote otherwise stays, since servers differ.
func (c chat) encodeSaidMedia(e *encoder, m llm.Media) {
	if e.own(m.State) == nil {
		if t, said := e.saidDocument(m); said {
			e.saidText(t, "text")
			return
		}
	}
	c.encodeMedia(e, m)
}

func (c chat) encodeMedia(e *encoder, m llm.Media) {
	if e.foreignFile(m) {
		return
	}
	start := e.Object()
	inner := 0
	file := e.isOwnFile(m)
	switch {
	case m.Kind == llm.Image && m.ID == "" && !file:
		inner = c.openMedia(e, "image_url")
		e.StringField("url", mediaURL(m))
	case m.Kind == llm.Video && m.ID == "" && !file:
		inner = c.openMedia(e, "video_url")
		e.StringField("url", mediaURL(m))
	case m.Kind == llm.Audio && m.ID == "" && m.URL == "" && !file:
		inner = c.openMedia(e, "input_audio")
		e.StringField("data", base64Text(m.Data))
		e.StringField("format", audioFormat(m.MIME))
	default:
		inner = c.openMedia(e, "file")
		e.optString("filename", e.fileName(m))
		if m.ID != "" {
			e.StringField("file_id", m.ID)
		} else {
			e.StringField("file_data", mediaURL(m))
		}
		if m.Kind != llm.Document && !file {
			e.lost(llm.Degraded, string(m.Kind), "the chat format can refer to it as a file only")
		}
	}
	outer := e.splitExtra(inner, m.Extra)
	e.endWith(start, outer)
}

// openMedia begins {"type":kind,kind:{ and returns where the inner object is.
func (chat) openMedia(e *encoder, kind string) int {
	e.StringField("type", kind)
	e.Key(kind)
	return e.Object()
}

func (c chat) encodeAssistant(e *encoder, parts []llm.Part, answer bool) {
	var said []llm.Part
	var refusal, thought strings.Builder
	var calls []llm.Call
	var cites []llm.Citation
	var media []llm.Media
	var states [][]byte
	sawThinking, inContent := false, e.c.Quirks.ThinkingParts && !answer
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.LogProbs != nil && !answer {
				e.lost(llm.Ignored, "logprobs", "a request of the chat format has no place for log probabilities")
			}
			if raw, opaque := e.opaque(p); opaque && raw == nil {
				continue
			}
			cites = append(cites, p.Citations...)
			if p.Refusal && (answer || len(p.Extra[e.c.Format]) == 0) { // else it stays the part that has those
				refusal.WriteString(p.Text)
			} else {
				p.Citations = nil
				said = append(said, p)
			}
			if len(calls) > 0 {
				e.lost(llm.Degraded, "order", "the chat format puts text before calls")
			}
		case llm.Thinking:
			states = append(states, e.thinkingState(p))
			if inContent {
				said = appendThought(said, p)
			} else {
				sawThinking = true
				joinThinking(&thought, p)
				e.unsupported(p.Extra[e.c.Format][references] != nil, references)
			}
		case llm.Media:
			media = append(media, p)
		case llm.Call:
			if p.Hosted {
				e.lost(llm.Ignored, "hosted call", "the chat format has no place for calls the provider ran")
			} else {
				calls = append(calls, p)
			}
		case llm.Result:
			e.lost(llm.Ignored, "hosted result", "the chat format has no place for results the provider made")
		}
	}
	c.encodeThinkingStates(e, states...)
	c.encodeSaid(e, said, answer, len(calls) > 0 || refusal.Len() > 0)
	e.optString("refusal", refusal.String())
	c.encodeThinking(e, thought.String(), sawThinking, len(calls) > 0, answer)
	c.encodeCalls(e, calls, nil)
	c.encodeCitations(e, cites, answer)
	c.encodeAssistantMedia(e, media)
}

// encodeSaid writes the text of an assistant. An answer has it as one string.
// A message may lack text only if it holds something else.
func (c chat) encodeSaid(e *encoder, said []llm.Part, answer, more bool) {
	e.Key("content")
	switch {
	case len(said) == 0 && (answer || more):
		e.Null()
	case answer:
		e.Text(llm.Message{Parts: said}.Text())
	case slices.ContainsFunc(said, isThinking):
		e.Array()
		for _, p := range said {
			switch p := p.(type) {
			case llm.Text:
				e.saidText(p, "text")
			case llm.Thinking:
				c.encodeThought(e, p)
			}
		}
		e.EndArray()
	default:
		c.encodeContent(e, said)
	}
}

// appendThought adds thinking to what was said, if there is some to read.
func appendThought(said []llm.Part, t llm.Thinking) []llm.Part {
	if t.Text == "" && len(t.Extra) == 0 {
		return said
	}
	return append(said, t)
}

func isThinking(p llm.Part) bool { _, is := p.(llm.Thinking); return is }

// encodeThought writes thinking as a part of the content.
func (chat) encodeThought(e *encoder, t llm.Thinking) {
	start := e.Object()
	e.StringField("type", thoughtPart)
	fields := e.ownExtra(t.Extra)
	if parts := fields[references]; parts != nil && e.stillThought(parts, t.Text) {
		e.RawField(thoughtPart, parts)
	} else {
		e.Key(thoughtPart)
		e.Array()
		e.Object()
		e.StringField("type", "text")
		e.StringField("text", t.Text)
		e.End()
		e.EndArray()
	}
	fields = without(fields, references)
	if fields["closed"] == nil {
		e.BoolField("closed", true)
	}
	e.endWith(start, fields)
}

// stillThought reports whether parts of thinking say a text, and notes that they are left out if they do not.
func (e *encoder) stillThought(parts []byte, text string) bool {
	said, _ := thoughtText(&decoder{c: e.c}, parts)
	if said != text {
		e.lost(llm.Ignored, references, "the thinking is no longer the one that has them")
	}
	return said == text
}

// thoughtPart is the type of a part that is thinking, and its member with the texts of it.
const thoughtPart = "thinking"

// decodeSaid reads the content of an answer, or of one of history. Its parts may be thinking.
func (c chat) decodeSaid(d *decoder, v []byte) []llm.Part {
	if js.Kind(v) != '[' {
		return c.decodeContent(d, v)
	}
	var parts []llm.Part
	for el := range d.objects(v) {
		if !js.Is(d.get(el, "type"), thoughtPart) {
			parts = append(parts, c.decodePart(d, el))
		} else if t := c.decodeThought(d, el); t.Text != "" || len(t.Extra) > 0 {
			parts = append(parts, t)
		}
	}
	return parts
}

// references keeps the parts of thinking where they are not all texts: Mistral's say which documents a thought refers to.
const references = "references"

// thoughtText joins the texts of the parts of thinking, and reports whether all parts are texts.
func thoughtText(d *decoder, v []byte) (text string, texts bool) {
	var b strings.Builder
	texts = true
	for el := range d.objects(v) {
		said := d.get(el, "text")
		texts = texts && said != nil
		b.WriteString(d.text(said))
	}
	return b.String(), texts
}

// decodeThought reads a part that is thinking: a text, or a list of parts with texts.
func (chat) decodeThought(d *decoder, v []byte) llm.Thinking {
	var t llm.Thinking
	for key, val := range d.members(v) {
		switch {
		case string(key) == "type" || js.Kind(val) == 'n':
		case string(key) == "closed" && (js.Kind(val) == 't' || !d.asking): // pieces of a stream are not
		case string(key) != thoughtPart:
			d.extra(&t.Extra, key, val)
		case js.Kind(val) == '"':
			t.Text = d.text(val)
		case d.oneOf(val, "[", "a text or an array of parts"):
			texts := false
			if t.Text, texts = thoughtText(d, val); !texts {
				d.extraNamed(&t.Extra, references, val)
			}
		}
	}
	return t
}

// thinkingState returns what only the vendor can read of thinking, and notes that of others.
func (e *encoder) thinkingState(t llm.Thinking) []byte {
	data := e.own(t.State)
	if data == nil && !t.State.IsZero() {
		e.lost(llm.Ignored, "signature", "the state of thinking can be read by "+t.State.Vendor+" only")
	}
	return data
}

// encodeThinkingStates writes the members of the states of what was thought, as they came. A message has each member once:
// lists of several thoughts become one, and of other members the last counts.
func (chat) encodeThinkingStates(e *encoder, states ...[]byte) {
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

func (c chat) encodeThinking(e *encoder, thought string, saw, calls, answer bool) {
	q := e.c.Quirks
	switch {
	case answer:
		e.optString(cmp.Or(q.Thinking, "reasoning_content"), thought)
	case q.Thinking == "" || q.ThinkingForCalls && !calls:
		if saw && !q.ThinkingForCalls {
			e.lost(llm.Ignored, "thinking", "the host does not take back thinking")
		}
	case thought != "" || q.ThinkingForCalls:
		e.StringField(q.Thinking, thought)
	}
}

func (c chat) encodeCalls(e *encoder, calls []llm.Call, invalid []llm.InvalidCall) {
	if len(calls)+len(invalid) == 0 {
		return
	}
	e.Key("tool_calls")
	e.Array()
	for _, call := range calls {
		c.encodeCall(e, call)
	}
	for _, call := range invalid {
		e.Object()
		e.StringField("id", call.ID)
		e.StringField("type", "function")
		e.Key("function")
		e.Object()
		e.StringField("name", call.Name)
		e.StringField("arguments", call.Raw)
		e.End()
		e.End()
	}
	e.EndArray()
}

func (chat) encodeCall(e *encoder, call llm.Call) {
	start := e.Object()
	kind := toolWord(call.Kind)
	e.StringField("id", call.ID)
	e.StringField("type", kind)
	e.Key(kind)
	inner := e.Object()
	e.StringField("name", call.Name)
	if call.Kind == llm.FreeTool {
		e.StringField("input", js.Text(call.Args))
	} else {
		e.StringField("arguments", string(objectOf(call.Args)))
	}
	outer := e.splitExtra(inner, call.Extra)
	for key, v := range js.Members(e.own(call.State)) {
		e.AnyKey(string(key))
		e.Raw(v)
	}
	e.endWith(start, outer)
}

func (chat) encodeCitations(e *encoder, cites []llm.Citation, answer bool) {
	if len(cites) == 0 {
		return
	}
	if !answer {
		e.lost(llm.Ignored, "citations", "a request of the chat format has no place for citations")
		return
	}
	e.Key("annotations")
	e.Array()
	for _, c := range cites {
		if raw := e.own(c.Raw); raw != nil {
			e.Raw(raw)
			continue
		}
		e.Object()
		e.StringField("type", "url_citation")
		e.Key("url_citation")
		e.Object()
		e.urlCitation(c)
		e.End()
		e.End()
	}
	e.EndArray()
}

// urlCitation writes the members that both OpenAI formats give a citation.
func (e *encoder) urlCitation(c llm.Citation) {
	e.IntField("start_index", c.Start)
	e.IntField("end_index", c.End)
	e.StringField("url", c.URL)
	e.StringField("title", c.Title)
	e.unsupported(c.Quote != "", "citation.quote")
	for _, where := range []string{"file_id", "container_id"} { // a file that only its vendor holds
		e.unsupported(js.Text(js.Get(c.Raw.Data, where)) != "", "citations."+where)
	}
}

func (c chat) encodeAssistantMedia(e *encoder, media []llm.Media) {
	open := false
	for _, m := range media {
		switch {
		case m.Kind == llm.Audio:
			e.Key("audio")
			start := e.Object()
			e.optString("id", m.ID)
			if len(m.Data) > 0 {
				e.StringField("data", base64Text(m.Data))
			}
			e.end(start, m.Extra)
			continue
		case !open:
			open = true
			e.Key("images")
			e.Array()
		}
		c.encodeMedia(e, m)
	}
	if open {
		e.EndArray()
	}
}

func (c chat) encodeResults(e *encoder, m llm.Message) {
	var moved []llm.Part
	for _, p := range m.Parts {
		r, ok := p.(llm.Result)
		if !ok {
			moved = append(moved, p)
			continue
		}
		var said []llm.Part
		for _, p := range e.shown(r.Parts) {
			if _, ok := p.(llm.Media); ok {
				moved = append(moved, llm.Text{Text: "From the result of " + cmp.Or(r.Name, "call") + " " + r.CallID + ":"}, p)
			} else {
				said = append(said, p)
			}
		}
		start := e.Object()
		e.StringField("role", "tool")
		e.StringField("tool_call_id", r.CallID)
		e.Key("content")
		c.encodeContent(e, said)
		e.end(start, r.Extra)
		if r.Failed {
			e.lost(llm.Degraded, "failed", "the chat format cannot mark a result as failed; its text has to say so")
		}
	}
	if len(moved) > 0 {
		e.lost(llm.Degraded, "media in results", "the chat format takes text in results only; the rest follows in a message of the user")
		c.encodeMessage(e, llm.Message{Role: llm.RoleUser, Parts: moved})
	}
	e.ownExtra(m.Extra)
}

// Decoding.

func (c chat) decodeMessages(d *decoder, v []byte, req *llm.Request) {
	for el := range d.objects(v) {
		m := c.decodeMessage(d, el)
		n := len(req.Messages)
		text, plain := plainText(m.Parts)
		switch {
		case n == 0 && req.System == "" && plain && m.Extra == nil && string(m.Role) == cmp.Or(d.c.Quirks.SystemRole, "system"):
			req.System = text
		case m.Role == llm.RoleTool && n > 0 && req.Messages[n-1].Role == llm.RoleTool:
			req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, m.Parts...)
		default:
			req.Messages = append(req.Messages, m)
		}
	}
}

var chatRoles = map[string]llm.Role{
	"system": llm.RoleSystem, "developer": llm.RoleDeveloper, "user": llm.RoleUser,
	"assistant": llm.RoleAssistant, "tool": llm.RoleTool, "function": llm.RoleTool,
}

func (c chat) decodeMessage(d *decoder, v []byte) llm.Message {
	word := d.get(v, "role")
	role, ok := chatRoles[d.str(word)]
	if !ok {
		if word == nil {
			word = v
		}
		d.want(word, "a role: system, developer, user, assistant or tool")
	}
	m := llm.Message{Role: role}
	switch role {
	case llm.RoleTool:
		m.Parts = []llm.Part{c.decodeResult(d, v)}
	case llm.RoleAssistant:
		c.decodeAssistant(d, v, &m)
	default:
		for key, val := range d.members(v) {
			switch string(key) {
			case "role":
			case "content":
				m.Parts = c.decodeContent(d, val)
			default:
				d.extra(&m.Extra, key, val)
			}
		}
	}
	return m
}

func (c chat) decodeResult(d *decoder, v []byte) llm.Result {
	var r llm.Result
	for key, val := range d.members(v) {
		switch string(key) {
		case "role":
		case "tool_call_id":
			r.CallID = d.str(val)
		case "name":
			r.Name = d.str(val)
		case "content":
			r.Parts = c.decodeContent(d, val)
		default:
			d.extra(&r.Extra, key, val)
		}
	}
	return r
}

func (c chat) decodeContent(d *decoder, v []byte) []llm.Part {
	switch js.Kind(v) {
	case '"':
		if s := d.text(v); s != "" {
			return []llm.Part{llm.Text{Text: s}}
		}
	case '[':
		var parts []llm.Part
		for el := range d.objects(v) {
			parts = append(parts, c.decodePart(d, el))
		}
		return parts
	case 'n':
	default:
		d.want(v, "a string or an array of parts")
	}
	return nil
}

func (c chat) decodePart(d *decoder, v []byte) llm.Part {
	kind := d.str(d.get(v, "type"))
	switch kind {
	case "text", "refusal", "output_text", "input_text":
		t := llm.Text{Refusal: kind == "refusal"}
		for key, val := range d.members(v) {
			switch string(key) {
			case "type":
			case "text", "refusal":
				t.Text = d.str(val)
			default:
				d.extra(&t.Extra, key, val)
			}
		}
		return t
	case "image_url", "video_url", "input_audio", "file":
		return c.decodeMedia(d, v, kind)
	}
	return d.opaque(v)
}

var chatMedia = map[string]llm.MediaKind{"image_url": llm.Image, "video_url": llm.Video, "input_audio": llm.Audio, "file": llm.Document}

func (chat) decodeMedia(d *decoder, v []byte, kind string) llm.Media {
	m := llm.Media{Kind: chatMedia[kind]}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
			continue
		case kind:
		default:
			d.extra(&m.Extra, key, val)
			continue
		}
		if js.Kind(val) == '"' && strings.HasSuffix(kind, "_url") { // {"image_url":"https://…"} of lenient clients
			d.url(val, &m)
			continue
		}
		for key, val := range d.members(val) {
			switch string(key) {
			case "url", "file_data":
				d.url(val, &m)
			case "data":
				m.Data = d.data(val)
			case "format":
				m.MIME = audioMIME(d.str(val))
			case "file_id":
				m.ID = d.str(val)
			case "filename":
				m.Name = d.str(val)
			default:
				d.extraNamed(&m.Extra, innerPrefix+string(key), val)
			}
		}
	}
	if kind == "file" && (!pdfBytes(m) || path.Ext(m.Name) == "") {
		m.State = d.state([]byte(ownFile))
	}
	asWhatItIs(d, &m)
	return m
}

// decodeAssistant reads a message of history like an answer, except that parts
// stay as they are and calls are not judged.
func (c chat) decodeAssistant(d *decoder, v []byte, m *llm.Message) {
	a := newAnswer(&d.c, nil)
	a.body, a.asking = d.body, d.asking
	var b llm.Builder
	a.send = func(ev llm.Event) bool { b.Add(ev); return true }
	s := &chatStream{answer: a, history: true}
	s.parts = func(parts []llm.Part) {
		m.Parts = append(append(m.Parts, b.Response().Message.Parts...), parts...)
		b = llm.Builder{}
	}
	s.message(v, &m.Extra)
	s.flush()
	for _, p := range a.calls {
		if !p.done {
			a.keep(p)
		}
	}
	s.parts(nil)
	if d.err == nil {
		d.err = a.err
	}
}

// keep sends a call of history as it stands: it was answered long ago, and a
// request must not lose it.
func (a *answer) keep(p *pending) {
	if p.open {
		p.args.WriteByte('"')
	}
	args := json.RawMessage(p.args.String())
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if !js.Valid(args) {
		args = js.AppendQuoted(nil, string(args))
	}
	a.sent(p)
	a.emit(llm.Call{ID: p.id, Name: p.name, Args: args, Kind: p.kind, State: p.state, Extra: p.extra})
}
