package engine

import (
	"bytes"
	"strings"
)

// text reads text, and the markers and calls in it, until thinking begins or the
// answer ends.
func (m *machine) text() {
	flow := m.allPlain
	for m.mode == inText && m.flows(0, flow) {
		if !m.started {
			m.withMarkup(m.opening)
			if m.mode != inText || !m.more() {
				continue
			}
		}
		m.plain()
		if m.pos < len(m.buf) && (m.nothing() || !m.withMarkup(m.special)) {
			m.pos++
		}
	}
}

// allPlain reads text and reports whether it came to the end of what has arrived.
// The last byte may be left unread, if the next one decides what it begins.
func (m *machine) allPlain() bool {
	if !m.prose {
		if m.mode == inText && !m.started {
			return false // the first word is special
		}
		m.prose = m.flow != nil && m.direct && !m.worded()
	}
	m.plain()
	return m.pos >= len(m.buf)-1
}

// prosaic adds a chunk and reads it if it is nothing but text in the middle of
// a line and nothing waits before it: what allPlain would do with most chunks,
// in fewer steps. It reports whether it did.
func (m *machine) prosaic(chunk string) bool {
	start := len(m.buf)
	if m.run != start || start+len(chunk) > cap(m.buf) || m.buf[start-1] == '\n' {
		return false
	}
	m.buf = append(m.buf, chunk...)
	if m.lex.indexStop(m.buf[start:]) < len(chunk) {
		m.buf = m.buf[:start]
		return false
	}
	m.watched.clean.reach(m.base+start, m.base+len(m.buf))
	m.pos, m.run = len(m.buf), len(m.buf) // nothing waits that needs m.chunk
	return true
}

// plain reads text up to a byte that may begin something else.
func (m *machine) plain() {
	rest := m.buf[m.pos:]
	prev := m.prev()
	worded := m.worded()
	m.watched.clean.reach(m.offset(), m.offset())
	for i := 0; ; i++ {
		if prev != '\n' && !worded {
			if n := m.lex.indexStop(rest[i:]); n > 0 {
				i += n
				prev = rest[i-1]
			}
		}
		if i >= len(rest) {
			break
		}
		if anchors[rest[i]] {
			m.watched.clean.start = m.offset() + i + 1
		}
		if m.triggered(rest[i:], prev, worded) {
			m.pos += i
			m.watched.clean.end = m.offset()
			return
		}
		prev = rest[i]
	}
	m.pos = len(m.buf)
	m.watched.clean.end = m.offset()
}

// worded reports whether we are in thinking that ends with words, too.
func (m *machine) worded() bool {
	return m.mode == inThinking && m.thinkBy != nil && m.thinkBy.line
}

// triggered reports whether p, behind the byte prev, may begin something that
// is no text. It looks at what is there.
func (m *machine) triggered(p []byte, prev byte, worded bool) bool {
	c, line := p[0], prev == '\n'
	switch m.placeOf(c) {
	case nowhere:
		return false
	case lineOnly:
		if !line || worded {
			return worded
		}
	case wordOnly:
		if isNameByte(prev) && !worded {
			return false
		}
	case nameOnly:
		return isNameByte(prev) || line && !m.names.any
	}
	switch {
	case len(p) == 1 || line && (m.names.first.has(c) || m.names.begin.has(c)):
		return true
	case c == '<' && p[1] == ' ':
		return m.lex.spacedMarker(p)
	}
	return m.lex.followers[c].has(p[1])
}

// placeOf returns where c may begin something that is no text.
func (m *machine) placeOf(c byte) place {
	p := m.lex.triggers[c]
	if p == nowhere && m.names.starts.has(c) {
		return lineOnly
	}
	return p
}

// nothing reports whether the byte behind the next one, which plain may not
// have seen, says that nothing begins here.
func (m *machine) nothing() bool {
	c := m.buf[m.pos]
	if m.placeOf(c) == lineOnly || m.names.first.has(c) && m.prev() == '\n' {
		return false
	}
	return m.at(1) && !m.lex.followers[c].has(m.buf[m.pos+1])
}

// prev is the byte before the next one. The answer begins like a line.
func (m *machine) prev() byte {
	if m.pos == 0 || m.offset() == m.origin {
		return '\n'
	}
	return m.buf[m.pos-1]
}

// atLine reports whether a line begins here.
func (m *machine) atLine() bool {
	return m.prev() == '\n' || !m.started || m.offset() == m.first
}

