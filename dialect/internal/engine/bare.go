package engine

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// bare reads a call that begins here without a marker. Without a marker only
// the name tells a call from other text.
func (m *machine) bare(c byte) bool {
	if c == '{' && m.saidInEnvelope() {
		return true
	}
	if m.names.none || m.coded || !m.plausible(c) {
		return m.looseLine(nil)
	}
	before := m.suspectedBefore()
	if (c == '{' || c == '[') && (m.exampled() || m.inCode()) {
		m.lost.add(m.lex.bare, m.offset())
		return false
	}
	start := m.offset()
	m.marked, m.depth, m.rows = false, 1, m.lex.bare
	ok := false
	switch {
	case c == '{':
		ok = m.guess(func() bool {
			m.form(spec.JSONCall)
			return m.object(m.newEnvelope(start))
		})
	case c == '[':
		ok = m.guess(func() bool { return m.list(start) })
	case c == '`':
		ok = m.fence(start)
	case c == '<':
		ok = m.guess(func() bool { return m.element(start) })
	case m.names.first.has(c) && m.atLine() && !m.names.any:
		ok = m.guess(m.bareNamed)
	}
	if ok && c != '`' {
		m.moreBare()
	}
	return ok || m.looseLine(before)
}

// suspectedBefore returns what is suspected now, for looseLine. That needs it at
// the beginning of a line only: elsewhere it is nil.
func (m *machine) suspectedBefore() *suspects {
	if !m.atLine() {
		return nil
	}
	now := m.lost.clone()
	return &now
}

// looseLine reads the block that begins with this line if package loose can,
// or counts it if it looks like a call. before is what had been suspected when
// this line began; nil if that is what is suspected now.
func (m *machine) looseLine(before *suspects) bool {
	start := m.offset()
	if m.buf[m.pos] == '{' && m.jsonBehindName() {
		return true
	}
	if m.looseAt() {
		if before == nil {
			now := m.lost.clone()
			before = &now
		}
		m.marked, m.depth, m.rows = false, 1, m.lex.bare
		if m.guess(func() bool { return m.looseBlock("") }) {
			m.lost = *before
			return true
		}
		if m.peek(0) != '{' { // an object may be data
			m.lost.add(m.lex.bare.and(m.lex.form[spec.PyCall]), start)
		}
	}
	m.suspectName()
	return false
}

// plausible reports whether what stands here is worth a guess: it looks at
// the first bytes only.
func (m *machine) plausible(c byte) bool {
	switch c {
	case '{':
		return m.plausibleKey(m.spaces(1))
	case '[':
		p := m.prev()
		if p == '\\' { // of a formula
			return false
		}
		i := m.spaces(m.pyComment(m.spaces(1)))
		if m.peek(i) == '[' { // a list in a list; deeper is no call
			i = m.spaces(i + 1)
		}
		if m.peek(i) == '{' {
			return m.plausibleKey(m.spaces(i + 1))
		}
		index := isLetter(p) || p >= '0' && p <= '9' || p == '_' || p == ')' || p == ']'
		return isNameStart(m.peek(i)) && (!index || m.since == m.offset()) // right behind a call it is none
	case '`':
		return m.hasAt(0, "```")
	case '<':
		return isNameStart(m.peek(1))
	}
	return m.names.first.has(c) && !m.names.any && m.atLine()
}

// plausibleKey reports whether the key at i may be one of a call.
func (m *machine) plausibleKey(i int) bool {
	j := i
	if isQuote(m.peek(i)) {
		i++
		j = i
	}
	j = m.word(j, ":")
	key := string(m.buf[m.pos+i : m.pos+j])
	if keys[key] != other || m.names.offered(key) {
		return true
	}
	if j = m.spaces(j + 1); m.peek(j) == ':' {
		j = m.spaces(j + 1)
	}
	return m.mayPrecede(key, j)
}

