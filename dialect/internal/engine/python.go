package engine

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// pyList reads Python calls up to the end of their list.
func (m *machine) pyList(start int) bool {
	any := false
	for m.pyBlank(); m.more(); {
		m.listed = true
		ok := isNameStart(m.peek(0)) && (any && m.unknownPyCall(start) || m.pyCall(start))
		if m.listed = false; !ok {
			return any
		}
		any = true
		m.pyBlank()
		if m.more() && m.peek(0) == ']' {
			m.skip(1, "]")
			return true
		}
		start = m.offset()
	}
	return any
}

// unknownPyCall reads a call of a tool that was not offered, in a list whose
// other calls were: it is reported rather than left in the text.
func (m *machine) unknownPyCall(start int) bool {
	i := m.word(0, "")
	if m.marked || m.names.any || m.peek(i) != '(' || !m.kwargs(i+1) || m.names.offered(string(m.buf[m.pos:m.pos+i])) {
		return false
	}
	m.marked = true
	ok := m.pyCall(start)
	m.marked = false
	return ok
}

// pyBlank passes over white space, commas and comments.
func (m *machine) pyBlank() {
	for m.blank(","); m.more(); m.blank(",") {
		n := m.pyComment(0)
		if n == 0 {
			return
		}
		m.skip(n, "comment")
	}
}

// pyComment returns the index behind the comment that stands at i and ends with
// its line, or i.
func (in *input) pyComment(i int) int {
	if in.peek(i) != '#' && !in.hasAt(i, "//") {
		return i
	}
	for j := i; j < i+maxTag && in.at(j); j++ {
		if in.buf[in.pos+j] == '\n' {
			return j + 1
		}
	}
	return i
}

// pyCall reads name(key=value, …).
func (m *machine) pyCall(start int) bool {
	i := m.word(0, "")
	if i == 0 || m.peek(i) != '(' {
		return false
	}
	name := string(m.buf[m.pos : m.pos+i])
	if name == "print" && !m.printed && !m.names.offered(name) && isNameStart(m.peek(i+1)) {
		m.skip(i+1, "print")
		m.printed = true
		ok := m.pyCall(start)
		m.printed = false
		if ok && m.peek(m.spaces(0)) == ')' {
			m.skip(m.spaces(0)+1, "print")
		}
		return ok
	}
	if stem := m.withoutMethod(name); stem != name && !m.names.offered(name) {
		name = stem
		m.narrow(m.lex.methods)
	}
	if !m.marked && (m.names.any && !m.kwargs(i+1) || m.variable(i+1)) {
		return false
	}
	if !m.startCall(name, "", start) {
		if m.kwargs(i + 1) {
			m.lost.add(m.rows, start)
		}
		return false
	}
	m.read(NameSpan, i, "name")
	m.skip(1, "(")
	m.pyArgs()
	m.strayBrace()
	m.endCall()
	return true
}

// strayBrace passes over a brace that nothing opens behind a call in a list, if
// the list ends or goes on behind it.
func (m *machine) strayBrace() {
	if !m.listed || !m.call.open {
		return
	}
	i := m.spaces(0)
	if m.peek(i) != '}' {
		return
	}
	if c := m.peek(m.spaces(i + 1)); c == ']' || c == ',' {
		m.repair("extra-bracket", llm.Completion, m.offset()+i, m.offset()+i+1)
		m.skip(i+1, "}")
	}
}

// withoutMethod returns a name without the suffix that a dialect gives to every
// name.
func (in *input) withoutMethod(name string) string {
	for _, s := range in.lex.method {
		if stem, ok := strings.CutSuffix(name, s); ok {
			return stem
		}
	}
	return name
}

// kwargs reports whether the arguments that begin at i are unmistakably those
// of a call: a key, an object, or none at all.
func (m *machine) kwargs(i int) bool {
	i = m.spaces(i)
	if c := m.peek(i); c == ')' || c == '{' {
		if m.rows.only(m.lex.fenced) {
			return true // nothing else is written in such a fence
		}
		if c == ')' && m.calls > 0 && (!m.at(i+1) || m.peek(i+1) == '\n') {
			return true // a line after another call
		}
		next := m.peek(m.spaces(i + 1))
		return c == '{' || next == ',' || next == ']' && m.peek(m.spaces(i+1)+1) != '(' // that is a link
	}
	return m.keyLength(i) > 0
}

