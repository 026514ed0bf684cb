package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
)

// CachePoint is a block that says up to where the vendor caches a prompt. In
// package llm it is a field of the part or tool before it.
const CachePoint = "cachePoint"

// Fields that several formats have and package llm lacks are extra fields of the client's format. A table lists fields
// with the same meaning and their places. Before a request or the end of an answer is written, fields of other formats
// move to the target's place. A field that the target lacks, or uses with another meaning, causes a warning with the
// reason.

// holder is what holds a member: a set of the kinds of values that have extra fields.
type holder uint16

const (
	ofRequest holder = 1 << iota
	ofTool
	ofText
	ofThinking
	ofImage
	ofDocument
	ofCall
	ofResult
	ofInner  // combined with another: inside a result
	ofFinish // the end of an answer
)

// ofBlock is any part of a message that can have a cache mark.
const ofBlock = ofText | ofImage | ofDocument | ofCall | ofResult

// place is where a format has a member.
type place struct {
	format string
	// path is the name of the extra field, or of an object and its member with a dot between.
	Path string
	// element is the list element that means true.
	element string
	// of is the set of holders, if smaller than the member's. outside excludes parts inside results.
	of      holder
	outside bool
	// onlyRead says that others do not get it here, and why.
	onlyRead string
	// byHost says that the maker of the format does not take it, but some hosts do.
	byHost bool
	// makers are those whose models take it in the converse format; nil means all.
	makers []string
	// needs is another member that must be true.
	needs string
	// most bounds the bytes of a text, since the vendor refuses more.
	most int
	// toCommon and fromCommon convert between the format's value and the common value. They return nil for a value that
	// cannot be carried; notCarried is the reason.
	toCommon, fromCommon func(*Encoder, json.RawMessage) json.RawMessage
	notCarried           string
}

// member is a row of the table.
type member struct {
	Name string // what Quirks.Members calls it
	of   holder
	kind byte // of the common value, as js.Kind has it
	At   []place
	// not are formats that have a member of that name with another meaning, as why says.
	not []string
	why string
}

// in returns the place that a format has for the member.
func (m *member) in(format string) (place, bool) {
	for _, p := range m.At {
		if p.format == format {
			return p, true
		}
	}
	return place{}, false
}

// both are the places of a member that the OpenAI formats call the same.
func both(path string) []place {
	return []place{{format: names.Chat, Path: path}, {format: names.Responses, Path: path}}
}

const (
	storedOnly = "the chat format takes it only for answers that the vendor stores"
	otherTiers = "the tiers of the vendors are not the same"
	otherNotes = "the members of this name mean different things"
)

