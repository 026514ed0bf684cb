package judge

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// midSentence reports whether the marker t at the current position may be inside a sentence. That is so after a label
// or an unfinished sentence on its line, in a table row or in a list item. A marker on a separate line may be inside a
// sentence if the paragraph above is unfinished, a heading, an example label or a fence of tildes. For a special token
// only the text on its own line counts.
func (e *Evidence) midSentence(t *lexicon.Token) bool {
	before := e.Lately()
	if t != nil && t.Special {
		return inLine(chars.LastLine(before))
	}
	line := chars.LastLine(before)
	words := bytes.TrimRight(line, " \t")
	n := len(words)
	switch {
	case n == 0:
		label := LabelAbove(before)
		return unfinished(bytes.TrimRight(before, " \t\r\n")) || saysExample(label) || isHeading(label) || isTildes(label) || indented(before)
	case words[n-1] == '(' || words[n-1] == '|':
		return true
	case len(bytes.Trim(words, "-*+•0123456789.) ")) == 0: // an item of a list, or a line of a diff
		return n < len(line) || isSign(words)
	case n == len(line) && words[n-1] < utf8.RuneSelf: // directly before the marker
		return false
	}
	return EndsLabel(bytes.TrimRight(words, "*")) || unfinished(words)
}

// inLine reports whether a line ends with a space in the middle of a sentence or of a table row.
func inLine(line []byte) bool {
	words := bytes.TrimRight(line, " \t")
	return len(words) < len(line) && (unfinished(words) || bytes.HasSuffix(words, []byte{'|'}))
}

// unfinished reports whether text ends in the middle of a sentence.
func unfinished(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return r == ',' || unicode.IsLetter(r) || isDash(r) || r == '.' && abbreviates(text)
}

// abbreviates reports whether the full stop at the end of text belongs to an abbreviation of single letters, like
// "i.e.", and does not end a sentence.
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

// sentenceGoesOn reports whether the sentence before a candidate with markers continues after it: on the same line, or
// on the next line if the candidate is on separate lines.
func (d decision) sentenceGoesOn() bool {
	i := d.Gap(0)
	tilded := d.HasAt(i, tildes)
	if tilded {
		i = d.Gap(i + len(tildes))
	}
	if !d.At(i) || d.IsMarkup(i) {
		return false
	}
	c, r, name := d.Buf[d.Pos+i], d.Letter(i), d.NameAt(i) // they may wait for input and move the buffer
	before := d.textBefore()
	words := bytes.TrimRight(before, " \t\r\n")
	own := bytes.IndexByte(before[len(words):], '\n') >= 0
	switch newline := bytes.IndexByte(d.Buf[d.Pos:d.Pos+i], '\n') >= 0; {
	case newline != own:
		return false
	case own:
		label := LabelAbove(before)
		return c == ',' || unicode.IsLower(r) && !name || saysExample(label) || tilded && isTildes(label)
	}
	return strings.ContainsRune(",;:)|，；：）、…", r) || unicode.IsLower(r) && !name || isDash(r) || unicode.Is(unicode.Lo, r) && unfinished(words)
}

// isDash reports whether r is a dash that continues a sentence.
func isDash(r rune) bool { return r == '—' || r == '–' }

// beginsMarked reports whether the answer begins with the marker of the call that ends here and the marker is not a
// special token.
func (e *Evidence) beginsMarked() bool {
	return e.OpenAt == e.First && e.Calls == 1 && e.OpenTok != nil && !e.OpenTok.Special && !e.OpenTok.Line
}

// closerAfter returns the index after the end tag of the last open marker, if only brackets and other end markers
// precede it. It returns 0 otherwise.
func (e *Evidence) closerAfter() int {
	closer := "</" + strings.TrimPrefix(e.OpenTok.Text, "<")
	i := 0
	for range maxEnds {
		i = e.Past(i, " \t\r\n]})")
		t, n := e.Match(i)
		switch {
		case n == 0:
			return 0
		case t.Text == closer:
			return i + n
		}
		i += n
	}
	return 0
}

// maxEnds is the maximum number of markers that end a call.
const maxEnds = 3

// describedBelow reports whether the line below the call, from i, is indented and begins with a capital letter: it
// describes what the call does.
func (e *Evidence) describedBelow(i int) bool {
	if e.Peek(i) == '\r' {
		i++
	}
	if e.Peek(i) != '\n' {
		return false
	}
	j := i + 1
	for j < i+scan.MaxGap && (e.Peek(j) == ' ' || e.Peek(j) == '\t') {
		j++
	}
	return j > i+minIndent && unicode.IsUpper(e.LetterAt(j)) && !e.NameAt(j)
}

// joinsAt reports whether a word at i begins a new clause after a call without a marker.
func (e *Evidence) joinsAt(i int) bool {
	j := e.Word(i, "")
	return !e.Marked && joins[string(e.Buf[e.Pos+i:e.Pos+j])]
}

// joins are words that begin a new clause after a call, in which the model announces its next step.
var joins = map[string]bool{
	"and": true, "then": true, "und": true, "dann": true, "et": true, "puis": true, "y": true, "luego": true, "e": true, "poi": true,
}

