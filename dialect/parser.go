package dialect

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Policy says what to do with calls inside thinking.
type Policy uint8

// The policies. In a thinking block that is closed a call is a rehearsal; in
// one that never closes the model forgot the tag and the call is real.
const (
	PromoteIfUnterminated Policy = iota
	Ignore                       // nothing in thinking is ever a call
	Promote                      // whatever is a call outside is one inside
)

var policyNames = [...]string{"promote_if_unterminated", "ignore", "promote"}

// String returns the policy in the words of the configuration.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return "unknown"
}

// Parser reads answers. The zero value reads any dialect, accepts any name
// and assumes that answers begin outside thinking. A Parser may be used by
// several goroutines at once as long as nobody changes it.
type Parser struct {
	// Tools are the tools that were offered. Nil accepts any name; empty but
	// not nil means that nothing is a call. The schemas type the values of
	// dialects that write them as plain text.
	Tools []llm.ToolDef
	// Dialects are the dialects that are read; nil means [Builtin].
	Dialects *List
	// Dialect is a hint: the name of the dialect the model is expected to
	// write. It decides only what the text leaves open.
	Dialect string
	// ThinkingOpen says that the prompt ended inside thinking, so that the
	// answer begins there. See [BeginsInThinking] for whole texts.
	ThinkingOpen bool
	// ThinkingOff says that the request turned thinking off, so that the end
	// of thinking is ordinary text where nothing opened any.
	ThinkingOff bool
	Thinking    Policy
	// Marked says that a call must begin with a marker: one of Dialect if that
	// is given and writes its calls with markers, the form of Dialect if it
	// does not, and one of any dialect if none is given. Everything else that
	// looks like a call stays text and is counted in a warning.
	Marked bool
	// Markup has a [Markup] event come before every call.
	Markup bool
	// Finish is asked once, after the last chunk, why the model stopped. With
	// llm.Length an open call is cut off; nil means llm.Stop.
	Finish func() llm.Reason
	// Trace, if set, is told what became of every byte of the input, in
	// order and without gaps.
	Trace func(Span)
	// MaxCall bounds the bytes of one call, and of what must be held back
	// until it can be understood; 0 means 16 MiB.
	MaxCall int
}

// Span says what became of a stretch of the input.
type Span struct {
	Start, End int // bytes from the beginning of the answer
	Kind       SpanKind
	Dialect    string // of the call or marker; empty for text
	Rule       string // why: the name of the marker, form or repair
}

// SpanKind is what a stretch of input became.
type SpanKind uint8

// The kinds of spans.
const (
	TextSpan SpanKind = iota
	ThinkingSpan
	MarkerSpan // markup: not shown, not part of a call's name or arguments
	NameSpan
	ArgsSpan
)

var spanNames = [...]string{"text", "thinking", "marker", "name", "args"}

// String returns the kind in lower case.
func (k SpanKind) String() string {
	if int(k) < len(spanNames) {
		return spanNames[k]
	}
	return "unknown"
}

// Whole returns a text as the only chunk of a stream.
func Whole(text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(text, nil) }
}

// Cut returns a text in chunks of n bytes.
func Cut(text string, n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for n > 0 && len(text) > n {
			if !yield(text[:n], nil) {
				return
			}
			text = text[n:]
		}
		yield(text, nil)
	}
}

// BeginsInThinking reports whether a whole answer closes a thinking block that
// it never opened: then the prompt held the opener. A stream cannot know this;
// whoever has the whole text can ask before parsing.
func (l *List) BeginsInThinking(text string) bool {
	m := machine{p: new(Parser), lex: l.lex, names: newNames(nil), buf: []byte(text), eof: true}
	open, called := 0, -1 // called is where the last call ended
	for m.pos < len(m.buf) {
		if c := text[m.pos]; isLetter(c) || l.lex.tree.child(c) == nil && l.lex.triggers[c] != anywhere {
			m.pos++
			continue
		}
		t, n := m.match(0)
		switch {
		case t.is(heads) && strings.TrimSpace(text[:m.pos]) == "":
			return false // headers say what is thinking
		case t.is(thinks) && !t.line && !t.atStart:
			open++
		case t.is(unthinks) && !t.is(drops) && !t.line:
			if called < 0 || strings.TrimSpace(text[called:m.pos]) != "" || strings.TrimSpace(text[m.pos+n:]) != "" {
				open-- // else it only follows the last call
			}
		case t.is(closes) || t.is(endCall):
			called = m.pos + n
		}
		m.pos += max(n, 1)
	}
	return open < 0
}