// opening looks at the first word of an answer, which may be the name of a
// tool or the rest of a message header. It reports whether it was.
func (m *machine) opening() bool {
	i := m.spaces(0)
	if i > 64 || !m.at(i) {
		m.started = m.at(i)
		return false
	}
	m.started = true
	if m.anyOf(i, m.lex.head.to) > 0 && m.header(nil, 0) || m.recipientLine(i) {
		return true
	}
	m.pos += i
	m.first, m.origin = m.offset(), m.offset()
	if t, n := m.match(0); n > 0 && !t.is(separates) {
		return false
	}
	if m.names.any {
		if m.guess(m.bareNamed) {
			m.moreBare()
			return true
		}
	} else if c := m.buf[m.pos]; i > 0 && isLetter(c) { // a space before it does not hide a name
		return m.bare(c)
	}
	return false
}

// recipientLine passes over whom the message is for at the beginning of an
// answer, where the prompt held the marker before it: a word and a marker, or
// the line of a dialect that separates messages.
func (m *machine) recipientLine(i int) bool {
	if m.namedAt(i) {
		if n := m.addressee(i, m.lex.roles, false); n > 0 {
			m.skip(i+n, "recipient")
			m.around.headed = m.offset()
			return true
		}
	}
	for _, o := range m.lex.openings {
		if m.hasAt(i, o.line.Open) && m.opensAnswer(o, i+len(o.line.Open)) {
			m.skip(i+len(o.line.Open), "recipient")
			m.first, m.around.headed = m.offset(), m.offset()
			return true
		}
	}
	return false
}

// opensAnswer reports whether the line before the j-th byte, with which answers
// of a dialect begin, is no text.
func (m *machine) opensAnswer(o opening, j int) bool {
	for !m.hint.meets(o.row) && !m.hasAt(j, o.line.Close) {
		if j++; j > maxGuess || !m.at(j) {
			return false
		}
	}
	return true
}

// namedAt reports whether the word i bytes from here is an offered name, or
// any word if every name will do. It waits only as long as it may be one.
func (m *machine) namedAt(i int) bool {
	if m.names.any {
		return true
	}
	if !m.at(i) || !m.names.first.has(m.buf[m.pos+i]) {
		return false // most first words
	}
	n := 0
	for n < maxName && m.at(i+n) && isNameByte(m.buf[m.pos+i+n]) {
		if n++; !m.names.mayBecome(string(m.buf[m.pos+i : m.pos+i+n])) {
			return false
		}
	}
	return n > 0
}

// special reads the marker, or the call without one, that stands here. It
// reports false if the next byte is just text.
func (m *machine) special() bool {
	s := spot{c: m.buf[m.pos]}
	if s.c == '`' {
		m.noteFence()
	}
	s.tok, s.n = m.match(0)
	if s.tok == nil && !m.names.lines.has(s.c) && !m.eof {
		return false // most lines: their first letter begins a marker, too
	}
	if !m.deep {
		m.deep = makeStack(m.pos)
	}
	if read, decided := ask(m, m.lex.readers.early.at(s), s); decided {
		return read
	}
	if s.tok != nil && (s.tok.line && !m.atLine() || s.tok.word && isNameByte(m.prev())) {
		s.tok = nil
	}
	read, decided := ask(m, m.lex.readers.text.at(s), s)
	if !decided && (s.tok.is(opens) || s.tok.is(tagCall)) && !isAttribute(s.tok) && (!s.tok.all.within(m.lex.labelled) || m.labelsCall(s.n)) {
		m.lost.add(s.tok.all, m.offset())
	}
	return read
}

// labelsCall reports whether a call stands behind a label of n bytes: an offered
// name, or any name and the label of its arguments.
func (m *machine) labelsCall(n int) bool {
	i := m.spaces(n)
	if m.nameAt(i) {
		return true
	}
	j := m.word(i, "")
	t, _ := m.match(m.spaces(j))
	return j > i && t.is(separates) && t.all.meets(m.lex.labelled)
}

// labelsPython reports whether a label of n bytes, which is an ordinary word,
// stands before a name and a parenthesis: a sentence may go on behind them.
func (m *machine) labelsPython(t *token, n int) bool {
	if !t.all.within(m.lex.labelled) {
		return false
	}
	i := n
	for j := 0; j < maxNested && m.at(i) && strings.IndexByte(" *`", m.buf[m.pos+i]) >= 0; j++ {
		i++
	}
	return m.callAt(i)
}

// insideCall reports whether the end of thinking, of n bytes, stands between a
// call and the marker that ends it: then the model forgot to end its thinking
// before the call.
func (m *machine) insideCall(n int) bool {
	t, _ := m.match(m.spaces(n))
	return m.depth > 0 && t.is(closes)
}

// bold are the signs around a label in bold.
const bold = "**"

// boldLabel reports whether a label in bold stands at the beginning of this
// line.
func (m *machine) boldLabel(spot) bool {
	if !m.atLine() || !m.hasAt(0, bold) {
		return false
	}
	t, _ := m.match(len(bold))
	return t.is(opens) && t.line && t.all.meets(m.lex.worded)
}