// moreBare reads the calls that follow a bare one directly.
func (m *machine) moreBare() {
	for m.more() {
		ok := m.guess(func() bool {
			start := m.offset()
			m.blank(";,")
			switch c := m.peek(0); {
			case c == '{':
				return m.object(m.newEnvelope(start))
			case c == ']' && m.buf[m.pos] == ']':
				m.skip(1, "]")
				return true
			case m.hasAt(0, bracePrefix) && m.rows.meets(m.lex.form[spec.BraceCall]):
				return m.braceCall(start)
			case isNameStart(c) && (!m.names.any || m.rows.within(m.lex.form[spec.PyCall]) && m.peek(m.word(0, "")) == '('):
				return m.nameFirst(start)
			}
			return false
		})
		if !ok {
			m.suspectUnknown()
			break
		}
	}
	if i := m.spaces(0); m.peek(i) == ';' && !m.at(m.spaces(i+1)) { // after the last one, too
		m.skip(m.spaces(i+1), "separator")
	}
}

// suspectUnknown counts a call of a tool that was not offered on the line behind
// one that was: it would be lost in silence.
func (m *machine) suspectUnknown() {
	i := m.gap(0)
	if m.names.any || !m.at(i) || bytes.IndexByte(m.buf[m.pos:m.pos+i], '\n') < 0 {
		return
	}
	if j := m.word(i, ""); j > i && isNameStart(m.peek(i)) && m.peek(j) == '(' && m.keyLength(m.spaces(j+1)) > 0 {
		m.lost.add(m.lex.bare.and(m.lex.form[spec.PyCall]), m.offset()+i)
	}
}

// bareNamed reads a call that begins with its name.
func (m *machine) bareNamed() bool {
	m.marked, m.depth, m.rows = false, 0, m.lex.bare
	if m.hasAt(0, bracePrefix) && !m.names.any { // the tokens around it were dropped
		m.rows = m.lex.form[spec.BraceCall]
		return m.braceCall(m.offset())
	}
	return m.nameFirst(m.offset())
}

