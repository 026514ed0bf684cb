package dialect

import (
	"encoding/json"
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// Markup is what the model wrote of the call with that id, whose event follows.
// It comes if [Parser.Markup] is set.
type Markup struct {
	ID string `json:"id"`
	// Start is where it begins, in bytes from the beginning of the answer.
	Start int `json:"start"`
	// Text begins with the marker before the call, if it has one of its own,
	// and ends with the call. Of a long call it is the beginning.
	Text string `json:"text"`
	// Opener is the marker around the list that the call stands in, if it has
	// none of its own.
	Opener string `json:"opener,omitempty"`
}

// EventType returns "markup".
func (Markup) EventType() string { return "markup" }

// emitMarkup passes on what the model wrote of the call that has been read.
func (m *machine) emitMarkup() {
	if !m.p.Markup {
		return
	}
	m.keepHead()
	text := m.call.head
	if text == nil {
		text = m.buf[m.call.start-m.base : m.pos]
	}
	opener := ""
	if m.call.marked && m.openAt < m.call.start && (text[0] == '{' || isNameStart(text[0])) {
		opener = m.openText
	}
	m.emit(Markup{ID: m.call.id, Start: m.call.start, Text: string(text), Opener: opener})
}

// promotes reports whether what fits the given dialects may be a call.
func (m *machine) promotes(rows uint64) bool {
	marked := m.marked || m.loose
	switch {
	case !m.p.Marked:
		return true
	case m.hint == 0:
		return marked
	}
	return rows&m.hint != 0 && (marked || !writesMarker(m.p.Dialect))
}

// markerWriters remembers what writesMarker found out, by dialect.
var markerWriters sync.Map

// writesMarker reports whether a dialect writes its calls with markers. It is
// found out by writing a call and reading it.
func writesMarker(name string) bool {
	if known, ok := markerWriters.Load(name); ok {
		return known.(bool)
	}
	marked := false
	text, err := Render(name, llm.Call{Name: "ping", Args: json.RawMessage(`{"a":1}`)})
	p := Parser{Tools: []llm.ToolDef{{Name: "ping", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}, Dialect: name}
	for ev := range p.Parse(Whole(text)) {
		if c, ok := ev.(llm.Call); ok && err == nil {
			marked = c.Provenance.Marked
		}
	}
	markerWriters.Store(name, marked)
	return marked
}