// variable reports whether the first argument, from the i-th byte, is a bare
// word, in braces or not, or an expression, as in prose about a function or in
// code.
func (in *input) variable(i int) bool {
	i = in.spaces(i)
	braces := in.peek(i) == '{'
	if braces {
		i = in.spaces(i + 1)
	}
	j := in.word(i, "")
	if j == i || !isNameStart(in.peek(i)) {
		return false
	}
	switch string(in.buf[in.pos+i : in.pos+j]) {
	case "True", "False", "None", "true", "false", "null":
		return false
	}
	if in.buf[in.pos+j-1] == ':' && in.typeAt(in.spaces(j)) {
		return true
	}
	c := in.peek(in.spaces(j))
	return c != 0 && strings.IndexByte(",([{", c) >= 0 || c == ')' && !braces || c == '}' && braces
}

// typeAt reports whether the name of a type stands at i and nothing of a value
// behind it: a parameter is declared there.
func (in *input) typeAt(i int) bool {
	j := in.word(i, ":")
	word := strings.ToLower(string(in.buf[in.pos+i : in.pos+j]))
	c := in.peek(in.spaces(j))
	return loose.TypeNames[word] && !loose.IsConstant(word) && c != 0 && strings.IndexByte(",)|=[", c) >= 0
}

// keyLength returns the length of the key=, from the i-th byte, of a keyword
// argument; 0 if there is none. A declared parameter may have a colon instead,
// and quotes.
func (m *machine) keyLength(i int) int {
	if n := m.declaredKey(i); n > 0 {
		return n
	}
	j := m.word(i, "")
	k := m.spaces(j)
	if j == i || m.peek(k) != '=' || m.peek(k+1) == '=' {
		return 0
	}
	return k + 1 - i
}

// declaredKey is keyLength for a parameter of the open call, in quotes or with
// a colon behind it.
func (m *machine) declaredKey(i int) int {
	if !m.call.open || m.shape() == nil {
		return 0
	}
	from, quote := i, m.peek(i)
	quoted := isQuote(quote)
	if quoted {
		from++
	}
	j := m.word(from, ":")
	if j == from || !m.shape().Declares(loose.Unescape(string(m.buf[m.pos+from:m.pos+j]))) {
		return 0
	}
	k := m.spaces(j)
	if quoted {
		if m.peek(j) != quote {
			return 0
		}
		k = m.spaces(j + 1)
	}
	if c := m.peek(k); c == ':' && m.peek(k+1) == '=' {
		return k + 2 - i
	} else if c == ':' || quoted && c == '=' && m.peek(k+1) != '=' {
		return k + 1 - i
	}
	return 0
}

// pyArgs reads the arguments of a call up to the closing parenthesis.
func (m *machine) pyArgs() {
	count, position := 0, 0
	for m.call.open {
		m.pyBlank()
		if !m.more() {
			m.missing("parenthesis")
			break
		}
		c := m.peek(0)
		if c == ')' {
			m.skip(1, ")")
			break
		}
		if count != 0 && (c == '}' || c == ']' && m.closesBehind(1)) { // one too many
			m.repair("extra-bracket", llm.Completion, m.offset(), m.offset()+1)
			m.skip(1, string(c))
			continue
		}
		if count != 0 && m.callAt(0) { // the next call begins before this one has ended
			m.repair("missing-parenthesis", llm.Guess, m.offset(), m.offset())
			break
		}
		if c == ']' && count > 0 { // the list ends before the call does
			m.repair("missing-parenthesis", llm.Guess, m.offset(), m.offset())
			break
		}
		if m.hasAt(0, "**") {
			m.skip(2, "**")
			c = m.peek(0)
		}
		if c == '{' && count == 0 {
			m.arguments()
			count = -1
			continue
		}
		if c == '{' && count < 0 {
			m.nextObject()
			continue
		}
		if !m.pyArg(&count, &position) {
			if m.recover(); m.call.open {
				m.skipArgs()
			}
			break
		}
	}
	m.closeArgs(count)
}