// SharedMembers is the table.
var SharedMembers = []member{
	{Name: "user", of: ofRequest, kind: '"', At: both("user")},
	{Name: "prompt_cache_key", of: ofRequest, kind: '"', At: both("prompt_cache_key")},
	{Name: "prompt_cache_retention", of: ofRequest, kind: '"', At: both("prompt_cache_retention")},
	{Name: "service_tier", of: ofRequest | ofFinish, kind: '"', At: both("service_tier"), not: []string{names.Messages, names.Converse}, why: otherTiers},
	{Name: "include_obfuscation", of: ofRequest, kind: 'b', At: both("stream_options.include_obfuscation")},
	{Name: "verbosity", of: ofRequest, kind: '"', At: []place{{format: names.Chat, Path: "verbosity"}, {format: names.Responses, Path: "text.verbosity"}}},
	{Name: "metadata", of: ofRequest, kind: '{', not: []string{names.Messages}, why: otherNotes, At: []place{
		{format: names.Chat, Path: "metadata", onlyRead: storedOnly, toCommon: texts}, {format: names.Responses, Path: "metadata", toCommon: texts},
	}},
	{Name: "store", of: ofRequest, kind: 'b', At: []place{
		{format: names.Chat, Path: "store", fromCommon: onlyFalse, notCarried: "answers that the chat format stores are for the vendor's own products, and cannot be continued"},
		{format: names.Responses, Path: "store", fromCommon: onlyFalse, notCarried: "answers that the responses format stores are there to go on from"},
	}},
	{Name: "safety_identifier", of: ofRequest, kind: '"', At: []place{
		{format: names.Chat, Path: "safety_identifier", most: 64}, {format: names.Responses, Path: "safety_identifier", most: 64},
		{format: names.Messages, Path: "metadata.user_id", most: 256, fromCommon: noAddress, notCarried: "the vendor refuses what may be an address of a person"},
	}},
	{Name: "logprobs", of: ofRequest, kind: 'b', At: []place{
		{format: names.Chat, Path: "logprobs"}, {format: names.Responses, Path: "include", element: "message.output_text.logprobs"},
	}},
	{Name: "logprobs", of: ofRequest, kind: '0', At: []place{{format: names.Chat, Path: "top_logprobs", needs: "logprobs"}, {format: names.Responses, Path: "top_logprobs"}}},
	{Name: "detail", of: ofImage, kind: '"', At: []place{
		{format: names.Chat, Path: loss.InnerPrefix + "detail", fromCommon: chatDetail, notCarried: "the chat format knows auto, low and high"}, {format: names.Responses, Path: "detail"},
	}},
	{Name: "cache_control", of: ofBlock | ofThinking, kind: '{', At: []place{
		{format: names.Messages, Path: "cache_control", of: ofBlock},
		{format: names.Chat, Path: "cache_control", byHost: true, of: ofText},
		{format: names.Converse, Path: CachePoint, of: ofBlock, outside: true, makers: []string{names.AnthropicFields, names.AmazonFields}, toCommon: fromCachePoint, fromCommon: toCachePoint},
	}},
	{Name: "cache_control", of: ofTool, kind: '{', At: []place{
		{format: names.Messages, Path: "cache_control"},
		{format: names.Chat, Path: "cache_control", byHost: true},
		{format: names.Converse, Path: CachePoint, makers: []string{names.AnthropicFields}, toCommon: fromCachePoint, fromCommon: toCachePoint},
	}},
	{Name: "citations", of: ofDocument, kind: '{', At: []place{{format: names.Messages, Path: "citations"}, {format: names.Converse, Path: loss.InnerPrefix + "citations", makers: []string{names.AnthropicFields}}}},
	{Name: "context", of: ofDocument, kind: '"', At: []place{{format: names.Messages, Path: "context"}, {format: names.Converse, Path: loss.InnerPrefix + "context", makers: []string{names.AnthropicFields}}}},
	{Name: "anthropic_beta", of: ofRequest, kind: '[', At: []place{
		{format: names.Messages, Path: "anthropic_beta", byHost: true}, {format: names.Converse, Path: "additionalModelRequestFields.anthropic_beta", makers: []string{names.AnthropicFields}},
	}},
	{Name: "effort", of: ofRequest, kind: '"', At: []place{
		{format: names.Messages, Path: "output_config.effort"}, {format: names.Converse, Path: "outputConfig.effort", makers: []string{names.AnthropicFields}},
	}},
}

// texts returns an object whose members are all texts.
func texts(_ *Encoder, v json.RawMessage) json.RawMessage {
	for _, val := range js.Members(v) {
		if js.Kind(val) != '"' {
			return nil
		}
	}
	return v
}

// onlyFalse: that an answer is not kept means the same everywhere, that it is kept does not.
func onlyFalse(_ *Encoder, v json.RawMessage) json.RawMessage {
	if js.Kind(v) == 'f' {
		return v
	}
	return nil
}

// chatDetail: how closely an image is looked at has a word more in the responses format.
func chatDetail(_ *Encoder, v json.RawMessage) json.RawMessage {
	if js.Is(v, "auto") || js.Is(v, "low") || js.Is(v, "high") {
		return v
	}
	return nil
}

// noAddress refuses values that may be email addresses, as the vendor does.
func noAddress(_ *Encoder, v json.RawMessage) json.RawMessage {
	if bytes.ContainsRune(v, '@') {
		return nil
	}
	return v
}

