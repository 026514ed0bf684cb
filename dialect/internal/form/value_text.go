package form

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// value describes how to read a value between tags.
type value struct {
	types schema.Types // the types that it may have
	trim  spec.Text
	end   *lexicon.Token // the tag that opened it, which determines the tags that end it
	known bool           // the types come from a schema or from the tag
	// quotes reports whether quotes around the whole text are not part of the value, json whether text in quotes is
	// JSON.
	quotes, json bool
	quoted       int // number of open elements with the same tag in the text
	// nameText reports whether the name of the parameter was the text of an element, so no tag ends the value.
	nameText bool
}

// takesList reports whether the value must be a list.
func (v *value) takesList() bool { return v.known && v.types&^schema.Null == schema.Array }

// sink writes the text of a value as JSON into the arguments: immediately if it can only be a string, otherwise when it
// is complete.
type sink struct {
	m *answer
	value
	raw      []byte           // the text so far, until quoting
	blank    int              // white space at the beginning of raw
	pend     []byte           // white space that may be trimmed, or part of a rune
	quoting  bool             // the value is a string, and its opening quote was written
	passed   int              // number of bytes not taken yet that are known to be text
	unended  bool             // its end tag is missing, so a final newline is not part of it
	lead     bool             // it begins on a line of its own, so the newline before its end tag is not part of it
	lines    bool             // it has several lines
	entities *values.Entities // set if entities in the value are replaced
	closers  int              // maximum number of final closing brackets that may not be part of it
}

// noteEntities records that entities in a value that begins at the offset start were replaced. Where the writer of the
// dialect does not escape its values, they may belong to the text.
func (m *answer) noteEntities(start int) {
	class := llm.Guess
	if m.Rows.Meets(m.Lex.Elements) {
		class = llm.Syntax
	}
	m.Repair("xml-entities", class, start, m.Offset())
}

// add adds the next bytes of the value.
func (s *sink) add(p []byte) {
	if s.quoting {
		s.write(p)
		return
	}
	s.raw = append(s.raw, p...)
	for s.blank < len(s.raw) && chars.IsSpace(s.raw[s.blank]) {
		s.blank++
	}
	if s.stringFor(s.raw, s.raw[s.blank:]) {
		s.quoting = true
		s.m.Arg(`"`)
		raw := s.raw
		s.raw = nil
		s.write(s.head(raw))
	}
}

// stringFor reports whether a value that begins with raw can only be a string. text is raw without its leading white
// space.
func (s *sink) stringFor(raw, text []byte) bool {
	if s.quotes && s.types&schema.String != 0 && len(raw) < 64 && bytes.HasPrefix(raw, []byte{'"'}) {
		return bytes.IndexByte(raw[1:], '"') >= 0 && raw[len(raw)-1] != '"'
	}
	if s.json && (len(text) == 0 || text[0] == '"') {
		return false
	}
	if s.types == schema.String {
		return len(raw) > 1 && s.trim == spec.OneLine || len(text) > 0 && s.isHead(raw, text) || s.trim == spec.Literal || s.trim == spec.Verbatim
	}
	return s.types&schema.String != 0 && len(text) > 0 && !values.MayBegin(s.types, text) && s.isHead(raw, text)
}

// isHead reports whether it is known how much white space before the text is not part of the value: one with several
// lines keeps its indentation.
func (s *sink) isHead(raw, text []byte) bool {
	blank := len(raw) - len(text)
	return s.trim != spec.Trimmed || blank == 0 || blank == 1 && raw[0] == '\n' || hasLines(text) || len(text) > maxFeed
}

// hasLines reports whether text has several lines, without the white space at its end.
func hasLines(text []byte) bool { return bytes.IndexByte(bytes.TrimRight(text, " \t\r\n"), '\n') >= 0 }

// head removes the leading bytes that are not part of a value in the dialect. p is the whole value, or as much as shows
// whether it has several lines.
func (s *sink) head(p []byte) []byte {
	switch s.trim {
	case spec.OneLine:
		return bytes.TrimPrefix(bytes.TrimPrefix(p, []byte("\r")), []byte("\n"))
	case spec.Trimmed:
		text := bytes.TrimLeft(p, " \t\r\n")
		line := bytes.IndexByte(p[:len(p)-len(text)], '\n') + 1
		if s.lead = line > 0; !hasLines(text) && len(text) <= maxFeed {
			return text
		}
		return p[line:]
	}
	return p
}

