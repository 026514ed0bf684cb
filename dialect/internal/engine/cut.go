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

// cutShort handles a guess that failed because the answer was cut off in it,
// before anything was certain. Behind a marker that is the beginning of a
// call, and without one if the name is already there and was offered. What may
// be a call begins at from; body is where the last marker of the guess ends,
// negative if it read none, and rows are the dialects it fits.
func (m *machine) cutShort(from, body int, rows rowSet) bool {
	if !m.eof || m.stop || !m.truncated() {
		return false
	}
	name, ok := m.cutName(m.buf[max(body, from)-m.base:], body >= 0, rows)
	if !ok || !m.promotes(rows) {
		return false
	}
	m.skip(from-m.offset(), "end of call")
	m.cutOff(name, rows)
	return true
}

// cutOff makes an invalid call of the rest of the answer.
func (m *machine) cutOff(name string, rows rowSet) {
	m.rows = rows
	m.calls++
	name, _ = m.names.resolve(strings.TrimRight(bareID(name), ".:"))
	raw := m.buf[m.pos:]
	m.passOn()
	m.emit(llm.InvalidCall{
		ID: m.ids.Take(""), Name: name, Raw: string(raw[:min(len(raw), maxRaw)]), Reason: llm.CutOff,
		Problem:    "the answer was cut off in the middle of this call",
		Provenance: llm.Provenance{Dialect: m.dialect(), Marked: m.marked, Truncated: true},
	})
	m.read(ArgsSpan, len(raw), "cut off")
}

// cutName reports whether rest, which ends the answer, may be the beginning of
// a call, and what there is of its name.
func (m *machine) cutName(rest []byte, entered bool, rows rowSet) (name string, ok bool) {
	rest = bytes.TrimLeft(rest, " \t\r\n,;`")
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("json")), " \t\r\n")
	inside := m.marked && (entered || m.depth > 0)
	switch {
	case len(rest) == 0:
		return "", m.marked && entered
	case rest[0] == '{', rest[0] == '[' && (len(rest) == 1 || !isNameStart(rest[1])):
		name, ok = nameInJSON(rest)
		return name, ok && (inside || name != "" && m.names.offered(name)) || inside && m.markupAt(rest)
	case rest[0] == '[':
		rest = rest[1:]
	case m.markupAt(rest):
		t, _ := m.match(m.indexOf(rest))
		return "", inside && !t.is(closes) && !t.is(endCall) && !bytes.HasPrefix(rest, []byte("</"))
	}
	n := 0
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	name = string(rest[:n])
	after := bytes.TrimLeft(rest[n:], " \t\r\n`")
	if len(after) > 0 && !m.markupAt(after) || n == 0 || !inside {
		return "", false
	}
	if t, k := m.match(m.indexOf(after)); t.is(separates) && rows.meets(m.lex.kindFirst) {
		return m.cutName(after[k:], entered, rows)
	}
	return name, m.names.mayBecome(name) || rows.only(m.lex.idFirst) || strings.HasPrefix("call:", name)
}

// indexOf returns where rest, the end of the answer, begins from here.
func (m *machine) indexOf(rest []byte) int { return len(m.buf) - m.pos - len(rest) }

// markupAt reports whether rest, the end of the answer, begins with a marker
// or is the beginning of one.
func (m *machine) markupAt(rest []byte) bool {
	if len(rest) == 0 || isLetter(rest[0]) {
		return false
	}
	i := m.indexOf(rest)
	_, n := m.match(i)
	return n > 0 || len(rest) == 1 && m.lex.tree.child(rest[0]) != nil || m.partialMarker(i)
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
	if !m.eof || !m.partialMarker(i) || isLetter(m.buf[m.pos+i]) {
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
func (m *machine) markersFrom(i int) rowSet {
	at := m.lex.tree
	for j := i; at != nil && m.at(j); {
		c, width := m.folded(j)
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
	for _, next := range n.next {
		rows = rows.or(next.opening())
	}
	return rows
}
