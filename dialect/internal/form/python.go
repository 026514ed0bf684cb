package form

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// pyList reads Python calls up to the end of their list.
func (m pythonReader) pyList(start int) bool {
	any := false
	for m.pyBlank(); m.More(); {
		m.Listed = true
		ok := chars.IsNameStart(m.Peek(0)) && (any && m.unknownPyCall(start) || m.pyCall(start))
		if m.Listed = false; !ok {
			return any
		}
		any = true
		m.pyBlank()
		if m.More() && m.Peek(0) == ']' {
			m.Skip(1, "]")
			return true
		}
		start = m.Offset()
	}
	return any
}

// unknownPyCall reads a call of an unknown tool in a list of offered calls. The call is reported and not left in the
// text.
func (m pythonReader) unknownPyCall(start int) bool {
	i := m.Word(0, "")
	if m.Marked || m.Names.Any || m.Peek(i) != '(' || !m.kwargs(i+1) || m.Names.Offered(string(m.Buf[m.Pos:m.Pos+i])) {
		return false
	}
	m.Marked = true
	ok := m.pyCall(start)
	m.Marked = false
	return ok
}

// pyBlank skips white space, commas and comments.
func (m pythonReader) pyBlank() {
	for m.Blank(","); m.More(); m.Blank(",") {
		n := m.PyComment(0)
		if n == 0 {
			return
		}
		m.Skip(n, "comment")
	}
}

// pyCall reads name(key=value, …).
func (m pythonReader) pyCall(start int) bool {
	i := m.Word(0, "")
	if i == 0 || m.Peek(i) != '(' {
		return false
	}
	name := string(m.Buf[m.Pos : m.Pos+i])
	if name == "print" && !m.Printed && !m.Names.Offered(name) && chars.IsNameStart(m.Peek(i+1)) {
		m.Skip(i+1, "print")
		m.Printed = true
		ok := m.pyCall(start)
		m.Printed = false
		if ok && m.Peek(m.Spaces(0)) == ')' {
			m.Skip(m.Spaces(0)+1, "print")
		}
		return ok
	}
	if stem := m.withoutMethod(name); stem != name && !m.Names.Offered(name) {
		name = stem
		m.Narrow(m.Lex.Methods)
	}
	if !m.Marked && (m.Names.Any && !m.kwargs(i+1) || m.variable(i+1)) {
		return false
	}
	if !m.StartCall(name, "", start) {
		if m.kwargs(i + 1) {
			m.Lost.Add(m.Rows, start, judge.UnknownTool)
		}
		return false
	}
	m.Read(engine.NameSpan, i, "name")
	m.Skip(1, "(")
	m.pyArgs()
	m.strayBrace()
	m.EndCall()
	return true
}

// strayBrace skips a surplus brace after a call in a list, if the list ends or continues after it.
func (m pythonReader) strayBrace() {
	if !m.Listed || !m.Call.Open {
		return
	}
	i := m.Spaces(0)
	if m.Peek(i) != '}' {
		return
	}
	if c := m.Peek(m.Spaces(i + 1)); c == ']' || c == ',' {
		m.Repair("extra-bracket", llm.Completion, m.Offset()+i, m.Offset()+i+1)
		m.Skip(i+1, "}")
	}
}

// withoutMethod returns a name without the suffix that its dialect adds to every name.
func (m pythonReader) withoutMethod(name string) string {
	for _, s := range m.Lex.Method {
		if stem, ok := strings.CutSuffix(name, s); ok {
			return stem
		}
	}
	return name
}

// kwargs reports whether the text at i can only be the arguments of a call: a key, an object, or an empty list.
func (m pythonReader) kwargs(i int) bool {
	i = m.Spaces(i)
	if c := m.Peek(i); c == ')' || c == '{' {
		if m.Rows.Only(m.Lex.Fenced) {
			return true // such a fence holds only calls
		}
		if c == ')' && m.Calls > 0 && (!m.At(i+1) || m.Peek(i+1) == '\n') {
			return true // a line after another call
		}
		next := m.Peek(m.Spaces(i + 1))
		return c == '{' || next == ',' || next == ']' && m.Peek(m.Spaces(i+1)+1) != '(' // except in a Markdown link
	}
	return m.keyLength(i) > 0
}

