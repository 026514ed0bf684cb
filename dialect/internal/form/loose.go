package form

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// looseAt reports whether a line begins here that may hold calls in a form that only package loose reads: the name of
// an offered tool after brackets and quotes, or after a variable and an equals sign. It reads ahead only as far as
// necessary.
func (m looseReader) looseAt() bool {
	if m.Names.Any || m.Names.None || m.Coded || m.Mode != judge.InText || !m.AtLine() {
		return false
	}
	return m.looseName() && !m.Exampled()
}

// looseName is looseAt without the check that a line begins here.
func (m looseReader) looseName() bool {
	i, opened := m.OpeningMarks(0)
	if c := m.Peek(i); !opened && !m.Names.First.Has(c) && strings.IndexByte(offered.WrapperFirsts, c) < 0 {
		return false // most lines
	}
	if !opened {
		if found, wraps := m.statementAt(i); found {
			return wraps
		}
	}
	if !m.mayName(i, opened) {
		return opened && (m.foreignAt(i, m.Word(i, ":")) || m.afterWord(i))
	}
	name, j := m.EscapedWord(i)
	if m.Names.Offered(name) {
		return m.followsName(j, opened)
	}
	if opened && (m.foreignAt(i, j) || m.afterWord(i)) {
		return true
	}
	k := m.Spaces(j)
	if c := m.Peek(k); opened && (chars.IsQuote(c) || c == ':' || c == 0xE2) && slices.Contains(loose.NameKeys, strings.ToLower(name)) {
		at, _ := m.OpeningMarks(m.Colon(k))
		inner, _ := m.EscapedWord(at)
		return m.Names.Offered(inner)
	}
	return false
}

// statementAt reports whether a word or function that models put before a call is at i, and whether a call follows it.
func (m looseReader) statementAt(i int) (found, wraps bool) {
	for _, word := range [...]string{"return ", "await "} {
		if m.HasAt(i, word) {
			return true, m.CallAt(i + len(word))
		}
	}
	for _, wrapper := range offered.WrapperCalls {
		if m.HasAt(i, wrapper) {
			return true, m.wrapsName(m.Word(i, ""))
		}
	}
	return false, false
}

// afterWord reports whether a list begins here in which an offered call follows another word at i: a variable, a
// wrapping function or a module. It also accepts an object whose only key is a key for calls.
func (m looseReader) afterWord(i int) bool {
	j := m.Word(i, ":")
	word := string(m.Buf[m.Pos+i : m.Pos+j])
	if m.Peek(0) == '{' {
		if !slices.Contains(loose.HolderKeys, strings.ToLower(word)) {
			return false
		}
		at, opened := m.OpeningMarks(m.Colon(j))
		name, _ := m.EscapedWord(at)
		return opened && m.Names.Offered(name)
	}
	if j == i || m.Peek(0) != '[' {
		return false
	}
	switch k := m.Spaces(j); {
	case m.Peek(k) == '=':
		return m.CallAt(m.Spaces(k + 1))
	case m.Peek(j) == '(':
		for dot := strings.IndexByte(word, '.'); dot >= 0; dot = strings.IndexByte(word, '.') {
			if word = word[dot+1:]; m.Names.Offered(word) {
				return true
			}
		}
		return m.CallAt(m.Spaces(j + 1))
	}
	return false
}

// foreignAt reports whether a list begins here with a call of an unknown tool, whose name is between i and j, and also
// contains an offered name.
func (m looseReader) foreignAt(i, j int) bool {
	if j == i || m.Peek(0) != '[' && m.Peek(0) != '(' {
		return false
	}
	if c := m.Peek(j); chars.IsQuote(c) { // a pair, or the key of the name
		next := m.Peek(m.Spaces(j + 1))
		if next != ',' && !(next == ':' && slices.Contains(loose.NameKeys, strings.ToLower(string(m.Buf[m.Pos+i:m.Pos+j])))) {
			return false
		}
	} else if c != '(' {
		return false
	}
	n := m.blockLength()
	block := m.Buf[m.Pos : m.Pos+n]
	for _, t := range m.Names.Tools {
		if at := bytes.Index(block, []byte(t.Name)); at > j && t.Name != "" {
			return true
		}
	}
	return false
}

