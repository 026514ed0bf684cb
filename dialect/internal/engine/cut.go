package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// failure is what is known from a guess that failed.
type failure struct {
	from    int    // offset of what may be a call
	body    int    // offset behind its last marker, negative if it read none
	rows    rowSet // the dialects it fits
	marked  bool   // a marker says that it is a call
	loose   bool   // see region
	starved bool   // the answer ended in it
}

// cutShort handles a guess that failed because the answer was cut off in it,
// before anything was certain. Behind a marker that is the beginning of a
// call, and without one if the name is already there and was offered. At a
// break it is text: something else followed, and the text may go on.
func (m *machine) cutShort(f failure) bool {
	if !f.starved || !m.eof || m.broken || m.stop || !m.truncated() {
		return false
	}
	entered := f.body >= 0
	c := cutter{m: m, rows: f.rows, entered: f.marked && entered, inside: f.marked && (entered || m.depth > 0)}
	name, ok := c.name(m.buf[max(f.body, f.from)-m.base:])
	if !ok || !m.promotes(f.rows, f.marked || f.loose) {
		return false
	}
	m.marked = f.marked
	m.skip(f.from-m.offset(), "end of call")
	m.cutOff(name, f.rows)
	return true
}

// cutOff makes an invalid call of the rest of the answer.
func (m *machine) cutOff(name string, rows rowSet) {
	m.rows = rows
	m.calls++
	name, _ = m.names.resolve(strings.TrimRight(bareID(name), ".:"))
	raw := m.buf[m.pos:]
	m.passOn()
	*m.newCall() = call{id: m.ids.Take(""), name: name, marked: m.marked, start: m.offset()}
	m.leave(llm.CutOff, cutProblem, string(raw[:min(len(raw), maxRaw)]))
	m.covers = append(m.covers, extent{m.offset(), m.offset() + len(raw)})
	m.read(ArgsSpan, len(raw), "cut off")
}

// cutter looks at the end of an answer that was cut off.
type cutter struct {
	m       *machine
	rows    rowSet // the dialects that the guess fits
	entered bool   // a marker for calls was read
	inside  bool   // it was, or stands around the calls
}

// name reports whether rest, which ends the answer, may be the beginning of a
// call, and what there is of its name.
func (c *cutter) name(rest []byte) (name string, ok bool) {
	m := c.m
	rest = bytes.TrimLeft(rest, " \t\r\n,;`")
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("json")), " \t\r\n")
	switch {
	case len(rest) == 0:
		return "", c.entered
	case rest[0] == '{', rest[0] == '[' && (len(rest) == 1 || !isNameStart(rest[1])):
		return c.inJSON(rest)
	case rest[0] == '[':
		rest = rest[1:]
	case m.markupAt(rest):
		t, _ := m.match(m.indexOf(rest))
		return "", c.inside && !t.is(closes) && !t.is(endCall) && !bytes.HasPrefix(rest, []byte("</"))
	}
	return c.word(rest)
}

// inJSON is name for the beginning of JSON.
func (c *cutter) inJSON(rest []byte) (name string, ok bool) {
	name, ok = nameInJSON(rest)
	if ok && (c.inside || name != "" && c.m.names.offered(name)) {
		return name, true
	}
	return name, c.inside && c.m.markupAt(rest)
}

// word is name for a word, which must be all there is but for a marker.
func (c *cutter) word(rest []byte) (name string, ok bool) {
	m, n := c.m, 0
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	name = string(rest[:n])
	after := bytes.TrimLeft(rest[n:], " \t\r\n`")
	if len(after) > 0 && !m.markupAt(after) || n == 0 || !c.inside {
		return "", false
	}
	if t, k := m.match(m.indexOf(after)); t.is(separates) && c.rows.meets(m.lex.kindFirst) {
		return c.name(after[k:])
	}
	return name, m.names.mayBecome(name) || c.rows.only(m.lex.idFirst) || strings.HasPrefix(bracePrefix, name)
}

// indexOf returns where rest, the end of the answer, begins from here.
func (in *input) indexOf(rest []byte) int { return len(in.buf) - in.pos - len(rest) }

// markupAt reports whether rest, the end of the answer, begins with a marker
// or is the beginning of one.
func (in *input) markupAt(rest []byte) bool {
	if len(rest) == 0 || isLetter(rest[0]) {
		return false
	}
	i := in.indexOf(rest)
	_, n := in.match(i)
	return n > 0 || len(rest) == 1 && in.lex.tree.child(rest[0]) != nil || in.partialMarker(i)
}

// nameInJSON returns the name in the beginning of a call, or of a list of
// calls. It reports false if rest is not the beginning of JSON, or is whole.
func nameInJSON(rest []byte) (name string, ok bool) {
	var r jsonfix.Reader
	r.FeedBytes(rest)
	if r.Done() || r.Err() != nil {
		return "", false
	}
	var v any
	if r.Close() == nil && json.Unmarshal(r.Value(), &v) == nil {
		name = nameIn(v)
	}
	return name, true
}

// nameIn returns the name of the last call in a JSON value.
func nameIn(v any) string {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			return nameIn(v[len(v)-1])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			value := v[k]
			if s, ok := value.(string); ok && (keys[k] == nameRole || keys[k] == bothRole) {
				return s
			}
			if keys[k] == listRole || keys[k] == bothRole {
				return nameIn(value)
			}
		}
	}
	return ""
}

// cutMarker passes over the beginning of a marker with which the answer ends,
// i bytes from here, where no whole one stands. Text may end like that by chance, so the beginning must
// hold a byte that no word has, or stand right behind a call that was cut off.
func (m *machine) cutMarker(i int, behind bool) bool {
	if !m.eof || m.broken || !m.partialMarker(i) || isLetter(m.buf[m.pos+i]) {
		return false
	}
	rest := m.buf[m.pos+i:]
	telling := m.literal(i, "<|") > 0 || !m.names.none && (rest[0] == ']' || rest[0] >= 0x80 || bytes.ContainsAny(rest, "_:="))
	if !telling && !(behind && m.truncated()) {
		return false
	}
	m.lost.add(m.markersFrom(i), m.offset()+i)
	m.skip(len(m.buf)-m.pos, "cut marker")
	return true
}

// markersFrom returns the dialects with a marker for calls that begins like
// the rest of the answer from the i-th byte.
func (in *input) markersFrom(i int) rowSet {
	at := in.lex.tree
	for j := i; at != nil && in.at(j); {
		c, width := in.folded(j)
		at = at.child(c)
		j += width
	}
	return at.opening()
}

// opening returns the dialects in which a marker below n begins calls.
func (n *node) opening() (rows rowSet) {
	if n == nil {
		return rows
	}
	if n.token != nil {
		rows = n.token.in(opens)
	}
	for i := range n.next {
		rows = rows.or(n.next[i].opening())
	}
	return rows
}
