package loss

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
)

const MessagePrefix = "message."

// InnerPrefix marks extra fields of the object inside a tool or a call.
const InnerPrefix = "inner."

func CutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return s, false
}

// Restated marks extra fields that repeat data of the request in the vendor's form. Other formats lose nothing without
// them.
const Restated = "restated."

// saidAnyway are fields that are kept unchanged although every format has their data in another form.
var saidAnyway = map[[2]string]bool{{names.Ollama, "created_at"}: true}

// OwnExtra returns the fields that only this format knows, and notes those
// that only others know.
func (l *Log) OwnExtra(x llm.Extra) map[string]json.RawMessage {
	if own := x[l.Format]; len(x) == 0 || len(x) == 1 && own != nil {
		return own
	}
	for _, format := range slices.Sorted(maps.Keys(x)) {
		if format == l.Format {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(x[format])) {
			if _, said := x[l.Format][key]; said || strings.HasPrefix(key, Restated) || saidAnyway[[2]string{format, key}] { // in this format, too
				continue
			}
			l.LostField(format, key, x[format][key], "only the "+format+" format has this field")
		}
	}
	return x[l.Format]
}

// JoinFields returns the fields of two messages that become one. What both say stays as the first says it.
func (l *Log) JoinFields(x, y map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(x)+len(y))
	maps.Copy(out, x)
	for _, key := range slices.Sorted(maps.Keys(y)) {
		if have, said := x[key]; !said {
			out[key] = y[key]
		} else if !bytes.Equal(have, y[key]) {
			l.Lost(llm.Ignored, Dotted(key), "the message before, which it is joined with, has another")
		}
	}
	return out
}

// LostField notes an extra field that is not sent, and why: each of its members if it is a remainder.
func (l *Log) LostField(format, key string, raw []byte, why string) {
	rest, ok := remainders[[2]string{format, key}]
	switch {
	case strings.HasPrefix(key, NestedMark):
		l.Lost(llm.Ignored, Dotted(key), why)
		return
	case !ok || rest.whole:
		name, _ := CutPrefix(key, InnerPrefix)
		if part, pointer, nested := strings.Cut(name, "."+NestedMark); nested {
			name = part + "." + Dotted(pointer)
		}
		l.Lost(llm.Ignored, name, why)
	}
	if !ok {
		return
	}
	for member := range js.Members(raw) {
		if !slices.ContainsFunc(rest.known, func(k string) bool { return k == string(member) }) {
			l.Lost(llm.Ignored, key+"."+string(member), why)
		}
	}
}

// ForeignExtra is OwnExtra for fields that mostly caused a warning already.
func (l *Log) ForeignExtra(x llm.Extra) {
	for format, fields := range x {
		for key := range fields {
			if format != l.Format && !l.toldField(key) {
				l.OwnExtra(x)
				return
			}
		}
	}
}

func (l *Log) toldField(key string) bool {
	name, _ := CutPrefix(key, InnerPrefix)
	return strings.HasPrefix(key, Restated) || slices.ContainsFunc(l.Warnings, func(w llm.Warning) bool { return w.Feature == name })
}

// LostInStream warns about extra fields that a stream cannot carry, or cannot carry any more.
func (l *Log) LostInStream(fields map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(key, Restated) {
			l.LostField(l.Format, key, fields[key], "a stream has no place for it")
		}
	}
}

// Dotted is how warnings call an extra field of an object inside of a value.
func Dotted(pointer string) string {
	return PointerUnescape.Replace(strings.ReplaceAll(strings.TrimPrefix(pointer, NestedMark), "/", "."))
}

// What a client says in an object that is read member by member, and that its decoder does not know, is an extra field of
// the nearest value that has some. Its name is the place of the object in that value and the name of the member, as a
// JSON pointer, like "/source/hint" of an image. In the same format it goes back to its place; other formats warn about it.

// NestedMark begins the names of extra fields of objects inside of a value.
const NestedMark = "/"

var (
	PointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	PointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// remainder is an extra field that holds what only its format knows of an object, most of which every format has.
type remainder struct {
	known []string // members with another warning
	whole bool     // the field is told, too
}

var remainders = map[[2]string]remainder{
	{names.Chat, "stream_options"}: {}, {names.Responses, "text"}: {}, {names.Responses, "reasoning"}: {}, {names.Messages, "output_config"}: {},
	{names.Gemini, "generationConfig"}: {}, {names.Gemini, "toolConfig"}: {}, {names.Ollama, "options"}: {},
	{names.Converse, "inferenceConfig"}: {}, {names.Converse, "toolConfig"}: {}, {names.Converse, "outputConfig"}: {},
	{names.Chat, "usage"}: {}, {names.Responses, "usage"}: {}, {names.Messages, "usage"}: {}, {names.Gemini, "usageMetadata"}: {}, {names.Converse, "usage"}: {},
	{names.Responses, "namespace"}: {known: []string{"name", "description", "function"}, whole: true},
}

// NotSent is why an extra field is lost whose value is said otherwise, or not at all.
const NotSent = "what it stood in is not sent"