// exampled reports whether the prose just before says that an example
// follows.
func (m *machine) exampled() bool {
	line := m.lately()
	var low [80]byte // no allocation: this is asked of every bracket
	n := copy(low[:], lastLine(line[max(0, len(line)-len(low)):]))
	for i, c := range low[:n] {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	s := low[:n]
	return bytes.Contains(s, []byte("e.g.")) || bytes.Contains(s, []byte("for example")) || bytes.Contains(s, []byte("for instance")) ||
		bytes.HasPrefix(bytes.TrimSpace(s), []byte("example"))
}

// parallel is a name that models give to several calls at once.
const parallel = "multi_tool_use.parallel"

// nameFirst reads a call that begins with its name: what follows the name
// says which form it has.
func (m *machine) nameFirst(start int) bool {
	i := m.word(0, "")
	written := string(m.buf[m.pos : m.pos+i])
	if i == 0 || !m.mayBeName(strings.TrimRight(written, ":")) {
		return false
	}
	if trimmed := strings.TrimRight(written, ":"); trimmed != written { // name: {…}
		i, written = len(trimmed), trimmed
	}
	j := m.behindName(i)
	t, n := m.match(j)
	if i == 0 {
		return false
	}
	read, _ := ask(m, m.lex.readers.named, named{written: written, i: i, j: j, tok: t, n: n, c: m.peek(j), start: start})
	return read
}

// mayBeName reports whether the word that stands here may be the name of a
// call. Without a marker it must have been offered, or stand before one that
// was.
func (m *machine) mayBeName(written string) bool {
	return m.marked || m.names.any || m.names.offered(m.withoutMethod(bareID(written))) ||
		written == "print" || written == "functions" || written == parallel
}

// behindName returns the index of what stands behind a name of i bytes: white
// space, the end of its quotes and newlines that were escaped say nothing.
func (m *machine) behindName(i int) int {
	j := m.spaces(i)
	if c := m.peek(i); (c == '`' || isQuote(c)) && m.rows.meets(m.lex.form[spec.LineCall]) && m.prev() == c {
		j = m.spaces(i + 1)
	}
	if m.rows.meets(m.lex.worded) && m.hasAt(j, bold) {
		j = m.spaces(j + len(bold))
	}
	if k := m.spaces(j + 1); m.peek(j) == ',' && m.rows.meets(m.lex.labelled) { // the arguments on the same line
		if t, _ := m.match(k); t.in(separates).meets(m.lex.labelled) {
			j = k
		}
	}
	for m.marked && m.hasAt(j, `\n`) {
		j = m.spaces(j + 2)
	}
	return j
}

// oddName returns the index of the separator after a word that stands where a name
// should, has at least i bytes and may not be a valid name; 0 if there is none.
func (in *input) oddName(i int) int {
	for k := i; k < maxName && in.at(k) && !isSpace(in.buf[in.pos+k]); k++ {
		if t, n := in.match(k); n > 0 {
			if t.is(separates) && !t.is(closes) {
				return k
			}
			return 0
		}
	}
	return 0
}

// nameOnly reads a call without arguments: only its name stands there.
func (m *machine) nameOnly(written string, i, start int, eof bool) bool {
	switch {
	case m.behind:
		return false // text behind a call is no name
	case m.names.any && eof && !m.truncated(), m.names.any && !eof && !m.endsName(m.spaces(i)):
		return false // a word behind a marker is not yet a call
	case !m.names.any && !m.names.offered(bareID(written)) && !(eof && m.truncated() && m.names.begins(written)):
		return false
	}
	if !m.callNamed(written, i, start) {
		return false
	}
	if eof {
		m.blank("")
		m.missing("end")
	}
	m.endCall()
	return true
}

// endsName reports whether a marker stands i bytes from here before which a
// name alone is a call.
func (in *input) endsName(i int) bool {
	t, _ := in.match(i)
	return t.in(closes).meets(in.lex.nameAlone)
}

// callNamed starts the call whose name is the next i bytes.
func (m *machine) callNamed(written string, i, start int) bool {
	id := ""
	if name := bareID(written); name != written {
		if strings.HasPrefix(written, "functions") {
			id = written
		}
		written = name
	}
	if !m.startCall(written, id, start) {
		return false
	}
	m.read(NameSpan, i, "name")
	return true
}

// unnamed reads a call that has a number where its name should be, and
// arguments from the k-th byte: the tool they fit is meant.
func (m *machine) unnamed(number string, k, start int) bool {
	r, ok := m.valueAt(k)
	name := number
	if ok {
		name = m.names.fitting(r.Value())
	}
	if name == number || name == "" {
		return m.nameJSON(number, len(number), k, start)
	}
	if !m.startCall(name, "", start) {
		return false
	}
	m.read(NameSpan, k, "number")
	m.repair("inferred-name", llm.Guess, start, start+k)
	m.jsonBody()
	return true
}

// valueAt reads the JSON value k bytes from here and goes back.
func (m *machine) valueAt(k int) (*jsonfix.Reader, bool) {
	m.begin()
	m.take(k)
	r, ok := m.wholeValue()
	m.undo()
	return r, ok
}

// bareID strips the index of an id like functions.get_weather:0.
func bareID(s string) string {
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		if _, err := strconv.Atoi(s[i+1:]); err == nil {
			return s[:i]
		}
	}
	return s
}

