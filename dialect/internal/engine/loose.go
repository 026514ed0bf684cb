package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// looseTools are the offered tools for package loose.
type looseTools struct{ n *names }

func (t looseTools) Resolve(written string) (string, bool) { return t.n.resolve(written) }

func (t looseTools) Properties(name string) ([]string, bool) {
	shape := t.n.shape(name)
	if shape == nil {
		return nil, false
	}
	i, _ := t.n.find(name)
	// A schema that says nothing of properties leaves open which there are.
	return shape.Properties(), bytes.Contains(t.n.tools[i].Schema, []byte(`"properties"`))
}

func (t looseTools) Required(name, key string) bool {
	shape := t.n.shape(name)
	return shape != nil && shape.Required(key)
}

func (t looseTools) Kinds(name, key string) loose.Kinds { return t.n.kindsOf(name, key) }

// looseBytes may begin a line that only package loose reads, besides names and
// brackets.
const looseBytes = "(\"'raeiu\\*"

// looseAt reports whether a line begins here that may be calls in a way that
// only package loose reads: behind brackets and quotes, or a variable that it
// is assigned to, stands the name of an offered tool. It waits for no more than
// that needs.
func (m *machine) looseAt() bool {
	if m.names.any || m.names.none || m.coded || m.mode != inText || !m.atLine() {
		return false
	}
	return m.looseName() && !m.exampled()
}

// wrapperCalls are the functions that models call with the name of a tool.
var wrapperCalls = func() (list []string) {
	for _, wrapper := range loose.Wrappers {
		list = append(list, wrapper+"(", "tools."+wrapper+"(")
	}
	return list
}()

// wrapperFirsts are the first bytes of wrapperCalls, return and await, and the
// backslash before an escaped name.
const wrapperFirsts = "pcrieutaf\\"

// looseName is looseAt at the beginning of a line.
func (m *machine) looseName() bool {
	i, opened := m.openingMarks(0)
	if c := m.peek(i); !opened && !m.names.first.has(c) && strings.IndexByte(wrapperFirsts, c) < 0 {
		return false // most lines
	}
	if !opened {
		if found, wraps := m.statementAt(i); found {
			return wraps
		}
	}
	if !m.mayName(i, opened) {
		return opened && (m.foreignAt(i, m.word(i, ":")) || m.behindWord(i))
	}
	name, j := m.escapedWord(i)
	if m.names.offered(name) {
		return m.followsName(j, opened)
	}
	if opened && (m.foreignAt(i, j) || m.behindWord(i)) {
		return true
	}
	k := m.spaces(j)
	if c := m.peek(k); opened && (isQuote(c) || c == ':' || c == 0xE2) && slices.Contains(loose.NameKeys, strings.ToLower(name)) {
		at, _ := m.openingMarks(m.colon(k))
		inner, _ := m.escapedWord(at)
		return m.names.offered(inner)
	}
	return false
}

// statementAt reports whether a word or a function that models put before a
// call is found at i, and whether it wraps one.
func (m *machine) statementAt(i int) (found, wraps bool) {
	for _, word := range [...]string{"return ", "await "} {
		if m.hasAt(i, word) {
			return true, m.callAt(i + len(word))
		}
	}
	for _, wrapper := range wrapperCalls {
		if m.hasAt(i, wrapper) {
			return true, m.wrapsName(m.word(i, ""))
		}
	}
	return false, false
}

// behindWord reports whether a list begins here in which the call of an offered
// tool stands behind another word, at i: a variable, a function around it or a
// module; or an object whose only key is one for calls.
func (m *machine) behindWord(i int) bool {
	j := m.word(i, ":")
	word := string(m.buf[m.pos+i : m.pos+j])
	if m.peek(0) == '{' {
		if !slices.Contains(loose.HolderKeys, strings.ToLower(word)) {
			return false
		}
		at, opened := m.openingMarks(m.colon(j))
		name, _ := m.escapedWord(at)
		return opened && m.names.offered(name)
	}
	if j == i || m.peek(0) != '[' {
		return false
	}
	switch k := m.spaces(j); {
	case m.peek(k) == '=':
		return m.callAt(m.spaces(k + 1))
	case m.peek(j) == '(':
		for dot := strings.IndexByte(word, '.'); dot >= 0; dot = strings.IndexByte(word, '.') {
			if word = word[dot+1:]; m.names.offered(word) {
				return true
			}
		}
		return m.callAt(m.spaces(j + 1))
	}
	return false
}

