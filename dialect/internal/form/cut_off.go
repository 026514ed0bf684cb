package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/llm"
)

// cutShort handles a failed guess if the answer was cut off in it. After a marker, the text is the beginning of a call.
// Without a marker, it is a call only if it contains the name of an offered tool. At a break it is text, because other
// output followed and the text may continue.
func (m cutReader) cutShort(f engine.Failure) bool {
	if !f.Starved || !m.Eof || m.Broken || m.Stopped || !m.Truncated() {
		return false
	}
	entered := f.Body >= 0
	c := cutter{m: m.answer, rows: f.Rows, entered: f.Marked && entered, inside: f.Marked && (entered || m.Depth > 0)}
	name, ok := c.name(m.Buf[max(f.Body, f.From)-m.Base:])
	if !ok || judge.Decide(&m.Evidence, judge.Candidate{Stage: judge.Named, Rows: f.Rows, Marked: f.Marked || f.Loose}).Result == judge.IsText {
		return false
	}
	m.Marked = f.Marked
	m.Skip(f.From-m.Offset(), "end of call")
	m.cutOff(name, f.Rows)
	return true
}

// cutOff makes an invalid call of the rest of the answer.
func (m cutReader) cutOff(name string, rows lexicon.RowSet) {
	m.Rows = rows
	m.Calls++
	name, _ = m.Names.Resolve(strings.TrimRight(bareID(name), ".:"))
	raw := m.Buf[m.Pos:]
	m.PassOn()
	*m.NewCall() = engine.Call{Id: m.Ids.Take(""), Name: name, Marked: m.Marked, Start: m.Offset()}
	m.Leave(llm.CutOff, engine.CutProblem, string(raw[:min(len(raw), engine.MaxRaw)]))
	m.Covers = append(m.Covers, judge.Extent{Start: m.Offset(), End: m.Offset() + len(raw)})
	m.Read(engine.ArgsSpan, len(raw), "cut off")
}

// cutter examines the end of an answer that was cut off.
type cutter struct {
	m       *answer
	rows    lexicon.RowSet // the possible dialects of the guess
	entered bool           // a marker for calls was read
	inside  bool           // entered, or a marker around the calls is open
}

// name reports whether rest, the end of the answer, may be the beginning of a call. It returns the part of the name
// that was written.
func (c *cutter) name(rest []byte) (name string, ok bool) {
	m := c.m
	rest = bytes.TrimLeft(rest, " \t\r\n,;`")
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("json")), " \t\r\n")
	switch {
	case len(rest) == 0:
		return "", c.entered
	case rest[0] == '{', rest[0] == '[' && (len(rest) == 1 || !chars.IsNameStart(rest[1])):
		return c.inJSON(rest)
	case rest[0] == '[':
		rest = rest[1:]
	case m.asCut().markupAt(rest):
		t, _ := m.Match(m.asCut().indexOf(rest))
		return "", c.inside && !t.Is(lexicon.Closes) && !t.Is(lexicon.EndCall) && !bytes.HasPrefix(rest, []byte("</"))
	}
	return c.word(rest)
}

// inJSON is name for the beginning of JSON.
func (c *cutter) inJSON(rest []byte) (name string, ok bool) {
	name, ok = values.NameInJSON(rest)
	if ok && (c.inside || name != "" && c.m.Names.Offered(name)) {
		return name, true
	}
	return name, c.inside && c.m.asCut().markupAt(rest)
}

// word is name for a single word, which only a marker may follow.
func (c *cutter) word(rest []byte) (name string, ok bool) {
	m, n := c.m, 0
	for n < len(rest) && chars.IsNameByte(rest[n]) {
		n++
	}
	name = string(rest[:n])
	after := bytes.TrimLeft(rest[n:], " \t\r\n`")
	if len(after) > 0 && !m.asCut().markupAt(after) || n == 0 || !c.inside {
		return "", false
	}
	if t, k := m.Match(m.asCut().indexOf(after)); t.Is(lexicon.Separates) && c.rows.Meets(m.Lex.KindFirst) {
		return c.name(after[k:])
	}
	return name, m.Names.MayBecome(name) || c.rows.Only(m.Lex.IdFirst) || strings.HasPrefix(bracePrefix, name)
}

// indexOf returns the distance from the current position to rest, the end of the answer.
func (m cutReader) indexOf(rest []byte) int { return len(m.Buf) - m.Pos - len(rest) }

// markupAt reports whether rest, the end of the answer, begins with a marker or is the beginning of a marker.
func (m cutReader) markupAt(rest []byte) bool {
	if len(rest) == 0 || chars.IsLetter(rest[0]) {
		return false
	}
	i := m.indexOf(rest)
	_, n := m.Match(i)
	return n > 0 || len(rest) == 1 && m.Lex.Tree.Child(rest[0]) != nil || m.PartialMarker(i)
}

// cutMarker skips the incomplete marker i bytes from here that ends the answer. Text may end like a marker by chance,
// so it must contain a byte that is not in words, or follow a call (behind is true) in an answer that was cut off.
func (m cutReader) cutMarker(i int, behind bool) bool {
	if !m.Eof || m.Broken || !m.PartialMarker(i) || chars.IsLetter(m.Buf[m.Pos+i]) {
		return false
	}
	rest := m.Buf[m.Pos+i:]
	telling := m.Literal(i, "<|") > 0 || !m.Names.None && (rest[0] == ']' || rest[0] >= 0x80 || bytes.ContainsAny(rest, "_:="))
	if !telling && !(behind && m.Truncated()) {
		return false
	}
	m.Lost.Add(m.markersFrom(i), m.Offset()+i, judge.CutMarker)
	m.Skip(len(m.Buf)-m.Pos, "cut marker")
	return true
}

// markersFrom returns the dialects with a marker for calls that begins with the rest of the answer from the i-th byte.
func (m cutReader) markersFrom(i int) lexicon.RowSet {
	at := m.Lex.Tree
	for j := i; at != nil && m.At(j); {
		c, width := m.Folded(j)
		at = at.Child(c)
		j += width
	}
	return at.Opening()
}