// variable reports whether the first argument, from the i-th byte, is a bare word, in braces or not, or an expression.
// Prose about a function, or code, has such arguments.
func (m pythonReader) variable(i int) bool {
	i = m.Spaces(i)
	braces := m.Peek(i) == '{'
	if braces {
		i = m.Spaces(i + 1)
	}
	j := m.Word(i, "")
	if j == i || !chars.IsNameStart(m.Peek(i)) {
		return false
	}
	switch string(m.Buf[m.Pos+i : m.Pos+j]) {
	case "True", "False", "None", "true", "false", "null":
		return false
	}
	if m.Buf[m.Pos+j-1] == ':' && m.typeAt(m.Spaces(j)) {
		return true
	}
	c := m.Peek(m.Spaces(j))
	return c != 0 && strings.IndexByte(",([{", c) >= 0 || c == ')' && !braces || c == '}' && braces
}

// typeAt reports whether the name of a type is at i and no value follows, so a parameter is declared there.
func (m pythonReader) typeAt(i int) bool {
	j := m.Word(i, ":")
	word := strings.ToLower(string(m.Buf[m.Pos+i : m.Pos+j]))
	c := m.Peek(m.Spaces(j))
	return loose.TypeNames[word] && !loose.IsConstant(word) && c != 0 && strings.IndexByte(",)|=[", c) >= 0
}

// keyLength returns the length of the key= of a keyword argument at i, 0 if there is none. A declared parameter of the
// open call may also be in quotes or followed by a colon.
func (m pythonReader) keyLength(i int) int {
	if n := m.declaredKey(i); n > 0 {
		return n
	}
	j := m.Word(i, "")
	k := m.Spaces(j)
	if j == i || m.Peek(k) != '=' || m.Peek(k+1) == '=' {
		return 0
	}
	return k + 1 + chars.BoolInt(m.Peek(k+1) == '>') - i
}

// declaredKey is keyLength for a parameter of the open call, in quotes or with a colon after it.
func (m pythonReader) declaredKey(i int) int {
	if !m.Call.Open || m.Shape() == nil {
		return 0
	}
	from, quote := i, m.Peek(i)
	quoted := chars.IsQuote(quote)
	if quoted {
		from++
	}
	j := m.Word(from, ":")
	if j == from || !m.Shape().Declares(loose.Unescape(string(m.Buf[m.Pos+from:m.Pos+j]))) {
		return 0
	}
	k := m.Spaces(j)
	if quoted {
		if m.Peek(j) != quote {
			return 0
		}
		k = m.Spaces(j + 1)
	}
	if c := m.Peek(k); c == ':' && m.Peek(k+1) == '=' {
		return k + 2 - i
	} else if c == ':' || quoted && c == '=' && m.Peek(k+1) != '=' {
		return k + 1 - i
	}
	return 0
}

// pyArgs reads the arguments of a call up to the closing parenthesis.
func (m pythonReader) pyArgs() {
	count, position := 0, 0
	for m.Call.Open {
		m.pyBlank()
		if !m.More() {
			m.Missing("parenthesis")
			break
		}
		c := m.Peek(0)
		if c == ')' {
			m.Skip(1, ")")
			break
		}
		if count != 0 && (c == '}' || c == ']' && m.closesAfter(1)) { // a surplus bracket
			m.Repair("extra-bracket", llm.Completion, m.Offset(), m.Offset()+1)
			m.Skip(1, string(c))
			continue
		}
		if count != 0 && m.CallAt(0) { // the next call begins before this one has ended
			m.Repair("missing-parenthesis", llm.Guess, m.Offset(), m.Offset())
			break
		}
		if c == ']' && count > 0 { // the list ends before the call does
			m.Repair("missing-parenthesis", llm.Guess, m.Offset(), m.Offset())
			break
		}
		if m.HasAt(0, "**") {
			m.Skip(2, "**")
			c = m.Peek(0)
		}
		if c == '{' && count == 0 {
			m.asValue().arguments()
			count = -1
			continue
		}
		if c == '{' && count < 0 {
			m.nextObject()
			continue
		}
		if !m.pyArg(&count, &position) {
			if m.skipUnreadable(); m.Call.Open {
				m.skipArgs()
			}
			break
		}
	}
	m.closeArgs(count)
}

// closesAfter reports whether a parenthesis at i ends a call and another call of the list follows.
func (m pythonReader) closesAfter(i int) bool {
	if i = m.Spaces(i); m.Peek(i) != ')' {
		return false
	}
	i = m.Spaces(i + 1)
	return m.Peek(i) == ',' && m.CallAt(m.Spaces(i+1))
}

