package engine

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
)

// region reads calls that begin with a marker.
func (m *machine) region(t *token, n int) bool {
	if m.names.none || t.beforeName && !isNameStart(m.peek(n)) { // >>> and a space is a prompt of Python
		return false
	}
	start := m.offset()
	m.endOfMessage = false
	ok := m.guess(func() bool {
		m.marked, m.depth, m.rows = m.lex.marks(t), 0, rowSet{}
		m.opener(t, n)
		return m.unit(start, true)
	})
	if ok {
		m.units()
	}
	m.marked, m.escaped = false, false
	return ok
}

// lone reads a call whose element has no wrapper.
func (m *machine) lone(t *token, n int) bool {
	if m.names.none {
		return false
	}
	start := m.offset()
	ok := m.guess(func() bool {
		if tg, whole := m.readTag(t, n); whole && !tg.self && !m.hasBody(tg.length) && !m.namesTool(tg) && m.onlyTextIn(tg.name(), tg.length) == 0 {
			return false // a tag that prose is about
		}
		m.marked, m.depth, m.rows = true, 0, rowSet{}
		return m.tags(t, n, start)
	})
	if ok {
		m.units()
	}
	m.marked = false
	return ok
}

// hasBody reports whether what stands i bytes from here may be the body of a
// call, behind its tag: an element, an object, or the end of the answer.
func (in *input) hasBody(i int) bool {
	i = in.spaces(i)
	if !in.at(i) {
		return true
	}
	t, _ := in.match(i)
	return t.is(prefixes) || strings.IndexByte("<{`\\", in.buf[in.pos+i]) >= 0
}

// onlyTextIn returns the length of the text that stands i bytes from here, in the
// element of a call, up to its end, if it can be the only argument of the tool
// that is written so. It is 0 if it cannot.
func (m *machine) onlyTextIn(written string, i int) int {
	name, known := m.names.resolve(written)
	shape := m.names.shape(name)
	if !known || shape == nil || onlyParam(shape) == "" {
		return 0
	}
	for j := i; j < i+maxGuess && m.at(j); j++ {
		if m.buf[m.pos+j] != '<' {
			continue
		}
		if t, _ := m.match(j); !t.is(endCall) || m.spaces(i) == j {
			return 0
		}
		return j - i
	}
	return 0
}

// namesTool reports whether the tag names nothing and an offered name stands
// behind it.
func (m *machine) namesTool(tg tag) bool {
	i := m.spaces(tg.length)
	j := m.word(i, "/")
	return tg.name() == "" && m.names.offered(string(m.buf[m.pos+i:m.pos+j]))
}

func (m *machine) opener(t *token, n int) {
	rows := t.in(opens).or(t.in(separates))
	m.narrow(rows)
	m.outer, m.code = rows, t.is(codes)
	m.depth++
	m.openAt, m.openTok = m.offset(), t
	m.escaped = bytes.IndexByte(m.buf[m.pos:m.pos+n], '\\') >= 0
	m.skip(n, t.text)
	if t.line && t.all.meets(m.lex.worded) && m.hasAt(0, bold) {
		m.skip(len(bold), t.text)
	}
	m.entered = m.offset()
}

// units reads the calls that follow the first one, and the markers between
// and after them.
func (m *machine) units() {
	for m.more() {
		start := m.offset()
		if m.mayEcho() && m.echo() {
			continue
		}
		if m.guess(func() bool { return m.unit(start, false) }) {
			continue
		}
		i := m.spaces(0)
		t, n := m.match(i)
		if n == 0 && m.cutMarker(i, true) {
			return
		}
		if c := m.peek(i); n == 0 && m.depth > 0 && (c == ']' || c == '}') {
			m.skip(i+1, "one too many")
			continue
		}
		if n == 0 || !(t.is(closes) || t.is(endCall) || t.is(drops) || t.is(separates) && m.depth > 0 && strings.HasPrefix(t.text, "<|")) {
			return
		}
		if t.is(closes) {
			m.depth--
		}
		m.endOfMessage = t.is(drops)
		m.skip(i, "space")
		m.pass(t, n)
	}
}

