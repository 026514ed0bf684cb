package form

import (
	"bytes"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// closeArgs ends the arguments object after count parameters were written to it. A negative count means that there is
// no such object.
func (m *answer) closeArgs(count int) {
	if !m.Call.Open || count < 0 {
		return
	}
	if count == 0 && len(m.Call.Args) == 0 {
		m.Arg("{")
	}
	m.Arg("}")
}

// junk skips text between parameters. A call with an element that is not used, or with nothing but text, is invalid.
func (m *answer) junk() {
	start, element := m.Offset(), m.Peek(0) == '<' && m.Peek(1) != '/'
	m.Read(engine.MarkerSpan, 1, "junk")
	for m.More() && m.Buf[m.Pos] != '<' && m.Buf[m.Pos] != ']' {
		i := 1
		for m.Pos+i < len(m.Buf) && m.Buf[m.Pos+i] != '<' && m.Buf[m.Pos+i] != ']' {
			i++
		}
		m.Read(engine.MarkerSpan, i, "junk")
	}
	m.Repair("text-between-parameters", llm.Guess, start, m.Offset())
	if element || len(m.Call.Args) == 0 {
		m.BadArgs("a part of the call cannot be read")
	}
}

// skipTag skips the tag of n bytes and any repetitions of it.
func (m *answer) skipTag(n int) {
	tag := string(m.Buf[m.Pos : m.Pos+n])
	for m.HasAt(0, tag) {
		m.Skip(n, tag)
	}
}

// afterValue skips the end tag of a value. It reports whether the call is still open.
func (m *answer) afterValue() bool {
	if !m.Call.Open {
		return false
	}
	m.Blank("")
	if t, n := m.Match(0); t.Is(lexicon.EndParam) || t.Is(lexicon.EndValue) {
		m.Skip(n, t.Text)
	}
	return true
}

// argKey writes the key of the next argument and increases count.
func (m *answer) argKey(key string, count *int) {
	if *count == 0 {
		m.Arg("{")
	} else {
		m.Arg(",")
	}
	*count++
	if m.Call.Keys[key] && (m.Row().Tags.Once || m.takesList(key)) { // deltas that were emitted cannot be changed
		m.BadArgs("the parameter %q is there twice", key)
	} else if m.Call.Keys[key] {
		m.Repair("repeated-parameter", llm.Guess, m.Offset(), m.Offset()) // the last value counts
	}
	if m.Call.Keys == nil {
		m.Call.Keys = make(map[string]bool)
	}
	m.Call.Keys[key] = true
	m.Arg(chars.QuoteJSON(key))
	m.Arg(":")
}

// takesList reports whether a parameter of the call must be a list.
func (m *answer) takesList(key string) bool {
	types, known := m.Names.TypesOf(m.Call.Name, key)
	return known && types&^schema.Null == schema.Array
}

// skipUnreadable skips text that cannot be read, up to the next marker that ends or begins a call. For a call without a
// marker it does nothing: the rest is text.
func (m *answer) skipUnreadable() {
	for m.Marked && m.More() {
		i := bytes.IndexAny(m.Buf[m.Pos:], "<[]")
		if i == 0 {
			if m.Closer(0) {
				return
			}
			i = 1
		}
		if i < 0 {
			i = len(m.Buf) - m.Pos
		}
		m.Read(engine.ArgsSpan, i, "unreadable")
	}
}

// checkTypes makes a call invalid if it describes the tool.
func (m *answer) checkTypes() {
	switch {
	case !m.Call.Open:
	case !m.Marked && judge.DescribesTool(m.Call.Args):
		m.BadArgs("each argument is the name of a type: the call describes the tool")
	case judge.IsSchema(m.Call.Args) && (m.Shape() == nil || !m.Shape().Declares("type")):
		m.BadArgs("the arguments are the schema of the tool: the call describes it")
	}
}

// noteUnused makes the call that is being read, or that begins next, doubtful: a part of the text means nothing.
func (m *answer) noteUnused(rule string) {
	if m.Call.Open {
		m.Repair(rule, llm.Guess, m.Call.Start, m.Offset())
	} else {
		m.Unused = rule
	}
}

// unusedText is the rule for words before a call that mean nothing.
const unusedText = "unused-text"

// unusedMember is the rule for a member next to a call that means nothing.
const unusedMember = "unused-member"

// begunLine reports whether only white space precedes the current position on its line.
func (m *answer) begunLine() bool {
	for i := m.Pos - 1; i >= max(0, m.Pos-scan.MaxGap); i-- {
		if m.Buf[i] == '\n' {
			return true
		}
		if !chars.IsSpace(m.Buf[i]) {
			return false
		}
	}
	return false
}

// isWord reports whether the marker t is an ordinary word or element.
func (m *answer) isWord(t *lexicon.Token) bool {
	return t.All.Within(m.Lex.Labelled) || chars.IsPlainTag(t.Text) && t.All.Within(m.Lex.Bare)
}