// skipArgs skips the rest of arguments that cannot be read, up to the end of the call if that is on the same line.
// Other calls may follow.
func (m pythonReader) skipArgs() {
	depth, quote := 0, byte(0)
	for i := 0; i <= scan.MaxTag && m.At(i); i++ {
		switch c := m.Buf[m.Pos+i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\n':
			return
		case chars.IsQuote(c):
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case c == ')':
			m.Read(engine.ArgsSpan, i+1, "unreadable")
			return
		}
	}
}

// nextObject reads another object in the parentheses of a call that already has one. It is a guess that the object is
// another call of the same tool, and both must fit the schema.
func (m pythonReader) nextObject() {
	r, ok := m.asName().valueAt(0)
	if c := m.Call; !ok || !c.Known || c.Problem != "" || !m.fits(c.Args) || !m.fits(r.Value()) {
		m.BadArgs("there are several objects of arguments, and they are no calls of their own")
		m.asValue().wholeValue()
		return
	}
	m.Repair("one-object-per-call", llm.Guess, m.Call.Start, m.Offset())
	name := m.Call.Name
	m.EndCall()
	if m.StartCall(name, "", m.Offset()) {
		m.asValue().arguments()
		m.Repair("one-object-per-call", llm.Guess, m.Call.Start, m.Offset())
	}
}

// fits reports whether arguments contain all required parameters of the tool, and only declared ones.
func (m pythonReader) fits(args []byte) bool {
	var given map[string]json.RawMessage
	return m.Shape() != nil && json.Unmarshal(args, &given) == nil && offered.Takes(m.Shape(), given)
}

// pyArg reads one argument. It reports false if the rest of the arguments cannot be read.
func (m pythonReader) pyArg(count, position *int) bool {
	start := m.Offset()
	if n := m.keyLength(0); n > 0 {
		written := strings.Trim(strings.TrimRight(string(m.Buf[m.Pos:m.Pos+n]), ":=> \t\r\n"), `"'`)
		written = strings.TrimPrefix(written, ":") // a symbol of Ruby
		key := loose.Unescape(written)
		m.Skip(n, "key")
		if c := m.Buf[m.Pos-1]; c == ':' || c == '>' {
			m.Repair("colon", llm.Syntax, m.Offset()-1, m.Offset())
		}
		if key != written {
			m.Repair("markdown-escape", llm.Syntax, m.Offset()-n, m.Offset())
		}
		m.Blank("")
		m.argKey(key, count)
		m.Call.Escapes.InKeys += strings.Count(written, `\_`)
		m.Keyword = true
		ok := m.pyValue(key)
		m.Keyword = false
		return ok
	}
	var properties []string
	if m.Shape() != nil {
		properties = m.Shape().Properties()
	}
	if *position >= len(properties) || *count < 0 || m.namesParameter() || m.namesUnknown() || m.Call.Keys[properties[*position]] {
		m.BadArgs("an argument has no name")
		return false
	}
	m.argKey(properties[*position], count)
	*position++
	ok := m.pyValue(properties[*position-1])
	m.Repair("positional-argument", llm.Guess, start, m.Offset())
	return ok
}

// namesParameter reports whether the text at the current position begins with the name of a parameter, but is not a
// keyword argument.
func (m pythonReader) namesParameter() bool {
	j := m.Word(0, ":-.")
	return j > 0 && chars.IsNameStart(m.Peek(0)) && m.Shape().Declares(loose.Unescape(string(m.Buf[m.Pos:m.Pos+j])))
}

// namesUnknown reports whether the text at the current position is a word and a colon before a value: the name of a
// parameter that the tool does not have.
func (m pythonReader) namesUnknown() bool {
	j := m.Word(0, ":")
	if j == 0 || !chars.IsNameStart(m.Peek(0)) || m.Peek(m.Spaces(j)) != ':' {
		return false
	}
	c := m.Peek(m.Spaces(m.Spaces(j) + 1))
	return chars.IsQuote(c) || c == '[' || c == '{' || c == '-' || c >= '0' && c <= '9' || m.Peek(m.Spaces(j)+1) == ' '
}

