package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// encoder writes one body and remembers what it could not carry.
type encoder struct {
	js.Writer
	losses
	c        host
	refused  error
	items    int    // ids minted for items
	answerID string // what they are made of
	// documents are the names of documents so far, with the number that the last one of that name got.
	documents map[string]int
	// answering: an answer is encoded, not a request. An answer carries
	// everything; a request only what the vendor accepts.
	answering bool
}

// result returns what was written.
func (e *encoder) result(op string) ([]byte, []llm.Warning, error) {
	if e.refused != nil {
		return nil, nil, e.c.fail(op, llm.Unsupported, e.refused)
	}
	if e.Err != nil {
		return nil, nil, e.c.fail(op, llm.Invalid, e.Err)
	}
	return e.Buf, e.warnings, nil
}

// refuse stops the work: dropping this in silence or with a warning would be
// dangerous.
func (e *encoder) refuse(format string, args ...any) {
	if e.refused == nil {
		e.refused = fmt.Errorf(format, args...)
	}
}

// maxNotes bounds the warnings about one feature, and maxWarnings those about one request: each is compared with all.
const (
	maxNotes    = 8
	maxWarnings = 1000
)

// restated marks extra fields that say again, in the words of their vendor, what stands in the request itself: other formats lose nothing
// without them.
const restated = "restated."

// saidAnyway are the fields of formats that are kept as they came, beside what every format has for them.
var saidAnyway = map[[2]string]bool{{Ollama, "created_at"}: true}

// end closes the object that began at start, after the fields that only this
// format knows.
func (e *encoder) end(start int, x llm.Extra) { e.endWith(start, e.ownExtra(x)) }

func (e *encoder) endWith(start int, fields map[string]json.RawMessage) {
	nested, many := false, e.manyKeys(start, len(fields))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasPrefix(key, nestedMark) {
			nested = true
			continue
		}
		if key == halvesField {
			continue
		}
		if e.has(start, key, many) {
			e.lost(llm.Ignored, key, "an extra field must not repeat a field of the request")
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

// hasKey reports whether the object that is still open holds the key.
func hasKey(open []byte, key string) bool {
	for k := range js.Members(append(slices.Clip(open), '}')) {
		if string(k) == key {
			return true
		}
	}
	return false
}

// manyKeys returns the keys of the object that began at start, and is open still, if it is to be asked about many: of a few,
// nil, it is read for each.
func (e *encoder) manyKeys(start, asked int) map[string]bool {
	if asked <= 8 {
		return nil
	}
	return keysOf(e.Buf[start:])
}

func (e *encoder) has(start int, key string, many map[string]bool) bool {
	if many != nil {
		return many[key]
	}
	return hasKey(e.Buf[start:], key)
}

// keysOf returns the keys of an object, which may be open still.
func keysOf(open []byte) map[string]bool {
	keys := make(map[string]bool)
	for k := range js.Members(append(slices.Clip(open), '}')) {
		keys[string(k)] = true
	}
	return keys
}

// Members that are left out when they say nothing.

func (e *encoder) optString(key, s string) {
	if s != "" {
		e.StringField(key, s)
	}
}

func (e *encoder) optInt(key string, n int) {
	if n != 0 {
		e.IntField(key, n)
	}
}

func (e *encoder) optFloat(key string, f *float64) {
	if f != nil {
		e.Key(key)
		e.Float(*f)
	}
}

func (e *encoder) optRaw(key string, v json.RawMessage) {
	if len(v) > 0 {
		e.RawField(key, v)
	}
}

func (e *encoder) optStrings(key string, list []string) {
	if len(list) > 0 {
		e.strings(key, list)
	}
}

func (e *encoder) strings(key string, list []string) {
	e.Key(key)
	e.Array()
	for _, s := range list {
		e.Text(s)
	}
	e.EndArray()
}

// dropEmpty takes back a message that began at mark and of which nothing could
// be carried, and reports whether it did: vendors refuse messages without content.
func (e *encoder) dropEmpty(mark int, content string) bool {
	empty := bytes.HasSuffix(e.Buf, []byte(content))
	if empty {
		e.Buf = e.Buf[:mark]
	}
	return empty
}

// dropUnsaid takes back a message that began at mark if nothing could be carried of what it holds beside text, in formats where such
// a message has an empty content.
func (e *encoder) dropUnsaid(mark int, m llm.Message) {
	if holdsMore(m) && !e.dropEmpty(mark, `"content":[]}`) {
		e.dropEmpty(mark, `"content":""}`)
	}
}

// said writes what a user or a tool said, in the OpenAI formats: a string where
// that is enough, since many servers take nothing else, or a list in which text
// has the given type.
func (e *encoder) said(parts []llm.Part, textType string, media func(*encoder, llm.Media)) {
	if s, ok := plainText(parts); ok {
		e.Text(s)
		return
	}
	e.Array()
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			e.saidText(p, textType)
		case llm.Media:
			media(e, p)
		default:
			e.lost(llm.Ignored, "part", "a message of this role cannot hold such a part in the "+e.c.Format+" format")
		}
	}
	e.EndArray()
}

func (e *encoder) saidText(t llm.Text, textType string) {
	if raw, ok := e.opaque(t); ok {
		if raw != nil {
			e.Raw(raw)
		}
		return
	}
	key := "text"
	if t.Refusal && textType == key && len(t.Extra[e.c.Format]) > 0 { // as the client wrote it
		textType, key = "refusal", "refusal"
	}
	start := e.Object()
	e.StringField("type", textType)
	e.StringField(key, t.Text)
	e.end(start, t.Extra)
}

// partOf returns the part that an event stands for in formats that have no
// pieces of calls, and nil for events that such formats do not show.
func (e *encoder) partOf(ev llm.Event) llm.Part {
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
		e.invalidAsText(ev)
		return llm.Text{Text: ev.Raw}
	}
	return nil
}

// told returns what a client is told of what was used: an upstream that counts below 0 is not repeated.
func told(u llm.Usage) llm.Usage {
	u.Input, u.Output, u.Reasoning = max(0, u.Input), max(0, u.Output), max(0, u.Reasoning)
	u.CacheRead, u.CacheWrite = max(0, u.CacheRead), max(0, u.CacheWrite)
	return u
}

// counted reports whether there is a usage to tell. One that nobody counted is not told as 0, where clients can do without it:
// the messages and converse formats demand it.
func (e *encoder) counted(f llm.Finish, key string) bool {
	return !told(f.Usage).IsZero() || len(f.Extra[e.c.Format][key]) > 0
}

// newEncoder returns an encoder for a host.
func newEncoder(h host) encoder {
	e := encoder{c: h, losses: losses{Format: h.Format, Vendor: h.Vendor}}
	if h.impl != nil {
		e.LogProbs = h.impl.properties().LogProbs
	}
	return e
}