// toCachePoint and fromCachePoint change the mark up to which a prompt is cached. Its type is another word, of which both
// formats have one.
func toCachePoint(e *Encoder, v json.RawMessage) json.RawMessage {
	ttl := js.Get(v, "ttl")
	if e.Host.Quirks.ModelFields == names.AmazonFields && ttl != nil {
		if !js.Is(ttl, "5m") {
			e.Lost(llm.Degraded, "cache_control.ttl", "the model keeps what is cached for five minutes")
		}
		return json.RawMessage(`{"type":"default"}`)
	}
	return cacheMark("default", v)
}

func fromCachePoint(_ *Encoder, v json.RawMessage) json.RawMessage { return cacheMark("ephemeral", v) }

func cacheMark(typ string, v json.RawMessage) json.RawMessage {
	var w js.Writer
	w.Object()
	w.StringField("type", typ)
	for key, val := range js.Members(v) {
		if string(key) != "type" {
			w.AnyKey(string(key))
			w.Raw(val)
		}
	}
	w.End()
	return w.Buf
}

// lacks returns why a member does not go to a place of this host, and "" if it does.
func (e *Encoder) lacks(m *member, p place, of holder) string {
	q := &e.Host.Quirks
	switch {
	case p.onlyRead != "":
		return p.onlyRead
	case p.makers != nil && !slices.Contains(p.makers, q.ModelFields):
		return "only the models that are known to take it are told"
	case q.Members == "" && p.byHost, q.Members != "" && !slices.Contains(strings.Fields(q.Members), m.Name):
		return "only the hosts that are known to take it are told"
	case p.of != 0 && p.of&of == 0, p.outside && of&ofInner != 0:
		return "the " + e.Host.Format + " format does not have it here"
	}
	return ""
}

// share returns the extra fields of a value with those of other formats that the target has, too, at its own places. It
// notes the members of the table that it leaves out.
func (e *Encoder) share(x llm.Extra, of holder) llm.Extra {
	if !foreignOnes(x, e.Host.Format) {
		return x
	}
	s := sharing{e: e, x: x, of: of}
	for i := range SharedMembers {
		m := &SharedMembers[i]
		if m.of&of == 0 {
			continue
		}
		for _, from := range js.Keys(x) {
			if p, ok := m.in(from); ok && from != e.Host.Format {
				s.move(m, from, p)
			}
		}
	}
	return s.x
}

// sharing moves the members of one value. The extra fields are copied before they change.
type sharing struct {
	e      *Encoder
	x      llm.Extra
	of     holder
	copied bool
}

// move moves a member at p in the fields of a format, if there is one.
func (s *sharing) move(m *member, from string, p place) {
	raw := p.read(s.x[from])
	if raw == nil {
		return
	}
	value := convert(s.e, p.toCommon, raw)
	if value == nil || !isKind(value, m.kind) {
		return // not what the vendor means by it: it stays a field of its format
	}
	to, has := m.in(s.e.Host.Format)
	if has && to.read(s.x[s.e.Host.Format]) != nil { // the target's own words count
		s.cut(from, p)
		return
	}
	own, why := s.told(m, to, has, value)
	s.cut(from, p)
	if why != "" {
		feature, _ := loss.CutPrefix(cmp.Or(p.element, p.Path), loss.InnerPrefix)
		s.e.Lost(llm.Ignored, feature, why)
		return
	}
	if s.x[s.e.Host.Format] == nil {
		s.x[s.e.Host.Format] = make(map[string]json.RawMessage)
	}
	to.write(s.x[s.e.Host.Format], own)
}

// told returns the value that the target has for a member, or why it has none.
func (s *sharing) told(m *member, to place, has bool, value json.RawMessage) (own json.RawMessage, why string) {
	format := s.e.Host.Format
	switch {
	case !has && slices.Contains(m.not, format):
		return nil, m.why
	case !has:
		return nil, m.only()
	}
	if why = s.e.lacks(m, to, s.of); why != "" {
		return nil, why
	}
	switch own = convert(s.e, to.fromCommon, value); {
	case own == nil:
		why = to.notCarried
	case to.most > 0 && len(js.Text(own)) > to.most:
		why = "it is longer than the vendor takes"
	}
	return own, why
}