// mayEcho reports whether what follows may repeat the last call: its body
// after its own end, or a block that begins before the last one was closed.
func (m *machine) mayEcho() bool {
	if m.depth <= 0 {
		return m.rows.meets(m.lex.echoes) && m.peek(m.spaces(0)) == '['
	}
	t, _ := m.match(m.spaces(0))
	d := m.row()
	return t.is(opens) && len(d.Call) > 0 && d.Call[0].Close != "" && t.text == foldAll(d.Call[0].Open) && m.depth > len(d.Wrap)
}

// echo passes over a call that is exactly the last one again.
func (m *machine) echo() bool {
	last, start := m.last, m.offset()
	if last == nil {
		return false
	}
	m.begin()
	m.last, m.depth = nil, max(m.depth, 1)
	if m.guess(func() bool { return m.unit(start, false) }) && m.last != nil && last.Name == m.last.Name && string(last.Args) == string(m.last.Args) {
		m.dropTry()
		return true
	}
	m.undo()
	return false
}

// unit reads one call with the markers and the white space before it. opened
// says that one of the markers stands just before it.
func (m *machine) unit(start int, opened bool) bool {
	for {
		m.blank(",;")
		if !opened {
			start = m.offset()
			m.unitAt = start
		}
		t, n := m.match(0)
		m.behind = !opened
		switch {
		case m.opensUnit(t):
			m.opener(t, n)
			opened = true
		case t.is(closes) && !t.is(endCall) && m.depth > 0:
			m.depth--
			m.skip(n, t.text)
		case t.is(drops) && strings.Contains(t.text, "|"):
			m.pass(t, n)
		case m.depth <= 0 && !t.is(tagCall):
			return false
		case !opened && m.marked && m.isLoose():
			m.marked, m.loose = false, true
			ok := m.one(start)
			m.marked, m.loose = true, false
			return ok
		default:
			if ok := m.one(start); ok || !opened || !m.undecided || !m.noise() {
				return ok
			}
		}
	}
}

// opensUnit reports whether the marker t, before a call, begins calls. One that
// begins with a letter does so once: further on it is an ordinary word.
func (m *machine) opensUnit(t *token) bool {
	return t.is(opens) && !t.is(tagCall) && (!t.line || m.undecided && m.depth == 1)
}

// isLoose reports whether what stands here, behind a call, is another one only
// if its name was offered: nothing has ended the calls because the dialect has
// no such marker, and neither an object nor a separator says that it is one.
func (m *machine) isLoose() bool {
	d := m.row()
	pairs := d.Wrap
	if len(pairs) == 0 {
		pairs = d.Call
	}
	if len(pairs) == 0 || pairs[0].Close != "" || m.peek(0) == '{' {
		return false
	}
	i := m.word(0, "")
	t, _ := m.match(m.spaces(i))
	return i == 0 || t == nil || t.line || !t.is(separates) && !t.is(identifies)
}

// noise passes over words between a special token that opens calls and the
// next one. It reports whether there were any.
func (m *machine) noise() bool {
	if !m.marked {
		return false
	}
	for i := 0; i < 128 && m.at(i) && m.buf[m.pos+i] != '\n'; i++ {
		if m.buf[m.pos+i] != '<' {
			continue
		}
		t, n := m.match(i)
		if i == 0 || n == 0 || !t.is(opens) || !strings.Contains(t.text, "|") {
			return false
		}
		m.skip(i, "noise")
		return true
	}
	return false
}

// maxNested bounds how deep a call may stand in what may stand around it:
// fences, separators, objects that hold only a call.
const maxNested = 16

// one reads the call that stands here, whatever form it has.
func (m *machine) one(start int) bool {
	if m.nested == maxNested {
		return false
	}
	m.nested++
	ok := m.anyForm(start)
	m.nested--
	return ok
}

