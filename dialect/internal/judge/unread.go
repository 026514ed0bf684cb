package judge

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/schema"
)

// The check over the whole answer ensures that nothing that looks like a call is
// lost silently. It finds every name of an offered tool that stands directly
// before a bracket, a brace, an element or a key with one of the tool's properties
// in it, or nothing. If the name did not become part of a call, a warning says
// where it is. The check looks at the bytes of the answer and not at what the
// readers made of them, so it also finds forms that no reader knows.

// Extent is a stretch of the answer.
type Extent struct{ Start, End int }

// extents are stretches of the answer. Many of them are in order.
type extents []Extent

// manyExtents is how many extents are looked at one by one.
const manyExtents = 16

// merged returns many extents in order and without overlaps, so has finds
// one fast. It leaves e unchanged.
func (e extents) merged() extents {
	if len(e) <= manyExtents {
		return e
	}
	sorted := slices.Clone(e)
	slices.SortFunc(sorted, func(a, b Extent) int { return cmp.Compare(a.Start, b.Start) })
	out := sorted[:1]
	for _, next := range sorted[1:] {
		if last := &out[len(out)-1]; next.Start <= last.End {
			last.End = max(last.End, next.End)
		} else {
			out = append(out, next)
		}
	}
	return out
}

// has reports whether one of the extents holds an offset. Many must be merged.
func (e extents) has(at int) bool {
	if len(e) > manyExtents {
		i, _ := slices.BinarySearchFunc(e, at, func(x Extent, at int) int { return cmp.Compare(x.End, at+1) })
		return i < len(e) && e[i].Start <= at
	}
	return slices.ContainsFunc(e, func(x Extent) bool { return x.Start <= at && at < x.End })
}

// Reach makes the extent end at end if it ends at from, and else makes it the
// stretch between the two.
func (e *Extent) Reach(from, end int) {
	if e.End != from {
		e.Start = from
	}
	e.End = end
}

// Check is the check over the whole answer.
type Check struct {
	*Evidence
	Open int // offset of the call that is being read; greater than any if there is none
}

// Progress is what the check has seen.
type Progress struct {
	upTo    int    // offset up to which the answer was looked at
	Clean   Extent // the last text without anchors
	thought int    // offset of the first such name in thinking, and one more
}

// MaxAhead bounds how far after a name the check looks. It is less than
// maxTail, which stays in the buffer.
const MaxAhead = 128

// maxLookBack is how far after the key for names, or another anchor, a name is
// looked at.
const maxLookBack = 64

// nearby is how far from a name, in either direction, a warning tells of it.
const nearby = 96

// Advance looks at the next bytes of the answer, up to the index end of the buffer.
// No try can go back to them any more.
func (c Check) Advance(end int) {
	at := max(c.Progress.upTo-c.Base, 0)
	if c.Names.Any && c.Progress.upTo == 0 && end > 0 {
		c.lookAtStart()
		c.Progress.upTo = c.Base + end
	}
	if c.Names.Any || c.Names.None || at >= end {
		return
	}
	c.Covers = c.Covers.merged()
	stop := min(end, max(at, c.Open-c.Base)) // the arguments of a call are accounted for
	if c.Progress.Clean.End >= c.Base+stop+MaxAhead || c.Eof && c.Progress.Clean.End == c.Base+len(c.Buf) {
		stop = max(at, min(stop, c.Progress.Clean.Start+maxLookBack-c.Base)) // what follows holds no arguments
	}
	if at < stop {
		c.lookBetween(at, stop)
	}
	c.Progress.upTo = c.Base + end
	for len(c.Covers) > 0 && c.Covers[0].End < c.Progress.upTo {
		c.Covers = c.Covers[1:]
	}
}

// lookBetween looks at the words that begin between two indexes of the buffer.
func (c Check) lookBetween(at, end int) {
	if c.Names.Pairs == nil {
		c.Names.Pairs = offered.PairsOf(c.Names.Tools, c.Names.PairRoom[:0])
	}
	if len(c.Names.Pairs) == 0 {
		c.lookAtAll(at, end)
	}
	c.lookAtFolded(at, end)
	for _, p := range c.Names.Pairs {
		c.searchPair(p, at, end)
	}
}