// foreignAt reports whether a list begins here with a call of a tool that was not
// offered, whose name stands between i and j, and goes on with one of a tool
// that was.
func (m *machine) foreignAt(i, j int) bool {
	if j == i || m.peek(0) != '[' && m.peek(0) != '(' {
		return false
	}
	if c := m.peek(j); isQuote(c) { // a pair, or the key of the name
		next := m.peek(m.spaces(j + 1))
		if next != ',' && !(next == ':' && slices.Contains(loose.NameKeys, strings.ToLower(string(m.buf[m.pos+i:m.pos+j])))) {
			return false
		}
	} else if c != '(' {
		return false
	}
	n := m.blockLength()
	block := m.buf[m.pos : m.pos+n]
	for _, t := range m.names.tools {
		if at := bytes.Index(block, []byte(t.Name)); at > j && t.Name != "" {
			return true
		}
	}
	return false
}

// wrapsName reports whether a parenthesis and the name of a tool stand at i.
func (m *machine) wrapsName(i int) bool {
	at, _ := m.openingMarks(i)
	name, end := m.escapedWord(at)
	if slices.Contains(loose.NameKeys, name) && m.peek(m.spaces(end)) == '=' { // tool_call(name="f")
		at, _ = m.openingMarks(m.spaces(end) + 1)
		name, _ = m.escapedWord(at)
	}
	return m.names.offered(name)
}

// mayName reports whether the word at i may be the name of a tool or, behind a
// bracket, a key under which objects hold one. It waits only as long as it may.
func (m *machine) mayName(i int, opened bool) bool {
	var word []byte
	for n := 0; n < maxName && m.at(i+n); n++ {
		c := m.buf[m.pos+i+n]
		if c == '\\' {
			continue
		}
		if !isNameByte(c) || c == 0xE2 { // a typographer's quote
			break
		}
		word = append(word, c)
		if !m.names.mayBecome(string(word)) && !(opened && beginsKey(string(word))) {
			return false
		}
	}
	return len(word) > 0
}

// beginsKey reports whether a key under which objects hold the name of a tool
// begins with s.
func beginsKey(s string) bool {
	return slices.ContainsFunc(loose.NameKeys, func(key string) bool { return strings.HasPrefix(key, strings.ToLower(s)) })
}

// colon returns the index behind a colon that stands at k, behind the end of a
// quote or not.
func (in *input) colon(k int) int {
	if isQuote(in.peek(k)) {
		k++
	} else if in.peek(k) == 0xE2 {
		k += 3
	}
	if k = in.spaces(k); in.peek(k) == ':' {
		return k + 1
	}
	return k
}

// openingMarks returns the index behind the brackets, quotes and white space
// that stand at i, and whether there were any but white space.
func (in *input) openingMarks(i int) (end int, opened bool) {
	for n := 0; n < maxNested && in.at(i); n++ {
		c := in.buf[in.pos+i]
		switch {
		case isSpace(c), c == '\\' && strings.IndexByte("[({'\"", in.peek(i+1)) >= 0:
		case strings.IndexByte("[({'\"", c) >= 0, opened && c == '`' && !in.hasAt(i, "```"):
			opened = true
		case opened && c == '*' && in.hasAt(i, bold):
			i++
		case c == 0xE2 && (in.hasAt(i, "“") || in.hasAt(i, "”") || in.hasAt(i, "‘")):
			opened = true
			i += 2
		default:
			return i, opened
		}
		i++
	}
	return i, opened
}

// escapedWord returns the name that stands at i, without the backslashes that
// Markdown puts into it, and the index behind it.
func (in *input) escapedWord(i int) (string, int) {
	j := in.word(i, ":")
	if in.peek(j) != '\\' {
		return string(in.buf[in.pos+i : in.pos+j]), j
	}
	var name []byte
	for n := 0; n < maxName; n++ {
		name = append(name, in.buf[in.pos+i:in.pos+j]...)
		if in.peek(j) != '\\' || in.peek(j+1) != '_' && in.peek(j+1) != '-' && in.peek(j+1) != '.' {
			break
		}
		i = j + 1
		j = in.word(i, ":")
	}
	return string(name), j
}

// followsName reports whether what stands at j, behind the name of a tool, may
// belong to a call of it.
func (m *machine) followsName(j int, opened bool) bool {
	if opened && m.hasAt(j, bold) {
		return m.peek(j+len(bold)) == '('
	}
	if c := m.peek(j); isQuote(c) || c == 0xE2 || c == '`' {
		return opened && strings.IndexByte("(,:", m.peek(m.spaces(j+1))) >= 0 || c == 0xE2 && opened
	}
	k := m.spaces(j)
	c := m.peek(k)
	return c == '(' && m.peek(j) == '(' || opened && (c == ',' || c == ']' || m.peek(0) == '[' && m.oddArgs(j, k))
}

// oddArgs reports whether arguments stand at k, behind a name that ends at j,
// in no parentheses.
func (m *machine) oddArgs(j, k int) bool {
	switch c := m.peek(k); {
	case c == ':':
		return m.peek(m.spaces(k+1)) == '{'
	case c == '{':
		return j == k
	case c == '[':
		return j == k && m.keyLength(m.spaces(k+1)) > 0
	}
	return j < k && m.keyLength(k) > 0
}

