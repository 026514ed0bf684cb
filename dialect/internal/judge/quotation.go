package judge

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
)

// quoted reports whether the text at the current position is quoted: in inline code, in a Markdown quotation, in an
// HTML comment, in an invented tool result, in an element that shows its content, or in text already known to be shown.
func (e *Evidence) quoted() bool {
	if e.Buf[e.Pos] == '`' {
		return false
	}
	line := e.Lately()
	if e.Offset() < e.ShownTo || inComment(line) || e.InResult(line) || e.mayBeShown(line) && inShown(line) {
		return true
	}
	if len(line) == 0 || line[len(line)-1] == '\n' {
		return false
	}
	if isComment(chars.LastLine(line)) {
		return true
	}
	ticks := bytes.IndexByte(line, '`') >= 0
	if !ticks && bytes.IndexByte(line, '>') < 0 {
		return false
	}
	line = chars.LastLine(line)
	if quote := bytes.TrimLeft(line, " "); len(quote) > 0 && quote[0] == '>' {
		return true
	}
	return ticks && inTicks(line)
}

// isComment reports whether a line begins with the sign of a comment, of a shell prompt or of a footnote.
func isComment(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	for _, sign := range [...]string{"# ", "//", "-- ", "$ ", "[^"} {
		if len(line) >= len(sign) && string(line[:len(sign)]) == sign {
			return true
		}
	}
	return false
}

// inTicks reports whether a line ends in inline code. As many backticks as began the code end it. Three or more begin a
// fence and not inline code.
func inTicks(line []byte) bool {
	open := 0
	for i := bytes.IndexByte(line, '`'); i >= 0; i = bytes.IndexByte(line, '`') {
		n := 1
		for i+n < len(line) && line[i+n] == '`' {
			n++
		}
		switch {
		case open == 0 && n < 3:
			open = n
		case open == n:
			open = 0
		}
		line = line[i+n:]
	}
	return open > 0
}

// inComment reports whether the text before ends in an open HTML comment.
func inComment(before []byte) bool {
	if bytes.IndexByte(before, '!') < 0 { // most text
		return false
	}
	open := bytes.LastIndex(before, []byte("<!--"))
	return open >= 0 && !bytes.Contains(before[open:], []byte("-->"))
}

// isShowing reports whether the element word of a document shows its content, such as <pre>.
func isShowing(word []byte) bool {
	switch string(word) {
	case "pre", "code", "samp", "kbd", "blockquote", "details", "textarea", "xmp", "script", "result", "example":
		return true
	}
	return false
}

// mayBeShown reports whether the text before contains a tag of an element that shows its content. It does not look
// again at text it has already seen.
func (e *Evidence) mayBeShown(before []byte) bool {
	start := e.Offset() - len(before)
	from := min(e.Offset(), max(start, e.showing.to-len("</blockquote>"))) // a failed try may have looked further
	for i, p := 0, before[from-start:]; ; p = p[i+1:] {
		if i = bytes.IndexByte(p, '<'); i < 0 {
			break
		}
		word := bytes.TrimPrefix(p[i+1:], []byte{'/'})
		if len(word) == 0 || !chars.IsLetter(word[0]) { // the most frequent case
			continue
		}
		if n := bytes.IndexByte(word[:min(len(word), len("blockquote>"))], '>'); n > 0 && isShowing(word[:n]) {
			e.showing.at = e.Offset() - len(p) + i
		}
	}
	e.showing.to = max(e.showing.to, e.Offset())
	return e.showing.at >= start
}

// showing records where tags of elements were found that show their content.
type showing struct {
	to int // offset up to which mayBeShown has looked
	at int // offset of the last tag; -1 if there is none
}

// inShown reports whether the text before ends inside an element that shows its content.
func inShown(before []byte) bool {
	closed := 0 // end tags after here
	for i := bytes.LastIndexByte(before, '<'); i >= 0; i = bytes.LastIndexByte(before[:i], '<') {
		tag := before[i+1:]
		if len(tag) == 0 || tag[0] != '/' && !chars.IsLetter(tag[0]) { // the most frequent case
			continue
		}
		word, ends := bytes.CutPrefix(tag, []byte{'/'})
		n := bytes.IndexByte(word[:min(len(word), len("blockquote>"))], '>')
		switch {
		case n < 0 || !isShowing(word[:n]):
		case ends:
			closed++
		case closed == 0:
			return true
		default:
			closed--
		}
	}
	return false
}

// InResult reports whether the text before ends with a marker or label that begins a tool result: the model is
// inventing the result of a call.
func (e *Evidence) InResult(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r\n")
	if len(before) == 0 {
		return false
	}
	switch before[len(before)-1] {
	case '>':
	case ':', '*': // a label has its own line
		before = bytes.Trim(chars.LastLine(before), "* \t")
		return slices.ContainsFunc(e.Lex.Results, func(s string) bool { return string(before) == s })
	default:
		return false
	}
	return slices.ContainsFunc(e.Lex.Results, func(s string) bool { return bytes.HasSuffix(before, []byte(s)) })
}

// inQuotes reports whether the marker at the current position follows an opening quotation mark in a sentence.
func (e *Evidence) inQuotes() bool {
	line := chars.LastLine(e.Lately())
	said, ok := bytes.CutSuffix(line, []byte{'"'})
	for _, open := range [...]string{"'", "“", "„", "«", "「"} {
		if !ok {
			said, ok = bytes.CutSuffix(line, []byte(open))
		}
	}
	words := bytes.TrimRight(said, ", ")
	return ok && len(words) > 0 && len(words) < len(said) && (chars.IsLetter(words[len(words)-1]) || words[len(words)-1] >= utf8.RuneSelf)
}
