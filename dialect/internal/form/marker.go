package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
)

// region reads calls that begin with the marker t of n bytes.
func (m markerReader) region(t *lexicon.Token, n int) bool {
	if m.Names.None || t.BeforeName && !chars.IsNameStart(m.Peek(n)) { // >>> and a space is a Python prompt
		return false
	}
	start := m.Offset()
	m.EndOfMessage = false
	ok := m.Guess(func() bool {
		m.Marked, m.Depth, m.Rows = m.Lex.Marks(t), 0, lexicon.RowSet{}
		m.opener(t, n)
		return m.unit(start, true)
	})
	if ok {
		m.units()
	}
	m.Marked, m.Escaped = false, false
	return ok
}

// lone reads a call whose element has no wrapper around it.
func (m markerReader) lone(t *lexicon.Token, n int) bool {
	if m.Names.None {
		return false
	}
	start := m.Offset()
	ok := m.Guess(func() bool {
		if tg, whole := m.asTag().readTag(t, n); whole && !tg.Self && !m.hasBody(tg.Length) && !m.namesTool(tg) && m.onlyTextIn(tg.Name(), tg.Length) == 0 {
			return false // prose about the tag
		}
		if m.UnusedAbove(t.In(lexicon.TagCall)) {
			m.Unused = unusedText
		}
		m.Marked, m.Depth, m.Rows = true, 0, lexicon.RowSet{}
		return m.asTag().tags(t, n, start)
	})
	if ok {
		m.units()
	}
	m.Marked = false
	return ok
}

// hasBody reports whether the body of a call may be i bytes from here, after the tag of the call: an element, an
// object, or the end of the answer.
func (m markerReader) hasBody(i int) bool {
	i = m.Spaces(i)
	if !m.At(i) {
		return true
	}
	t, _ := m.Match(i)
	return t.Is(lexicon.Prefixes) || strings.IndexByte("<{`\\", m.Buf[m.Pos+i]) >= 0
}

// namesTool reports whether the tag contains no name and an offered name follows it.
func (m markerReader) namesTool(tg values.Tag) bool {
	i := m.Spaces(tg.Length)
	j := m.Word(i, "/")
	return tg.Name() == "" && m.Names.Offered(string(m.Buf[m.Pos+i:m.Pos+j]))
}

// opener reads the marker t of n bytes that begins calls.
func (m markerReader) opener(t *lexicon.Token, n int) {
	rows := t.In(lexicon.Opens).Or(t.In(lexicon.Separates))
	m.Narrow(rows)
	m.Outer, m.Code = rows, t.Is(lexicon.Codes)
	m.Depth++
	m.OpenAt, m.OpenTok = m.Offset(), t
	m.Escaped = bytes.IndexByte(m.Buf[m.Pos:m.Pos+n], '\\') >= 0
	m.Skip(n, t.Text)
	if t.Line && t.All.Meets(m.Lex.Worded) && m.HasAt(0, lexicon.Bold) {
		m.Skip(len(lexicon.Bold), t.Text)
	}
	m.Entered = m.Offset()
}

// units reads the calls after the first one, and the markers between and after them.
func (m markerReader) units() {
	for m.More() {
		start := m.Offset()
		if m.mayEcho() && m.echo() {
			continue
		}
		if m.Guess(func() bool { return m.unit(start, false) }) {
			continue
		}
		i := m.Spaces(0)
		t, n := m.Match(i)
		if n == 0 && m.asCut().cutMarker(i, true) {
			return
		}
		if c := m.Peek(i); n == 0 && m.Depth > 0 && (c == ']' || c == '}') {
			m.Skip(i+1, "one too many")
			continue
		}
		if n == 0 || !(t.Is(lexicon.Closes) || t.Is(lexicon.EndCall) || t.Is(lexicon.Drops) || t.Is(lexicon.Separates) && m.Depth > 0 && strings.HasPrefix(t.Text, "<|")) {
			return
		}
		if t.Is(lexicon.Closes) {
			m.Depth--
		}
		m.EndOfMessage = t.Is(lexicon.Drops)
		m.Skip(i, "space")
		m.PlainText().Pass(t, n)
	}
}

