package engine

import (
	"encoding/json"

	"github.com/toolpost/toolpost/llm"
)

// saidInEnvelope reads {"type": "text", "text": "…"}, which a model writes when
// its answer must match a schema, as the text inside. It does so only at the
// beginning of an answer, so that JSON in ordinary text stays as it is.
func (m *machine) saidInEnvelope() bool {
	if m.offset() != m.first && !(m.hint.meets(m.lex.whole) && m.atLine()) {
		return false
	}
	n := m.saidAt()
	if n == 0 {
		return false
	}
	m.skip(n, "envelope")
	for m.more() && m.buf[m.pos] != '"' {
		if m.buf[m.pos] == '\\' {
			m.escapedText()
		} else {
			m.pos++
		}
	}
	if m.more() {
		m.skip(1, `"`)
	}
	if end := m.spaces(0); m.peek(end) == '}' {
		m.skip(end+1, "envelope")
	}
	return true
}

// saidAt returns the length of what stands here before the text of an answer
// that is one JSON value, white space in it aside; 0 if there is none.
func (in *input) saidAt() int {
	for _, tokens := range in.lex.said {
		n := 0
		for k, t := range tokens {
			if n = in.spaces(n); !in.hasAt(n, t) {
				break
			}
			if n += len(t); k == len(tokens)-1 {
				return n
			}
		}
	}
	return 0
}

// escapedText reads an escape of a JSON string as text, two if they are the
// halves of one character. What is no escape stays as it is.
func (m *machine) escapedText() {
	n := m.escapeLength(0)
	if first := m.buf[m.pos : m.pos+n]; n == 6 && (first[2] == 'd' || first[2] == 'D') && m.peek(6) == '\\' && m.escapeLength(6) == 6 {
		n = 12
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(m.buf[m.pos:m.pos+n])+`"`), &s) != nil {
		m.pos += n
		return
	}
	m.passOn()
	m.mark(TextSpan, n, "escape")
	m.emit(llm.TextDelta{Text: s})
	m.take(n)
}

// escapeLength returns the length of the escape i bytes from here, as far as
// the answer goes.
func (in *input) escapeLength(i int) int {
	want := 2
	if in.peek(i+1) == 'u' {
		want = 6
	}
	n := 1
	for n < want && in.at(i+n) {
		n++
	}
	return n
}
