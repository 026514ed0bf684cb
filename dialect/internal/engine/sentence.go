package engine

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// midSentence reports whether a sentence may go through the marker t that stands
// here: one that is not finished stands before it on its line, and a space, or
// ends the paragraph before it. So may the row of a table, or a fence of tildes. A
// special token counts all the same: only its own line puts it in doubt.
func (m *machine) midSentence(t *token) bool {
	before := m.lately()
	if t != nil && t.special {
		return inLine(lastLine(before))
	}
	line := lastLine(before)
	words := bytes.TrimRight(line, " \t")
	n := len(words)
	switch {
	case n == 0:
		label := labelAbove(before)
		return unfinished(bytes.TrimRight(before, " \t\r\n")) || saysExample(label) || isHeading(label) || isTildes(label) || indented(before)
	case words[n-1] == '(' || words[n-1] == '|':
		return true
	case len(bytes.Trim(words, "-*+•0123456789.) ")) == 0: // an item of a list, or a line of a diff
		return n < len(line) || isSign(words)
	case n == len(line) && words[n-1] < utf8.RuneSelf: // glued to it
		return false
	}
	return endsLabel(bytes.TrimRight(words, "*")) || unfinished(words)
}

// inLine reports whether a line ends in the middle of a sentence and with a space,
// or in the row of a table.
func inLine(line []byte) bool {
	words := bytes.TrimRight(line, " \t")
	return len(words) < len(line) && (unfinished(words) || bytes.HasSuffix(words, []byte{'|'}))
}

// unfinished reports whether text ends in the middle of a sentence.
func unfinished(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return r == ',' || unicode.IsLetter(r) || isDash(r) || r == '.' && abbreviates(text)
}

// abbreviates reports whether the full stop with which text ends is that of an
// abbreviation of single letters, like "i.e.", and no sentence ends there.
func abbreviates(text []byte) bool {
	for range 2 {
		rest, ok := bytes.CutSuffix(bytes.TrimRight(text, " "), []byte{'.'})
		r, n := utf8.DecodeLastRune(rest)
		if !ok || !unicode.IsLetter(r) {
			return false
		}
		text = rest[:len(rest)-n]
	}
	r, _ := utf8.DecodeLastRune(text)
	return len(text) == 0 || !unicode.IsLetter(r)
}

// sentenceGoesOn reports whether the sentence before the try t, a call with
// markers, goes on behind it: on the same line, or on the next one if the call
// has its lines for itself.
func (m *machine) sentenceGoesOn(t *try) bool {
	i := m.gap(0)
	tilded := m.hasAt(i, tildes)
	if tilded {
		i = m.gap(i + len(tildes))
	}
	if !m.at(i) || m.markupBehind(i) {
		return false
	}
	c, r, name := m.buf[m.pos+i], m.letter(i), m.nameAt(i) // they may wait, and the buffer move
	before := m.textBefore(t)
	words := bytes.TrimRight(before, " \t\r\n")
	own := bytes.IndexByte(before[len(words):], '\n') >= 0
	switch newline := bytes.IndexByte(m.buf[m.pos:m.pos+i], '\n') >= 0; {
	case newline != own:
		return false
	case own:
		label := labelAbove(before)
		return c == ',' || unicode.IsLower(r) && !name || saysExample(label) || tilded && isTildes(label)
	}
	return strings.ContainsRune(",;:)|，；：）、…", r) || unicode.IsLower(r) && !name || isDash(r) || unicode.Is(unicode.Lo, r) && unfinished(words)
}

// isDash reports whether r is a dash with which a sentence goes on.
func isDash(r rune) bool { return r == '—' || r == '–' }

// checkBehind looks at what stands behind the call that ends here, if it is not
// held: it begins the answer, or its marker stands under a label. If a sentence
// goes on behind it, it is talked about, and invalid. If it stands in a fence that
// prose follows, it is in doubt.
func (m *machine) checkBehind() {
	if !m.leftUnheld() {
		return
	}
	i := 0
	if m.marked && m.openTok != nil {
		if i = m.closerBehind(); i == 0 {
			return
		}
	}
	i = m.past(i, " \t])}")
	switch {
	case m.block.open:
		if i = m.gap(i); m.hasAt(i, "```") && m.proseBelow(i) {
			m.inDoubt()
		}
	case !m.at(i):
	case m.presented:
		if j := m.gap(i); m.peek(i) == '\n' && m.at(j) && m.wordsGoOn(j) {
			m.badArgs(talkedAbout)
		}
	case m.runsOn(i) && m.joinsAt(i):
		m.inDoubt()
	case m.runsOn(i):
		m.badArgs(talkedAbout)
	case !m.marked && m.describedBelow(i):
		m.badArgs("a description stands below the call: it is talked about")
	}
}