// runsOn reports whether a sentence continues i bytes from here, on the line of a call.
func (e *Evidence) runsOn(i int) bool {
	spaced := i > 0 && e.Buf[e.Pos+i-1] == ' '
	switch c := e.Buf[e.Pos+i]; {
	case c >= utf8.RuneSelf: // some scripts have neither spaces nor capitals
		r := e.Letter(i)
		return unicode.Is(unicode.Lo, r) || isDash(r) || spaced && unicode.IsLower(r)
	case c == ',' && e.Listed && (i == 0 || e.Buf[e.Pos+i-1] != ']'): // more of the list
		return false
	case c == ',' || c == ';':
		i = e.Spaces(i + 1)
		return e.At(i) && e.wordsGoOn(i)
	case c == '\'':
		return e.HasAt(i, "'s ")
	default:
		return spaced && e.wordsGoOn(i)
	}
}

// wordsGoOn reports whether lower-case words at i continue a sentence. A call, or words directly before a call, do not.
func (e *Evidence) wordsGoOn(i int) bool {
	if !unicode.IsLower(e.Letter(i)) || e.CallAt(i) || e.NameAt(i) || e.AssignsAt(i) {
		return false
	}
	j := e.Word(i, "")
	c := e.Peek(j)
	return !e.CallAt(e.Spaces(j)) && c != '(' && c != '=' && strings.IndexByte("{[", e.Peek(e.Spaces(j))) < 0
}

// presents reports whether the text above a candidate on separate lines presents it: it ends in a label or a heading,
// or the candidate is indented as code.
func (d decision) presents() bool {
	before := d.textBefore()
	return len(LabelAbove(before)) > 0 || indented(before)
}

// showsBlock reports whether a presented block is shown like one in a fence: it is indented as Markdown code, or its
// label announces an example or begins a fence of tildes.
func (d decision) showsBlock() bool {
	before := d.textBefore()
	label := LabelAbove(before)
	return indented(before) || saysExample(label) || isTildes(label)
}

// tildes begin and end a Markdown fence. Models write no calls in it.
const tildes = "~~~"

// textBefore returns the last bytes of the text before the candidate.
func (d decision) textBefore() []byte {
	at := d.c.From - d.Base
	return d.Buf[max(0, d.c.TextFrom-d.Base, at-scan.MaxTail):at]
}

// indented reports whether an indented Markdown code block begins after the text before: an empty line and indentation
// follow the last words.
func indented(before []byte) bool {
	text := bytes.TrimRight(before, " \t\r\n")
	gap := before[len(text):]
	i := bytes.LastIndexByte(gap, '\n')
	return len(text) > 0 && bytes.Count(gap, []byte{'\n'}) > 1 && (len(gap)-i > minIndent || bytes.IndexByte(gap[i+1:], '\t') >= 0)
}

// minIndent is the indentation of code: more than this many bytes.
const minIndent = 3

// LabelAbove returns the last line of the text before a block if it is a label with a colon, a heading or a line in
// bold. It returns nil otherwise.
func LabelAbove(before []byte) []byte {
	text := bytes.TrimRight(before, " \t\r\n")
	if bytes.IndexByte(before[len(text):], '\n') < 0 {
		return nil
	}
	line := bytes.TrimSpace(chars.LastLine(text))
	bare := bytes.Trim(line, "*_ ")
	switch {
	case len(line) == 0:
		return nil
	case line[0] == '#', isTildes(line), EndsLabel(bare):
		return line
	case bytes.HasPrefix(line, []byte(lexicon.Bold)) && bytes.HasSuffix(line, []byte(lexicon.Bold)):
		return line
	}
	return nil
}

// isTildes reports whether a label begins a fence of tildes.
func isTildes(label []byte) bool { return bytes.HasPrefix(label, []byte(tildes)) }

// isItem reports whether a line is the label of a list item, or a label in bold.
func isItem(line []byte) bool {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte(lexicon.Bold)) {
		return EndsLabel(bytes.Trim(line, "*"))
	}
	text := bytes.TrimLeft(line, "-*+•0123456789.)")
	return len(text) < len(line) && len(text) > 1 && text[0] == ' ' && EndsLabel(bytes.TrimRight(text, "*"))
}

// EndsLabel reports whether a line ends with a colon.
func EndsLabel(line []byte) bool {
	return bytes.HasSuffix(line, []byte{':'}) || bytes.HasSuffix(line, []byte("："))
}

// labelAt reports whether the line at i begins with a label of one or two words, a colon and more text, such as the
// turn of a speaker, a field of a record or a step.
func (e *Evidence) labelAt(i int) bool {
	j := e.Word(i, ":")
	if e.Peek(j) == ' ' && j > i {
		j = e.Word(j+1, ":")
	}
	k := e.Spaces(j + 1)
	return j > i && e.Peek(j) == ':' && k > j+1 && e.At(k) && !e.IsMarkup(k)
}

// isHeading reports whether a label is a Markdown heading.
func isHeading(label []byte) bool { return len(label) > 0 && label[0] == '#' }
