package judge

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// enclosure is a pair of marks around a call that no dialect writes: quotes, an element or a TeX environment. A call in
// it is shown if a sentence surrounds it or text follows it. Otherwise the call is doubtful.
type enclosure struct {
	closer string // the closing mark
	n      int    // length of the end of the text before the call that belongs to it
	block  bool   // a block of AsciiDoc
	far    bool   // other text is between the opening mark and the call
}

// marks are pairs of signs around text that is quoted, struck out or set apart.
var marks = [...]struct {
	open, closer string
	glued        bool // the sign does not count if white space follows it
}{
	{`"`, `"`, true}, {"'", "'", true}, {"“", "”", true}, {"„", "“", true}, {"‘", "’", true}, {"‚", "‘", true},
	{"«", "»", false}, {"»", "«", true}, {"‹", "›", false}, {"›", "‹", true},
	{"”", "”", true}, {"「", "」", false}, {"『", "』", false}, {"《", "》", false}, {"〈", "〉", false}, {"【", "】", false},
	{"[", "]", true}, {"~~", "~~", true}, {"$$", "$$", false}, {"$", "$", true}, {"<![CDATA[", "]]>", false},
}

// enclosedBy returns the enclosure that the end of the text before a call opens.
func (e *Evidence) enclosedBy(before []byte) (enc enclosure, ok bool) {
	text := bytes.TrimRight(before, " \t\r\n")
	if len(text) == 0 {
		return enc, false
	}
	gap := len(before) - len(text)
	switch c := text[len(text)-1]; {
	case bytes.HasPrefix(chars.LastLine(text), []byte(container)) && gap > 0:
		enc = enclosure{closer: container, n: len(chars.LastLine(text))}
	case gap > 0 && isRule(chars.LastLine(text)):
		line := bytes.TrimSpace(chars.LastLine(text))
		enc = enclosure{closer: string(line), n: len(chars.LastLine(text)), block: true}
	case c == '>':
		enc = e.elementBefore(text)
	case c == '}' || c == ']':
		enc = environmentBefore(text)
	case c >= utf8.RuneSelf || strings.IndexByte(`"'~$[`, c) >= 0:
		for _, p := range marks {
			if bytes.HasSuffix(text, []byte(p.open)) && !(p.glued && gap > 0) && !bytes.HasSuffix(text, []byte(tildes)) {
				enc = enclosure{closer: p.closer, n: len(p.open)}
				break
			}
		}
	}
	if enc.n += gap; enc.closer == "" {
		enc = e.documentBefore(before)
	}
	return enc, enc.closer != ""
}

// documentBefore returns the last element that is still open in the text before a call and whose start tag has its own
// line. Other text may be between them.
func (e *Evidence) documentBefore(before []byte) (enc enclosure) {
	for end := bytes.LastIndex(before, []byte(">\n")); end >= 0; end = bytes.LastIndex(before[:end], []byte(">\n")) {
		line := bytes.TrimLeft(chars.LastLine(before[:end+1]), " \t")
		found := e.elementBefore(line)
		if found.n == len(line) && found.n > 0 && !bytes.Contains(before[end:], []byte(found.closer)) {
			return enclosure{closer: found.closer, n: len(before) - end - 1 + found.n, far: true}
		}
	}
	return enc
}

// container begins and ends a Markdown container block.
const container = ":::"

// elementBefore returns the element that the tag at the end of text begins. Tags of a dialect or with the name of a
// tool do not count.
func (e *Evidence) elementBefore(text []byte) (enc enclosure) {
	i := bytes.LastIndexByte(text, '<')
	if i < 0 || i+1 >= len(text) || !chars.IsLetter(text[i+1]) || bytes.HasSuffix(text, []byte("/>")) {
		return enc
	}
	tag := text[i+1 : len(text)-1]
	n := chars.WordLength(tag)
	if n < len(tag) && !chars.IsSpace(tag[n]) || bytes.IndexByte(tag, '>') >= 0 || e.Lex.Tree.Find("<"+string(tag[:n])+">") != nil {
		return enc
	}
	if word := string(tag[:n]); n > 0 && (e.Names.Any || !e.Names.Offered(word)) {
		enc = enclosure{closer: "</" + word + ">", n: len(text) - i}
	}
	return enc
}