// lastLine returns what p holds behind its last newline.
func lastLine(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 { // faster than from behind
		return p
	}
	return p[bytes.LastIndexByte(p, '\n')+1:]
}

// drop passes over a marker without meaning. Words that are also ordinary
// elements count as markers only next to thinking and at the end, or if the
// dialect that uses them is expected.
func (m *machine) drop(t *token, n int) bool {
	if isPlainTag(t.text) && !t.always {
		if !m.hint.meets(t.in(drops)) && (!m.thought || !strings.HasPrefix(t.text, "</") && m.said()) {
			return false
		}
	}
	m.pass(t, n)
	return true
}

// isPlainTag reports whether a marker is a tag that ordinary markup may hold:
// its name is nothing but letters.
func isPlainTag(marker string) bool {
	name := strings.TrimPrefix(strings.Trim(marker, "<>"), "/")
	for i := range len(name) {
		if !isLetter(name[i]) {
			return false
		}
	}
	return marker[0] == '<'
}

// citation passes over a tag of a citation, like <co> or </co: 0:[1,2]>, in an
// answer whose dialect has such tags.
func (m *machine) citation() bool {
	if !m.cites && !m.hint.meets(m.lex.cites) {
		return false
	}
	i := 1
	if m.peek(i) == '/' {
		i++
	}
	n := m.anyOf(i, m.lex.cited)
	if n == 0 {
		return false
	}
	for i += n; i < maxName && m.at(i) && strings.IndexByte(" 0123456789:,[]", m.buf[m.pos+i]) >= 0; i++ {
	}
	if m.peek(i) != '>' {
		return false
	}
	m.skip(i+1, "citation")
	return true
}

// pass passes over a marker without meaning and, if it begins a message, whom
// that is for.
func (m *machine) pass(t *token, n int) {
	m.skip(n, t.text)
	m.origin = m.offset() // what follows begins like an answer
	m.cites = m.cites || t.all.within(m.lex.cites)
	if t.is(addresses) {
		if n := m.addressee(m.spaces(0), t.in(addresses), true); n > 0 {
			m.skip(m.spaces(0)+n, "recipient")
		}
	}
	m.around.headed = m.offset()
}

// addressee returns the length of the word i bytes from here that a marker of
// one of the given dialects follows: it says whom the message is for.
func (in *input) addressee(i int, rows rowSet, several bool) int {
	j := in.word(i, "")
	for several && j > i && j-i < maxName && in.peek(j) == ' ' && isNameStart(in.peek(j+1)) {
		j = in.word(j+1, "")
	}
	if j == i || in.peek(j) != '<' {
		return 0
	}
	if t, _ := in.match(j); t == nil || !t.all.meets(rows) || t.is(closes) {
		return 0
	}
	return j - i
}

// hasAt reports whether s stands i bytes from here. It waits for input only
// while it may.
func (in *input) hasAt(i int, s string) bool {
	for j := range len(s) {
		if !in.at(i+j) || in.buf[in.pos+i+j] != s[j] {
			return false
		}
	}
	return true
}

// anyOf returns the length of the one of list that stands i bytes from here, in
// any spelling; 0 if there is none.
func (in *input) anyOf(i int, list []string) int {
	for _, s := range list {
		if n := in.literal(i, s); n > 0 {
			return n
		}
	}
	return 0
}

// literal is hasAt for markers: bars of any spelling count. It returns how
// many bytes stand for s, 0 if it is not there.
func (in *input) literal(i int, s string) int {
	j := i
	for k := range len(s) {
		if !in.at(j) {
			return 0
		}
		c, width := in.folded(j)
		if c != s[k] {
			return 0
		}
		j += width
	}
	return j - i
}

// recover passes over what cannot be read, up to the next marker that ends or
// begins a call. Without markers what follows is text again.
func (m *machine) recover() {
	for m.marked && m.more() {
		i := bytes.IndexAny(m.buf[m.pos:], "<[]")
		if i == 0 {
			if m.closer(0) {
				return
			}
			i = 1
		}
		if i < 0 {
			i = len(m.buf) - m.pos
		}
		m.read(ArgsSpan, i, "unreadable")
	}
}