// searchPair looks at the words that begin between two indexes of the buffer and
// hold the pair of bytes p. To search for two bytes of a name that are seldom
// neighbours spares nearly all of the text a closer look.
func (c Check) searchPair(p offered.NamePair, at, end int) {
	text := c.Buf[:min(end+2*c.Names.Longest, len(c.Buf))] // the pair may follow the end
	for i := at; i < len(text); {
		n := offered.IndexPair(text[i:], p)
		if n < 0 {
			return
		}
		i += n
		i += c.lookAround(i, at, end)
	}
}

// maxStarts is from how many places a word is looked at. It keeps the work
// linear.
const maxStarts = 8

// lookAround looks at the word around the i-th byte of the buffer from each
// place between two indexes where a name may begin in it, and returns how many
// of its bytes stand from i on.
func (c Check) lookAround(i, at, end int) int {
	first, n := i, max(chars.WordLength(c.Buf[i:]), 1)
	for first > 0 && i-first < scan.MaxTail && (chars.IsWordByte(c.Buf[first-1]) || c.Buf[first-1] == '\\' && chars.IsSeparator(c.Buf[first])) {
		first--
	}
	starts := 0
	for first = max(first, at); first < min(i+n, end) && starts < maxStarts; first++ {
		begins := first == 0 || chars.IsJoint(c.Buf[first-1]) || !chars.IsWordByte(c.Buf[first-1]) || c.afterSign(first)
		if begins && !c.accounted(c.Base+first) && c.Names.HasHead(c.Buf[first:]) {
			c.lookAt(first)
			starts++
		}
	}
	return n
}

// afterSign reports whether the i-th byte of the buffer follows a minus with
// which its line begins, as in a diff.
func (c Check) afterSign(i int) bool {
	return c.Buf[i-1] == '-' && (i == 1 || c.Buf[i-2] == '\n')
}

// lookAtAll is watchPair for all names at once: slower than a search for a few
// pairs, and independent of their number.
func (c Check) lookAtAll(at, end int) {
	for at < end {
		if !c.Names.First.Has(c.Buf[at]) || at > 0 && chars.IsWordByte(c.Buf[at-1]) && !chars.IsJoint(c.Buf[at-1]) && !c.afterSign(at) {
			at++
			continue
		}
		at += max(c.lookAt(at), 1)
	}
}

// lookAt looks at the word that begins at an index, and returns its length.
func (c Check) lookAt(at int) int {
	n := chars.WordLength(c.Buf[at:])
	if rest := c.Buf[at+n:]; len(rest) == 0 || mayHold[rest[0]] || at > 0 && c.Buf[at-1] == '/' { // of an address
		c.lookAtWord(at, n)
	}
	return n
}

// lookAtWord looks at the word of n bytes at an index of the buffer.
func (c Check) lookAtWord(at, n int) {
	if p := c.Buf[at : at+n]; c.accounted(c.Base+at) || !c.Names.MayMean(p) || !c.looksCalled(c.Buf, at, n) {
		return
	}
	c.unread(c.Base+at, c.Buf[at+n:])
}

// looksCalled reports whether the word of n bytes at an index of text means a tool
// and arguments follow it, or before it.
func (c Check) looksCalled(text []byte, at, n int) bool {
	word := chars.Unescaped(text[at : at+n])
	name, ok := c.Names.Meant(word)
	glued := at > 0 && chars.IsJoint(text[at-1])
	if i := strings.LastIndexAny(word, ".:/"); !ok && i >= 0 {
		if name, ok = c.Names.Meant(word[i+1:]); !ok {
			name, ok = c.Names.Meant(word[:i]) // a method of it
		}
		glued = true
	}
	rest := text[at+n:]
	rest = rest[:min(len(rest), MaxAhead)]
	if !ok || glued && bytes.HasPrefix(rest, []byte("()")) || isEmptyLiteral(rest) {
		return false
	}
	shape := c.Names.Shape(name)
	return holdsArguments(rest, shape, text[:at]) || afterArguments(text, at, shape) || onlyMember(text[:at], rest, shape) || c.endsInObject(text[:at], rest)
}