// closesBehind reports whether a parenthesis stands at i that ends a call, and
// another call of the list behind it.
func (m *machine) closesBehind(i int) bool {
	if i = m.spaces(i); m.peek(i) != ')' {
		return false
	}
	i = m.spaces(i + 1)
	return m.peek(i) == ',' && m.callAt(m.spaces(i+1))
}

// skipArgs passes over the rest of arguments that cannot be read, up to the end
// of the call, if that is in sight: what follows may be other calls.
func (m *machine) skipArgs() {
	depth, quote := 0, byte(0)
	for i := 0; i <= maxTag && m.at(i); i++ {
		switch c := m.buf[m.pos+i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\n':
			return
		case isQuote(c):
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case c == ')':
			m.read(ArgsSpan, i+1, "unreadable")
			return
		}
	}
}

// nextObject reads another object in the parentheses of a call that was given
// one: another call of the same tool if both fit its schema, which is a guess.
func (m *machine) nextObject() {
	r, ok := m.valueAt(0)
	if c := m.call; !ok || !c.known || c.problem != "" || !m.fits(c.args) || !m.fits(r.Value()) {
		m.badArgs("there are several objects of arguments, and they are no calls of their own")
		m.wholeValue()
		return
	}
	m.repair("one-object-per-call", llm.Guess, m.call.start, m.offset())
	name := m.call.name
	m.endCall()
	if m.startCall(name, "", m.offset()) {
		m.arguments()
		m.repair("one-object-per-call", llm.Guess, m.call.start, m.offset())
	}
}

// fits reports whether arguments hold all that the tool of the call must have,
// and nothing that it does not have.
func (m *machine) fits(args []byte) bool {
	var given map[string]json.RawMessage
	return m.shape() != nil && json.Unmarshal(args, &given) == nil && takes(m.shape(), given)
}

// pyArg reads one argument.
func (m *machine) pyArg(count, position *int) bool {
	start := m.offset()
	if n := m.keyLength(0); n > 0 {
		written := strings.Trim(strings.TrimRight(string(m.buf[m.pos:m.pos+n]), ":= \t\r\n"), `"'`)
		key := loose.Unescape(written)
		m.skip(n, "key")
		if m.buf[m.pos-1] == ':' {
			m.repair("colon", llm.Syntax, m.offset()-1, m.offset())
		}
		if key != written {
			m.repair("markdown-escape", llm.Syntax, m.offset()-n, m.offset())
		}
		m.blank("")
		m.argKey(key, count)
		m.call.escapes.inKeys += strings.Count(written, `\_`)
		m.keyword = true
		ok := m.pyValue(key)
		m.keyword = false
		return ok
	}
	var properties []string
	if m.shape() != nil {
		properties = m.shape().Properties()
	}
	if *position >= len(properties) || *count < 0 || m.namesParameter() || m.call.keys[properties[*position]] {
		m.badArgs("an argument has no name")
		return false
	}
	m.argKey(properties[*position], count)
	*position++
	ok := m.pyValue(properties[*position-1])
	m.repair("positional-argument", llm.Guess, start, m.offset())
	return ok
}

// namesParameter reports whether what stands here without quotes begins with a
// parameter of the call: the sign behind it is none that gives it a value, and
// all of it is none either.
func (m *machine) namesParameter() bool {
	j := m.word(0, ":-.")
	return j > 0 && isNameStart(m.peek(0)) && m.shape().Declares(loose.Unescape(string(m.buf[m.pos:m.pos+j])))
}

// pyValue reads a Python value into the arguments: that of the parameter key,
// if that is not empty.
func (m *machine) pyValue(key string) bool {
	c := m.peek(0)
	switch {
	case c == '{' && m.nested < maxNested && m.isSet(0):
		m.nested++
		m.keyword = false
		ok := m.pySet()
		m.nested--
		return ok
	case c == '(' && m.wantsNumber(key):
		return m.pyWord(key)
	case c == '{' || c == '[' || c == '(':
		m.streamOf(key)
		return m.call.open && m.call.problem == ""
	case isQuote(c):
		return m.pyString(false)
	case c == '\\' && isQuote(m.peek(1)):
		quote := string(m.buf[m.pos : m.pos+2])
		return m.otherQuotes(quote, quote, "markdown-escape")
	case c == 0xE2 && m.hasAt(0, "“"):
		return m.otherQuotes("“", "”", "smart-quotes")
	case c == 0xE2 && m.hasAt(0, "‘"):
		return m.otherQuotes("‘", "’", "smart-quotes")
	case m.stringPrefix() > 0:
		return m.prefixedString(m.stringPrefix())
	}
	return m.pyWord(key)
}

