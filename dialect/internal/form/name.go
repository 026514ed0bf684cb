package form

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// parallel is the name that models use to make several calls at once.
const parallel = "multi_tool_use.parallel"

// nameFirst reads a call that begins with its name. The text after the name determines the form.
func (m nameReader) nameFirst(start int) bool {
	i := m.Word(0, "")
	written := string(m.Buf[m.Pos : m.Pos+i])
	if i == 0 || !m.mayBeName(strings.TrimRight(written, ":")) {
		return false
	}
	if trimmed := strings.TrimRight(written, ":"); trimmed != written { // name: {…}
		i, written = len(trimmed), trimmed
	}
	j := m.afterName(i)
	t, n := m.Match(j)
	if i == 0 {
		return false
	}
	read, _ := ask(m.answer, m.lists.named, named{written: written, i: i, j: j, tok: t, n: n, c: m.Peek(j), start: start})
	return read
}

// mayBeName reports whether a word may be the name of a call. Without a marker it must be an offered name or a known
// wrapper.
func (m nameReader) mayBeName(written string) bool {
	return m.Marked || m.Names.Any || m.Names.Offered(m.asPython().withoutMethod(bareID(written))) ||
		written == "print" || written == "functions" || written == parallel
}

// afterName returns the index after a name of i bytes. It skips white space, the end of quotes and escaped newlines.
func (m nameReader) afterName(i int) int {
	j := m.Spaces(i)
	if c := m.Peek(i); (c == '`' || chars.IsQuote(c)) && m.Rows.Meets(m.Lex.Form[spec.LineCall]) && m.Prev() == c {
		j = m.Spaces(i + 1)
	}
	if m.Rows.Meets(m.Lex.Worded) && m.HasAt(j, lexicon.Bold) {
		j = m.Spaces(j + len(lexicon.Bold))
	}
	if k := m.Spaces(j + 1); m.Peek(j) == ',' && m.Rows.Meets(m.Lex.Labelled) { // the arguments on the same line
		if t, _ := m.Match(k); t.In(lexicon.Separates).Meets(m.Lex.Labelled) {
			j = k
		}
	}
	for m.Marked && m.HasAt(j, `\n`) {
		j = m.Spaces(j + 2)
	}
	return j
}

// oddName returns the index of the separator after a word in the place of a name that may not be a valid name. The word
// has at least i bytes. It returns 0 if there is no separator.
func (m nameReader) oddName(i int) int {
	for k := i; k < lexicon.MaxName && m.At(k) && !chars.IsSpace(m.Buf[m.Pos+k]); k++ {
		if t, n := m.Match(k); n > 0 {
			if t.Is(lexicon.Separates) && !t.Is(lexicon.Closes) {
				return k
			}
			return 0
		}
	}
	return 0
}

// nameOnly reads a call that consists only of its name. eof reports whether the answer ends after it.
func (m nameReader) nameOnly(written string, i, start int, eof bool) bool {
	switch {
	case m.AfterCall:
		return false // text after a call is not a name
	case m.Names.Any && eof && !m.Truncated(), m.Names.Any && !eof && !m.endsName(m.Spaces(i)):
		return false // a word after a marker is not yet a call
	case !m.Names.Any && !m.Names.Offered(bareID(written)) && !(eof && m.Truncated() && m.Names.Begins(written)):
		return false
	}
	if !m.callNamed(written, i, start) {
		return false
	}
	if eof {
		m.Blank("")
		m.Missing("end")
	}
	m.EndCall()
	return true
}

// endsName reports whether a marker is i bytes from here that makes a call of a name alone.
func (m nameReader) endsName(i int) bool {
	t, _ := m.Match(i)
	return t.In(lexicon.Closes).Meets(m.Lex.NameAlone)
}

// callNamed starts the call whose name is the next i bytes.
func (m nameReader) callNamed(written string, i, start int) bool {
	id := ""
	if name := bareID(written); name != written {
		if strings.HasPrefix(written, "functions") {
			id = written
		}
		written = name
	}
	if !m.StartCall(written, id, start) {
		return false
	}
	m.Read(engine.NameSpan, i, "name")
	return true
}