// callAt reports whether the name of a tool and a parenthesis stand at i.
func (m *machine) callAt(i int) bool {
	name, j := m.escapedWord(i)
	return m.names.offered(name) && m.peek(j) == '('
}

// looseBlock reads the block that stands here if all of it, or its first line,
// is calls. A rule that is not empty is noted as a repair of the calls: they
// stand in a statement, and it is a guess that they are meant as calls.
func (m *machine) looseBlock(rule string) bool {
	n := m.blockLength()
	for n > 0 {
		text := string(m.buf[m.pos : m.pos+n])
		block := text
		if m.at(n) {
			block += "\n" // something follows: what the block ends in was not cut off
		}
		calls, ok := loose.Read(block, m.isMarkdown(n), looseTools{m.names})
		if ok && slices.ContainsFunc(calls, m.reports) {
			return false
		}
		if ok && !(m.truncated() && !m.at(n)) {
			m.looseForm(text)
			return m.looseCalls(calls, n, rule)
		}
		line := strings.IndexByte(text, '\n')
		if ok || line <= 0 || line == n {
			return false
		}
		n = line
	}
	return false
}

// reports reports whether what was read as a call describes a tool, or holds
// the result of a call.
func (m *machine) reports(c loose.Call) bool {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil || len(args) == 0 {
		return false
	}
	shape := m.names.shape(c.Name)
	for key, v := range args {
		if shape != nil && shape.Declares(key) && (!isSchema(v) || m.takesObject(c.Name, key)) {
			return false // a value for the tool
		}
		if key == "properties" && holdsSchemas(v) || key == "description" && shape != nil || resultKeys[key] || isSchema(v) {
			return true
		}
	}
	return false
}

// looseForm says which of the dialects without markers the block is like.
func (m *machine) looseForm(text string) {
	if m.marked {
		return
	}
	form := spec.PyCall
	if t := strings.TrimLeft(text, "[ \n\t"); t != "" && t[0] == '{' {
		form = spec.JSONCall
	}
	if rows := m.lex.bare.and(m.lex.form[form]); !rows.empty() {
		m.rows = rows
	}
}

// blockLength returns the length of the block that stands here: up to an empty
// line, a fence, the end of a marked region or of the answer; 0 if it is too
// long to be held.
func (m *machine) blockLength() int {
	for i := 0; i <= maxGuess; i++ {
		if !m.at(i) {
			return i
		}
		switch m.buf[m.pos+i] {
		case '\n':
			if m.peek(i+1) == '\n' || m.peek(i+1) == '\r' && m.peek(i+2) == '\n' {
				return i
			}
		case '`':
			if m.hasAt(i, "```") {
				return i
			}
		case '<':
			if t, _ := m.match(i); t.is(closes) {
				return i
			}
		}
	}
	return 0
}

// isMarkdown reports whether every underscore of the text just before and of
// the next n bytes has a backslash before it.
func (m *machine) isMarkdown(n int) bool {
	text := m.buf[max(0, m.since-m.base, m.pos-maxTail):min(m.pos+n, len(m.buf))]
	escaped := bytes.Count(text, []byte(`\_`))
	return escaped > 0 && escaped == bytes.Count(text, []byte{'_'})
}

// escapes says whether a call is escaped as in Markdown: no underscore of it,
// and of the text just before it, stands without a backslash.
type escapes struct {
	bare    bool // one does
	counted int  // bytes of the arguments that were looked at
	found   int  // underscores in them
	dropped int  // underscores that lost their backslash in values
	inKeys  int  // and in names of parameters
}

// newEscapes looks at the text before a call and at its name.
func newEscapes(before []byte, name string) escapes {
	bare := bytes.Count(before, []byte{'_'}) != bytes.Count(before, []byte(`\_`))
	return escapes{bare: bare || strings.Count(name, "_") != strings.Count(name, `\_`)}
}

// drop reports whether the backslash that stands behind args, before c, is one
// of Markdown.
func (e *escapes) drop(args []byte, c byte) bool {
	if e.count(args); e.bare {
		return false
	}
	e.dropped += boolInt(c == '_')
	return true
}

// count looks at the rest of args.
func (e *escapes) count(args []byte) {
	if e.counted > len(args) {
		return
	}
	e.found += bytes.Count(args[e.counted:], []byte{'_'})
	e.counted = len(args)
	e.bare = e.bare || e.found > e.dropped+e.inKeys
}

