// Package engine reads the calls in the text of an answer. It knows forms, not
// dialects: what differs between dialects it reads from the rows of a table.
package engine

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// Options are those of dialect.Parser.
type Options struct {
	Tools        []llm.ToolDef
	Dialect      string
	ThinkingOpen bool
	ThinkingOff  bool
	Thinking     Policy
	Marked       bool
	// Markup makes the event that comes before a call, and Closing, which needs
	// Markup, that of the markup behind it. Nil means that there is no such event.
	Markup  func(Markup) llm.Event
	Closing func(text string) llm.Event
	Finish  func() llm.Reason
	Trace   func(Span)
	MaxCall int
}

// Markup is that of package dialect.
type Markup struct {
	ID           string
	Start        int
	Before, Text string
	Said         int
	Opener       string
}

// Policy says what to do with calls inside thinking.
type Policy uint8

// The policies, in the order of those of package dialect.
const (
	PromoteIfUnterminated Policy = iota
	Ignore
	Promote
)

// Span says what became of a stretch of the input.
type Span struct {
	Start, End int
	Kind       SpanKind
	Dialect    string
	Rule       string
}

// SpanKind is what a stretch of input became.
type SpanKind uint8

// The kinds of spans, in the order of those of package dialect.
const (
	TextSpan SpanKind = iota
	ThinkingSpan
	MarkerSpan
	NameSpan
	ArgsSpan
)

// Rows returns the rows of the table, which must not be changed.
func (x *Lexicon) Rows() []spec.Dialect { return x.rows }

// BeginsInThinking reports whether a whole answer closes a thinking block that
// it never opened: then the prompt held the opener.
func (x *Lexicon) BeginsInThinking(text string) bool {
	const ahead = 4 << 10 // no marker is longer
	m := input{lex: x, eof: true}
	open, called := 0, -1 // called is where the last call ended
	for pos := 0; pos < len(text); {
		if c := text[pos]; isLetter(c) || x.tree.child(c) == nil && x.triggers[c] != anywhere {
			pos++
			continue
		}
		if m.pos = pos - m.base; m.pos+ahead > len(m.buf) && m.base+len(m.buf) < len(text) { // a part of the text at a time
			m.base, m.pos = pos, 0
			m.buf = append(m.buf[:0], text[pos:min(len(text), pos+16*ahead)]...)
		}
		t, n := m.match(0)
		switch {
		case t.is(heads) && strings.TrimSpace(text[:pos]) == "":
			return false // headers say what is thinking
		case t.is(thinks) && !t.line && !t.atStart:
			open++
		case t.is(unthinks) && !t.is(drops) && !t.line:
			if called < 0 || strings.TrimSpace(text[called:pos]) != "" || strings.TrimSpace(text[pos+n:]) != "" {
				open-- // else it only follows the last call
			}
		case t.is(closes) || t.is(endCall):
			called = pos + n
		}
		pos += max(n, 1)
	}
	return open < 0
}
