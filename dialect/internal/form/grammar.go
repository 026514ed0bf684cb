package form

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/internal/whole"
	"github.com/toolpost/toolpost/llm"
)

// grammarReader reads elements of calls that are not those of their dialect, by the grammar of XML.
type grammarReader struct{ *answer }

func (m *answer) asGrammar() grammarReader { return grammarReader{m} }

// maxElements bounds how far the reader looks ahead for the end of a call.
const maxElements = 8 * scan.MaxGuess

// call reads a call whose element, with the tag tg, begins here, if its attributes or content are not those of its
// dialect.
func (m grammarReader) call(tg values.Tag, start int) bool {
	if !m.hasForeign(tg) && (tg.Self || !m.foreignBody(tg.Length, 0)) {
		return false
	}
	n := tg.Length
	if !tg.Self {
		end := m.Word(1, "/") // it may wait for input and move the buffer
		n = m.elementEnd(string(m.Buf[m.Pos+1:m.Pos+end]), n)
	}
	return m.read(n, m.asTag().tagID(tg), start)
}

// rest reads the elements from here to the end of a call whose marker was read. Its name is read again.
func (m grammarReader) rest(i, start int) bool { return m.read(m.closer(i), "", start) }

// read reads a call of n bytes.
func (m grammarReader) read(n int, id string, start int) bool {
	c, ok := whole.Elements(string(m.Buf[m.Pos:m.Pos+n]), m.Names)
	class := llm.Syntax
	if c.Unsure {
		class = llm.Guess
	}
	return ok && m.put(c, n, id, start, "other-elements", class)
}

// body reads all text up to the end of the calls as one call of an offered tool, in whatever notation, as a guess.
func (m grammarReader) body(start int) bool {
	if m.Names.Any || m.AfterCall {
		return false
	}
	word := m.Word(0, "") // it may wait for input and move the buffer
	if !m.Names.Begins(string(m.Buf[m.Pos : m.Pos+word])) {
		return false
	}
	n := m.closer(0)
	calls, ok := whole.Read(string(m.Buf[m.Pos:m.Pos+n]), m.Names, whole.Place{})
	return ok && len(calls) == 1 && m.put(calls[0], n, "", start, "unknown-form", llm.Guess)
}

// put emits the call c, which has n bytes.
func (m grammarReader) put(c whole.Call, n int, id string, start int, rule string, class llm.RepairClass) bool {
	if n == 0 || !m.StartCall(c.Name, id, start) {
		return false
	}
	m.Read(engine.ArgsSpan, n, "call")
	m.Repair(rule, class, start, m.Offset())
	m.ArgBytes(c.Args)
	m.EndCall()
	return true
}

// hasForeign reports whether a tag has attributes other than those that name a call.
func (m grammarReader) hasForeign(tg values.Tag) bool {
	for _, a := range tg.Attrs {
		if role := values.Keys[a.Key]; role != values.NameRole && role != values.BothRole && a.Key != "key" && !whole.IsAside(a.Key, a.Value) {
			return true
		}
	}
	return false
}

// foreignBody reports whether the content of a call, i bytes from here, begins with an element that its dialect does not
// have: one with attributes, one that is no parameter, or a container of such.
func (m grammarReader) foreignBody(i, depth int) bool {
	i = m.Spaces(i)
	switch {
	case m.Peek(i) != '<' || m.Peek(i+1) == '/' || depth > 3:
		return false
	case m.HasAt(i, cdata):
		return true
	}
	switch t, n := m.Match(i); {
	case t == nil || t.Is(lexicon.TagParam) && chars.IsLetter(m.Peek(i+n)): // the token begins a longer word
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall):
		return m.foreignParam(t, i, n)
	default:
		return false
	}
	word, end := m.asElement().openTag(i)
	if word == "" {
		tg, ok := m.asTag().attributes(m.Word(i+1, ""))
		return ok && len(tg.Attrs) > 0
	}
	if whole.PairTag(word) && m.foreignPair(end) {
		return true
	}
	return (values.Keys[word] == values.ArgsRole || values.Keys[word] == values.NameRole) && m.foreignBody(end, depth+1)
}

// foreignPair reports whether the element of a pair, whose content is i bytes from here, is followed by the element of its
// value.
func (m grammarReader) foreignPair(i int) bool {
	i = m.Spaces(m.Word(m.Spaces(i), ""))
	if !m.HasAt(i, "</") {
		return false
	}
	i = m.Word(i+2, "")
	word, _ := m.asElement().openTag(m.Spaces(i + 1))
	return m.Peek(i) == '>' && whole.ValueTag(word)
}

// foreignParam reports whether the tag t of a parameter, i bytes from here, has a value as an attribute, or only its text
// or an element in it is the name of the parameter and another element is its value.
func (m grammarReader) foreignParam(t *lexicon.Token, i, n int) bool {
	tg, ok := m.asTag().readTag(t, i+n)
	value := false
	if ok && tg.Name() == "" {
		word := m.Spaces(m.Word(m.Spaces(tg.Length), ""))
		end, k := m.Match(word)
		inner, _ := m.asElement().openTag(m.Spaces(tg.Length))
		value = end.Is(lexicon.EndParam) && m.HasAt(m.Spaces(word+k), valueTag) || values.Keys[inner] == values.NameRole || inner == "key"
	}
	for _, a := range tg.Attrs {
		value = value || a.Key == "value" || a.Key == "val"
	}
	return ok && value
}

// elementEnd returns the index after the end tag of the element word, whose content begins at i, and 0 if there is none.
func (m grammarReader) elementEnd(word string, i int) int {
	if m.Wasted > maxWasted*(m.Offset()+scan.MaxGuess) {
		return 0
	}
	depth := 1
	for ; i < maxElements && m.At(i); i++ {
		if m.Buf[m.Pos+i] != '<' {
			continue
		}
		switch {
		case m.HasAt(i+1, word) && !chars.IsNameByte(m.Peek(i+1+len(word))):
			depth++
		case m.HasAt(i+1, "/"+word) && m.Peek(m.Spaces(i+2+len(word))) == '>':
			if depth--; depth == 0 {
				return m.Spaces(i+2+len(word)) + 1
			}
		}
	}
	m.Wasted += i
	return 0
}

// closer returns the index of the marker that ends the calls, from i on, and 0 if there is none.
func (m grammarReader) closer(i int) int {
	if m.Wasted > maxWasted*(m.Offset()+scan.MaxGuess) {
		return 0
	}
	for ; i < maxElements && m.At(i); i++ {
		if m.Buf[m.Pos+i] != '<' {
			continue
		}
		if t, _ := m.Match(i); (t.Is(lexicon.Closes) || t.Is(lexicon.EndCall)) && t.In(lexicon.Closes).Or(t.In(lexicon.EndCall)).Meets(m.Outer) && !strings.HasPrefix(t.Text, "</param") {
			return i
		}
	}
	m.Wasted += i
	return 0
}

// maxWasted limits the bytes that are looked at in vain for each byte of the answer.
const maxWasted = 16
