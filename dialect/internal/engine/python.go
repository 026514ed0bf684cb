package engine

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

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

// stringPrefix returns the length of the letters that stand here before the quote
// of a string literal; 0 if there are none.
func (in *input) stringPrefix() int {
	for n := range 3 {
		if c := in.peek(n); !isLetter(c) {
			if n > 0 && isQuote(c) {
				return n
			}
			break
		}
	}
	return 0
}

// prefixedString reads a string literal behind a prefix of n letters. r keeps
// backslashes, and u says nothing. What others mean JSON cannot say: that the
// text itself is meant is a guess, and none if f computes a part of it.
func (m *machine) prefixedString(n int) bool {
	start := m.offset()
	prefix := strings.ToLower(string(m.buf[m.pos : m.pos+n]))
	m.skip(n, "prefix")
	from := len(m.call.args)
	ok := m.pyString(strings.Contains(prefix, "r"))
	if !ok || strings.Trim(prefix, "ru") == "" {
		return ok
	}
	m.repair("string-prefix", llm.Guess, start, start+n)
	if strings.Contains(prefix, "f") && hasPlaceholder(m.call.args[from:]) {
		m.badArgs("a string computes a part of its text, and nobody has run it")
	}
	return true
}

// hasPlaceholder reports whether the text of a string literal with f holds an
// expression in braces. Two braces stand for one.
func hasPlaceholder(text []byte) bool {
	text = bytes.ReplaceAll(text, []byte("{{"), nil)
	open := bytes.IndexByte(text, '{')
	return open >= 0 && bytes.IndexByte(text[open:], '}') >= 0
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

// pyString reads a string literal into the arguments as it arrives.
func (m *machine) pyString(raw bool) bool {
	q := m.peek(0)
	width := 1
	if m.peek(1) == q && m.peek(2) == q {
		width = 3
	}
	if m.isPath(width) {
		raw = true
		m.repair("windows-path", llm.Guess, m.offset(), m.offset())
	}
	m.skip(width, "quote")
	m.arg(`"`)
	from := len(m.call.args)
	text := func() bool { return m.pyText(q, raw) }
	for m.flows(0, text) {
		if text() {
			rest := len(m.buf) - m.pos
			if rest > 0 && !m.at(rest) && bytes.IndexByte(m.buf[m.pos:], ')') >= 0 {
				break // the end of the call, without the quote before it
			}
			if rest > 0 && !m.at(rest) { // a rune that will never be whole
				m.escape(m.buf[m.pos:])
				m.read(ArgsSpan, rest, "string")
			}
			continue
		}
		if m.buf[m.pos] == '\\' {
			m.pyEscape(raw)
		} else if m.pyQuote(q, width) {
			return true
		}
	}
	m.missing("quote")
	if m.call.open {
		m.arg(`"`)
		m.checkUnended(m.call.args[from:])
	}
	return m.call.open
}

// checkUnended makes the call invalid if text, a string whose end is missing,
// seems to hold further arguments: nobody knows where it should have ended.
func (m *machine) checkUnended(text []byte) {
	if m.shape() == nil {
		return
	}
	for _, key := range m.shape().Properties() {
		if bytes.Contains(text, []byte(", "+key+"=")) || bytes.Contains(text, []byte(","+key+"=")) {
			m.badArgs("a string does not end before the argument %s", key)
		}
	}
}

// maxHeldClosers is how many closing brackets at the end of the text are held: if
// the quote before them is missing, they are none of the string.
const maxHeldClosers = 16

// trailingClosers returns the length of the closing brackets, with the white
// space between and behind them, with which p ends.
func trailingClosers(p []byte) int {
	from := max(0, len(p)-maxHeldClosers)
	n := 0
	for i := len(p) - 1; i >= from; i-- {
		switch c := p[i]; {
		case c == ')' || c == ']' || c == '}':
			n = len(p) - i
		case !isSpace(c):
			return n
		}
	}
	return n
}

// otherQuotes reads a string in quotes that Python does not have: escaped as in
// Markdown, or those of typographers. If its end is not in sight, the quotes are
// text.
func (m *machine) otherQuotes(open, end, rule string) bool {
	start := m.offset()
	for i := len(open); i <= maxGuess && m.at(i); i++ {
		if m.buf[m.pos+i] != end[0] || !m.hasAt(i, end) || strings.IndexByte(",)]}", m.peek(m.spaces(i+len(end)))) < 0 {
			continue
		}
		m.arg(quoteJSON(loose.Unescape(string(m.buf[m.pos+len(open) : m.pos+i]))))
		m.read(ArgsSpan, i+len(end), "string")
		m.repair(rule, llm.Syntax, start, m.offset())
		return true
	}
	return m.pyWord("")
}

// isPath reports whether the string i bytes from here begins like a path of
// Windows whose backslashes were not escaped. Before a quote that does not end
// the string the backslash escapes that.
func (m *machine) isPath(i int) bool {
	if !isLetter(m.peek(i)) || m.peek(i+1) != ':' || m.peek(i+2) != '\\' {
		return false
	}
	c := m.peek(i + 3)
	return c != '\\' && (!isQuote(c) || m.endsString(i+3))
}

// pyText reads the text of a string up to a quote or an escape that JSON writes
// in another way, but for a rune that is not whole yet. It reports whether it
// came to neither.
func (m *machine) pyText(q byte, raw bool) bool {
	text := m.buf[m.pos:]
	done := 0
	for done < len(text) {
		rest := text[done:]
		n := indexEither(rest, q, '\\')
		if n == len(rest) {
			if n -= max(partial(rest[:n]), trailingClosers(rest[:n])); n == 0 {
				break
			}
		}
		switch {
		case n > 0:
			m.escape(rest[:n])
		case !raw && len(rest) > 1 && rest[0] == '\\' && strings.IndexByte(`"\nrtbf`, rest[1]) >= 0:
			n = 2
			m.argBytes(rest[:n])
		default:
			m.read(ArgsSpan, done, "string")
			return false
		}
		done += n
	}
	m.read(ArgsSpan, done, "string")
	return true
}

// partial returns the length of the incomplete rune at the end of p.
func partial(p []byte) int {
	for i := 1; i <= 3 && i <= len(p); i++ {
		if c := p[len(p)-i]; c >= 0xC0 {
			if utf8.FullRune(p[len(p)-i:]) {
				return 0
			}
			return i
		} else if c < 0x80 {
			return 0
		}
	}
	return 0
}

// pyQuote handles a quote inside a string: its end, or text that should have
// been escaped. It reports whether the string has ended.
func (m *machine) pyQuote(q byte, width int) bool {
	if width == 3 {
		if m.peek(1) != q || m.peek(2) != q {
			m.escape([]byte{q})
			m.read(ArgsSpan, 1, "string")
			return false
		}
		m.skip(3, "quote")
		m.arg(`"`)
		return true
	}
	if m.endsString(0) {
		m.skip(1, "quote")
		m.arg(`"`)
		return true
	}
	if n := m.concatenation(q); n > 0 {
		m.repair("string-concatenation", llm.Syntax, m.offset(), m.offset()+n)
		m.read(ArgsSpan, n, "string")
		return false
	}
	m.repair("unescaped-quote", llm.Guess, m.offset(), m.offset()+1)
	m.escape([]byte{q})
	m.read(ArgsSpan, 1, "string")
	return false
}

// concatenation returns the length of the end of a string that stands here, a plus
// and the beginning of the string that is added to it; 0 if it is something else:
// text with a quote that should have been escaped may hold such signs, too.
func (m *machine) concatenation(q byte) int {
	for _, r := range m.call.repairs {
		if r.Rule == "unescaped-quote" {
			return 0
		}
	}
	i := m.spaces(1)
	if m.peek(i) != '+' {
		return 0
	}
	if i = m.spaces(i + 1); m.peek(i) != q {
		return 0
	}
	return i + 1
}

// endsString reports whether the quote i bytes from here ends a string: then
// only what may follow a value follows it.
func (m *machine) endsString(i int) bool {
	k := m.spaces(i + 1)
	if n := m.pyComment(k); n > k && m.peek(i+1) == ' ' { // the line ends in a comment
		k = m.spaces(n)
		return strings.IndexByte(",)]}", m.peek(k)) >= 0
	}
	if !m.at(k) {
		return true
	}
	switch m.buf[m.pos+k] {
	case ')':
		return m.endsPyCall(k + 1)
	case ']', '}', ':':
		return true
	case ',':
		k = m.spaces(k + 1)
		k = m.spaces(m.pyComment(k))
		if m.keyword && isQuote(m.peek(k)) { // behind a keyword argument there is another one
			return m.keyLength(k) > 0
		}
		return !isNameStart(m.peek(k)) || m.keyLength(k) > 0 || m.callAt(k)
	case '<':
		t, _ := m.match(k)
		return t.is(closes)
	}
	return false
}

// endsPyCall reports whether what follows at k may follow a call.
func (m *machine) endsPyCall(k int) bool {
	line := k
	if m.peek(line) == '\r' {
		line++
	}
	if m.peek(line) == '\n' {
		return true
	}
	k = m.spaces(k)
	if !m.at(k) {
		return true
	}
	switch c := m.buf[m.pos+k]; c {
	case ']', ',', ';', '`', '\n':
		return true
	case ')':
		return !m.marked || m.printed
	case '"', '\'':
		return false
	case '<', '[':
		t, _ := m.match(k)
		return t != nil || m.partialMarker(k)
	default:
		return !m.marked
	}
}

// pyEscape reads an escape.
func (m *machine) pyEscape(raw bool) {
	if !m.at(1) {
		m.arg(`\\`)
		m.read(ArgsSpan, 1, "escape")
		return
	}
	c := m.peek(1)
	n := 2
	switch {
	case raw && !isQuote(c):
		m.escape([]byte{'\\', c})
	case raw && m.endsString(1): // a folder ends with it
		m.arg(`\\`)
		n = 1
	case c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f':
		m.arg(`\` + string(rune(c)))
	case c == '\\' || isQuote(c):
		m.escape([]byte{c})
	case c == '\n':
	case c == 'x' || c == 'u' || c == 'U':
		n = m.pyRune(c)
	case c == '0':
		m.arg("\\u0000")
	case strings.IndexByte(loose.Markdown, c) >= 0 && m.call.escapes.drop(m.call.args, c):
		m.repair("markdown-escape", llm.Syntax, m.offset(), m.offset()+1)
		m.escape([]byte{c})
	default:
		m.arg(`\\`)
		n = 1
	}
	m.read(ArgsSpan, n, "escape")
}

// pyRune writes the rune of \x41, \u0041 or \U00000041 and returns the length
// of the escape. Halves of surrogate pairs are joined.
func (m *machine) pyRune(c byte) int {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !m.at(1 + digits) {
		m.arg(`\\`)
		return 1
	}
	v, err := strconv.ParseUint(string(m.buf[m.pos+2:m.pos+2+digits]), 16, 32)
	switch {
	case err != nil || v > utf8.MaxRune:
		m.arg(`\\`)
		return 1
	case v >= 0xD800 && v < 0xE000:
		m.arg(`\u` + string(m.buf[m.pos+2:m.pos+6]))
	default:
		m.escape(utf8.AppendRune(nil, rune(v)))
	}
	return 2 + digits
}