// only returns the formats that have the member, as text.
func (m *member) only() string {
	var names []string
	for _, p := range m.At {
		names = append(names, p.format)
	}
	return "only the formats " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " have it"
}

// cut takes a member away, from a copy.
func (s *sharing) cut(from string, p place) {
	if !s.copied {
		s.x, s.copied = s.x.Clone(), true
	}
	if p.cut(s.x[from]); len(s.x[from]) == 0 {
		delete(s.x, from)
	}
}

func convert(e *Encoder, f func(*Encoder, json.RawMessage) json.RawMessage, v json.RawMessage) json.RawMessage {
	if f == nil || v == nil {
		return v
	}
	return f(e, v)
}

// isKind is js.Kind for a table: 'b' is true or false.
func isKind(v []byte, kind byte) bool {
	k := js.Kind(v)
	return k == kind || kind == 'b' && (k == 't' || k == 'f')
}

// split returns the name of the extra field, and of its member if the place is inside of one.
func (p place) split() (field, inside string) {
	if strings.HasPrefix(p.Path, loss.InnerPrefix) {
		return p.Path, ""
	}
	field, inside, _ = strings.Cut(p.Path, ".")
	return field, inside
}

// read returns the value at the place, and nil if there is none.
func (p place) read(fields map[string]json.RawMessage) json.RawMessage {
	field, inside := p.split()
	v := fields[field]
	switch {
	case p.element != "":
		for el := range js.Elements(v) {
			if js.Is(el, p.element) {
				return json.RawMessage("true")
			}
		}
		return nil
	case inside != "" && js.Kind(v) != '{':
		return nil
	case inside != "":
		v = js.Get(v, inside)
	}
	if !HasValue(v) {
		return nil
	}
	return v
}

// cut removes the value at the place, and objects that become empty.
func (p place) cut(fields map[string]json.RawMessage) {
	field, inside := p.split()
	var w js.Writer
	rest := 0
	switch {
	case p.element != "":
		w.Array()
		for el := range js.Elements(fields[field]) {
			if !js.Is(el, p.element) {
				w.Raw(el)
				rest++
			}
		}
		w.EndArray()
	case inside != "":
		w.Object()
		for key, v := range js.Members(fields[field]) {
			if string(key) != inside {
				w.AnyKey(string(key))
				w.Raw(v)
				rest++
			}
		}
		w.End()
	}
	if rest == 0 {
		delete(fields, field)
	} else {
		fields[field] = w.Buf
	}
}

// write puts a value to the place.
func (p place) write(fields map[string]json.RawMessage, v json.RawMessage) {
	field, inside := p.split()
	var w js.Writer
	switch {
	case p.element != "":
		if js.Kind(v) != 't' {
			return
		}
		w.Array()
		for el := range js.Elements(fields[field]) {
			w.Raw(el)
		}
		w.Text(p.element)
		w.EndArray()
		v = w.Buf
	case inside != "":
		w.Object()
		for key, val := range js.Members(fields[field]) {
			w.AnyKey(string(key))
			w.Raw(val)
		}
		w.RawField(inside, v)
		w.End()
		v = w.Buf
	}
	fields[field] = v
}

// ShareFields returns req with the members that the target has, too, at its places. The request is not changed.
func (e *Encoder) ShareFields(req *llm.Request, stream bool) *llm.Request {
	if !foreignFields(req, e.Host.Format) {
		return req
	}
	out := *req
	out.Extra = e.share(req.Extra, ofRequest)
	e.alone(req.Extra[e.Host.Format], out.Extra[e.Host.Format])
	if own := out.Extra[e.Host.Format]; !stream && req.Extra[e.Host.Format]["stream_options"] == nil {
		delete(own, "stream_options") // of a copy; without a stream it means nothing, and is refused
	}
	out.Tools = slices.Clone(req.Tools)
	for i, t := range out.Tools {
		if foreignOnes(t.Extra, e.Host.Format) {
			out.Tools[i] = e.sharedTool(t)
		}
	}
	out.Messages = slices.Clone(req.Messages)
	for i := range out.Messages {
		out.Messages[i].Parts = e.sharedParts(out.Messages[i].Parts, 0)
	}
	return &out
}