// unnamed reads a call with a number in place of its name, and arguments from the k-th byte. The tool that fits the
// arguments is called.
func (m nameReader) unnamed(number string, k, start int) bool {
	r, ok := m.valueAt(k)
	name := number
	if ok {
		name = m.Names.Fitting(r.Value())
	}
	if name == number || name == "" {
		return m.nameJSON(number, len(number), k, start)
	}
	if !m.StartCall(name, "", start) {
		return false
	}
	m.Read(engine.NameSpan, k, "number")
	m.Repair("inferred-name", llm.Guess, start, start+k)
	m.jsonBody()
	return true
}

// valueAt reads the JSON value k bytes from here and goes back.
func (m nameReader) valueAt(k int) (*jsonfix.Reader, bool) {
	m.Begin()
	m.Take(k)
	r, ok := m.asValue().wholeValue()
	m.Undo()
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

// separated reads the text after a name and a separator: the arguments, or the real name if the first word was only a
// kind.
func (m nameReader) separated(t *lexicon.Token, written string, i, j, n, start int) bool {
	m.Narrow(t.In(lexicon.Separates))
	if m.Rows.Meets(m.Lex.Worded) && m.HasAt(j+n, lexicon.Bold) {
		n += len(lexicon.Bold)
	}
	k := m.Spaces(j + n)
	next, _ := m.Match(k)
	kind := func() {
		if values.Keys[written] != values.BothRole {
			m.Unused = unusedText
		}
		m.Skip(k, "kind")
	}
	switch c := m.Peek(k); {
	case c == '<' && m.asElement().declaredAt(k, written):
		return m.asElement().elementsAt(written, i, k, start, strings.Trim(t.Text[strings.LastIndexByte(t.Text, '<')+1:], ">"))
	case m.asLine().keyLine(k, written) > 0:
		return m.asLine().keyLines(written, i, k, start)
	case m.asLine().saysNothing(k, written):
		return m.asLine().noArgumentsAt(written, i, k, start)
	case c == '{' && chars.IsCounter(written) && !m.Names.Any && !m.Names.Offered(written):
		return m.unnamed(written, k, start)
	case c == '{' && t.In(lexicon.Separates).Meets(m.Lex.KindFirst) && !m.Names.Offered(written) && m.asBare().plausibleKey(m.Spaces(k+1)):
		kind() // name and arguments are in the object
		return m.asMarker().one(start)
	case next.Is(lexicon.TagCall) && !m.Names.Offered(written):
		kind()
		return m.asMarker().one(start)
	case next.Is(lexicon.TagParam) || next.Is(lexicon.Closes) && t.In(lexicon.Separates).Meets(m.Lex.Pairs):
		return m.asTag().pairs(written, i, k, start)
	case chars.IsNameStart(c) && t.In(lexicon.Separates).Meets(m.Lex.KindFirst):
		m.Narrow(m.Lex.KindFirst)
		m.Form(spec.NameJSON)
		kind()
		return m.asMarker().one(start)
	}
	m.Keep(m.Lex.NameFirst)
	return m.nameJSON(written, i, j+n, start)
}

// withID reads a call whose id is next to its name.
func (m nameReader) withID(t *lexicon.Token, first string, i, j, start int) bool {
	m.Narrow(t.In(lexicon.Identifies))
	k := m.Spaces(j)
	e := m.Word(k, "")
	second := string(m.Buf[m.Pos+k : m.Pos+e])
	name, id := first, second
	if t.In(lexicon.Identifies).Meets(m.Lex.IdFirst) {
		name, id = second, first
	}
	if !m.StartCall(name, id, start) {
		return false
	}
	m.Read(engine.NameSpan, e, "name and id")
	m.Blank("")
	if s, n := m.Match(0); s.Is(lexicon.Separates) {
		m.Skip(n, s.Text)
	}
	m.jsonBody()
	return true
}

// nameJSON reads a name of i bytes and, from the j-th byte, its arguments.
func (m nameReader) nameJSON(written string, i, j, start int) bool {
	if !m.Marked && m.Peek(m.Spaces(j)) != '{' && !m.looseArgs(j, written) && !m.HasAt(m.Spaces(j), "```") && !m.HasAt(m.Spaces(j), "`{") || !m.Marked && m.Names.Any && (caption[strings.ToLower(written)] || !m.plausibleBody(m.Spaces(j))) {
		return false
	}
	if m.asCode().isCode(written, j, j) {
		return m.asCode().namedCode(written, i, j, start)
	}
	if k := m.Spaces(j); m.asJson().envelopeAt(k, written) {
		if !m.Marked && m.Names.Any {
			return false // the word before it is not part of the call
		}
		e := m.asJson().newEnvelope(start)
		if low := strings.ToLower(written); !caption[low] && values.Keys[low] == values.OtherKey && !m.Names.Offered(written) {
			m.noteUnused(unusedMember)
		}
		m.Skip(k, "name")
		return m.asJson().object(e)
	}
	if !m.callNamed(written, i, start) {
		return false
	}
	m.Skip(j-i, "separator")
	m.jsonBody()
	return true
}

// plausibleBody reports whether the braces at i may hold arguments.
func (m nameReader) plausibleBody(i int) bool {
	c := m.Peek(m.Spaces(i + 1))
	return m.Peek(i) != '{' || chars.IsQuote(c) || chars.IsNameStart(c) || c == '}'
}

// looseArgs reports whether arguments that are not an object may be at j. In the dialects of lines they may be quoted,
// fenced or plain.
func (m nameReader) looseArgs(j int, written string) bool {
	name, _ := m.Names.Resolve(written)
	return m.Rows.Meets(m.Lex.PlainArgs) && (m.At(m.Spaces(j)) || m.NeedsNothing(name))
}

// caption are words that people put above JSON. If no list of tools is given, they are not names of tools.
var caption = map[string]bool{
	"json": true, "text": true, "data": true, "output": true, "result": true, "response": true, "answer": true, "example": true,
	"input": true, "object": true, "schema": true, "request": true, "body": true,
}

// jsonBody reads the arguments after a name and ends the call.
func (m nameReader) jsonBody() {
	m.Blank("")
	for t, n := m.Match(0); t.Is(lexicon.Separates) && strings.HasPrefix(t.Text, "<|"); t, n = m.Match(0) { // a repeated separator
		m.Skip(n, t.Text)
		m.Blank("")
	}
	coded := m.HasAt(0, "`{") // in inline code
	if coded {
		m.Skip(1, "code")
	}
	fenced := m.HasAt(0, "```")
	if fenced {
		m.asFence().openFence(m.FenceLength())
		m.Blank("")
	}
	switch c := m.Peek(0); {
	case !m.More():
		m.Missing("arguments")
	case c == '{' || chars.IsQuote(c):
		m.asValue().arguments()
	case fenced && m.AnyOf(0, m.Lex.ArgsFuncs) > 0:
		n := m.AnyOf(0, m.Lex.ArgsFuncs)
		m.Skip(n, string(m.Buf[m.Pos:m.Pos+n-1]))
		m.asPython().pyArgs()
	case m.Closer(0):
	case m.Rows.Meets(m.Lex.PlainArgs):
		m.plainArgument()
	default:
		m.BadArgs("the arguments are no JSON object")
		m.skipUnreadable()
	}
	if i := m.Spaces(0); m.Call.Open && m.Peek(i) == ',' && chars.IsQuote(m.Peek(m.Spaces(i+1))) {
		m.Repair("argument-outside", llm.Guess, m.Offset(), m.Offset()) // the object ended too early
	}
	if fenced && m.Call.Open {
		m.asFence().endFence()
	}
	if coded && m.Call.Open && m.Peek(0) == '`' {
		m.Skip(1, "code")
	}
	m.EndCall()
}

// plainArgument reads the rest of a line as the only argument of a tool.
func (m nameReader) plainArgument() {
	start := m.Offset()
	i, closed := 0, m.OpenTok != nil && len(m.Row().Call) > 0 && m.Row().Call[0].Close != ""
	for m.At(i) && (closed || m.Peek(i) != '\n') && !(m.Peek(i) == '<' && m.Closer(i)) {
		i++
	}
	text := strings.TrimSpace(string(m.Buf[m.Pos : m.Pos+i]))
	m.Read(engine.ArgsSpan, i, "plain")
	if !m.More() && m.Truncated() {
		m.CutCall()
		return
	}
	m.onlyArgument(text, start)
}

// onlyArgument makes text, which began at start, the argument of a tool that has, or needs, only one parameter.
func (m nameReader) onlyArgument(text string, start int) {
	switch strings.ToLower(text) {
	case "none", "null", "n/a", "":
		if m.NeedsNothing(m.Call.Name) {
			return
		}
	}
	if m.Shape() == nil || offered.OnlyParam(m.Shape()) == "" {
		m.BadArgs("the input is no JSON object")
		return
	}
	key := offered.OnlyParam(m.Shape())
	m.Arg("{" + chars.QuoteJSON(key) + ":" + string(values.Typed(m.Shape().Property(key).Types(), text)) + "}")
	m.Repair("plain-argument", llm.Guess, start, m.Offset())
}

// named is the name of a call, of i bytes, and the text after it from the j-th byte: c is its first byte, and tok the
// marker of n bytes there, if any.
type named struct {
	written string
	i, j    int
	tok     *lexicon.Token
	n       int
	c       byte
	start   int
}

// namedReaders read a call by the text after its name.
func namedReaders() []reader[named] { return append(afterNameReaders(), nameJSONReaders()...) }

// afterNameReaders read arguments other than JSON, and JSON that holds several calls.
func afterNameReaders() []reader[named] {
	return []reader[named]{
		{
			name: "code",
			fits: func(m *answer, s named) bool {
				return !s.tok.Is(lexicon.Separates) && m.asCode().isCode(s.written, s.i, s.j)
			},
			read: func(m *answer, s named) bool { return m.asCode().namedCode(s.written, s.i, s.j, s.start) },
		},
		{
			name: "id",
			fits: func(m *answer, s named) bool { return s.tok.Is(lexicon.Identifies) },
			read: func(m *answer, s named) bool { return m.asName().withID(s.tok, s.written, s.i, s.j+s.n, s.start) },
		},
		{
			name: "separator",
			fits: func(m *answer, s named) bool { return s.tok.Is(lexicon.Separates) },
			read: func(m *answer, s named) bool {
				return m.asName().separated(s.tok, s.written, s.i, s.j, s.n, s.start)
			},
		},
		{
			name: "pairs",
			fits: func(m *answer, s named) bool { return s.tok.Is(lexicon.TagParam) },
			read: func(m *answer, s named) bool {
				m.Narrow(s.tok.In(lexicon.TagParam))
				if s.j > s.i {
					m.Keep(m.Lex.Newline)
				} else {
					m.Keep(m.Lex.SameLine)
				}
				return m.asTag().pairs(s.written, s.i, s.j, s.start)
			},
		},
		{
			name: "pairs without the tag of their key",
			fits: func(m *answer, s named) bool { return m.Marked && m.asTag().bareKey(s.j) > 0 },
			read: func(m *answer, s named) bool {
				m.Narrow(m.Lex.Pairs)
				return m.asTag().pairs(s.written, s.i, s.j, s.start)
			},
		},
		{
			name: "the end of a fence, for a tool that needs no parameters",
			fits: func(m *answer, s named) bool {
				shape := m.Names.Shape(s.written)
				return m.asTag().inLines() && m.HasAt(s.j, "```") && (shape == nil || offered.RequiresNothing(shape))
			},
			read: func(m *answer, s named) bool { return m.asTag().pairs(s.written, s.i, s.j, s.start) },
		},
		{
			name: "a line for each argument",
			fits: func(m *answer, s named) bool {
				return s.tok == nil && bytes.IndexByte(m.Buf[m.Pos+s.i:m.Pos+s.j], '\n') >= 0 && m.asLine().keyLine(s.j, s.written) > 0
			},
			read: func(m *answer, s named) bool { return m.asLine().keyLines(s.written, s.i, s.j, s.start) },
		},
		{
			name: "elements on the next lines",
			fits: func(m *answer, s named) bool { return m.asElement().elementsFollow(s) },
			read: func(m *answer, s named) bool {
				m.Narrow(m.Lex.Elements)
				return m.asElement().elementsAt(s.written, s.i, s.j, s.start, "")
			},
		},
		{
			name: "Python",
			fits: func(m *answer, s named) bool { return s.c == '(' && s.j == s.i },
			read: func(m *answer, s named) bool { m.Form(spec.PyCall); return m.asPython().pyCall(s.start) },
		},
		{
			name: "several calls in one",
			fits: func(m *answer, s named) bool { return s.c == '{' && s.written == parallel },
			read: func(m *answer, s named) bool {
				m.Skip(s.j, "name")
				return m.asJson().object(m.asJson().newEnvelope(s.start))
			},
		},
		{
			name: "braces",
			fits: func(m *answer, s named) bool { return s.c == '{' && m.Rows.Only(m.Lex.Form[spec.BraceCall]) },
			read: func(m *answer, s named) bool { return m.asBrace().braced(s.written, s.j, s.start) },
		},
	}
}

// colonAndJSON reports whether a colon and an object follow a name. Without a marker the object must begin with a
// parameter of the tool.
func (m nameReader) colonAndJSON(s named) bool {
	i := m.Spaces(s.j + 1)
	if s.c != ':' || m.Peek(i) != '{' {
		return false
	}
	name, _ := m.Names.Resolve(s.written)
	key, _ := m.KeyAt(m.Spaces(i + 1))
	return m.Marked || m.asBare().Declares(name, key)
}

// nameJSONReaders read JSON after a name, and a name with nothing after it.
func nameJSONReaders() []reader[named] {
	object := func(m *answer, s named) bool { return s.c == '{' }
	json := func(m *answer, s named) bool { return m.asName().nameJSON(s.written, s.i, s.j, s.start) }
	return []reader[named]{
		{name: "JSON", fits: object, read: func(m *answer, s named) bool {
			m.Keep(m.Lex.Form[spec.NameJSON].Or(m.Lex.Pairs))
			return m.asName().nameJSON(s.written, s.i, s.j, s.start)
		}},
		{
			name: "JSON behind its kind", // the rest of a header after the server removed its markers
			fits: func(m *answer, s named) bool {
				return m.HasAt(s.j, "json") && m.Peek(m.Spaces(s.j+4)) == '{' && m.Rows.Meets(m.Lex.Header)
			},
			read: func(m *answer, s named) bool {
				return m.asName().nameJSON(s.written, s.i, m.Spaces(s.j+4), s.start)
			},
		},
		{
			name: "JSON behind a colon",
			fits: func(m *answer, s named) bool { return m.asName().colonAndJSON(s) },
			read: func(m *answer, s named) bool {
				return m.asName().nameJSON(s.written, s.i, m.Spaces(s.j+1), s.start)
			},
		},
		{
			name: "JSON in a fence",
			fits: func(m *answer, s named) bool { return m.HasAt(s.j, "```") && (m.Marked || !m.Names.Any) },
			read: json,
		},
		{
			name: "separator behind a name that is none",
			fits: func(m *answer, s named) bool { return m.Marked && m.asName().oddName(s.i) > 0 },
			read: func(m *answer, s named) bool {
				i := m.asName().oddName(s.i)
				t, n := m.Match(i)
				return m.asName().separated(t, string(m.Buf[m.Pos:m.Pos+i]), i, i, n, s.start)
			},
		},
		{
			name: "nothing",
			fits: func(m *answer, s named) bool { return m.Marked && (s.tok.Is(lexicon.Closes) || !m.At(s.j)) },
			read: func(m *answer, s named) bool { return m.asName().nameOnly(s.written, s.i, s.start, !m.At(s.j)) },
		},
	}
}

// plausibleKey reports whether the key at i may be a key of a call.
func (m bareReader) plausibleKey(i int) bool {
	j := i
	if chars.IsQuote(m.Peek(i)) {
		i++
		j = i
	}
	j = m.Word(j, ":")
	key := string(m.Buf[m.Pos+i : m.Pos+j])
	if values.Keys[key] != values.OtherKey || m.Names.Offered(key) {
		return true
	}
	if j = m.Spaces(j + 1); m.Peek(j) == ':' {
		j = m.Spaces(j + 1)
	}
	return m.asJson().mayPrecede(key, j)
}