// wantsNumber reports whether the parameter key of the call must be a number.
func (m *machine) wantsNumber(key string) bool {
	if !m.call.known || key == "" {
		return false
	}
	types, known := m.names.typesOf(m.call.name, key)
	return known && types&(schema.Number|schema.Integer) != 0 && types&^(schema.Number|schema.Integer|schema.Null) == 0
}

// isSet reports whether the braces at i hold a set: elements without keys.
func (in *input) isSet(i int) bool {
	first := in.spaces(i + 1)
	i = first
	if q := in.peek(i); isQuote(q) {
		for i++; i < maxTag && in.at(i) && in.peek(i) != q; i++ {
		}
		i = in.spaces(i + 1)
	} else {
		for i < maxTag && in.at(i) && strings.IndexByte(",:}", in.peek(i)) < 0 {
			i++
		}
	}
	return in.peek(i) == ',' || in.peek(i) == '}' && i > first
}

// pySet reads a set as a list.
func (m *machine) pySet() bool {
	start := m.offset()
	m.skip(1, "{")
	m.arg("[")
	for first := true; ; first = false {
		m.blank(",")
		if !m.more() {
			m.missing("brace")
			break
		}
		if m.peek(0) == '}' {
			m.skip(1, "}")
			break
		}
		if !first {
			m.arg(",")
		}
		if !m.pyValue("") {
			return false
		}
	}
	if m.call.open {
		m.arg("]")
		m.repair("set", llm.Syntax, start, m.offset())
	}
	return m.call.open
}

// pyWord reads a number, a constant or a word without quotes: the value of the
// parameter key, if that is not empty.
func (m *machine) pyWord(key string) bool {
	start := m.offset()
	i := m.pyWordEnd()
	raw := string(m.buf[m.pos : m.pos+i])
	word := strings.TrimSpace(raw)
	m.read(ArgsSpan, i, "word")
	if plain := loose.Unescape(word); plain != word {
		word = plain
		m.repair("markdown-escape", llm.Syntax, start, m.offset())
	}
	switch {
	case i > maxGuess:
		m.badArgs("a value without quotes is too long")
		return false
	case m.wordCut(raw):
		m.cutCall()
		return false
	case word == "":
		m.badArgs("a value is missing")
		return false
	}
	kinds := loose.AnyKind
	if m.call.known && key != "" {
		kinds = m.names.kindsOf(m.call.name, key)
	}
	s := loose.Word(word, kinds)
	if s.Bad {
		m.badArgs(notANumber, word)
	}
	if m.arg(s.JSON); s.Rule != "" {
		m.repair(s.Rule, s.Class, start, m.offset())
	}
	return true
}

// wordCut reports whether the answer ended in the value without quotes that was
// just read: a number, or a word, may have gone on.
func (m *machine) wordCut(raw string) bool {
	return !m.more() && (m.truncated() || raw != "" && !isSpace(raw[len(raw)-1]) && !loose.IsConstant(raw))
}

// pyWordEnd returns the length of the value without quotes that stands here,
// or more than maxGuess if it is too long. Brackets in it may hold commas.
func (m *machine) pyWordEnd() int {
	i, depth := 0, 0
	for ; i <= maxGuess && m.at(i); i++ {
		switch c := m.buf[m.pos+i]; {
		case depth == 0 && (strings.IndexByte(",)]}\n", c) >= 0 || c == '#' && i > 0 && isSpace(m.buf[m.pos+i-1]) && m.pyComment(i) > i):
			return i
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == '<' && i > 0:
			if t, _ := m.match(i); t.is(closes) {
				return i
			}
		}
	}
	return i
}
