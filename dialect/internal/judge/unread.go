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

// The check over the whole answer ensures that no text that looks like a call is lost silently. It finds every name of an
// offered tool that is directly before a bracket, an element or a key with one of the tool's properties, or before an
// empty bracket. If the name did not become part of a call, a warning reports its place. The check reads the bytes of the
// answer and not the results of the readers, so it also finds forms that no reader knows.

// Extent is a range of offsets in the answer; End is exclusive.
type Extent struct{ Start, End int }

// extents are ranges of the answer, mostly in order.
type extents []Extent

// manyExtents is the number of extents up to which a linear search is used.
const manyExtents = 16

// merged returns the extents for a fast search: if there are many, sorted and without overlaps. It does not change e.
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

// has reports whether one of the extents contains an offset. Many extents must be merged first.
func (e extents) has(at int) bool {
	if len(e) > manyExtents {
		i, _ := slices.BinarySearchFunc(e, at, func(x Extent, at int) int { return cmp.Compare(x.End, at+1) })
		return i < len(e) && e[i].Start <= at
	}
	return slices.ContainsFunc(e, func(x Extent) bool { return x.Start <= at && at < x.End })
}

// Reach makes e end at end if it ended at from. Otherwise it sets e to the range between the two.
func (e *Extent) Reach(from, end int) {
	if e.End != from {
		e.Start = from
	}
	e.End = end
}

// Check checks the whole answer for text that looks like a call. It advances with the buffer.
type Check struct {
	*Evidence
	Open int // offset of the call that is being read; math.MaxInt if there is none
}

// Progress is the state of the check.
type Progress struct {
	upTo    int    // offset up to which the answer was checked
	Clean   Extent // the last stretch of text without anchors, see lexicon.Anchors
	thought int    // offset of the first suspected name in thinking, plus one; 0 if there is none
}

// MaxAhead bounds how far after a name the check looks for arguments. It is less than scan.MaxTail, which stays in the
// buffer.
const MaxAhead = 128

// maxLookBack is how far into text without anchors the check looks for names. An anchor just before it, such as the key
// for names, may belong to them.
const maxLookBack = 64

// nearby is the distance from a warning's place, in either direction, in which another name gets no warning.
const nearby = 96

// Advance checks the answer up to the index end of the buffer. No try may go back before end any more.
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
		stop = max(at, min(stop, c.Progress.Clean.Start+maxLookBack-c.Base)) // the text after it cannot hold arguments
	}
	if at < stop {
		c.lookBetween(at, stop)
	}
	c.Progress.upTo = c.Base + end
	for len(c.Covers) > 0 && c.Covers[0].End < c.Progress.upTo {
		c.Covers = c.Covers[1:]
	}
}

// lookBetween checks the words that begin between two indexes of the buffer.
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

// searchPair checks the words that contain the pair of bytes p and begin between two indexes of the buffer. The two
// bytes are from a name and are rarely neighbours in text, so the search skips nearly all of the text.
func (c Check) searchPair(p offered.NamePair, at, end int) {
	text := c.Buf[:min(end+2*c.Names.Longest, len(c.Buf))] // a word that begins before end may have its pair after it
	for i := at; i < len(text); {
		n := offered.IndexPair(text[i:], p)
		if n < 0 {
			return
		}
		i += n
		i += c.lookAround(i, at, end)
	}
}

// maxStarts bounds the places in one word from which it is checked. It keeps the work linear.
const maxStarts = 8

// lookAround checks the word around the i-th byte of the buffer, from each place between two indexes where a name may
// begin. It returns the number of bytes of the word from i on.
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

// afterSign reports whether the i-th byte of the buffer follows a minus at the beginning of its line, as in a diff.
func (c Check) afterSign(i int) bool {
	return c.Buf[i-1] == '-' && (i == 1 || c.Buf[i-2] == '\n')
}

// lookAtAll is searchPair for all names at once. It is slower than a search for a few pairs, but its cost does not
// depend on the number of names.
func (c Check) lookAtAll(at, end int) {
	for at < end {
		if !c.Names.First.Has(c.Buf[at]) || at > 0 && chars.IsWordByte(c.Buf[at-1]) && !chars.IsJoint(c.Buf[at-1]) && !c.afterSign(at) {
			at++
			continue
		}
		at += max(c.lookAt(at), 1)
	}
}

// lookAt checks the word that begins at an index of the buffer and returns its length.
func (c Check) lookAt(at int) int {
	n := chars.WordLength(c.Buf[at:])
	if rest := c.Buf[at+n:]; len(rest) == 0 || mayHold[rest[0]] || at > 0 && c.Buf[at-1] == '/' { // the last part of a URL
		c.lookAtWord(at, n)
	}
	return n
}

