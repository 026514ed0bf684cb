package codec

import (
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/loss"
)

// Members of answers that nobody knows are extra fields of the part or the call they stand in, or else of the end of the
// answer, under the place of their object; see nested.go. The place of an object of a stream begins with the name of its
// event, like "/content_block_delta/delta": if there is no such place in what is written at the end, the client is told.
// What events say about the answer again and again is kept once.

// UnknownField is a member of the events of a stream, and the place of the object it stands in.
type UnknownField struct{ At, Name string }

// MaxUnknownFields bounds those of one answer.
const MaxUnknownFields = 64

// moreUnknownFields stands for those beyond the bound.
var moreUnknownFields = UnknownField{loss.NestedMark + "events", "more members"}

// UnknownFields keeps the members of an object that are not read, where at is its place and prefix says in which part of the
// answer that is. Those that are known may have their words joined by underscores, or not.
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

// lostCall keeps what only the format knows about a call that must not be run: it is told without that.
func (a *calls) lostCall(p *PendingCall) {
	const at = loss.NestedMark + "invalid call"
	for key, v := range p.Extra[a.Host.Format] {
		a.UnknownField(at, []byte(key), v)
	}
	for key, v := range js.Members(p.State.Data) {
		if !slices.Contains(loss.StateMembers, string(key)) {
			a.UnknownField(at, key, v)
		}
	}
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