// pyValue reads a Python value into the arguments. key is its parameter, or empty.
func (m pythonReader) pyValue(key string) bool {
	c := m.Peek(0)
	switch {
	case c == '{' && m.Nested < scan.MaxNested && m.isSet(0):
		m.Nested++
		m.Keyword = false
		ok := m.pySet()
		m.Nested--
		return ok
	case c == '(' && m.wantsNumber(key):
		return m.pyWord(key)
	case c == '{' || c == '[' || c == '(':
		m.asValue().streamOf(key)
		return m.Call.Open && m.Call.Problem == ""
	case chars.IsQuote(c):
		return m.pyString(false)
	case c == '\\' && chars.IsQuote(m.Peek(1)):
		quote := string(m.Buf[m.Pos : m.Pos+2])
		return m.otherQuotes(quote, quote, "markdown-escape")
	case c == 0xE2 && m.HasAt(0, "“"):
		return m.otherQuotes("“", "”", "smart-quotes")
	case c == 0xE2 && m.HasAt(0, "‘"):
		return m.otherQuotes("‘", "’", "smart-quotes")
	case m.stringPrefix() > 0:
		return m.prefixedString(m.stringPrefix())
	}
	return m.pyWord(key)
}

// wantsNumber reports whether the parameter key of the call must be a number.
func (m pythonReader) wantsNumber(key string) bool {
	if !m.Call.Known || key == "" {
		return false
	}
	types, known := m.Names.TypesOf(m.Call.Name, key)
	return known && types&(schema.Number|schema.Integer) != 0 && types&^(schema.Number|schema.Integer|schema.Null) == 0
}

// isSet reports whether the braces at i hold a set: elements without keys.
func (m pythonReader) isSet(i int) bool {
	first := m.Spaces(i + 1)
	i = first
	if q := m.Peek(i); chars.IsQuote(q) {
		for i++; i < scan.MaxTag && m.At(i) && m.Peek(i) != q; i++ {
		}
		i = m.Spaces(i + 1)
	} else {
		for i < scan.MaxTag && m.At(i) && strings.IndexByte(",:}", m.Peek(i)) < 0 {
			i++
		}
	}
	return m.Peek(i) == ',' || m.Peek(i) == '}' && i > first
}

// pySet reads a set as a list.
func (m pythonReader) pySet() bool {
	start := m.Offset()
	m.Skip(1, "{")
	m.Arg("[")
	for first := true; ; first = false {
		m.Blank(",")
		if !m.More() {
			m.Missing("brace")
			break
		}
		if m.Peek(0) == '}' {
			m.Skip(1, "}")
			break
		}
		if !first {
			m.Arg(",")
		}
		if !m.pyValue("") {
			return false
		}
	}
	if m.Call.Open {
		m.Arg("]")
		m.Repair("set", llm.Syntax, start, m.Offset())
	}
	return m.Call.Open
}

// pyWord reads a number, a constant or a word without quotes. key is its parameter, or empty.
func (m pythonReader) pyWord(key string) bool {
	start := m.Offset()
	i := m.pyWordEnd()
	raw := string(m.Buf[m.Pos : m.Pos+i])
	word := strings.TrimSpace(raw)
	m.Read(engine.ArgsSpan, i, "word")
	if plain := loose.Unescape(word); plain != word {
		word = plain
		m.Repair("markdown-escape", llm.Syntax, start, m.Offset())
	}
	switch {
	case i > scan.MaxGuess:
		m.BadArgs("a value without quotes is too long")
		return false
	case m.wordCut(raw):
		m.CutCall()
		return false
	case word == "":
		m.BadArgs("a value is missing")
		return false
	}
	kinds := loose.AnyKind
	if m.Call.Known && key != "" {
		kinds = m.Names.KindsOf(m.Call.Name, key)
	}
	s := loose.Word(word, kinds)
	if s.Bad {
		m.BadArgs(notANumber, word)
	}
	if m.Arg(s.JSON); s.Rule != "" {
		m.Repair(s.Rule, s.Class, start, m.Offset())
	}
	return true
}

// wordCut reports whether the answer ended in the unquoted value raw that was just read, so the value may be
// incomplete.
func (m pythonReader) wordCut(raw string) bool {
	return !m.More() && (m.Truncated() || raw != "" && !chars.IsSpace(raw[len(raw)-1]) && !loose.IsConstant(raw))
}

// pyWordEnd returns the length of the unquoted value at the current position, or more than scan.MaxGuess if it is too
// long. Brackets in it may contain commas.
func (m pythonReader) pyWordEnd() int {
	i, depth := 0, 0
	for ; i <= scan.MaxGuess && m.At(i); i++ {
		switch c := m.Buf[m.Pos+i]; {
		case depth == 0 && (strings.IndexByte(",)]}\n", c) >= 0 || c == '#' && i > 0 && chars.IsSpace(m.Buf[m.Pos+i-1]) && m.PyComment(i) > i):
			return i
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == '<' && i > 0:
			if t, _ := m.Match(i); t.Is(lexicon.Closes) {
				return i
			}
		}
	}
	return i
}
