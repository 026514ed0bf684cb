// Package engine reads the calls in the text of an answer. It knows forms, not
// dialects: what differs between dialects it reads from the rows of a table.
package engine

import (
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
	// Markup, that of the markup after it. Nil means that there is no such event.
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

// Policy tells what to do with calls inside thinking.
type Policy uint8

// The policies, in the order of those of package dialect.
const (
	PromoteIfUnterminated Policy = iota
	Ignore
	Promote
)

// Span tells what became of a stretch of the input.
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