// separated reads what stands after a name and a separator: the arguments, or
// the real name if the first word was only a kind.
func (m *machine) separated(t *token, written string, i, j, n, start int) bool {
	m.narrow(t.in(separates))
	if m.rows.meets(m.lex.worded) && m.hasAt(j+n, bold) {
		n += len(bold)
	}
	k := m.spaces(j + n)
	next, _ := m.match(k)
	switch c := m.peek(k); {
	case m.keyLine(k, written) > 0:
		return m.keyLines(written, i, k, start)
	case m.saysNothing(k, written):
		return m.noArgumentsAt(written, i, k, start)
	case c == '{' && isCounter(written) && !m.names.any && !m.names.offered(written):
		return m.unnamed(written, k, start)
	case c == '{' && t.in(separates).meets(m.lex.kindFirst) && !m.names.offered(written) && m.plausibleKey(m.spaces(k+1)):
		m.skip(k, "kind") // name and arguments are in the object
		return m.one(start)
	case next.is(tagCall) && !m.names.offered(written):
		m.skip(k, "kind")
		return m.one(start)
	case next.is(tagParam) || next.is(closes) && t.in(separates).meets(m.lex.pairs):
		return m.pairs(written, i, k, start)
	case isNameStart(c) && t.in(separates).meets(m.lex.kindFirst):
		m.narrow(m.lex.kindFirst)
		m.form(spec.NameJSON)
		m.skip(k, "kind")
		return m.one(start)
	}
	m.keep(m.lex.nameFirst)
	return m.nameJSON(written, i, j+n, start)
}

// withID reads a call whose id stands beside its name.
func (m *machine) withID(t *token, first string, i, j, start int) bool {
	m.narrow(t.in(identifies))
	k := m.spaces(j)
	e := m.word(k, "")
	second := string(m.buf[m.pos+k : m.pos+e])
	name, id := first, second
	if t.in(identifies).meets(m.lex.idFirst) {
		name, id = second, first
	}
	if !m.startCall(name, id, start) {
		return false
	}
	m.read(NameSpan, e, "name and id")
	m.blank("")
	if s, n := m.match(0); s.is(separates) {
		m.skip(n, s.text)
	}
	m.jsonBody()
	return true
}

// nameJSON reads a name of i bytes and, from the j-th byte, its arguments.
func (m *machine) nameJSON(written string, i, j, start int) bool {
	if !m.marked && m.peek(m.spaces(j)) != '{' && !m.looseArgs(j, written) && !m.hasAt(m.spaces(j), "```") && !m.hasAt(m.spaces(j), "`{") || !m.marked && m.names.any && (caption[strings.ToLower(written)] || !m.plausibleBody(m.spaces(j))) {
		return false
	}
	if m.isCode(written, j, j) {
		return m.namedCode(written, i, j, start)
	}
	if k := m.spaces(j); m.envelopeAt(k, written) {
		if !m.marked && m.names.any {
			return false // the word before it is none of the call
		}
		m.skip(k, "name")
		return m.object(m.newEnvelope(start))
	}
	if !m.callNamed(written, i, start) {
		return false
	}
	m.skip(j-i, "separator")
	m.jsonBody()
	return true
}

// plausibleBody reports whether the braces at i may hold arguments.
func (in *input) plausibleBody(i int) bool {
	c := in.peek(in.spaces(i + 1))
	return in.peek(i) != '{' || isQuote(c) || isNameStart(c) || c == '}'
}

// looseArgs reports whether arguments that are no object may stand at j: in
// the dialects of lines they may be quoted, fenced or plain.
func (m *machine) looseArgs(j int, written string) bool {
	name, _ := m.names.resolve(written)
	return m.rows.meets(m.lex.plainArgs) && (m.at(m.spaces(j)) || m.needsNothing(name))
}

// caption are words that people put above JSON. Without a list of tools they are
// not taken for names of tools.
var caption = map[string]bool{
	"json": true, "text": true, "data": true, "output": true, "result": true, "response": true, "answer": true, "example": true,
	"input": true, "object": true, "schema": true, "request": true, "body": true,
}