// tail returns the number of bytes at the end of p that may have to be trimmed, or are an incomplete rune.
func (s *sink) tail(p []byte) int {
	switch n := len(p); {
	case n == 0 || s.closers == 0 && p[n-1] > ' ' && p[n-1] < utf8.RuneSelf:
		return 0
	case s.trim == spec.Trimmed:
		if blank := n - len(bytes.TrimRight(p, " \t\r\n")); blank > 0 {
			return blank
		}
	case n > 1 && p[n-1] == '\n' && p[n-2] == '\r':
		return 2
	case p[n-1] == '\n' || p[n-1] == '\r':
		return 1
	}
	if n := s.closing(p); n > 0 && n <= maxHeldClosing {
		return n
	}
	for i := 1; i <= 3 && i <= len(p); i++ {
		if c := p[len(p)-i]; c >= 0xC0 {
			if !utf8.FullRune(p[len(p)-i:]) {
				return i
			}
			return 0
		} else if c < 0x80 {
			return 0
		}
	}
	return 0
}

// blankEnd reports whether the pending bytes are white space and not part of a rune.
func (s *sink) blankEnd() bool { return len(s.pend) == 0 || chars.IsSpace(s.pend[0]) }

// write adds text to the string.
func (s *sink) write(p []byte) {
	if s.trim == spec.Trimmed && s.blankEnd() && len(bytes.TrimLeft(p, " \t\r\n")) == 0 {
		s.pend = append(s.pend, p...) // each byte is checked only once
		return
	}
	switch {
	case len(s.pend) == 0:
	case s.blankEnd() && string(p) != "\n": // a newline may continue a pending carriage return
		s.escape(s.pend)
		s.pend = s.pend[:0]
	default:
		p = append(s.pend, p...)
	}
	n := len(p) - s.tail(p)
	s.escape(p[:n])
	if n < len(p) || len(s.pend) > 0 {
		s.pend = append(s.pend[:0], p[n:]...)
	}
}

// escape writes text to the arguments.
func (s *sink) escape(p []byte) {
	s.lines = s.lines || bytes.IndexByte(p, '\n') >= 0
	s.m.Escape(p)
}

// end returns the part of the white space before the end tag that belongs to the value. In a Trimmed dialect, a value with
// several lines ends before the last newline if it begins on a line of its own, and after it if not.
func (s *sink) end(p []byte) []byte {
	switch line := bytes.LastIndexByte(p, '\n'); {
	case s.trim == spec.Trimmed && (!s.lines || s.unended):
		return nil
	case line < 0 || s.trim != spec.Trimmed && s.trim != spec.OneLine && !s.unended:
		return p
	case s.lead || s.unended || s.trim == spec.OneLine:
		return bytes.TrimSuffix(p[:line], []byte("\r"))
	default:
		return p[:line+1]
	}
}

// close ends the value.
func (s *sink) close() {
	if s.quoting {
		if s.blankEnd() {
			s.pend = s.end(s.pend)
		}
		s.m.Escape(s.pend)
		s.m.Arg(`"`)
		return
	}
	raw := s.head(s.raw)
	if n := len(raw) - s.tail(raw); n < len(raw) && chars.IsSpace(raw[n]) {
		s.lines = bytes.IndexByte(raw[:n], '\n') >= 0
		raw = raw[:n+len(s.end(raw[n:]))]
	}
	if s.quotes && len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw[1:], '"') == len(raw)-2 {
		raw, s.types = raw[1:len(raw)-1], schema.String
	}
	if v := bytes.TrimSpace(raw); s.json && len(v) > 0 && v[0] == '"' && json.Valid(v) {
		s.m.ArgBytes(v)
		return
	}
	s.m.Arg(string(values.Typed(s.types, string(raw))))
}

// Closing brackets at the end of a string are held until its delimiter arrives. If the delimiter is missing, they do not
// belong to the string. These constants bound their number, and the bytes held including white space.
const (
	maxClosers     = 4
	maxHeldClosing = 64
)

// closing returns the length of the closing brackets at the end of p, at most as many as are open around the string,
// with the white space between them.
func (s *sink) closing(p []byte) int {
	end := len(p)
	for n := 0; n < s.closers; n++ {
		rest := bytes.TrimRight(p[:end], " \t\r\n")
		if len(rest) == 0 || rest[len(rest)-1] != '}' && rest[len(rest)-1] != ']' {
			break
		}
		end = len(rest) - 1
	}
	return len(p) - end
}
