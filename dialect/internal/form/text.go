package form

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// Special reads the marker, or the call without a marker, at the current position. It reports false if the next byte is
// plain text.
func (m *answer) Special() bool {
	s := spot{c: m.Buf[m.Pos]}
	if s.c == '`' {
		m.noteFence()
	}
	s.tok, s.n = m.Match(0)
	if s.tok == nil && !m.Names.Lines.Has(s.c) && !m.Eof {
		return false // most lines: the first letter also begins a marker
	}
	if !m.Deep {
		m.Deep = engine.MakeStack(m.Pos)
	}
	if read, decided := ask(m, m.lists.early.at(s), s); decided {
		return read
	}
	if s.tok != nil && (s.tok.Line && !m.AtLine() || s.tok.Word && chars.IsNameByte(m.Prev())) {
		s.tok = nil
	}
	read, decided := ask(m, m.lists.text.at(s), s)
	if !decided && (s.tok.Is(lexicon.Opens) || s.tok.Is(lexicon.TagCall)) && !isAttribute(s.tok) && (!m.isWord(s.tok) || m.labelsCall(s.n)) {
		m.Lost.Add(s.tok.All, m.Offset(), judge.Unreadable)
	}
	return read
}

// labelsCall reports whether a call follows a label of n bytes: an offered name, or any name and the label of its
// arguments.
func (m *answer) labelsCall(n int) bool {
	i := m.Spaces(n)
	if m.NameAt(i) {
		return true
	}
	j := m.Word(i, "")
	t, _ := m.Match(m.Spaces(j))
	return j > i && t.Is(lexicon.Separates) && t.All.Meets(m.Lex.Labelled.Or(m.Lex.PlainArgs))
}

// labelsPython reports whether the label t of n bytes, an ordinary word, precedes a name and a parenthesis. A sentence
// may continue after such a label.
func (m *answer) labelsPython(t *lexicon.Token, n int) bool {
	if !t.All.Within(m.Lex.Labelled) {
		return false
	}
	i := n
	for j := 0; j < scan.MaxNested && m.At(i) && strings.IndexByte(" *`", m.Buf[m.Pos+i]) >= 0; j++ {
		i++
	}
	return m.CallAt(i)
}

// Opening looks at the first word of an answer, which may be the name of a tool or the rest of a message header. It
// reports whether it has read a call or a header.
func (m *answer) Opening() bool {
	i := m.Spaces(0)
	if i > 64 || !m.At(i) {
		m.Started = m.At(i)
		return false
	}
	m.Started = true
	if m.AnyOf(i, m.Lex.Head.To) > 0 && m.asHeader().header(nil, 0) || m.PlainText().RecipientLine(i) {
		return true
	}
	m.Pos += i
	m.First, m.Origin = m.Offset(), m.Offset()
	if t, n := m.Match(0); n > 0 && !t.Is(lexicon.Separates) {
		return false
	}
	if m.Names.Any {
		if m.Guess(m.asBare().bareNamed) {
			m.asBare().moreBare()
			return true
		}
	} else if c := m.Buf[m.Pos]; i > 0 && chars.IsLetter(c) { // a name may follow white space
		return m.asBare().bare(c)
	}
	return false
}

// Thought reads the call at the current position in thinking. It begins with the marker t of n bytes, or without a
// marker if t is nil.
func (m *answer) Thought(t *lexicon.Token, n int) bool {
	before := m.Calls
	switch {
	case m.Names.None: // no tools are offered, but a call would end thinking
		return t.Is(lexicon.Opens) && !t.Line && !m.quoted(nil)
	case m.quoted(nil) || t != nil && t.Line && !m.AtLine():
		return false
	case t.Is(lexicon.Opens) && !t.Is(lexicon.Thinks):
		m.asMarker().region(t, n)
	case t.Is(lexicon.TagCall):
		m.asMarker().lone(t, n)
	case t.Is(lexicon.Heads):
		return false
	default:
		m.asBare().bare(m.Buf[m.Pos])
	}
	return m.Calls > before
}

// quoted reports whether the text at the current position, with the marker t if there is one, is quoted.
func (m *answer) quoted(t *lexicon.Token) bool {
	return judge.Decide(&m.Evidence, judge.Candidate{Stage: judge.Seen, Token: t}).Result == judge.IsText
}

// mayCall reports whether text of the given dialects may be a call on this route.
func (m *answer) mayCall(rows lexicon.RowSet) bool {
	return judge.Decide(&m.Evidence, judge.Candidate{Stage: judge.Named, Rows: rows, Marked: m.Marked || m.Loose}).Result != judge.IsText
}

// boldLabel reports whether the line begins here with a label in bold.
func (m *answer) boldLabel(spot) bool {
	if !m.AtLine() || !m.HasAt(0, lexicon.Bold) {
		return false
	}
	t, _ := m.Match(len(lexicon.Bold))
	return t.Is(lexicon.Opens) && t.Line && t.All.Meets(m.Lex.Worded)
}

// Plausible reports whether a call without a marker may begin with c, the byte at the current position.
func (m *answer) Plausible(c byte) bool { return m.asBare().plausible(c) }

// CutShort handles a failed guess. If the answer was cut off in a call, it makes an invalid call of the rest and
// reports true.
func (m *answer) CutShort(f engine.Failure) bool { return m.asCut().cutShort(f) }