// jsonBody reads the arguments after a name and ends the call.
func (m *machine) jsonBody() {
	m.blank("")
	for t, n := m.match(0); t.is(separates) && strings.HasPrefix(t.text, "<|"); t, n = m.match(0) { // once more
		m.skip(n, t.text)
		m.blank("")
	}
	coded := m.hasAt(0, "`{") // in inline code
	if coded {
		m.skip(1, "code")
	}
	fenced := m.hasAt(0, "```")
	if fenced {
		m.skip(m.fenceLength(), "fence")
		m.blank("")
	}
	switch c := m.peek(0); {
	case !m.more():
		m.missing("arguments")
	case c == '{' || isQuote(c):
		m.arguments()
	case fenced && m.anyOf(0, m.lex.argsFuncs) > 0:
		n := m.anyOf(0, m.lex.argsFuncs)
		m.skip(n, string(m.buf[m.pos:m.pos+n-1]))
		m.pyArgs()
	case m.closer(0):
	case m.rows.meets(m.lex.plainArgs):
		m.plainArgument()
	default:
		m.badArgs("the arguments are no JSON object")
		m.recover()
	}
	if i := m.spaces(0); m.call.open && m.peek(i) == ',' && isQuote(m.peek(m.spaces(i+1))) {
		m.repair("argument-outside", llm.Guess, m.offset(), m.offset()) // the object ended too early
	}
	if fenced && m.call.open {
		m.endFence()
	}
	if coded && m.call.open && m.peek(0) == '`' {
		m.skip(1, "code")
	}
	m.endCall()
}

// plainArgument reads the rest of a line as the only argument of a tool that
// has exactly one.
func (m *machine) plainArgument() {
	start := m.offset()
	i := 0
	for m.at(i) && m.peek(i) != '\n' {
		i++
	}
	text := strings.TrimSpace(string(m.buf[m.pos : m.pos+i]))
	m.read(ArgsSpan, i, "plain")
	if !m.more() && m.truncated() {
		m.cutCall()
		return
	}
	m.onlyArgument(text, start)
}

// onlyArgument makes text, which began at start, the argument of a tool that
// has one parameter, or needs one.
func (m *machine) onlyArgument(text string, start int) {
	switch strings.ToLower(text) {
	case "none", "null", "n/a", "":
		if m.needsNothing(m.call.name) {
			return
		}
	}
	if m.shape() == nil || onlyParam(m.shape()) == "" {
		m.badArgs("the input is no JSON object")
		return
	}
	key := onlyParam(m.shape())
	m.arg("{" + quoteJSON(key) + ":" + string(typed(m.shape().Property(key).Types(), text)) + "}")
	m.repair("plain-argument", llm.Guess, start, m.offset())
}

