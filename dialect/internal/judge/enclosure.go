package judge

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// enclosure is a pair of marks around a call that no dialect writes: quotes, an
// element, an environment of TeX. A call in it is shown if a sentence goes
// through it or text follows it, and else in doubt.
type enclosure struct {
	closer string // what ends it
	n      int    // how many bytes of the text before the call it takes
	far    bool   // there is other text between it and the call
}

// marks are signs between which text is quoted, struck out or set apart.
var marks = [...]struct {
	open, closer string
	glued        bool // white space inside makes it something else
}{
	{`"`, `"`, true}, {"'", "'", true}, {"“", "”", true}, {"„", "“", true}, {"‘", "’", true}, {"‚", "‘", true},
	{"«", "»", false}, {"»", "«", true}, {"‹", "›", false}, {"›", "‹", true},
	{"「", "」", false}, {"『", "』", false}, {"《", "》", false}, {"〈", "〉", false}, {"【", "】", false},
	{"[", "]", true}, {"~~", "~~", true}, {"$$", "$$", false}, {"$", "$", true}, {"<![CDATA[", "]]>", false},
}

// enclosedBy returns the marks with which the text before a call ends.
func (e *Evidence) enclosedBy(before []byte) (enc enclosure, ok bool) {
	text := bytes.TrimRight(before, " \t\r\n")
	if len(text) == 0 {
		return enc, false
	}
	gap := len(before) - len(text)
	switch c := text[len(text)-1]; {
	case bytes.HasPrefix(chars.LastLine(text), []byte(container)) && gap > 0:
		enc = enclosure{closer: container, n: len(chars.LastLine(text))}
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

// documentBefore returns the element whose tag has a line for itself in the text
// before a call and that has not ended: there is other text between them.
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

// container begins and ends a block of Markdown that is set apart.
const container = ":::"

// elementBefore returns the element that the tag at the end of text begins. None
// is one if a dialect has its tag, or a tool its name.
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

// environmentBefore returns the environment of TeX that begins at the end of text.
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

// shownAs tells how calls are in what encloses them.
type shownAs uint8

const (
	notEnclosed shownAs = iota
	setApart            // nothing else is said: a call, in doubt
	shown               // text is said around it
)

// enclosed reports how the calls that were read since the try t, up to here, are
// enclosed, and the index after what ends that.
func (d decision) enclosed() (as shownAs, end int) {
	before := d.textBefore()
	e, ok := d.enclosedBy(before)
	if !ok {
		return notEnclosed, 0
	}
	line := bytes.TrimRight(chars.LastLine(before[:len(before)-e.n]), " \t") // d.closed may wait, and the buffer move
	inline := unfinished(line)
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

// closed returns the index after what ends enc if that follows the call that
// ends here, or after others that follow it; 0 if it does not. If there is text
// around the call, it may follow more of it.
func (e *Evidence) closed(enc enclosure) int {
	i := e.Gap(0)
	if e.HasAt(i, enc.closer) {
		return i + len(enc.closer)
	}
	if i = e.Past(i, " \t\r\n])};"); e.HasAt(i, enc.closer) {
		return i + len(enc.closer)
	}
	limit := 0
	switch {
	case e.At(i) && (e.Buf[e.Pos+i] == '<' || e.IsMarkup(i) || e.NameAt(i)):
		limit = scan.MaxGuess
	case enc.far:
		limit = maxDocument
	}
	for ; i <= limit && e.At(i); i++ {
		if e.HasAt(i, enc.closer) {
			return i + len(enc.closer)
		}
	}
	return 0
}

// maxDocument is how far after a call the end of an element with other text in
// it is looked for: the call waits for it.
const maxDocument = 512

// opensEnclosure reports whether marks stand directly before here that may show
// what follows.
func (e *Evidence) opensEnclosure() bool {
	_, ok := e.enclosedBy(e.Lately())
	return ok
}

// inDiff reports whether the calls of the try t, up to here, are a line of a diff:
// a plus or a minus is before them, and the other sign before the line above
// or below. The items of a list have the same sign.
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

// isSign reports whether a line is only the sign of a line of a diff.
func isSign(line []byte) bool { return len(line) == 1 && (line[0] == '+' || line[0] == '-') }