// mayEcho reports whether the next call may repeat the last one: its body again after its end, or a block that begins
// before the last one was closed.
func (m markerReader) mayEcho() bool {
	if m.Depth <= 0 {
		return m.Rows.Meets(m.Lex.Echoes) && m.Peek(m.Spaces(0)) == '['
	}
	t, _ := m.Match(m.Spaces(0))
	d := m.Row()
	return t.Is(lexicon.Opens) && len(d.Call) > 0 && d.Call[0].Close != "" && t.Text == lexicon.FoldAll(d.Call[0].Open) && m.Depth > len(d.Wrap)
}

// echo skips a call that exactly repeats the last one.
func (m markerReader) echo() bool {
	last, start := m.Last, m.Offset()
	if last == nil {
		return false
	}
	m.Begin()
	m.Last, m.Depth = nil, max(m.Depth, 1)
	if m.Guess(func() bool { return m.unit(start, false) }) && m.Last != nil && last.Name == m.Last.Name && string(last.Args) == string(m.Last.Args) {
		m.DropTry()
		return true
	}
	m.Undo()
	return false
}

// unit reads one call with the markers and the white space before it. opened reports whether a marker directly precedes
// it.
func (m markerReader) unit(start int, opened bool) bool {
	for {
		m.Blank(",;")
		if !opened {
			start = m.Offset()
			m.UnitAt = start
		}
		t, n := m.Match(0)
		m.AfterCall = !opened
		switch {
		case m.opensUnit(t):
			m.opener(t, n)
			opened = true
		case t.Is(lexicon.Closes) && !t.Is(lexicon.EndCall) && m.Depth > 0:
			m.Depth--
			m.Skip(n, t.Text)
		case t.Is(lexicon.Drops) && strings.Contains(t.Text, "|"):
			m.PlainText().Pass(t, n)
		case m.Depth <= 0 && !t.Is(lexicon.TagCall):
			return false
		case !opened && m.Marked && m.isLoose():
			m.Marked, m.Loose = false, true
			ok := m.one(start)
			m.Marked, m.Loose = true, false
			return ok
		default:
			if ok := m.one(start); ok || !opened || !m.Undecided || !m.noise() {
				return ok
			}
		}
	}
}

// opensUnit reports whether the marker t, before a call, begins calls. A marker that is a word counts only once; after
// that it is an ordinary word.
func (m markerReader) opensUnit(t *lexicon.Token) bool {
	return t.Is(lexicon.Opens) && !t.Is(lexicon.TagCall) && (!t.Line || m.Undecided && m.Depth == 1) && !(m.Marked && m.isWord(t))
}

// isLoose reports whether only an offered name can make the text at the current position another call. That is so if
// the dialect has no marker that ends the calls, and neither an object nor a separator identifies another call.
func (m markerReader) isLoose() bool {
	d := m.Row()
	pairs := d.Wrap
	if len(pairs) == 0 {
		pairs = d.Call
	}
	if len(pairs) == 0 || pairs[0].Close != "" || m.Peek(0) == '{' {
		return false
	}
	i := m.Word(0, "")
	t, _ := m.Match(m.Spaces(i))
	return i == 0 || t == nil || t.Line || !t.Is(lexicon.Separates) && !t.Is(lexicon.Identifies)
}

// noise skips words between two special tokens that begin calls. It reports whether there were any.
func (m markerReader) noise() bool {
	if !m.Marked {
		return false
	}
	for i := 0; i < 128 && m.At(i) && m.Buf[m.Pos+i] != '\n'; i++ {
		if m.Buf[m.Pos+i] != '<' {
			continue
		}
		t, n := m.Match(i)
		if i == 0 || n == 0 || !t.Is(lexicon.Opens) || !strings.Contains(t.Text, "|") {
			return false
		}
		m.Skip(i, "noise")
		m.Unused = unusedText
		return true
	}
	return false
}

// one reads the call at the current position in any form.
func (m markerReader) one(start int) bool {
	if m.Nested == scan.MaxNested {
		return false
	}
	m.Nested++
	ok := m.anyForm(start)
	m.Nested--
	return ok
}

// anyForm is one without the limit of nesting.
func (m markerReader) anyForm(start int) bool {
	m.Anchor, m.Anchored = start, true
	if !m.More() {
		return false
	}
	t, n := m.Match(0)
	at, s := m.Offset(), spot{tok: t, n: n, c: m.Peek(0), start: start}
	read, _ := ask(m.answer, m.lists.forms.at(s), s)
	return read || m.Marked && m.Undecided && m.Offset() == at && m.asGrammar().body(start)
}