// unread warns of the name at an offset, before rest. A name in thinking is
// kept for the end of the answer.
func (c Check) unread(at int, rest []byte) {
	if c.Mode == InThinking || at < c.NoCallBefore || c.Thought && at < c.Origin {
		if c.Progress.thought == 0 {
			c.Progress.thought = at + 1
		}
		return
	}
	c.suspectAt(at, rest)
}

// suspectAt adds the name at an offset, before rest, to the suspects.
func (c Check) suspectAt(at int, rest []byte) {
	form := spec.JSONCall
	if len(rest) > 0 && rest[0] == '(' {
		form = spec.PyCall
	}
	c.Lost.Add(c.Lex.Bare.And(c.Lex.Form[form]), at)
}

// accounted reports whether the text at an offset became a call, or a
// warning tells of it.
func (c Check) accounted(at int) bool {
	if at >= c.Open || c.Covers.has(at) {
		return true
	}
	for _, p := range c.Lost.places {
		if p >= at-nearby && p <= at+nearby {
			return true
		}
	}
	return false
}

// Finish looks at the end of the answer. Thinking matters
// only if the answer calls nothing: models think about calls before they make
// them.
func (c Check) Finish() {
	c.Advance(len(c.Buf))
	if at := c.Progress.thought; at > 0 && c.Calls == 0 {
		c.suspectAt(at-1, nil)
	}
}

// mayHold are the bytes that may stand between a name and its arguments.
var mayHold = func() (set [256]bool) {
	for _, c := range []byte(" \t\r\n\"'`*:,=>\\({[<|/?]-\xE2") {
		set[c] = true
	}
	return set
}()

// isEmptyLiteral reports whether p, behind a name, is an empty value of a
// programming language: list []T, error {}.
func isEmptyLiteral(p []byte) bool {
	p = bytes.TrimLeft(p, " :=\t")
	return bytes.HasPrefix(p, []byte("[]")) || bytes.HasPrefix(p, []byte("{}"))
}

// between are the words that may stand between a name and its first property.
var between = map[string]bool{
	"arguments": true, "parameters": true, "params": true, "parameter": true, "param": true, "args": true, "arg": true,
	"input": true, "inputs": true, "kwargs": true, "arg_key": true, "name": true, "key": true, "json": true, "invoke": true,
	"function": true, "tool_input": true, "action_input": true, "Arguments": true, "Input": true, "dict": true,
	"message": true, "constrain": true, "tool": true, "with": true, "action": true, "tool_args": true, "tool_arguments": true,
}

// holdsArguments reports whether p, behind a name, opens a bracket, an element
// or a line that holds a property of shape, or nothing. What stands before the
// name may make it that of an element, or the first of a list.
func holdsArguments(p []byte, shape *schema.Shape, before []byte) bool {
	b := afterName{shape: shape, inside: bytes.HasSuffix(before, []byte{'['}) || bytes.HasSuffix(before, []byte{'('}) || isAttributeValue(before)}
	if bytes.HasSuffix(before, []byte{'<'}) {
		b.opened = '<'
	}
	i := 0
	if len(p) > 0 && p[0] == ']' { // all that was in the bracket is the name
		i, b.inside = 1, false
	}
	for i < len(p) {
		n, finding := b.step(p, i)
		if finding != undecided {
			return finding == holds
		}
		i += n
	}
	return false
}

// isAttributeValue reports whether the value of an attribute stands behind before.
func isAttributeValue(before []byte) bool {
	key := bytes.TrimRight(before, "\"'")
	return len(key) < len(before) && bytes.HasSuffix(key, []byte{'='})
}

// afterName holds the text seen after a name.
type afterName struct {
	shape  *schema.Shape
	opened byte // the last bracket, or 0
	lines  int
	words  int
	listed bool // there was a comma
	inside bool // the name is the first in a bracket
}