// earlyReaders are asked at all markers, even where a marker does not count.
func earlyReaders() []spotReader {
	return []spotReader{
		{reader: reader[spot]{
			name: "quoted in prose",
			fits: func(m *answer, s spot) bool {
				return (s.tok == nil || s.tok.Is(lexicon.Opens) || s.tok.Is(lexicon.TagCall) || s.tok.Is(lexicon.Thinks)) && m.quoted(s.tok)
			},
			read: func(m *answer, s spot) bool {
				if m.Suspect(judge.Quoted); s.tok == nil && s.c == '(' {
					m.asBare().suspectName()
				}
				return false
			},
		}},
		{unmarked: true, bytes: "<", reader: reader[spot]{
			name: "citation", read: func(m *answer, s spot) bool { return m.PlainText().Citation() }, yields: true,
		}},
		{reader: reader[spot]{
			name: "end of thinking that held calls",
			fits: func(m *answer, s spot) bool {
				return m.Held && m.PlainText().ClosesThinking(s.tok, s.n) && !m.PlainText().InsideCall(s.n)
			},
			read: func(m *answer, s spot) bool { m.PlainText().DropHeld(); return true },
		}},
		{reader: reader[spot]{
			name:   "marker that was cut off",
			fits:   func(m *answer, s spot) bool { return m.Eof && (s.tok == nil || s.tok.Is(lexicon.Prefixes)) },
			read:   func(m *answer, s spot) bool { return m.asCut().cutMarker(0, false) },
			yields: true,
		}},
		{reader: reader[spot]{
			name: "call in a message to the user",
			fits: func(m *answer, s spot) bool {
				return m.Muted && (s.tok == nil || s.tok.Is(lexicon.Opens) || s.tok.Is(lexicon.TagCall))
			},
			read: func(m *answer, s spot) bool { return m.asHeader().misaddressed(s.tok, s.n) },
		}},
	}
}

// textReaders read calls and markers in text: first calls without a marker, then markers by their role.
func textReaders() []spotReader {
	bare := func(m *answer, s spot) bool {
		return m.ReadCandidate(nil, false, func() bool { return m.asBare().bare(s.c) })
	}
	region := func(m *answer, s spot) bool {
		return m.ReadCandidate(s.tok, !m.labelsPython(s.tok, s.n), func() bool { return m.asMarker().region(s.tok, s.n) })
	}
	lone := func(m *answer, s spot) bool {
		return m.ReadCandidate(s.tok, true, func() bool { return m.asMarker().lone(s.tok, s.n) })
	}
	think := func(m *answer, s spot) bool { return m.PlainText().OpenThinking(s.tok, s.n) }
	inLine := func(m *answer, s spot) bool { return !s.tok.Line }
	return []spotReader{
		{unmarked: true, bytes: "(", reader: reader[spot]{
			name: "name and parenthesis",
			fits: func(m *answer, s spot) bool { return !m.AtLine() },
			read: func(m *answer, s spot) bool {
				if m.ReadCandidate(nil, false, m.asBare().callInLine) {
					return true
				}
				m.asBare().suspectName()
				return false
			},
		}},
		{unmarked: true, bytes: "*", reader: reader[spot]{
			name: "label in bold", fits: func(m *answer, s spot) bool { return m.boldLabel(s) }, read: func(m *answer, s spot) bool {
				t, n := m.Match(2)
				return m.ReadCandidate(t, !m.labelsPython(t, 2+n), func() bool { return m.asMarker().region(t, 2+n) })
			},
		}},
		{unmarked: true, bytes: "=", reader: reader[spot]{
			name: "assignment", read: func(m *answer, s spot) bool { return m.ReadCandidate(nil, false, m.asLoose().assigned) },
		}},
		{unmarked: true, bytes: "`", reader: reader[spot]{
			name: "program", read: func(m *answer, s spot) bool { return m.asFence().program() }, yields: true,
		}},
		{unmarked: true, reader: reader[spot]{name: "call without a marker", read: bare, yields: true}},
		{unmarked: true, bytes: "{[", reader: reader[spot]{
			name: "data", read: func(m *answer, s spot) bool { return m.asEnvelope().data(s.c) },
		}},
		{roles: []lexicon.Kind{lexicon.Thinks}, reader: reader[spot]{name: "thinking", fits: inLine, read: think}},
		{roles: []lexicon.Kind{lexicon.Unthinks}, reader: reader[spot]{
			name: "end of thinking where none is open",
			fits: func(m *answer, s spot) bool { return !s.tok.Is(lexicon.Drops) && !s.tok.Line },
			read: func(m *answer, s spot) bool { return m.PlainText().StrayThinking(s.tok, s.n) },
		}},
		{roles: []lexicon.Kind{lexicon.Heads}, reader: reader[spot]{
			name: "message header", read: func(m *answer, s spot) bool { return m.asHeader().header(s.tok, s.n) }, yields: true,
		}},
		{roles: []lexicon.Kind{lexicon.Opens}, reader: reader[spot]{
			name: "calls behind a marker", read: region, yields: true,
		}},
		{roles: []lexicon.Kind{lexicon.TagCall}, reader: reader[spot]{
			name: "element of a call", read: lone, yields: true,
		}},
		{roles: []lexicon.Kind{lexicon.Thinks}, reader: reader[spot]{name: "line of thinking", read: think, yields: true}},
		{roles: []lexicon.Kind{lexicon.Drops}, reader: reader[spot]{
			name: "marker without meaning", fits: inLine, read: func(m *answer, s spot) bool { return m.PlainText().Drop(s.tok, s.n) }, yields: true,
		}},
		{roles: []lexicon.Kind{lexicon.Closes, lexicon.EndCall, lexicon.EndParam}, reader: reader[spot]{
			name: "end of calls behind a call",
			fits: func(m *answer, s spot) bool { return m.Calls > 0 && !s.tok.Line },
			read: func(m *answer, s spot) bool {
				m.PassOn()
				m.Around.Called = m.Opts.Markup != nil
				m.Skip(s.n, s.tok.Text)
				return true
			},
		}},
		{marked: true, reader: reader[spot]{name: "call that begins like a marker", read: bare, yields: true}},
	}
}
