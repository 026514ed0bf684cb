package form

import (
	"encoding/json"

	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/llm"
)

// saidInEnvelope reads {"type": "text", "text": "…"} as the text in it. A model writes such an object if its answer
// must match a schema. The reader accepts it only at the beginning of an answer, so JSON in ordinary text stays
// unchanged.
func (m envelopeReader) saidInEnvelope() bool {
	if m.Offset() != m.First && !(m.Hint.Meets(m.Lex.Whole) && m.AtLine()) {
		return false
	}
	n := m.saidAt()
	if n == 0 {
		return false
	}
	m.Skip(n, "envelope")
	for m.More() && m.Buf[m.Pos] != '"' {
		if m.Buf[m.Pos] == '\\' {
			m.escapedText()
		} else {
			m.Pos++
		}
	}
	if m.More() {
		m.Skip(1, `"`)
	}
	if end := m.Spaces(0); m.Peek(end) == '}' {
		m.Skip(end+1, "envelope")
	}
	return true
}

// saidAt returns the length of the JSON before the text of an answer that is one JSON value, 0 if there is none. White
// space in the JSON may vary.
func (m envelopeReader) saidAt() int {
	for _, tokens := range m.Lex.Said {
		n := 0
		for k, t := range tokens {
			if n = m.Spaces(n); !m.HasAt(n, t) {
				break
			}
			if n += len(t); k == len(tokens)-1 {
				return n
			}
		}
	}
	return 0
}

// escapedText reads an escape in a JSON string as text. It reads two escapes if they are a surrogate pair. An invalid
// escape stays unchanged.
func (m envelopeReader) escapedText() {
	n := m.escapeLength(0)
	if first := m.Buf[m.Pos : m.Pos+n]; n == 6 && (first[2] == 'd' || first[2] == 'D') && m.Peek(6) == '\\' && m.escapeLength(6) == 6 {
		n = 12
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(m.Buf[m.Pos:m.Pos+n])+`"`), &s) != nil {
		m.Pos += n
		return
	}
	m.PassOn()
	m.Mark(engine.TextSpan, n, "escape")
	m.Emit(llm.TextDelta{Text: s})
	m.Take(n)
}

// escapeLength returns the length of the escape i bytes from here. It is shorter at the end of the answer.
func (m envelopeReader) escapeLength(i int) int {
	want := 2
	if m.Peek(i+1) == 'u' {
		want = 6
	}
	n := 1
	for n < want && m.At(i+n) {
		n++
	}
	return n
}

// data reads JSON that is not a call, up to its end, as text. A model that answers with data may name a tool in it, as
// in {"plan": [{"tool": "f", "args": {}}]}. Values inside the data are part of it and not calls. The first byte that is
// not valid JSON ends the data and is read like any other text.
func (m envelopeReader) data(c byte) bool {
	if m.Mode != judge.InText || len(m.Tries) > 0 || m.Names.None || !m.BeginsData(c) {
		return false
	}
	d := m.answer.data
	if d == nil {
		d = new(judge.Data)
		m.answer.data = d
	}
	for d.Begin(&m.Evidence); !d.Ended() && m.Flows(0, d.Flow); {
		d.Read()
	}
	d.End()
	return true
}