// finding says whether arguments stand behind a name.
type finding uint8

const (
	undecided finding = iota
	holds
	holdsNot
)

func findingOf(ok bool) finding {
	if ok {
		return holds
	}
	return holdsNot
}

// step looks at the i-th byte of p and returns how many bytes it has read.
func (b *afterName) step(p []byte, i int) (int, finding) {
	switch c := p[i]; {
	case strings.IndexByte("({[<", c) >= 0:
		b.opened = c
	case c == ',':
		b.listed = true
	case c == '\n':
		if b.lines++; b.lines > 3 {
			return 1, holdsNot
		}
	case c == ')' || c == '}' || c == ']':
		return b.closer(p, i)
	case beginsComment(p[i:]):
		return commentLength(p[i:]), undecided
	case c == '-':
		return b.dash(p[i:])
	case bytes.HasPrefix(p[i:], []byte("→")):
		return len("→"), undecided
	case c == '?': // of an address
		b.opened = c
	case c == '/':
		return 1, findingOf(b.endsElement(p, i))
	case chars.IsLetter(c) || c == '_':
		return b.word(p[i:])
	case mayHold[c] || c == 0x80 || c >= 0x98 && c <= 0x9D: // the rest of a smart quote
	default:
		return 1, holdsNot
	}
	return 1, undecided
}

// closer looks at the end of a bracket at i: one that holds nothing is that of
// empty arguments, and one that holds a word for arguments stands before them.
func (b *afterName) closer(p []byte, i int) (int, finding) {
	if p[i] == ']' && b.opened == '[' && b.words > 0 {
		b.opened = 0
		return 1, undecided
	}
	return 1, findingOf(b.opened != '<' && strings.IndexByte("({[", chars.LastBefore(p[:i])) >= 0)
}

// dash looks at the dash at the beginning of p: of an arrow, of an item of a list
// or of an option on a command line.
func (b *afterName) dash(p []byte) (int, finding) {
	if len(p) > 1 && (p[1] == '>' || p[1] == ' ' && b.lines > 0) {
		return 2, undecided
	}
	dashes := len(p) - len(bytes.TrimLeft(p, "-"))
	n := chars.WordLength(p[dashes:])
	if n == 0 || dashes > 2 {
		return 1, holdsNot
	}
	if b.shape != nil && b.shape.Declares(chars.Unescaped(p[dashes:dashes+n])) {
		return dashes + n, findingOf(dashes == 2)
	}
	if b.words++; b.words > 4 {
		return 1, holdsNot
	}
	return dashes + n, undecided
}

// beginsComment reports whether p begins with a comment.
func beginsComment(p []byte) bool {
	return p[0] == '#' || p[0] == '/' && len(p) > 1 && (p[1] == '/' || p[1] == '*')
}

// commentLength returns the length of the comment with which p begins.
func commentLength(p []byte) int {
	end := "\n"
	if bytes.HasPrefix(p, []byte("/*")) {
		end = "*/"
	}
	if n := bytes.Index(p[1:], []byte(end)); n >= 0 {
		return 1 + n + len(end)
	}
	return len(p)
}

// afterArguments reports whether the name at an index of text stands behind an
// object that begins with a parameter of shape: as the value of a key for names
// in it, or as the end of an address that it is sent to.
func afterArguments(text []byte, at int, shape *schema.Shape) bool {
	before := text[max(0, at-MaxAhead):at]
	brace := bytes.LastIndexByte(before, '{')
	if brace < 0 || shape == nil {
		return false
	}
	first := bytes.TrimLeft(before[brace+1:], "\"' \t\r\n")
	if n := chars.WordLength(first); n == 0 || !isKeyEnd(first[n:]) || !shape.Declares(chars.Unescaped(first[:n])) {
		return false
	}
	return namesByKey(before) || bytes.HasSuffix(before, []byte{'/'}) && bytes.IndexByte(before[brace:], '\n') < 0
}