// word returns the index after the name that begins i bytes from here, or i if
// there is none. The name ends before any byte in but; it includes the
// backslashes of Markdown.
func (in *input) word(i int, but string) int {
	for end := i + maxName; i < end && in.at(i); {
		c := in.buf[in.pos+i]
		if c == '\\' && in.escapesName(i+1) {
			i += 2
			continue
		}
		if c < utf8.RuneSelf {
			if !isNameByte(c) || strings.IndexByte(but, c) >= 0 {
				return i
			}
			i++
			continue
		}
		for n := 1; n < utf8.UTFMax && !utf8.FullRune(in.buf[in.pos+i:in.pos+i+n]) && in.at(i+n); n++ {
		}
		r, n := utf8.DecodeRune(in.buf[in.pos+i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return i
		}
		i += n
	}
	return i
}

// escapesName reports whether a sign of names stands at i that Markdown escapes.
func (in *input) escapesName(i int) bool {
	c := in.peek(i)
	return c == '_' || c == '-' || c == '.'
}

func isNameStart(c byte) bool { return isLetter(c) || c == '_' || c >= 0x80 }

func isNameByte(c byte) bool {
	return isNameStart(c) || c >= '0' && c <= '9' || c == '.' || c == '-' || c == ':' || c == '/'
}

func isCounter(s string) bool { return strings.Trim(s, "0123456789") == "" }

func suspicion(n, at int, name string) string {
	times := "once"
	if n > 1 {
		times = strconv.Itoa(n) + " times"
	}
	return "text looks like a call in " + name + ", " + times + ", first at byte " + strconv.Itoa(at) + "; it was not read as one"
}

// suspect counts what stands here if it looks like the beginning of a call.
func (m *machine) suspect() {
	if t, n := m.match(0); n > 0 && (t.is(opens) && !t.line || t.is(tagCall)) {
		m.lost.add(t.in(opens).or(t.in(tagCall)), m.offset())
	}
}

// suspectName counts an offered name just before a parenthesis or a brace.
// Before a square bracket it is a list in a program: the check over the whole
// answer finds those that hold a parameter.
func (m *machine) suspectName() {
	c := m.buf[m.pos]
	if m.names.any || c != '(' && c != '{' {
		return
	}
	text := m.lately()
	start := len(text)
	for start > 0 && isNameByte(text[start-1]) {
		start--
	}
	like := spec.PyCall
	if c != '(' {
		like = spec.NameJSON
	}
	if name := string(text[start:]); name != "" && m.names.offered(name) || m.unknownFirst() {
		m.lost.add(m.lex.bare.and(m.lex.form[like]), m.offset()-len(name))
	}
}

// unknownFirst reports whether the bracket that stands here may begin the
// arguments of a tool that was not offered: all that the answer said before is
// a name, and a key follows.
func (m *machine) unknownFirst() bool {
	if !m.started || m.offset()-m.first > maxName || m.first < m.base {
		return false
	}
	before := string(m.buf[m.first-m.base : m.pos])
	name := strings.TrimRight(before, " \r\n")
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !isNameByte(byte(r)) }) {
		return false
	}
	switch c := m.buf[m.pos]; {
	case c == '(' && name == before:
		return m.keyLength(m.spaces(1)) > 0
	case c == '{' && strings.ContainsAny(name, "_."):
		return m.peek(m.spaces(1)) == '"'
	}
	return false
}

// named is the name of a call, of i bytes, and what stands behind it from the
// j-th byte: a marker of n bytes, if there is one.
type named struct {
	written string
	i, j    int
	tok     *token
	n       int
	c       byte
	start   int
}

// namedReaders read a call by what stands behind its name.
func namedReaders() []reader[named] { return append(behindNameReaders(), nameJSONReaders()...) }

// behindNameReaders read arguments other than JSON, and JSON that holds several
// calls.
func behindNameReaders() []reader[named] {
	return []reader[named]{
		{
			name: "code",
			fits: func(m *machine, s named) bool { return !s.tok.is(separates) && m.isCode(s.written, s.i, s.j) },
			read: func(m *machine, s named) bool { return m.namedCode(s.written, s.i, s.j, s.start) },
		},
		{
			name: "id",
			fits: func(m *machine, s named) bool { return s.tok.is(identifies) },
			read: func(m *machine, s named) bool { return m.withID(s.tok, s.written, s.i, s.j+s.n, s.start) },
		},
		{
			name: "separator",
			fits: func(m *machine, s named) bool { return s.tok.is(separates) },
			read: func(m *machine, s named) bool { return m.separated(s.tok, s.written, s.i, s.j, s.n, s.start) },
		},
		{
			name: "pairs",
			fits: func(m *machine, s named) bool { return s.tok.is(tagParam) },
			read: func(m *machine, s named) bool {
				m.narrow(s.tok.in(tagParam))
				if s.j > s.i {
					m.keep(m.lex.newline)
				} else {
					m.keep(m.lex.sameLine)
				}
				return m.pairs(s.written, s.i, s.j, s.start)
			},
		},
		{
			name: "pairs without the tag of their key",
			fits: func(m *machine, s named) bool { return m.marked && m.bareKey(s.j) > 0 },
			read: func(m *machine, s named) bool {
				m.narrow(m.lex.pairs)
				return m.pairs(s.written, s.i, s.j, s.start)
			},
		},
		{
			name: "a line for each argument",
			fits: func(m *machine, s named) bool {
				return s.tok == nil && bytes.IndexByte(m.buf[m.pos+s.i:m.pos+s.j], '\n') >= 0 && m.keyLine(s.j, s.written) > 0
			},
			read: func(m *machine, s named) bool { return m.keyLines(s.written, s.i, s.j, s.start) },
		},
		{
			name: "elements on the next lines",
			fits: (*machine).elementsFollow,
			read: (*machine).nameAndElements,
		},
		{
			name: "Python",
			fits: func(m *machine, s named) bool { return s.c == '(' && s.j == s.i },
			read: func(m *machine, s named) bool { m.form(spec.PyCall); return m.pyCall(s.start) },
		},
		{
			name: "several calls in one",
			fits: func(m *machine, s named) bool { return s.c == '{' && s.written == parallel },
			read: func(m *machine, s named) bool { m.skip(s.j, "name"); return m.object(m.newEnvelope(s.start)) },
		},
		{
			name: "braces",
			fits: func(m *machine, s named) bool { return s.c == '{' && m.rows.only(m.lex.form[spec.BraceCall]) },
			read: func(m *machine, s named) bool { return m.braced(s.written, s.j, s.start) },
		},
	}
}

