package wire

import (
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Members of answers that nobody knows are extra fields of the part or the call they stand in, or else of the end of the
// answer, under the place of their object; see nested.go. The place of an object of a stream begins with the name of its
// event, like "/content_block_delta/delta": if there is no such place in what is written at the end, the client is told.
// What events say about the answer again and again is kept once.

// stray is a member of the events of a stream, and the place of the object it stands in.
type stray struct{ at, name string }

// maxStrays bounds those of one answer.
const maxStrays = 64

// moreStrays stands for those beyond the bound.
var moreStrays = stray{nestedMark + "events", "more members"}

// strays keeps the members of an object that are not read, where at is its place and prefix says in which part of the
// answer that is. Those that are known may have their words joined by underscores, or not.
func (a *answer) strays(prefix, at string, v []byte, known ...string) {
	if js.Kind(v) != '{' {
		return
	}
	for key, val := range js.Members(v) {
		if !slices.ContainsFunc(known, func(k string) bool { return k == string(key) || k == string(camel(key)) }) {
			a.stray(prefix+at, key, val)
		}
	}
}

// stray keeps a member of the object at a place.
func (a *answer) stray(at string, key, v []byte) {
	if js.Kind(v) == 'n' {
		return
	}
	s := stray{at, string(key)}
	if !a.entire {
		if slices.Contains(a.strayed, s) || len(a.strayed) > maxStrays {
			return
		}
		if len(a.strayed) == maxStrays {
			s, v = moreStrays, []byte("true")
		}
		a.strayed = append(a.strayed, s)
	}
	a.extraNamed(&a.finish.Extra, s.at+nestedMark+pointerEscape.Replace(s.name), v)
}

// lostCall keeps what only the format knows about a call that must not be run: it is told without that.
func (a *answer) lostCall(p *pending) {
	const at = nestedMark + "invalid call"
	for key, v := range p.extra[a.c.Format] {
		a.stray(at, []byte(key), v)
	}
	for key, v := range js.Members(p.state.Data) {
		if !slices.Contains(stateMembers, string(key)) {
			a.stray(at, key, v)
		}
	}
}

// keepUsage keeps what only the format knows about the usage, with what earlier events of a stream said of it.
func (d *decoder) keepUsage(f *llm.Finish, key string, rest []byte) {
	if rest == nil {
		return
	}
	old := f.Extra[d.c.Format][key]
	var both fields
	for name, v := range js.Members(old) {
		if js.Get(rest, string(name)) == nil {
			both.add(name, v)
		}
	}
	if both.w.Buf != nil {
		for name, v := range js.Members(rest) {
			both.add(name, v)
		}
		rest = both.object()
	}
	d.extraNamed(&f.Extra, key, rest)
}