// namesByKey reports whether a value stands behind before whose key is one for
// names.
func namesByKey(before []byte) bool {
	key := bytes.TrimRight(before, "\"' \t\r\n")
	if len(key) == 0 || key[len(key)-1] != ':' {
		return false
	}
	key = bytes.TrimRight(key, ":\"' ")
	return slices.Contains(loose.NameKeys, string(key[bytes.LastIndexAny(key, "\"' ,{")+1:]))
}

// onlyMember reports whether a name between before and rest is the only key of an
// object, and its value the only one that the tool needs.
func onlyMember(before, rest []byte, shape *schema.Shape) bool {
	if shape == nil || !needsOne(shape) || !bytes.HasSuffix(bytes.TrimRight(before, "\"' \t\r\n"), []byte{'{'}) {
		return false
	}
	value := bytes.TrimLeft(rest, "\"' ")
	if len(value) < 2 || value[0] != ':' {
		return false
	}
	value = bytes.TrimLeft(value[1:], " ")
	end := bytes.IndexAny(value, "{}[,\n")
	return end > 0 && value[end] == '}'
}

// needsOne reports whether a tool has one parameter, or must be given one.
func needsOne(shape *schema.Shape) bool {
	keys, required := shape.Properties(), 0
	for _, key := range keys {
		required += chars.BoolInt(shape.Required(key))
	}
	return len(keys) == 1 || required == 1
}

// endsInObject reports whether the answer ends in an object that names a tool,
// between before and rest, before its arguments came.
func (c Check) endsInObject(before, rest []byte) bool {
	return c.Eof && len(rest) > 0 && len(rest) < MaxAhead && chars.IsQuote(rest[0]) && namesByKey(before[max(0, len(before)-MaxAhead):]) &&
		bytes.IndexByte(rest, '}') < 0
}

// endsElement reports whether the slash at i ends an element that holds
// nothing: <f/> or <f></f>.
func (b *afterName) endsElement(p []byte, i int) bool {
	if i == 0 {
		return len(p) > 1 && p[1] == '>'
	}
	return b.opened == '<' && b.words == 0 && chars.LastBefore(p[:i]) == '<'
}

// word looks at the word at the beginning of p.
func (b *afterName) word(p []byte) (int, finding) {
	n := chars.WordLength(p)
	if i := bytes.IndexByte(p[:n], ':'); i > 0 { // a key and its value without a blank
		n = i
	}
	word := chars.Unescaped(p[:n])
	switch {
	case isProperty(word, p[n:], b.shape):
		line := b.lines == 1 || b.lines == 2
		return n, findingOf(b.opened == '<' || (b.opened != 0 || b.listed || b.inside || line) && isKeyEnd(p[n:]))
	case b.listed && b.opened == 0 && b.words == 0 && holdsObject(p[n:]): // a key that no call has
	case !between[word] && !between[strings.ToLower(word)] || b.words == 4:
		return n, holdsNot
	}
	b.words++
	return n, undecided
}

// isProperty reports whether a word is a property of shape. If nothing is known
// of the tool, any key will do.
func isProperty(word string, rest []byte, shape *schema.Shape) bool {
	if shape == nil {
		return !between[word] && isKeyEnd(rest)
	}
	return shape.Declares(word)
}

// isKeyEnd reports whether p, behind a word, makes a key of it.
func isKeyEnd(p []byte) bool {
	p = bytes.TrimLeft(p, "\"'`\\”’ \t")
	return len(p) > 0 && (p[0] == ':' || p[0] == '=')
}

// holdsObject reports whether p, after a word, makes it the key of an object.
func holdsObject(p []byte) bool {
	p = bytes.TrimLeft(p, "\"' \t")
	return len(p) > 1 && p[0] == ':' && bytes.HasPrefix(bytes.TrimLeft(p[1:], " \t\r\n"), []byte("{"))
}

