package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// The check over the whole answer ensures that nothing that looks like a call is
// lost silently. It finds every name of an offered tool that stands directly
// before a bracket, a brace, an element or a key with one of the tool's properties
// in it, or nothing. If the name did not become part of a call, a warning says
// where it is. The check looks at the bytes of the answer and not at what the
// readers made of them, so that it also finds forms that no reader knows.

// extent is a stretch of the answer.
type extent struct{ start, end int }

// extents are stretches of the answer. Many of them are in order.
type extents []extent

// manyExtents is how many extents are looked at one by one.
const manyExtents = 16

// merged returns many extents in order and without overlaps, so that has finds
// one fast. It leaves e as it is.
func (e extents) merged() extents {
	if len(e) <= manyExtents {
		return e
	}
	sorted := slices.Clone(e)
	slices.SortFunc(sorted, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	out := sorted[:1]
	for _, next := range sorted[1:] {
		if last := &out[len(out)-1]; next.start <= last.end {
			last.end = max(last.end, next.end)
		} else {
			out = append(out, next)
		}
	}
	return out
}

// has reports whether one of the extents holds an offset. Many must be merged.
func (e extents) has(at int) bool {
	if len(e) > manyExtents {
		i, _ := slices.BinarySearchFunc(e, at, func(x extent, at int) int { return cmp.Compare(x.end, at+1) })
		return i < len(e) && e[i].start <= at
	}
	return slices.ContainsFunc(e, func(x extent) bool { return x.start <= at && at < x.end })
}

// reach makes the extent end at end if it ends at from, and else makes it the
// stretch between the two.
func (e *extent) reach(from, end int) {
	if e.end != from {
		e.start = from
	}
	e.end = end
}

// anchors are the bytes of which arguments after a name hold at least one:
// brackets, and the signs that make a word a key; a slash is one if it ends a
// tag. The check can pass over text without anchors.
var anchors = [256]bool{'(': true, '{': true, '[': true, '<': true, ':': true, '=': true, '/': true}

// isAnchor reports whether c, before next, is an anchor.
func isAnchor(c, next byte) bool { return anchors[c] && (c != '/' || next == '>') }

// watched is what the check has seen.
type watched struct {
	upTo    int    // offset up to which the answer was looked at
	clean   extent // the last text without anchors
	thought int    // offset of the first such name in thinking, and one more
}

// maxAhead bounds how far behind a name the check looks. It is less than
// maxTail, which stays in the buffer.
const maxAhead = 128

// maxLookBack is how far behind the key for names, or another anchor, a name is
// looked at.
const maxLookBack = 64

// nearby is how far from a name, in either direction, a warning tells of it.
const nearby = 96

// watch looks at the next bytes of the answer, up to the index end of the buffer.
// No try can go back to them any more.
func (m *machine) watch(end int) {
	at := max(m.watched.upTo-m.base, 0)
	if m.names.any && m.watched.upTo == 0 && end > 0 {
		m.watchFirst()
		m.watched.upTo = m.base + end
	}
	if m.names.any || m.names.none || at >= end {
		return
	}
	m.covers = m.covers.merged()
	stop := end
	if m.call.open { // what stands in its arguments is accounted for
		stop = min(end, max(at, m.call.start-m.base))
	}
	if m.watched.clean.end >= m.base+stop+maxAhead || m.eof && m.watched.clean.end == m.base+len(m.buf) {
		stop = max(at, min(stop, m.watched.clean.start+maxLookBack-m.base)) // what follows holds no arguments
	}
	if at < stop {
		m.watchBetween(at, stop)
	}
	m.watched.upTo = m.base + end
	for len(m.covers) > 0 && m.covers[0].end < m.watched.upTo {
		m.covers = m.covers[1:]
	}
}

// watchBetween looks at the words that begin between two indexes of the buffer.
func (m *machine) watchBetween(at, end int) {
	if m.names.pairs == nil {
		m.names.pairs = pairsOf(m.names.tools, m.names.pairRoom[:0])
	}
	if len(m.names.pairs) == 0 {
		m.watchAll(at, end)
	}
	m.watchFolded(at, end)
	for _, p := range m.names.pairs {
		m.watchPair(p, at, end)
	}
}

// watchPair looks at the words that begin between two indexes of the buffer and
// hold the pair of bytes p. To search for two bytes of a name that are seldom
// neighbours spares nearly all of the text a closer look.
func (m *machine) watchPair(p namePair, at, end int) {
	text := m.buf[:min(end+2*m.names.longest, len(m.buf))] // the pair may stand behind the end
	for i := at; i < len(text); {
		n := indexPair(text[i:], p)
		if n < 0 {
			return
		}
		i += n
		i += m.watchWords(i, at, end)
	}
}

// maxStarts is from how many places a word is looked at. It keeps the work
// linear.
const maxStarts = 8

// watchWords looks at the word around the i-th byte of the buffer from each
// place between two indexes where a name may begin in it, and returns how many
// of its bytes stand from i on.
func (m *machine) watchWords(i, at, end int) int {
	first, n := i, max(wordLength(m.buf[i:]), 1)
	for first > 0 && i-first < maxTail && (isWordByte(m.buf[first-1]) || m.buf[first-1] == '\\' && isSeparator(m.buf[first])) {
		first--
	}
	starts := 0
	for first = max(first, at); first < min(i+n, end) && starts < maxStarts; first++ {
		begins := first == 0 || isJoint(m.buf[first-1]) || !isWordByte(m.buf[first-1]) || m.afterSign(first)
		if begins && !m.accounted(m.base+first) && m.names.hasHead(m.buf[first:]) {
			m.watchAt(first)
			starts++
		}
	}
	return n
}

// afterSign reports whether the i-th byte of the buffer stands behind a minus with
// which its line begins, as in a diff.
func (m *machine) afterSign(i int) bool {
	return m.buf[i-1] == '-' && (i == 1 || m.buf[i-2] == '\n')
}

// hasHead reports whether p begins like a name.
func (n *names) hasHead(p []byte) bool {
	if n.heads == nil {
		n.heads = headsOf(n.tools)
	}
	for _, head := range n.heads {
		if bytes.HasPrefix(p, []byte(head)) {
			return true
		}
	}
	return false
}

// watchAll is watchPair for all names at once: slower than a search for a few
// pairs, and independent of their number.
func (m *machine) watchAll(at, end int) {
	for at < end {
		if !m.names.first.has(m.buf[at]) || at > 0 && isWordByte(m.buf[at-1]) && !isJoint(m.buf[at-1]) && !m.afterSign(at) {
			at++
			continue
		}
		at += max(m.watchAt(at), 1)
	}
}

// watchAt looks at the word that begins at an index, and returns its length.
func (m *machine) watchAt(at int) int {
	n := wordLength(m.buf[at:])
	if rest := m.buf[at+n:]; len(rest) == 0 || mayHold[rest[0]] || at > 0 && m.buf[at-1] == '/' { // of an address
		m.watchWord(at, n)
	}
	return n
}

// headsOf returns the first bytes of the names of tools, as they may be written,
// and of what hosts may glue to a name.
func headsOf(tools []llm.ToolDef) []string {
	seen := map[string]bool{"fu": true}
	heads := []string{"fu"}
	add := func(head string) {
		if head != "" && !seen[head] {
			seen[head] = true
			heads = append(heads, head)
		}
	}
	for _, t := range tools {
		switch {
		case len(t.Name) < 2:
			add(t.Name)
		case isSeparator(t.Name[1]): // the three count as one, and Markdown escapes them
			for _, c := range `_-.\` {
				add(t.Name[:1] + string(c))
			}
		default:
			add(t.Name[:2])
			add(strings.ToUpper(t.Name[:1]) + t.Name[1:2])
		}
	}
	return heads
}

// namePair is two neighbouring bytes of a name.
type namePair struct{ first, second byte }

// maxPairs is how many pairs are searched for one by one.
const maxPairs = 8

// pairsOf returns pairs of bytes of which each name of a tool holds one, however
// it is written; none if there is a name without any, or there are too many. It
// appends them to pairs, which is empty.
func pairsOf(tools []llm.ToolDef, pairs []namePair) []namePair {
	for _, t := range tools {
		best, rarity := namePair{}, uint8(0)
		for i := 1; i < len(t.Name); i++ {
			a, b := t.Name[i-1], t.Name[i]
			if r := rare[a] + rare[b]; isWordByte(a) && isWordByte(b) && !isSeparator(a) && !isSeparator(b) && r > rarity {
				best, rarity = namePair{a, b}, r
			}
		}
		switch {
		case t.Name == "" || slices.Contains(pairs, best):
		case rarity == 0 || len(pairs) == maxPairs:
			return pairs[:0]
		default:
			pairs = append(pairs, best)
		}
	}
	return appendCamelPairs(tools, pairs)
}

// rare says how rare a byte is in text, from 1 on.
var rare = func() (rank [256]uint8) {
	const byFrequency = "etaoinshrdlcumwfgypbvkjxqz"
	for c := range rank {
		rank[c] = 1 + uint8(len(byFrequency))
	}
	for i := range len(byFrequency) {
		rank[byFrequency[i]] = 1 + uint8(i)
	}
	return rank
}()

// indexPair returns the index of the first pair in text, -1 if there is none. It
// compares eight bytes at once.
func indexPair(text []byte, p namePair) int {
	if isCapital(rune(p.second)) {
		return indexCapital(text, p)
	}
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	first, second := uint64(p.first)*ones, uint64(p.second)*ones
	rest := text
	for ; len(rest) > 32; rest = rest[32:] {
		q := (*[33]byte)(rest)
		// A byte of these is zero where the pair stands, and a high bit of what
		// is tested tells that there is one.
		w := (binary.LittleEndian.Uint64(q[0:]) ^ first) | (binary.LittleEndian.Uint64(q[1:]) ^ second)
		x := (binary.LittleEndian.Uint64(q[8:]) ^ first) | (binary.LittleEndian.Uint64(q[9:]) ^ second)
		y := (binary.LittleEndian.Uint64(q[16:]) ^ first) | (binary.LittleEndian.Uint64(q[17:]) ^ second)
		z := (binary.LittleEndian.Uint64(q[24:]) ^ first) | (binary.LittleEndian.Uint64(q[25:]) ^ second)
		if ((w-ones)&^w|(x-ones)&^x|(y-ones)&^y|(z-ones)&^z)&highs != 0 {
			break
		}
	}
	for ; len(rest) > 1; rest = rest[1:] {
		if rest[0] == p.first && rest[1] == p.second {
			return len(text) - len(rest)
		}
	}
	return -1
}

// watchWord looks at the word of n bytes at an index of the buffer.
func (m *machine) watchWord(at, n int) {
	if p := m.buf[at : at+n]; m.accounted(m.base+at) || !m.names.mayMean(p) || !m.looksCalled(m.buf, at, n) {
		return
	}
	m.unread(m.base+at, m.buf[at+n:])
}

// looksCalled reports whether the word of n bytes at an index of text means a tool
// and arguments stand behind it, or before it.
func (m *machine) looksCalled(text []byte, at, n int) bool {
	word := unescaped(text[at : at+n])
	name, ok := m.names.meant(word)
	glued := at > 0 && isJoint(text[at-1])
	if i := strings.LastIndexAny(word, ".:/"); !ok && i >= 0 {
		if name, ok = m.names.meant(word[i+1:]); !ok {
			name, ok = m.names.meant(word[:i]) // a method of it
		}
		glued = true
	}
	rest := text[at+n:]
	rest = rest[:min(len(rest), maxAhead)]
	if !ok || glued && bytes.HasPrefix(rest, []byte("()")) || isEmptyLiteral(rest) {
		return false
	}
	shape := m.names.shape(name)
	return holdsArguments(rest, shape, text[:at]) || behindArguments(text, at, shape) || onlyMember(text[:at], rest, shape) || m.endsInObject(text[:at], rest)
}

// exactly reports whether a tool is called so.
func (n *names) exactly(name []byte) bool {
	n.index()
	_, ok := n.exact[string(name)]
	return ok
}

// unread warns of the name at an offset, before rest. What stands in thinking is
// kept for the end of the answer.
func (m *machine) unread(at int, rest []byte) {
	if m.mode == inThinking || at < m.noCallBefore || m.thought && at < m.origin {
		if m.watched.thought == 0 {
			m.watched.thought = at + 1
		}
		return
	}
	m.suspectAt(at, rest)
}

// suspectAt adds the name at an offset, before rest, to what is suspected.
func (m *machine) suspectAt(at int, rest []byte) {
	form := spec.JSONCall
	if len(rest) > 0 && rest[0] == '(' {
		form = spec.PyCall
	}
	m.lost.add(m.lex.bare.and(m.lex.form[form]), at)
}

// accounted reports whether a call was made of what stands at an offset, or a
// warning tells of it.
func (m *machine) accounted(at int) bool {
	if m.call.open && at >= m.call.start {
		return true
	}
	if m.covers.has(at) {
		return true
	}
	for _, p := range m.lost.places {
		if p >= at-nearby && p <= at+nearby {
			return true
		}
	}
	return false
}

// lastWatch looks at the end of the answer. What stands in thinking matters
// only if the answer calls nothing: models think about calls before they make
// them.
func (m *machine) lastWatch() {
	m.watch(len(m.buf))
	if at := m.watched.thought; at > 0 && m.calls == 0 {
		m.suspectAt(at-1, nil)
	}
}

// mayHold are the bytes that may stand between a name and its arguments.
var mayHold = func() (set [256]bool) {
	for _, c := range []byte(" \t\r\n\"'`*:,=>\\({[<|/?]-\xE2") {
		set[c] = true
	}
	return set
}()

// isWordByte reports whether c may be part of a name in the answer.
func isWordByte(c byte) bool { return isNameByte(c) && c < 0x80 }

// isEmptyLiteral reports whether p, behind a name, is an empty value of a
// programming language: list []T, error {}.
func isEmptyLiteral(p []byte) bool {
	p = bytes.TrimLeft(p, " :=\t")
	return bytes.HasPrefix(p, []byte("[]")) || bytes.HasPrefix(p, []byte("{}"))
}

// isJoint reports whether c may join a name to a word before it.
func isJoint(c byte) bool { return c == '.' || c == ':' || c == '/' }

// isSeparator reports whether c stands between the words of a name. All three
// count as one.
func isSeparator(c byte) bool { return c == '_' || c == '-' || c == '.' }

// wordLength returns the length of the name at the beginning of p, with the
// backslashes that Markdown puts into it.
func wordLength(p []byte) int {
	n := 0
	for n < len(p) && (isWordByte(p[n]) || p[n] == '\\' && n+1 < len(p) && isSeparator(p[n+1])) {
		n++
	}
	for n > 0 && (isJoint(p[n-1]) || p[n-1] == '-' && n < len(p) && p[n] == '>') { // of the text behind it
		n--
	}
	return n
}

func unescaped(p []byte) string {
	if bytes.IndexByte(p, '\\') < 0 {
		return string(p)
	}
	return string(bytes.ReplaceAll(p, []byte{'\\'}, nil))
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
	b := behindName{shape: shape, inside: bytes.HasSuffix(before, []byte{'['}) || bytes.HasSuffix(before, []byte{'('}) || isAttributeValue(before)}
	if bytes.HasSuffix(before, []byte{'<'}) {
		b.opened = '<'
	}
	i := 0
	if len(p) > 0 && p[0] == ']' { // all that was in the bracket is the name
		i, b.inside = 1, false
	}
	for i < len(p) {
		n, verdict := b.step(p, i)
		if verdict != undecided {
			return verdict == holds
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

// behindName is what was seen behind a name.
type behindName struct {
	shape  *schema.Shape
	opened byte // the last bracket, or 0
	lines  int
	words  int
	listed bool // there was a comma
	inside bool // the name is the first in a bracket
}

// verdict says whether arguments stand behind a name.
type verdict uint8

const (
	undecided verdict = iota
	holds
	holdsNot
)

func verdictOf(ok bool) verdict {
	if ok {
		return holds
	}
	return holdsNot
}

// step looks at the i-th byte of p and returns how many bytes it has read.
func (b *behindName) step(p []byte, i int) (int, verdict) {
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
		return 1, verdictOf(b.endsElement(p, i))
	case isLetter(c) || c == '_':
		return b.word(p[i:])
	case mayHold[c] || c == 0x80 || c >= 0x98 && c <= 0x9D: // the rest of a smart quote
	default:
		return 1, holdsNot
	}
	return 1, undecided
}

// closer looks at the end of a bracket at i: one that holds nothing is that of
// empty arguments, and one that holds a word for arguments stands before them.
func (b *behindName) closer(p []byte, i int) (int, verdict) {
	if p[i] == ']' && b.opened == '[' && b.words > 0 {
		b.opened = 0
		return 1, undecided
	}
	return 1, verdictOf(b.opened != '<' && strings.IndexByte("({[", lastBefore(p[:i])) >= 0)
}

// dash looks at the dash at the beginning of p: of an arrow, of an item of a list
// or of an option on a command line.
func (b *behindName) dash(p []byte) (int, verdict) {
	if len(p) > 1 && (p[1] == '>' || p[1] == ' ' && b.lines > 0) {
		return 2, undecided
	}
	dashes := len(p) - len(bytes.TrimLeft(p, "-"))
	n := wordLength(p[dashes:])
	if n == 0 || dashes > 2 {
		return 1, holdsNot
	}
	if b.shape != nil && b.shape.Declares(unescaped(p[dashes:dashes+n])) {
		return dashes + n, verdictOf(dashes == 2)
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

// behindArguments reports whether the name at an index of text stands behind an
// object that begins with a parameter of shape: as the value of a key for names
// in it, or as the end of an address that it is sent to.
func behindArguments(text []byte, at int, shape *schema.Shape) bool {
	before := text[max(0, at-maxAhead):at]
	brace := bytes.LastIndexByte(before, '{')
	if brace < 0 || shape == nil {
		return false
	}
	first := bytes.TrimLeft(before[brace+1:], "\"' \t\r\n")
	if n := wordLength(first); n == 0 || !isKeyEnd(first[n:]) || !shape.Declares(unescaped(first[:n])) {
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
		required += boolInt(shape.Required(key))
	}
	return len(keys) == 1 || required == 1
}

// endsInObject reports whether the answer ends in an object that names a tool,
// between before and rest, before its arguments came.
func (m *machine) endsInObject(before, rest []byte) bool {
	return m.eof && len(rest) > 0 && len(rest) < maxAhead && isQuote(rest[0]) && namesByKey(before[max(0, len(before)-maxAhead):]) &&
		bytes.IndexByte(rest, '}') < 0
}

// endsElement reports whether the slash at i ends an element that holds
// nothing: <f/> or <f></f>.
func (b *behindName) endsElement(p []byte, i int) bool {
	if i == 0 {
		return len(p) > 1 && p[1] == '>'
	}
	return b.opened == '<' && b.words == 0 && lastBefore(p[:i]) == '<'
}

// word looks at the word at the beginning of p.
func (b *behindName) word(p []byte) (int, verdict) {
	n := wordLength(p)
	if i := bytes.IndexByte(p[:n], ':'); i > 0 { // a key and its value without a blank
		n = i
	}
	word := unescaped(p[:n])
	switch {
	case isProperty(word, p[n:], b.shape):
		line := b.lines == 1 || b.lines == 2
		return n, verdictOf(b.opened == '<' || (b.opened != 0 || b.listed || b.inside || line) && isKeyEnd(p[n:]))
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

// holdsObject reports whether p, behind a word, makes it the key of an object.
func holdsObject(p []byte) bool {
	p = bytes.TrimLeft(p, "\"' \t")
	return len(p) > 1 && p[0] == ':' && bytes.HasPrefix(bytes.TrimLeft(p[1:], " \t\r\n"), []byte("{"))
}

// lastBefore returns the last byte of p that is no white space.
func lastBefore(p []byte) byte {
	p = bytes.TrimRight(p, " \t\r\n")
	if len(p) == 0 {
		return 0
	}
	return p[len(p)-1]
}