// earlyReaders decide what is read before the place of a marker counts.
func earlyReaders() []spotReader {
	return []spotReader{
		{reader: reader[spot]{
			name: "quoted in prose",
			fits: func(m *machine, s spot) bool {
				return (s.tok == nil || s.tok.is(opens) || s.tok.is(tagCall) || s.tok.is(thinks)) && (m.quoted() || s.tok != nil && m.inQuotes())
			},
			read: func(m *machine, s spot) bool {
				if m.suspect(); s.tok == nil && s.c == '(' {
					m.suspectName()
				}
				return false
			},
		}},
		{unmarked: true, bytes: "<", reader: reader[spot]{
			name: "citation", read: func(m *machine, s spot) bool { return m.citation() }, yields: true,
		}},
		{reader: reader[spot]{
			name: "end of thinking that held calls",
			fits: func(m *machine, s spot) bool {
				return m.held && m.closesThinking(s.tok, s.n) && !m.insideCall(s.n)
			},
			read: func(m *machine, s spot) bool { m.dropHeld(); return true },
		}},
		{reader: reader[spot]{
			name:   "marker that was cut off",
			fits:   func(m *machine, s spot) bool { return m.eof && (s.tok == nil || s.tok.is(prefixes)) },
			read:   func(m *machine, s spot) bool { return m.cutMarker(0, false) },
			yields: true,
		}},
		{reader: reader[spot]{
			name: "call in a message to the user",
			fits: func(m *machine, s spot) bool {
				return m.muted && (s.tok == nil || s.tok.is(opens) || s.tok.is(tagCall))
			},
			read: func(m *machine, s spot) bool { return m.misaddressed(s.tok, s.n) },
		}},
	}
}

// textReaders read what is not text where text may stand: first what has no
// marker, then markers by their role.
func textReaders() []spotReader {
	bare := func(m *machine, s spot) bool { return m.placed(nil, false, func() bool { return m.bare(s.c) }) }
	region := func(m *machine, s spot) bool {
		return m.placed(s.tok, !m.labelsPython(s.tok, s.n), func() bool { return m.region(s.tok, s.n) })
	}
	lone := func(m *machine, s spot) bool { return m.placed(s.tok, true, func() bool { return m.lone(s.tok, s.n) }) }
	think := func(m *machine, s spot) bool { return m.openThinking(s.tok, s.n) }
	inLine := func(m *machine, s spot) bool { return !s.tok.line }
	return []spotReader{
		{unmarked: true, bytes: "(", reader: reader[spot]{
			name: "name and parenthesis",
			fits: func(m *machine, s spot) bool { return !m.atLine() },
			read: func(m *machine, s spot) bool {
				if m.placed(nil, false, m.callInLine) {
					return true
				}
				m.suspectName()
				return false
			},
		}},
		{unmarked: true, bytes: "*", reader: reader[spot]{
			name: "label in bold", fits: (*machine).boldLabel, read: func(m *machine, s spot) bool {
				t, n := m.match(2)
				return m.placed(t, !m.labelsPython(t, 2+n), func() bool { return m.region(t, 2+n) })
			},
		}},
		{unmarked: true, bytes: "=", reader: reader[spot]{
			name: "assignment", read: func(m *machine, s spot) bool { return m.placed(nil, false, m.assigned) },
		}},
		{unmarked: true, bytes: "`", reader: reader[spot]{
			name: "program", read: func(m *machine, s spot) bool { return m.program() }, yields: true,
		}},
		{unmarked: true, reader: reader[spot]{name: "call without a marker", read: bare, yields: true}},
		{unmarked: true, bytes: "{[", reader: reader[spot]{
			name: "data", read: func(m *machine, s spot) bool { return m.data(s.c) },
		}},
		{roles: []kind{thinks}, reader: reader[spot]{name: "thinking", fits: inLine, read: think}},
		{roles: []kind{unthinks}, reader: reader[spot]{
			name: "end of thinking where none is open",
			fits: func(m *machine, s spot) bool { return !s.tok.is(drops) && !s.tok.line },
			read: func(m *machine, s spot) bool { return m.strayThinking(s.tok, s.n) },
		}},
		{roles: []kind{heads}, reader: reader[spot]{
			name: "message header", read: func(m *machine, s spot) bool { return m.header(s.tok, s.n) }, yields: true,
		}},
		{roles: []kind{opens}, reader: reader[spot]{
			name: "calls behind a marker", read: region, yields: true,
		}},
		{roles: []kind{tagCall}, reader: reader[spot]{
			name: "element of a call", read: lone, yields: true,
		}},
		{roles: []kind{thinks}, reader: reader[spot]{name: "line of thinking", read: think, yields: true}},
		{roles: []kind{drops}, reader: reader[spot]{
			name: "marker without meaning", fits: inLine, read: func(m *machine, s spot) bool { return m.drop(s.tok, s.n) }, yields: true,
		}},
		{roles: []kind{closes, endCall, endParam}, reader: reader[spot]{
			name: "end of calls behind a call",
			fits: func(m *machine, s spot) bool { return m.calls > 0 && !s.tok.line },
			read: func(m *machine, s spot) bool {
				m.passOn()
				m.around.called = m.opts.Markup != nil
				m.skip(s.n, s.tok.text)
				return true
			},
		}},
		{marked: true, reader: reader[spot]{name: "call that begins like a marker", read: bare, yields: true}},
	}
}