// leftUnheld reports whether the call that ends here is one that was not held
// although what stands behind it counts.
func (m *machine) leftUnheld() bool {
	if m.printed || m.mode != inText || len(m.tries) > 0 || m.call.problem != "" {
		return false
	}
	return !m.marked || m.beginsMarked() || m.presented || m.block.open && !m.block.prose
}

// inDoubt adds to the call that ends here that it may be talked about.
func (m *machine) inDoubt() { m.repair(inSentenceRule, llm.Guess, m.call.start, m.offset()) }

// past returns the index behind the bytes of a set that stand i bytes from here.
func (in *input) past(i int, set string) int {
	for end := i + maxGap; i < end && in.at(i) && strings.IndexByte(set, in.buf[in.pos+i]) >= 0; {
		i++
	}
	return i
}

// beginsMarked reports whether the answer begins with the marker of the call that
// ends here, which is no special token.
func (m *machine) beginsMarked() bool {
	return m.openAt == m.first && m.calls == 1 && m.openTok != nil && !m.openTok.special && !m.openTok.line
}

// closerBehind returns the index behind the marker that ends what the last one
// began, if nothing but brackets and other ends stand before it; 0 if not.
func (m *machine) closerBehind() int {
	closer := "</" + strings.TrimPrefix(m.openTok.text, "<")
	i := 0
	for range maxEnds {
		i = m.past(i, " \t\r\n]})")
		t, n := m.match(i)
		switch {
		case n == 0:
			return 0
		case t.text == closer:
			return i + n
		}
		i += n
	}
	return 0
}

// maxEnds is how many markers end a call, at most.
const maxEnds = 3

// describedBelow reports whether the line below the call, from i, is indented
// below it and begins with a word: it says what the call does.
func (m *machine) describedBelow(i int) bool {
	if m.peek(i) == '\r' {
		i++
	}
	if m.peek(i) != '\n' {
		return false
	}
	j := i + 1
	for j < i+maxGap && (m.peek(j) == ' ' || m.peek(j) == '\t') {
		j++
	}
	return j > i+minIndent && unicode.IsUpper(m.letterAt(j)) && !m.nameAt(j)
}

// letterAt is letter where the answer may end.
func (in *input) letterAt(i int) rune {
	if !in.at(i) {
		return 0
	}
	return in.letter(i)
}

// joinsAt reports whether a new clause begins at i, behind a call without a
// marker.
func (m *machine) joinsAt(i int) bool {
	j := m.word(i, "")
	return !m.marked && joins[string(m.buf[m.pos+i:m.pos+j])]
}

// joins are words with which a new clause begins behind a call, in which the
// model says what it does next.
var joins = map[string]bool{
	"and": true, "then": true, "und": true, "dann": true, "et": true, "puis": true, "y": true, "luego": true, "e": true, "poi": true,
}

// runsOn reports whether a sentence goes on i bytes from here, on the line of a
// call.
func (m *machine) runsOn(i int) bool {
	spaced := i > 0 && m.buf[m.pos+i-1] == ' '
	switch c := m.buf[m.pos+i]; {
	case c >= utf8.RuneSelf: // some scripts have no spaces, and no capitals
		r := m.letter(i)
		return unicode.Is(unicode.Lo, r) || isDash(r) || spaced && unicode.IsLower(r)
	case c == ',' && m.listed && (i == 0 || m.buf[m.pos+i-1] != ']'): // more of the list
		return false
	case c == ',' || c == ';':
		i = m.spaces(i + 1)
		return m.at(i) && m.wordsGoOn(i)
	case c == '\'':
		return m.hasAt(i, "'s ")
	default:
		return spaced && m.wordsGoOn(i)
	}
}

// wordsGoOn reports whether words in lower case stand at i that are no call and
// stand before none.
func (m *machine) wordsGoOn(i int) bool {
	if !unicode.IsLower(m.letter(i)) || m.callAt(i) || m.nameAt(i) || m.assignsAt(i) {
		return false
	}
	j := m.word(i, "")
	c := m.peek(j)
	return !m.callAt(m.spaces(j)) && c != '(' && c != '=' && strings.IndexByte("{[", m.peek(m.spaces(j))) < 0
}

