// Package engine reads the calls in the text of an answer. It does not know individual dialects: their differences are
// rows of a table, the lexicon.
//
// A [Feed] adds the chunks of an answer and yields its events. Readers of text and thinking are in this package; the
// readers of calls, one per form, are in package form and connected by [Forms]. A reader that is not sure whether it
// reads a call does so in a try: until the try is committed, no event leaves, and an undo goes back to where it began.
package engine

import (
	"github.com/toolpost/toolpost/llm"
)

// Options configure a [Feed]. The fields correspond to those of dialect.Parser.
type Options struct {
	Tools        []llm.ToolDef
	Dialect      string
	ThinkingOpen bool
	ThinkingOff  bool
	Thinking     Policy
	Marked       bool
	Mentions     bool
	// Markup returns the event for the markup of a call, which precedes the call. Closing returns the event for the
	// markup after calls; it requires Markup. A nil function disables its event.
	Markup  func(Markup) llm.Event
	Closing func(text string) llm.Event
	Finish  func() llm.Reason
	// Suspected is told the offsets of text that looks like a call and stayed text.
	Suspected func(at int)
	Trace     func(Span)
	MaxCall   int
}

// Markup has the fields of dialect.Markup, which package dialect makes of it.
type Markup struct {
	ID           string
	Start        int
	Before, Text string
	Said         int
	Opener       string
}

// Policy determines what happens to calls inside thinking.
type Policy uint8

// The policies, in the order of package dialect.
const (
	PromoteIfUnterminated Policy = iota
	Ignore
	Promote
)

// Span describes how a stretch of the input was read. Offsets are in bytes; End is exclusive.
type Span struct {
	Start, End int
	Kind       SpanKind
	Dialect    string
	Rule       string
}

// SpanKind is the kind of a stretch of the input.
type SpanKind uint8

// The kinds of spans, in the order of package dialect.
const (
	TextSpan SpanKind = iota
	ThinkingSpan
	MarkerSpan
	NameSpan
	ArgsSpan
)