// wrapsName reports whether a parenthesis and an offered name are at i.
func (m looseReader) wrapsName(i int) bool {
	at, _ := m.OpeningMarks(i)
	name, end := m.EscapedWord(at)
	if slices.Contains(loose.NameKeys, name) && m.Peek(m.Spaces(end)) == '=' { // tool_call(name="f")
		at, _ = m.OpeningMarks(m.Spaces(end) + 1)
		name, _ = m.EscapedWord(at)
	}
	return m.Names.Offered(name)
}

// mayName reports whether the word at i may be an offered name or, after a bracket, a key for names. It waits for input
// only while that is possible.
func (m looseReader) mayName(i int, opened bool) bool {
	var word []byte
	for n := 0; n < lexicon.MaxName && m.At(i+n); n++ {
		c := m.Buf[m.Pos+i+n]
		if c == '\\' {
			continue
		}
		if !chars.IsNameByte(c) || c == 0xE2 { // a typographic quote
			break
		}
		word = append(word, c)
		if !m.Names.MayBecome(string(word)) && !(opened && beginsKey(string(word))) {
			return false
		}
	}
	return len(word) > 0
}

// beginsKey reports whether a key for names begins with s.
func beginsKey(s string) bool {
	return slices.ContainsFunc(loose.NameKeys, func(key string) bool { return strings.HasPrefix(key, strings.ToLower(s)) })
}

// followsName reports whether the text at j, after the name of a tool, may belong to a call of the tool.
func (m looseReader) followsName(j int, opened bool) bool {
	if opened && m.HasAt(j, lexicon.Bold) {
		return m.Peek(j+len(lexicon.Bold)) == '('
	}
	if c := m.Peek(j); chars.IsQuote(c) || c == 0xE2 || c == '`' {
		return opened && strings.IndexByte("(,:", m.Peek(m.Spaces(j+1))) >= 0 || c == 0xE2 && opened
	}
	k := m.Spaces(j)
	c := m.Peek(k)
	return c == '(' && m.Peek(j) == '(' || opened && (c == ',' || c == ']' || m.Peek(0) == '[' && m.oddArgs(j, k))
}

// oddArgs reports whether arguments without parentheses are at k, after a name that ends at j.
func (m looseReader) oddArgs(j, k int) bool {
	switch c := m.Peek(k); {
	case c == ':':
		return m.Peek(m.Spaces(k+1)) == '{'
	case c == '{':
		return j == k
	case c == '[':
		return j == k && m.asPython().keyLength(m.Spaces(k+1)) > 0
	}
	return j < k && m.asPython().keyLength(k) > 0
}

// mayContinue reports whether text, which ends n bytes from here, may be the beginning of a block: the answer ends there
// and may be cut off. If that is not known, brackets and quotes end a block.
func (m looseReader) mayContinue(text string, n int) bool {
	return !m.At(n) && m.Truncated() && (m.Interrupted() || strings.IndexByte(")]}\"'`", text[len(text)-1]) < 0)
}

// looseBlock reads the block at the current position if all of it, or its first line, is calls. A non-empty rule is
// added to the calls as a repair: they are part of a statement, so it is a guess that they are calls.
func (m looseReader) looseBlock(rule string) bool {
	n := m.blockLength()
	for n > 0 {
		text := string(m.Buf[m.Pos : m.Pos+n])
		block := text
		if m.At(n) {
			block += "\n" // text follows, so the end of the block was not cut off
		}
		calls, ok := loose.Read(block, m.isMarkdown(n), offered.LooseTools{N: m.Names})
		if ok && slices.ContainsFunc(calls, m.reports) {
			return false
		}
		if ok && !m.mayContinue(text, n) {
			m.looseForm(text)
			return m.looseCalls(calls, n, rule)
		}
		line := strings.IndexByte(text, '\n')
		if ok || line <= 0 || line == n || strings.HasPrefix(text[line+1:], "{") { // the arguments may follow
			return false
		}
		n = line
	}
	return false
}