const talkedAbout = "a sentence goes on behind the call: it is talked about"

// presents reports whether the text above the try t, which has its lines for
// itself, presents it: a label or a heading, or all of its block is indented.
func (m *machine) presents(t *try) bool {
	before := m.textBefore(t)
	return len(labelAbove(before)) > 0 || indented(before)
}

// showsBlock reports whether a block that is presented is shown like one in a
// fence: it is indented as Markdown does with code, or an example.
func (m *machine) showsBlock(t *try) bool {
	before := m.textBefore(t)
	label := labelAbove(before)
	return indented(before) || saysExample(label) || isTildes(label)
}

// tildes begin and end a fence in which models write no calls; Markdown has it.
const tildes = "~~~"

// textBefore returns the last bytes of the text before the try t.
func (m *machine) textBefore(t *try) []byte {
	at := t.at - m.base
	return m.buf[max(0, t.since-m.base, at-maxTail):at]
}

// indented reports whether what follows the text before is a block of code of
// Markdown: an empty line and indentation stand between them.
func indented(before []byte) bool {
	text := bytes.TrimRight(before, " \t\r\n")
	gap := before[len(text):]
	i := bytes.LastIndexByte(gap, '\n')
	return len(text) > 0 && bytes.Count(gap, []byte{'\n'}) > 1 && (len(gap)-i > minIndent || bytes.IndexByte(gap[i+1:], '\t') >= 0)
}

// minIndent is how far code is indented below prose.
const minIndent = 3

// labelAbove returns the last line of the text before a block, if that is a
// label with a colon or a heading; nil if it is not.
func labelAbove(before []byte) []byte {
	text := bytes.TrimRight(before, " \t\r\n")
	if bytes.IndexByte(before[len(text):], '\n') < 0 {
		return nil
	}
	line := bytes.TrimSpace(lastLine(text))
	bare := bytes.Trim(line, "*_ ")
	switch {
	case len(line) == 0:
		return nil
	case line[0] == '#', isTildes(line), endsLabel(bare):
		return line
	case bytes.HasPrefix(line, []byte(bold)) && bytes.HasSuffix(line, []byte(bold)):
		return line
	}
	return nil
}

// isTildes reports whether a label is the beginning of a fence of tildes.
func isTildes(label []byte) bool { return bytes.HasPrefix(label, []byte(tildes)) }

// isItem reports whether a line is the label of an item of a list, or one in bold.
func isItem(line []byte) bool {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte(bold)) {
		return endsLabel(bytes.Trim(line, "*"))
	}
	text := bytes.TrimLeft(line, "-*+•0123456789.)")
	return len(text) < len(line) && len(text) > 1 && text[0] == ' ' && endsLabel(bytes.TrimRight(text, "*"))
}

// endsLabel reports whether a line ends with a colon.
func endsLabel(line []byte) bool {
	return bytes.HasSuffix(line, []byte{':'}) || bytes.HasSuffix(line, []byte("："))
}

// labelAt reports whether a line stands at i that begins with one or two words, a
// colon and other words: the turn of a speaker, a member of a record, a step.
func (m *machine) labelAt(i int) bool {
	j := m.word(i, ":")
	if m.peek(j) == ' ' && j > i {
		j = m.word(j+1, ":")
	}
	k := m.spaces(j + 1)
	return j > i && m.peek(j) == ':' && k > j+1 && m.at(k) && !m.markupBehind(k)
}

// isHeading reports whether a label is a heading of Markdown.
func isHeading(label []byte) bool { return len(label) > 0 && label[0] == '#' }

// saysExample reports whether a label says that an example follows.
func saysExample(label []byte) bool {
	if len(label) == 0 || len(label) > maxLabel {
		return false
	}
	low := bytes.ToLower(label)
	return slices.ContainsFunc(exampleWords, func(s string) bool { return bytes.Contains(low, []byte(s)) })
}

// maxLabel bounds the length of a label that says what follows.
const maxLabel = 80

// exampleWords are what a label says above an example.
var exampleWords = []string{
	"example", "e.g.", "for instance", "beispiel", "z.b.", "exemple", "ejemplo", "esempio", "exemplo", "voorbeeld",
	"przykład", "пример", "приклад", "örnek", "例", "예시", "مثال",
}