// lookAtWord checks the word of n bytes at an index of the buffer.
func (c Check) lookAtWord(at, n int) {
	if p := c.Buf[at : at+n]; c.accounted(c.Base+at) || !c.Names.MayMean(p) || !c.looksCalled(c.Buf, at, n) {
		return
	}
	c.unread(c.Base+at, c.Buf[at+n:])
}

// looksCalled reports whether the word of n bytes at an index of text names a tool and has arguments before or after
// it.
func (c Check) looksCalled(text []byte, at, n int) bool {
	word := chars.Unescaped(text[at : at+n])
	name, ok := c.Names.Meant(word)
	glued := at > 0 && chars.IsJoint(text[at-1])
	if i := strings.LastIndexAny(word, ".:/"); !ok && i >= 0 {
		if name, ok = c.Names.Meant(word[i+1:]); !ok {
			name, ok = c.Names.Meant(word[:i]) // a method of the tool
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

// unread records the name at an offset as suspected. rest is the text after the name. A name in thinking is kept until
// the end of the answer.
func (c Check) unread(at int, rest []byte) {
	if c.Mode == InThinking || at < c.NoCallBefore || c.Thought && at < c.Origin {
		if c.Progress.thought == 0 {
			c.Progress.thought = at + 1
		}
		return
	}
	c.suspectAt(at, rest)
}

// suspectAt adds the name at an offset, which rest follows, to the suspects.
func (c Check) suspectAt(at int, rest []byte) {
	form := spec.JSONCall
	if len(rest) > 0 && rest[0] == '(' {
		form = spec.PyCall
	}
	c.Lost.Add(c.Lex.Bare.And(c.Lex.Form[form]), at, Unreadable)
}

// accounted reports whether the text at an offset became a call or already has a warning.
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

// Finish checks the rest of the answer. A name in thinking counts only in an answer without calls, because models think
// about calls before they make them.
func (c Check) Finish() {
	c.Advance(len(c.Buf))
	if at := c.Progress.thought; at > 0 && c.Calls == 0 {
		c.suspectAt(at-1, nil)
	}
}

// mayHold are the bytes that may be between a name and its arguments.
var mayHold = func() (set [256]bool) {
	for _, c := range []byte(" \t\r\n\"'`*:,=>\\({[<|/?]-\xE2") {
		set[c] = true
	}
	return set
}()

// isEmptyLiteral reports whether p, after a name, is an empty value of a programming language: list []T, error {}.
func isEmptyLiteral(p []byte) bool {
	p = bytes.TrimLeft(p, " :=\t")
	return bytes.HasPrefix(p, []byte("[]")) || bytes.HasPrefix(p, []byte("{}"))
}

// between are the words that may be between a name and its first property.
var between = map[string]bool{
	"arguments": true, "parameters": true, "params": true, "parameter": true, "param": true, "args": true, "arg": true,
	"input": true, "inputs": true, "kwargs": true, "arg_key": true, "name": true, "key": true, "json": true, "invoke": true,
	"function": true, "tool_input": true, "action_input": true, "Arguments": true, "Input": true, "dict": true,
	"message": true, "constrain": true, "tool": true, "with": true, "action": true, "tool_args": true, "tool_arguments": true,
}

// holdsArguments reports whether p, after a name, holds arguments: a bracket, an element or a line with a property of
// shape, or an empty bracket or element. before is the text before the name; it shows whether the name is an element's
// name or the first in a bracket.
func holdsArguments(p []byte, shape *schema.Shape, before []byte) bool {
	b := afterName{shape: shape, inside: bytes.HasSuffix(before, []byte{'['}) || bytes.HasSuffix(before, []byte{'('}) || isAttributeValue(before)}
	if bytes.HasSuffix(before, []byte{'<'}) {
		b.opened = '<'
	}
	i := 0
	if len(p) > 0 && p[0] == ']' { // the bracket holds only the name
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

// isAttributeValue reports whether the text after before is the value of an attribute.
func isAttributeValue(before []byte) bool {
	key := bytes.TrimRight(before, "\"'")
	return len(key) < len(before) && bytes.HasSuffix(key, []byte{'='})
}

// afterName is the state of holdsArguments.
type afterName struct {
	shape  *schema.Shape
	opened byte // the last opening bracket, or 0
	lines  int
	words  int
	listed bool // there was a comma
	inside bool // the name is the first in a bracket
}

// finding is the answer of holdsArguments after each step.
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

// step reads one token at the i-th byte of p and returns its length in bytes.
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
	case c == '?': // the query of a URL
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

// closer reads the closing bracket at i. A bracket without content means empty arguments. A square bracket that holds
// only words like "arguments" may precede the arguments.
func (b *afterName) closer(p []byte, i int) (int, finding) {
	if p[i] == ']' && b.opened == '[' && b.words > 0 {
		b.opened = 0
		return 1, undecided
	}
	return 1, findingOf(b.opened != '<' && strings.IndexByte("({[", chars.LastBefore(p[:i])) >= 0)
}

// dash reads the dash at the beginning of p: an arrow, a list item or a command-line option.
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

// commentLength returns the length of the comment at the beginning of p.
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

// afterArguments reports whether the name at an index of text follows an object that begins with a parameter of shape.
// The name is then the value of a key for names in that object, or the end of a URL.
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

// namesByKey reports whether before ends with a key for names and a colon, so a tool name may follow.
func namesByKey(before []byte) bool {
	key := bytes.TrimRight(before, "\"' \t\r\n")
	if len(key) == 0 || key[len(key)-1] != ':' {
		return false
	}
	key = bytes.TrimRight(key, ":\"' ")
	return slices.Contains(loose.NameKeys, string(key[bytes.LastIndexAny(key, "\"' ,{")+1:]))
}

// onlyMember reports whether the name between before and rest is the only key of an object and its value is the only
// parameter that the tool needs.
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

// needsOne reports whether a tool has exactly one parameter or exactly one required parameter.
func needsOne(shape *schema.Shape) bool {
	keys, required := shape.Properties(), 0
	for _, key := range keys {
		required += chars.BoolInt(shape.Required(key))
	}
	return len(keys) == 1 || required == 1
}

// endsInObject reports whether the answer ends in an object that names a tool, between before and rest, but has no
// arguments yet.
func (c Check) endsInObject(before, rest []byte) bool {
	return c.Eof && len(rest) > 0 && len(rest) < MaxAhead && chars.IsQuote(rest[0]) && namesByKey(before[max(0, len(before)-MaxAhead):]) &&
		bytes.IndexByte(rest, '}') < 0
}

// endsElement reports whether the slash at i ends an empty element: <f/> or <f></f>.
func (b *afterName) endsElement(p []byte, i int) bool {
	if i == 0 {
		return len(p) > 1 && p[1] == '>'
	}
	return b.opened == '<' && b.words == 0 && chars.LastBefore(p[:i]) == '<'
}

// word reads the word at the beginning of p.
func (b *afterName) word(p []byte) (int, finding) {
	n := chars.WordLength(p)
	if i := bytes.IndexByte(p[:n], ':'); i > 0 { // a key and its value without a space between them
		n = i
	}
	word := chars.Unescaped(p[:n])
	switch {
	case isProperty(word, p[n:], b.shape):
		line := b.lines == 1 || b.lines == 2
		return n, findingOf(b.opened == '<' || (b.opened != 0 || b.listed || b.inside || line) && isKeyEnd(p[n:]))
	case b.listed && b.opened == 0 && b.words == 0 && holdsObject(p[n:]): // no call has such a key
	case !between[word] && !between[strings.ToLower(word)] || b.words == 4:
		return n, holdsNot
	}
	b.words++
	return n, undecided
}

// isProperty reports whether a word is a property of shape. If the tool's schema is not known, any key counts.
func isProperty(word string, rest []byte, shape *schema.Shape) bool {
	if shape == nil {
		return !between[word] && isKeyEnd(rest)
	}
	return shape.Declares(word)
}

// isKeyEnd reports whether p makes a key of the word before it: a colon or an equals sign follows.
func isKeyEnd(p []byte) bool {
	p = bytes.TrimLeft(p, "\"'`\\”’ \t")
	return len(p) > 0 && (p[0] == ':' || p[0] == '=')
}

// holdsObject reports whether p makes the word before it a key whose value is an object.
func holdsObject(p []byte) bool {
	p = bytes.TrimLeft(p, "\"' \t")
	return len(p) > 1 && p[0] == ':' && bytes.HasPrefix(bytes.TrimLeft(p[1:], " \t\r\n"), []byte("{"))
}

// lookAtStart is the check if any name is allowed. Only an answer that begins with a bracket and contains a name and
// arguments looks like a call.
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

// maxFirst bounds how much of an answer lookAtStart reads. The buffer is longer than that before it is first compacted.
const maxFirst = 256

// namesCall reports whether text contains a name like get_weather or math.sum, followed by a parenthesis and a key, or
// in quotes and followed by a comma and a key.
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

// namesFlat reports whether text is an object, or a list of objects, whose first member is the name of a tool and which
// has other members.
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

// lookAtFolded checks the words between two indexes of the buffer again if the text contains full-width characters or
// zero-width characters.
func (c Check) lookAtFolded(at, end int) {
	text := c.Buf[at:min(end+MaxAhead, len(c.Buf))]
	first := indexOdd(text)
	if first < 0 || at+first >= end {
		return
	}
	plain := foldSpelling(c.Buf[max(0, at+first-scan.MaxTail) : at+len(text)]) // the name may begin earlier
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

// indexOdd returns the index of the first character in text that foldSpelling changes, or -1.
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

// foldSpelling returns text with full-width letters and brackets replaced by ASCII, and without zero-width characters.
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