// reports reports whether a call that was read describes a tool or holds the result of a call.
func (m looseReader) reports(c loose.Call) bool {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil || len(args) == 0 {
		return false
	}
	shape := m.Names.Shape(c.Name)
	for key, v := range args {
		if shape != nil && shape.Declares(key) && (!values.IsSchema(v) || m.asJson().takesObject(c.Name, key)) {
			return false // a value for the tool
		}
		if key == "properties" && values.HoldsSchemas(v) || key == "description" && shape != nil || values.ResultKeys[key] || values.IsSchema(v) {
			return true
		}
	}
	return false
}

// looseForm sets the dialect of a block without a marker, by the form of its text.
func (m looseReader) looseForm(text string) {
	if m.Marked {
		return
	}
	form := spec.PyCall
	if t := strings.TrimLeft(text, "[ \n\t"); t != "" && t[0] == '{' {
		form = spec.JSONCall
	}
	if rows := m.Lex.Bare.And(m.Lex.Form[form]); !rows.Empty() {
		m.Rows = rows
	}
}

// blockLength returns the length of the block at the current position, up to an empty line, a fence, the end of a
// marked region or of the answer. It returns 0 if the block is longer than scan.MaxGuess.
func (m looseReader) blockLength() int {
	for i := 0; i <= scan.MaxGuess; i++ {
		if !m.At(i) {
			return i
		}
		switch m.Buf[m.Pos+i] {
		case '\n':
			if m.Peek(i+1) == '\n' || m.Peek(i+1) == '\r' && m.Peek(i+2) == '\n' {
				return i
			}
		case '`':
			if m.HasAt(i, "```") {
				return i
			}
		case '<':
			if t, _ := m.Match(i); t.Is(lexicon.Closes) {
				return i
			}
		}
	}
	return 0
}

// isMarkdown reports whether a backslash precedes every underscore in the next n bytes and in the text just before
// them, and there is at least one.
func (m looseReader) isMarkdown(n int) bool {
	text := m.Buf[max(0, m.Since-m.Base, m.Pos-scan.MaxTail):min(m.Pos+n, len(m.Buf))]
	escaped := bytes.Count(text, []byte(`\_`))
	return escaped > 0 && escaped == bytes.Count(text, []byte{'_'})
}

// looseCalls emits the calls of a block of n bytes.
func (m looseReader) looseCalls(calls []loose.Call, n int, rule string) bool {
	base, at, marked := m.Offset(), 0, m.Marked
	for i := range calls {
		c := &calls[i]
		from := min(max(at, c.Start), n)
		to := min(max(from, c.End), n)
		m.Marked = marked || !c.Known // an unknown name next to known names is a call
		ok := m.StartCall(c.Written, "", base+from)
		m.Marked = marked
		if !ok {
			return false
		}
		m.Call.Marked = marked
		m.Skip(from-at, "separator")
		if rule != "" {
			m.Repair(rule, llm.Guess, base, base)
		}
		for _, r := range c.Repairs {
			m.Repair(r.Rule, r.Class, base+min(r.Start, n), base+min(r.End, n))
		}
		if c.Problem != "" {
			m.BadArgs("%s", c.Problem)
		} else {
			m.Arg(string(c.Args))
		}
		m.Read(engine.ArgsSpan, to-from, "loose")
		m.EndCall()
		at = to
	}
	m.Skip(n-at, "separator")
	m.Covers = append(m.Covers, judge.Extent{Start: base, End: m.Offset()})
	return true
}