// environmentBefore returns the TeX environment that begins at the end of text.
func environmentBefore(text []byte) (e enclosure) {
	const begin = `\begin{`
	i := bytes.LastIndex(text, []byte(begin))
	if i < 0 {
		return e
	}
	word := text[i+len(begin):]
	n := chars.WordLength(word)
	if rest := word[n:]; n == 0 || len(rest) == 0 || rest[0] != '}' || bytes.IndexByte(rest, '\n') >= 0 { // options may follow
		return e
	}
	return enclosure{closer: `\end{` + string(word[:n]) + "}", n: len(text) - i}
}

// shownAs describes how calls are enclosed.
type shownAs uint8

const (
	notEnclosed shownAs = iota
	setApart            // only enclosed: a doubtful call
	shown               // text surrounds the enclosure: not a call
)

// enclosed reports how the candidate is enclosed, and the index after the closing mark.
func (d decision) enclosed() (as shownAs, end int) {
	before := d.textBefore()
	e, ok := d.enclosedBy(before)
	if !ok {
		return notEnclosed, 0
	}
	line := bytes.TrimRight(chars.LastLine(before[:len(before)-e.n]), " \t") // d.closed may wait for input and move the buffer
	inline := unfinished(line) || e.block && introduces(before[:len(before)-e.n])
	answers := answerTags[string(bytes.TrimSpace(before[len(before)-e.n:]))]
	if end = d.closed(e); end == 0 {
		return notEnclosed, 0
	}
	switch {
	case inline || d.proseAt(d.Past(end, ".。")):
		return shown, end
	case answers:
		return notEnclosed, 0
	}
	return setApart, end
}

// introduces reports whether text ends in a label.
func introduces(text []byte) bool { return EndsLabel(bytes.TrimRight(text, " \t\r\n*_")) }

// closed returns the index after the closing mark of enc, 0 if it is not found. The mark may follow the call that ends
// at the current position, or the calls after it. In an enclosure with other text, more text may precede the mark.
func (e *Evidence) closed(enc enclosure) int {
	i := e.Gap(0)
	if n := e.closesAt(i, enc); n > 0 {
		return i + n
	}
	i = e.Past(i, " \t\r\n])};")
	if n := e.closesAt(i, enc); n > 0 {
		return i + n
	}
	limit := 0
	switch {
	case e.At(i) && (e.Buf[e.Pos+i] == '<' || e.IsMarkup(i) || e.NameAt(i)):
		limit = scan.MaxGuess
	case enc.far:
		limit = maxDocument
	}
	for ; i <= limit && e.At(i); i++ {
		if n := e.closesAt(i, enc); n > 0 {
			return i + n
		}
	}
	return 0
}

// closesAt returns the length of the closing mark of enc if it is at i. A low quotation mark has two closing marks.
func (e *Evidence) closesAt(i int, enc enclosure) int {
	switch {
	case e.HasAt(i, enc.closer):
		return len(enc.closer)
	case enc.closer == "“" && e.HasAt(i, "”"):
		return len("”")
	}
	return 0
}

// maxDocument bounds the search for the end of an enclosing element after a call, if the element also holds other text.
// The call waits for the search.
const maxDocument = 512

// opensEnclosure reports whether an enclosure opens directly before the current position.
func (e *Evidence) opensEnclosure() bool {
	_, ok := e.enclosedBy(e.Lately())
	return ok
}

// inDiff reports whether the candidate is a line of a diff: a plus or a minus precedes it, and the line above or below
// begins with the other sign. List items all have the same sign.
func (d decision) inDiff() bool {
	before := d.textBefore()
	line := chars.LastLine(before)
	if !isSign(bytes.TrimRight(line, " \t")) {
		return false
	}
	other := byte('+')
	if line[0] == '+' {
		other = '-'
	}
	above := chars.LastLine(bytes.TrimSuffix(before[:len(before)-len(line)], []byte{'\n'}))
	if bytes.HasPrefix(above, []byte{other}) || bytes.HasPrefix(above, []byte("@@")) {
		return true
	}
	i := d.Past(0, "\r)]};")
	return d.Peek(i) == '\n' && d.Peek(i+1) == other
}

// isSign reports whether a line is only a plus or a minus, as in a diff.
func isSign(line []byte) bool { return len(line) == 1 && (line[0] == '+' || line[0] == '-') }