// list reads a list of JSON objects or of Python calls.
func (m markerReader) list(start int) bool {
	i := m.Spaces(m.PyComment(m.Spaces(1)))
	switch c := m.Peek(i); {
	case c == '{' || c == ']':
		m.Form(spec.JSONCall)
		m.Keep(m.Lex.List)
		return m.asJson().objects(nil)
	case c == '[' && m.Peek(m.Spaces(i+1)) != '[': // a list in a list may hold calls; deeper lists do not
		m.Skip(1, "[")
		return m.list(start)
	case chars.IsNameStart(c):
		if j := m.Word(i, ""); !m.Marked && m.Names.Any && !m.AtLine() && m.Peek(j) == '(' && m.Peek(m.Spaces(j+1)) == ')' {
			return false // it may be an expression in the middle of a line
		}
		m.Form(spec.PyCall)
		m.Skip(i, "[")
		return m.asPython().pyList(start)
	}
	return false
}

// formReaders read a call by the form it has.
func formReaders() []spotReader {
	return []spotReader{
		{roles: []lexicon.Kind{lexicon.TagCall}, reader: reader[spot]{
			name: "tags", read: func(m *answer, s spot) bool { return m.asTag().tags(s.tok, s.n, s.start) },
		}},
		{roles: []lexicon.Kind{lexicon.Separates, lexicon.Identifies}, reader: reader[spot]{
			name: "separator whose name was dropped",
			fits: func(m *answer, s spot) bool { return !s.tok.Is(lexicon.Opens) || s.tok.Is(lexicon.Identifies) },
			read: func(m *answer, s spot) bool { m.Skip(s.n, s.tok.Text); return m.asMarker().one(s.start) },
		}},
		{bytes: "{", reader: reader[spot]{name: "JSON object", read: func(m *answer, s spot) bool {
			m.Form(spec.JSONCall)
			m.Keep(m.Lex.Single)
			return m.asJson().object(m.asJson().newEnvelope(s.start))
		}}},
		{bytes: "[", reader: reader[spot]{name: "list", read: func(m *answer, s spot) bool { return m.asMarker().list(s.start) }}},
		{reader: reader[spot]{
			name: "code", // directly after its marker
			fits: func(m *answer, s spot) bool { return m.Code && m.Entered >= 0 && m.asCode().codeAt(0) },
			read: func(m *answer, s spot) bool { return m.asCode().rawCode(s.start) },
		}},
		{bytes: "`", reader: reader[spot]{
			name: "fence",
			fits: func(m *answer, s spot) bool { return m.HasAt(0, "```") },
			read: func(m *answer, s spot) bool { return m.asFence().fenced(s.start) },
		}},
		{bytes: bracePrefix[:1], reader: reader[spot]{
			name: "braces",
			fits: func(m *answer, s spot) bool { return m.HasAt(0, bracePrefix) },
			read: func(m *answer, s spot) bool { return m.asBrace().braceCall(s.start) },
		}},
		{roles: []lexicon.Kind{lexicon.Prefixes}, reader: reader[spot]{
			name: "tags behind a prefix", read: func(m *answer, s spot) bool { return m.asElement().prefixed(s.tok, s.n, s.start) },
		}},
		{bytes: "<", reader: reader[spot]{name: "element", read: func(m *answer, s spot) bool { return m.asElement().element(s.start) }}},
		{bytes: chars.BytesWhere(func(c byte) bool { return chars.IsNameStart(c) || c >= '0' && c <= '9' }), reader: reader[spot]{
			name: "name", read: func(m *answer, s spot) bool { return m.asName().nameFirst(s.start) },
		}},
		{bytes: "`\"'", reader: reader[spot]{
			name: "quoted name",
			fits: func(m *answer, s spot) bool {
				return m.Rows.Meets(m.Lex.Form[spec.LineCall]) && chars.IsNameStart(m.Peek(1))
			},
			read: func(m *answer, s spot) bool {
				m.Skip(1, "quote")
				ok := m.asName().nameFirst(s.start)
				if ok && !m.Call.Open && m.Peek(0) == s.c { // the whole call was quoted
					m.Skip(1, "quote")
				}
				return ok
			},
		}},
	}
}