// colonAndJSON reports whether a colon and an object stand behind a name. Without
// a marker the object must hold a parameter of the tool.
func (m *machine) colonAndJSON(s named) bool {
	i := m.spaces(s.j + 1)
	if s.c != ':' || m.peek(i) != '{' {
		return false
	}
	name, _ := m.names.resolve(s.written)
	key, _ := m.keyAt(m.spaces(i + 1))
	return m.marked || m.declares(name, key)
}

// nameJSONReaders read JSON behind a name, and a name with nothing behind it.
func nameJSONReaders() []reader[named] {
	object := func(m *machine, s named) bool { return s.c == '{' }
	json := func(m *machine, s named) bool { return m.nameJSON(s.written, s.i, s.j, s.start) }
	return []reader[named]{
		{name: "JSON", fits: object, read: func(m *machine, s named) bool {
			m.keep(m.lex.form[spec.NameJSON].or(m.lex.pairs))
			return m.nameJSON(s.written, s.i, s.j, s.start)
		}},
		{
			name: "JSON behind its kind", // what a host leaves of a header
			fits: func(m *machine, s named) bool {
				return m.hasAt(s.j, "json") && m.peek(m.spaces(s.j+4)) == '{' && m.rows.meets(m.lex.header)
			},
			read: func(m *machine, s named) bool { return m.nameJSON(s.written, s.i, m.spaces(s.j+4), s.start) },
		},
		{
			name: "JSON behind a colon",
			fits: (*machine).colonAndJSON,
			read: func(m *machine, s named) bool { return m.nameJSON(s.written, s.i, m.spaces(s.j+1), s.start) },
		},
		{
			name: "JSON in a fence",
			fits: func(m *machine, s named) bool { return m.hasAt(s.j, "```") && (m.marked || !m.names.any) },
			read: json,
		},
		{
			name: "separator behind a name that is none",
			fits: func(m *machine, s named) bool { return m.marked && m.oddName(s.i) > 0 },
			read: func(m *machine, s named) bool {
				i := m.oddName(s.i)
				t, n := m.match(i)
				return m.separated(t, string(m.buf[m.pos:m.pos+i]), i, i, n, s.start)
			},
		},
		{
			name: "nothing",
			fits: func(m *machine, s named) bool { return m.marked && (s.tok.is(closes) || !m.at(s.j)) },
			read: func(m *machine, s named) bool { return m.nameOnly(s.written, s.i, s.start, !m.at(s.j)) },
		},
	}
}