// alone restores moved members that need another member which is absent. Moved members are in a copy.
func (e *Encoder) alone(before, now map[string]json.RawMessage) {
	for i := range SharedMembers {
		p, ok := SharedMembers[i].in(e.Host.Format)
		if ok && p.needs != "" && before[p.Path] == nil && now[p.Path] != nil && js.Kind(now[p.needs]) != 't' {
			delete(now, p.Path)
			e.Lost(llm.Ignored, p.Path, "the "+e.Host.Format+" format takes it only with "+p.needs)
		}
	}
}

// sharedTool is shared for a tool, which another format's vendor may define.
func (e *Encoder) sharedTool(t llm.ToolDef) llm.ToolDef {
	if _, own := t.Extra[e.Host.Format]; !own {
		if told, said, is := e.Host.Registry.Describe(t); is {
			t = told
			e.Lost(said.Code, said.Feature, said.Detail)
		}
	}
	t.Extra = e.share(t.Extra, ofTool)
	return t
}

// sharedParts is shared for parts. Those of a result are inside of it.
func (e *Encoder) sharedParts(parts []llm.Part, inside holder) []llm.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		switch p := p.(type) {
		case llm.Text:
			p.Extra = e.share(p.Extra, ofText|inside)
			out[i] = p
		case llm.Thinking:
			p.Extra = e.share(p.Extra, ofThinking)
			out[i] = p
		case llm.Media:
			p.Extra = e.share(p.Extra, mediaHolder(p.Kind)|inside)
			out[i] = p
		case llm.Call:
			p.Extra = e.share(p.Extra, ofCall)
			out[i] = p
		case llm.Result:
			p.Extra = e.share(p.Extra, ofResult)
			p.Parts = e.sharedParts(p.Parts, ofInner)
			out[i] = p
		}
	}
	return out
}

func mediaHolder(kind llm.MediaKind) holder {
	switch kind {
	case llm.Image:
		return ofImage
	case llm.Document:
		return ofDocument
	}
	return 0
}

// foreignOnes reports whether extra fields are of a format other than that one.
func foreignOnes(x llm.Extra, format string) bool {
	_, own := x[format]
	return len(x) > 1 || len(x) == 1 && !own
}

// foreignFields reports whether a request has extra fields of a format other than that one.
func foreignFields(req *llm.Request, format string) bool {
	foreign := func(x llm.Extra) bool { return foreignOnes(x, format) }
	if foreign(req.Extra) || slices.ContainsFunc(req.Tools, func(t llm.ToolDef) bool { return foreign(t.Extra) }) {
		return true
	}
	var inParts func(p llm.Part) bool
	inParts = func(p llm.Part) bool {
		switch p := p.(type) {
		case llm.Text:
			return foreign(p.Extra)
		case llm.Thinking:
			return foreign(p.Extra)
		case llm.Media:
			return foreign(p.Extra)
		case llm.Call:
			return foreign(p.Extra)
		case llm.Result:
			return foreign(p.Extra) || slices.ContainsFunc(p.Parts, inParts)
		}
		return false
	}
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return slices.ContainsFunc(m.Parts, inParts) })
}

// ShareFinish is shared for the ends of an answer.
func (e *Encoder) ShareFinish(r *llm.Response) *llm.Response {
	if e.Host.Custom || !foreignOnes(r.Finish.Extra, e.Host.Format) {
		return r
	}
	out := *r
	out.Finish.Extra = e.share(r.Finish.Extra, ofFinish)
	return &out
}