// lookAtStart is the check where every name will do: only an answer that begins
// with a bracket, and with a name and arguments in it, looks like a call.
func (c Check) lookAtStart() {
	head := c.Buf[:min(len(c.Buf), maxFirst)]
	text := bytes.TrimLeft(head, " \t\r\n")
	if bytes.HasPrefix(text, []byte("```")) {
		i := bytes.IndexByte(text, '\n')
		text = bytes.TrimLeft(text[max(i, 0):], " \t\r\n")
	}
	if len(text) == 0 || text[0] != '[' && text[0] != '{' || c.Calls > 0 {
		return
	}
	at := c.Base + len(head) - len(text)
	if !c.accounted(at) && (namesCall(text) || namesFlat(text)) {
		c.unread(at, nil)
	}
}

// maxFirst bounds how much of an answer watchFirst looks at. It is less than
// the buffer when that is first made smaller.
const maxFirst = 256

// namesCall reports whether a name like get_weather or math.sum stands in text
// before a parenthesis, or in quotes before an equals sign or a brace, and a key
// behind it.
func namesCall(text []byte) bool {
	for i := 0; i < len(text); i++ {
		n := chars.WordLength(text[i:])
		if n == 0 {
			continue
		}
		if word := text[i : i+n]; bytes.ContainsAny(word, "_.") && chars.IsLetter(word[0]) {
			rest := bytes.TrimLeft(text[i+n:], "\"' ")
			if bytes.HasPrefix(rest, []byte("(")) && keyed(rest[1:]) || bytes.HasPrefix(rest, []byte(",")) && keyed(rest[1:]) && i > 0 && chars.IsQuote(text[i-1]) {
				return true
			}
		}
		i += n
	}
	return false
}

// keyed reports whether p begins with a key and an equals sign.
func keyed(p []byte) bool {
	p = bytes.TrimLeft(p, " ")
	n := chars.WordLength(p)
	return n > 0 && bytes.HasPrefix(bytes.TrimLeft(p[n:], " "), []byte("="))
}

// namesFlat reports whether text is an object, or a list of such, whose first
// member is the name of a tool, and which has others.
func namesFlat(text []byte) bool {
	text = bytes.TrimLeft(text, "[{ \t\r\n")
	rest, ok := bytes.CutPrefix(text, []byte(`"name"`))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, " :\"")
	n := chars.WordLength(rest)
	return n > 0 && bytes.ContainsAny(rest[:n], "_.") && bytes.HasPrefix(rest[n:], []byte(`",`))
}

// lookAtFolded looks at the words between two indexes of the buffer if full-width
// signs or characters without a width stand there. The others were looked at.
func (c Check) lookAtFolded(at, end int) {
	text := c.Buf[at:min(end+MaxAhead, len(c.Buf))]
	first := indexOdd(text)
	if first < 0 || at+first >= end {
		return
	}
	plain := foldSpelling(c.Buf[max(0, at+first-scan.MaxTail) : at+len(text)]) // the name may have begun earlier
	for i := 0; i < len(plain); {
		n := chars.WordLength(plain[i:])
		if n == 0 {
			i++
			continue
		}
		if c.looksCalled(plain, i, n) && !c.accounted(c.Base+at+first) {
			c.unread(c.Base+at+first, plain[i+n:])
			return
		}
		i += n
	}
}

// indexOdd returns the index of the first character in text that foldSpelling
// changes, -1 if there is none.
func indexOdd(text []byte) int {
	if bytes.IndexByte(text, 0xE2) < 0 && bytes.IndexByte(text, 0xEF) < 0 { // most text
		return -1
	}
	for i := 0; i < len(text); {
		n := chars.IndexEither(text[i:], 0xE2, 0xEF)
		if i += n; i >= len(text) {
			break
		}
		if r, size := utf8.DecodeRune(text[i:]); foldRune(r) != r && size > 1 {
			return i
		}
		i++
	}
	return -1
}

// foldSpelling returns text with the ASCII that full-width letters and brackets
// stand for, and without what has no width.
func foldSpelling(text []byte) []byte { return bytes.Map(foldRune, text) }

func foldRune(r rune) rune {
	switch {
	case r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF:
		return -1
	case r >= 0xFF21 && r <= 0xFF5A, r == 0xFF08, r == 0xFF09, r == 0xFF5B, r == 0xFF5D: // letters, brackets
		return r - 0xFEE0
	}
	return r
}