// anyForm reads the call that stands here by the form it has.
func (m *machine) anyForm(start int) bool {
	m.anchor, m.anchored = start, true
	if !m.more() {
		return false
	}
	t, n := m.match(0)
	s := spot{tok: t, n: n, c: m.peek(0), start: start}
	read, _ := ask(m, m.lex.readers.forms.at(s), s)
	return read
}

// list reads a list of JSON objects or of Python calls.
func (m *machine) list(start int) bool {
	i := m.spaces(m.pyComment(m.spaces(1)))
	switch c := m.peek(i); {
	case c == '{' || c == ']':
		m.form(spec.JSONCall)
		m.keep(m.lex.list)
		return m.objects(nil)
	case c == '[' && m.peek(m.spaces(i+1)) != '[': // a list in a list; deeper is no call
		m.skip(1, "[")
		return m.list(start)
	case isNameStart(c):
		if j := m.word(i, ""); !m.marked && m.names.any && !m.atLine() && m.peek(j) == '(' && m.peek(m.spaces(j+1)) == ')' {
			return false // an expression in the middle of a line, for all we know
		}
		m.form(spec.PyCall)
		m.skip(i, "[")
		return m.pyList(start)
	}
	return false
}

// formReaders read a call by the form it has.
func formReaders() []spotReader {
	return []spotReader{
		{roles: []kind{tagCall}, reader: reader[spot]{
			name: "tags", read: func(m *machine, s spot) bool { return m.tags(s.tok, s.n, s.start) },
		}},
		{roles: []kind{separates, identifies}, reader: reader[spot]{
			name: "separator whose name was dropped",
			fits: func(m *machine, s spot) bool { return !s.tok.is(opens) || s.tok.is(identifies) },
			read: func(m *machine, s spot) bool { m.skip(s.n, s.tok.text); return m.one(s.start) },
		}},
		{bytes: "{", reader: reader[spot]{name: "JSON object", read: func(m *machine, s spot) bool {
			m.form(spec.JSONCall)
			m.keep(m.lex.single)
			return m.object(m.newEnvelope(s.start))
		}}},
		{bytes: "[", reader: reader[spot]{name: "list", read: func(m *machine, s spot) bool { return m.list(s.start) }}},
		{reader: reader[spot]{
			name: "code", // right behind its marker
			fits: func(m *machine, s spot) bool { return m.code && m.entered >= 0 && m.codeAt(0) },
			read: func(m *machine, s spot) bool { return m.rawCode(s.start) },
		}},
		{bytes: "`", reader: reader[spot]{
			name: "fence",
			fits: func(m *machine, s spot) bool { return m.hasAt(0, "```") },
			read: func(m *machine, s spot) bool { return m.fenced(s.start) },
		}},
		{bytes: bracePrefix[:1], reader: reader[spot]{
			name: "braces",
			fits: func(m *machine, s spot) bool { return m.hasAt(0, bracePrefix) },
			read: func(m *machine, s spot) bool { return m.braceCall(s.start) },
		}},
		{roles: []kind{prefixes}, reader: reader[spot]{
			name: "tags behind a prefix", read: func(m *machine, s spot) bool { return m.prefixed(s.tok, s.n, s.start) },
		}},
		{bytes: "<", reader: reader[spot]{name: "element", read: func(m *machine, s spot) bool { return m.element(s.start) }}},
		{bytes: bytesWhere(func(c byte) bool { return isNameStart(c) || c >= '0' && c <= '9' }), reader: reader[spot]{
			name: "name", read: func(m *machine, s spot) bool { return m.nameFirst(s.start) },
		}},
		{bytes: "`\"'", reader: reader[spot]{
			name: "quoted name",
			fits: func(m *machine, s spot) bool {
				return m.rows.meets(m.lex.form[spec.LineCall]) && isNameStart(m.peek(1))
			},
			read: func(m *machine, s spot) bool {
				m.skip(1, "quote")
				ok := m.nameFirst(s.start)
				if ok && !m.call.open && m.peek(0) == s.c { // all of the call was quoted
					m.skip(1, "quote")
				}
				return ok
			},
		}},
	}
}
