package engine

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// enclosure is a pair of marks around a call that no dialect writes: quotes, an
// element, an environment of TeX. What stands in it is shown if a sentence goes
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
func (m *machine) enclosedBy(before []byte) (e enclosure, ok bool) {
	text := bytes.TrimRight(before, " \t\r\n")
	if len(text) == 0 {
		return e, false
	}
	gap := len(before) - len(text)
	switch c := text[len(text)-1]; {
	case bytes.HasPrefix(lastLine(text), []byte(container)) && gap > 0:
		e = enclosure{closer: container, n: len(lastLine(text))}
	case c == '>':
		e = m.elementBefore(text)
	case c == '}' || c == ']':
		e = environmentBefore(text)
	case c >= utf8.RuneSelf || strings.IndexByte(`"'~$[`, c) >= 0:
		for _, p := range marks {
			if bytes.HasSuffix(text, []byte(p.open)) && !(p.glued && gap > 0) && !bytes.HasSuffix(text, []byte(tildes)) {
				e = enclosure{closer: p.closer, n: len(p.open)}
				break
			}
		}
	}
	if e.n += gap; e.closer == "" {
		e = m.documentBefore(before)
	}
	return e, e.closer != ""
}

// documentBefore returns the element whose tag has a line for itself in the text
// before a call and that has not ended: there is other text between them.
func (m *machine) documentBefore(before []byte) (e enclosure) {
	for end := bytes.LastIndex(before, []byte(">\n")); end >= 0; end = bytes.LastIndex(before[:end], []byte(">\n")) {
		line := bytes.TrimLeft(lastLine(before[:end+1]), " \t")
		found := m.elementBefore(line)
		if found.n == len(line) && found.n > 0 && !bytes.Contains(before[end:], []byte(found.closer)) {
			return enclosure{closer: found.closer, n: len(before) - end - 1 + found.n, far: true}
		}
	}
	return e
}

// container begins and ends a block of Markdown that is set apart.
const container = ":::"

// elementBefore returns the element that the tag at the end of text begins. None
// is one if a dialect has its tag, or a tool its name.
func (m *machine) elementBefore(text []byte) (e enclosure) {
	i := bytes.LastIndexByte(text, '<')
	if i < 0 || i+1 >= len(text) || !isLetter(text[i+1]) || bytes.HasSuffix(text, []byte("/>")) {
		return e
	}
	tag := text[i+1 : len(text)-1]
	n := wordLength(tag)
	if n < len(tag) && !isSpace(tag[n]) || bytes.IndexByte(tag, '>') >= 0 || m.lex.tree.find("<"+string(tag[:n])+">") != nil {
		return e
	}
	if word := string(tag[:n]); n > 0 && (m.names.any || !m.names.offered(word)) {
		e = enclosure{closer: "</" + word + ">", n: len(text) - i}
	}
	return e
}

// environmentBefore returns the environment of TeX that begins at the end of text.
func environmentBefore(text []byte) (e enclosure) {
	const begin = `\begin{`
	i := bytes.LastIndex(text, []byte(begin))
	if i < 0 {
		return e
	}
	word := text[i+len(begin):]
	n := wordLength(word)
	if rest := word[n:]; n == 0 || len(rest) == 0 || rest[0] != '}' || bytes.IndexByte(rest, '\n') >= 0 { // options may follow
		return e
	}
	return enclosure{closer: `\end{` + string(word[:n]) + "}", n: len(text) - i}
}

// shownAs says how calls stand in what encloses them.
type shownAs uint8

const (
	notEnclosed shownAs = iota
	setApart            // nothing else is said: a call, in doubt
	shown               // text is said around it
)

// enclosed reports how the calls that were read since the try t, up to here, are
// enclosed, and the index behind what ends that.
func (m *machine) enclosed(t *try) (as shownAs, end int) {
	before := m.textBefore(t)
	e, ok := m.enclosedBy(before)
	if !ok {
		return notEnclosed, 0
	}
	line := bytes.TrimRight(lastLine(before[:len(before)-e.n]), " \t") // m.closed may wait, and the buffer move
	inline := unfinished(line)
	answers := answerTags[string(bytes.TrimSpace(before[len(before)-e.n:]))]
	if end = m.closed(e); end == 0 {
		return notEnclosed, 0
	}
	switch {
	case inline || m.proseBehind(m.past(end, ".。")):
		return shown, end
	case answers:
		return notEnclosed, 0
	}
	return setApart, end
}

// closed returns the index behind what ends e if that stands behind the call that
// ends here, or behind others that follow it; 0 if it does not. If there is text
// around the call, it may stand behind more of it.
func (m *machine) closed(e enclosure) int {
	i := m.gap(0)
	if m.hasAt(i, e.closer) {
		return i + len(e.closer)
	}
	if i = m.past(i, " \t\r\n])};"); m.hasAt(i, e.closer) {
		return i + len(e.closer)
	}
	limit := 0
	switch {
	case m.at(i) && (m.buf[m.pos+i] == '<' || m.markupBehind(i) || m.nameAt(i)):
		limit = maxGuess
	case e.far:
		limit = maxDocument
	}
	for ; i <= limit && m.at(i); i++ {
		if m.hasAt(i, e.closer) {
			return i + len(e.closer)
		}
	}
	return 0
}

// maxDocument is how far behind a call the end of an element with other text in
// it is looked for: the call waits for it.
const maxDocument = 512

// opensEnclosure reports whether marks stand directly before here that may show
// what follows.
func (m *machine) opensEnclosure() bool {
	_, ok := m.enclosedBy(m.lately())
	return ok
}

// inDiff reports whether the calls of the try t, up to here, are a line of a diff:
// a plus or a minus stands before them, and the other sign before the line above
// or below. The items of a list have the same sign.
func (m *machine) inDiff(t *try) bool {
	before := m.textBefore(t)
	line := lastLine(before)
	if !isSign(bytes.TrimRight(line, " \t")) {
		return false
	}
	other := byte('+')
	if line[0] == '+' {
		other = '-'
	}
	above := lastLine(bytes.TrimSuffix(before[:len(before)-len(line)], []byte{'\n'}))
	if bytes.HasPrefix(above, []byte{other}) || bytes.HasPrefix(above, []byte("@@")) {
		return true
	}
	i := m.past(0, "\r)]};")
	return m.peek(i) == '\n' && m.peek(i+1) == other
}

// isSign reports whether a line is nothing but the sign of a line of a diff.
func isSign(line []byte) bool { return len(line) == 1 && (line[0] == '+' || line[0] == '-') }
