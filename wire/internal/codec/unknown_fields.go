package codec

import (
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// Unknown members of answers are extra fields of their part or call, or else of the end of the answer, under the path
// of their object; see nested_fields.go. In a stream the path begins with the name of the event, like
// "/content_block_delta/delta". If the target has no such place at the end, the client gets a warning. Repeated members
// of events are kept once.

// MaxUnknownFields bounds those of one answer.
const MaxUnknownFields = 64

// moreUnknownFields represents the unknown fields beyond the limit.
var moreUnknownFields = UnknownField{loss.NestedMark + "events", "more members"}

// UnknownFields keeps the unknown members of an object. at is its path, and prefix the part of the answer. Known names
// may also be written in snake case.
func (a *output) UnknownFields(prefix, at string, v []byte, known ...string) {
	if js.Kind(v) != '{' {
		return
	}
	for key, val := range js.Members(v) {
		if !slices.ContainsFunc(known, func(k string) bool { return k == string(key) || k == string(CamelCase(key)) }) {
			a.UnknownField(prefix+at, key, val)
		}
	}
}

// UnknownField keeps a member of the object at a place.
func (a *output) UnknownField(at string, key, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	s := UnknownField{at, string(key)}
	if !a.OneDocument {
		if slices.Contains(a.unknownFields, s) || len(a.unknownFields) > MaxUnknownFields {
			return
		}
		if len(a.unknownFields) == MaxUnknownFields {
			s, v = moreUnknownFields, []byte("true")
		}
		a.unknownFields = append(a.unknownFields, s)
	}
	a.ExtraField(&a.Finish.Extra, s.At+loss.NestedMark+loss.PointerEscape.Replace(s.Name), v)
}

// KeepUsage keeps what only the format knows about the usage, with what earlier events of a stream said of it.
func (d *Decoder) KeepUsage(f *llm.Finish, key string, rest []byte) {
	if rest == nil {
		return
	}
	old := f.Extra[d.Host.Format][key]
	var both Fields
	for name, v := range js.Members(old) {
		if js.Get(rest, string(name)) == nil {
			both.Add(name, v)
		}
	}
	if both.W.Buf != nil {
		for name, v := range js.Members(rest) {
			both.Add(name, v)
		}
		rest = both.Object()
	}
	d.ExtraField(&f.Extra, key, rest)
}