// looseCalls passes on the calls of a block of n bytes.
func (m *machine) looseCalls(calls []loose.Call, n int, rule string) bool {
	base, at, marked := m.offset(), 0, m.marked
	for i := range calls {
		c := &calls[i]
		from := min(max(at, c.Start), n)
		to := min(max(from, c.End), n)
		m.marked = marked || !c.Known // an unknown name beside known ones is a call
		ok := m.startCall(c.Written, "", base+from)
		m.marked = marked
		if !ok {
			return false
		}
		m.call.marked = marked
		m.skip(from-at, "separator")
		if rule != "" {
			m.repair(rule, llm.Guess, base, base)
		}
		for _, r := range c.Repairs {
			m.repair(r.Rule, r.Class, base+min(r.Start, n), base+min(r.End, n))
		}
		if c.Problem != "" {
			m.badArgs("%s", c.Problem)
		} else {
			m.arg(string(c.Args))
		}
		m.read(ArgsSpan, to-from, "loose")
		m.endCall()
		at = to
	}
	m.skip(n-at, "separator")
	m.covers = append(m.covers, extent{base, m.offset()})
	return true
}

// assigned reads the call that stands behind an equals sign if a variable is
// all that stands before it on its line.
func (m *machine) assigned() bool {
	line := m.lately()
	line = bytes.TrimSpace(lastLine(line))
	if len(line) == 0 || bytes.IndexFunc(line, func(r rune) bool { return r >= 0x80 || !isNameByte(byte(r)) }) >= 0 || m.names.any || m.coded || m.quoting {
		return false
	}
	i := m.spaces(1)
	if m.hasAt(i, "await ") {
		i = m.spaces(i + len("await "))
	}
	if !m.callAt(i) {
		return false
	}
	return m.guess(func() bool {
		m.pos += i
		m.marked, m.depth, m.rows = false, 1, m.lex.bare
		return m.looseBlock("assignment")
	})
}

// looseFence reads a code fence that holds nothing but calls in a way that only
// package loose reads.
func (m *machine) looseFence() bool {
	m.skip(m.fenceLength(), "fence")
	m.fenceInfo()
	m.blank("")
	if !m.names.any && m.onlyAssigns() {
		return m.assignments() && m.endFence()
	}
	if !m.looseAt() || !m.looseBlock("") {
		return false
	}
	m.endFence()
	return true
}

// onlyAssigns reports whether the fence, with which the answer ends, holds a
// script: its lines assign calls to variables, or show what was assigned.
func (m *machine) onlyAssigns() bool {
	ok, looked := m.scriptAhead()
	if !ok { // another fence may begin at once, and look at the same again
		m.wasted += looked
	}
	return ok
}

// scriptAhead is onlyAssigns, and says how far it had to look.
func (m *machine) scriptAhead() (ok bool, looked int) {
	assigns := false
	i := 0
	for ; i <= maxGuess && m.at(i); i++ {
		switch at := m.gap(i); {
		case m.hasAt(at, "```"):
			return assigns && m.endsScript(at+3), at
		case m.assignsAt(at):
			assigns = true
		case !m.idleLine(at):
			return false, at
		default:
			i = at
		}
		for i <= maxGuess && m.at(i) && m.buf[m.pos+i] != '\n' {
			i++
		}
	}
	return false, i
}

// endsScript reports whether nothing but the word for the end of code follows
// the fence that ends at i.
func (m *machine) endsScript(i int) bool {
	i = m.gap(i)
	if m.hasAt(i, endOfCode) {
		i = m.gap(i + len(endOfCode))
	}
	return !m.at(i)
}

// endOfCode is what agents that answer in code write behind it.
const endOfCode = "<end_code>"

// idleLine reports whether the line at i is a comment, a variable, or shows
// variables: print(a, b).
func (m *machine) idleLine(i int) bool {
	if m.peek(i) == '#' {
		return true
	}
	j := m.word(i, "")
	if j == i {
		return false
	}
	if m.peek(j) == '(' {
		if word := string(m.buf[m.pos+i : m.pos+j]); word != "print" && word != "final_answer" {
			return false
		}
		for j++; m.at(j) && (isWordByte(m.buf[m.pos+j]) || m.peek(j) == ' ' || m.peek(j) == ','); j++ {
		}
		if m.peek(j) != ')' {
			return false
		}
		j++
	}
	return m.peek(j) == '\n' || m.hasAt(j, "```")
}

// assignments reads the lines of a script: in each, a call is assigned to a
// variable, or nothing is called.
func (m *machine) assignments() bool {
	m.marked, m.depth, m.rows = false, 1, m.lex.bare
	for m.blank(""); m.more() && !m.hasAt(0, "```"); m.blank("") {
		if !m.assignsAt(0) {
			i := 0
			for m.at(i) && m.buf[m.pos+i] != '\n' && !m.hasAt(i, "```") {
				i++
			}
			m.skip(i, "script")
			continue
		}
		i := m.spaces(m.word(0, ""))
		m.skip(m.spaces(i+1), "assignment")
		if !m.looseBlock("assignment") {
			return false
		}
	}
	return true
}