// assigned reads the call after an equals sign if the text before it on its line is only a variable.
func (m looseReader) assigned() bool {
	line := m.Lately()
	line = bytes.TrimSpace(chars.LastLine(line))
	if len(line) == 0 || bytes.IndexFunc(line, func(r rune) bool { return r >= 0x80 || !chars.IsNameByte(byte(r)) }) >= 0 || m.Names.Any || m.Coded || m.Quoting {
		return false
	}
	i := m.Spaces(1)
	if m.HasAt(i, "await ") {
		i = m.Spaces(i + len("await "))
	}
	if !m.CallAt(i) {
		return false
	}
	return m.Guess(func() bool {
		m.Pos += i
		m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Bare
		return m.looseBlock("assignment")
	})
}

// looseFence reads a code fence that holds only calls, in a form that only package loose reads.
func (m looseReader) looseFence() bool {
	m.Skip(m.FenceLength(), "fence")
	m.asFence().fenceInfo()
	m.Blank("")
	if !m.Names.Any && m.onlyAssigns() {
		return m.assignments() && m.asFence().endFence()
	}
	if !m.looseAt() || !m.looseBlock("") {
		return false
	}
	m.asFence().endFence()
	return true
}

// onlyAssigns reports whether the rest of the answer is a fence with a script whose lines assign calls to variables or
// print variables.
func (m looseReader) onlyAssigns() bool {
	ok, looked := m.scriptAhead()
	if !ok { // another fence may begin at once and read the same text again
		m.Wasted += looked
	}
	return ok
}

// scriptAhead is onlyAssigns. It also returns how far it read ahead.
func (m looseReader) scriptAhead() (ok bool, looked int) {
	assigns := false
	i := 0
	for ; i <= scan.MaxGuess && m.At(i); i++ {
		switch at := m.Gap(i); {
		case m.HasAt(at, "```"):
			return assigns && m.endsScript(at+3), at
		case m.AssignsAt(at):
			assigns = true
		case !m.idleLine(at):
			return false, at
		default:
			i = at
		}
		for i <= scan.MaxGuess && m.At(i) && m.Buf[m.Pos+i] != '\n' {
			i++
		}
	}
	return false, i
}

// endsScript reports whether only endOfCode follows the fence that ends at i.
func (m looseReader) endsScript(i int) bool {
	i = m.Gap(i)
	if m.HasAt(i, endOfCode) {
		i = m.Gap(i + len(endOfCode))
	}
	return !m.At(i)
}

// endOfCode is the marker that code agents write after their code.
const endOfCode = "<end_code>"

// idleLine reports whether the line at i is a comment, a variable, or prints variables: print(a, b).
func (m looseReader) idleLine(i int) bool {
	if m.Peek(i) == '#' {
		return true
	}
	j := m.Word(i, "")
	if j == i {
		return false
	}
	if m.Peek(j) == '(' {
		if word := string(m.Buf[m.Pos+i : m.Pos+j]); word != "print" && word != "final_answer" {
			return false
		}
		for j++; m.At(j) && (chars.IsWordByte(m.Buf[m.Pos+j]) || m.Peek(j) == ' ' || m.Peek(j) == ','); j++ {
		}
		if m.Peek(j) != ')' {
			return false
		}
		j++
	}
	return m.Peek(j) == '\n' || m.HasAt(j, "```")
}

// assignments reads the lines of a script. Each line assigns a call to a variable or calls nothing.
func (m looseReader) assignments() bool {
	m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Bare
	for m.Blank(""); m.More() && !m.HasAt(0, "```"); m.Blank("") {
		if !m.AssignsAt(0) {
			i := 0
			for m.At(i) && m.Buf[m.Pos+i] != '\n' && !m.HasAt(i, "```") {
				i++
			}
			m.Skip(i, "script")
			continue
		}
		i := m.Spaces(m.Word(0, ""))
		m.Skip(m.Spaces(i+1), "assignment")
		if !m.looseBlock("assignment") {
			return false
		}
	}
	return true
}
