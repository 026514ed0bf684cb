package judge

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
)

// Quoted reports whether what stands here is quoted in prose: an odd number
// of backticks is before it on its line, or the line begins with the sign
// of a quotation.
func (e *Evidence) Quoted() bool {
	if e.Buf[e.Pos] == '`' {
		return false
	}
	line := e.Lately()
	if e.Offset() < e.ShownTo || e.inComment(line) || e.InResult(line) || e.mayBeShown(line) && inShown(line) {
		return true
	}
	if len(line) == 0 || line[len(line)-1] == '\n' {
		return false
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

// inTicks reports whether a line ends in inline code: as many backticks as began
// it end it. Three or more are a fence.
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

// inComment reports whether the text before ends in a comment of HTML that is
// still open.
func (e *Evidence) inComment(before []byte) bool {
	if bytes.IndexByte(before, '!') < 0 { // most text
		return false
	}
	open := bytes.LastIndex(before, []byte("<!--"))
	return open >= 0 && !bytes.Contains(before[open:], []byte("-->"))
}

// isShowing reports whether something is shown in the element word of a document.
func isShowing(word []byte) bool {
	switch string(word) {
	case "pre", "code", "samp", "kbd", "blockquote", "details", "textarea", "xmp", "script", "result", "example":
		return true
	}
	return false
}

// mayBeShown reports whether a tag of an element in which something is shown
// is in the text before. Text that was looked at is not looked at again.
func (e *Evidence) mayBeShown(before []byte) bool {
	start := e.Offset() - len(before)
	from := min(e.Offset(), max(start, e.showing.to-len("</blockquote>"))) // a try that failed may have been further
	for i, p := 0, before[from-start:]; ; p = p[i+1:] {
		if i = bytes.IndexByte(p, '<'); i < 0 {
			break
		}
		word := bytes.TrimPrefix(p[i+1:], []byte{'/'})
		if len(word) == 0 || !chars.IsLetter(word[0]) { // most of them
			continue
		}
		if n := bytes.IndexByte(word[:min(len(word), len("blockquote>"))], '>'); n > 0 && isShowing(word[:n]) {
			e.showing.at = e.Offset() - len(p) + i
		}
	}
	e.showing.to = max(e.showing.to, e.Offset())
	return e.showing.at >= start
}

// showing is where tags of elements were found in which something is shown.
type showing struct {
	to int // offset up to which the text has been looked at
	at int // offset of the last tag; less than that of any text if there is none
}

// inShown reports whether the text before ends in an element in which something
// is shown.
func inShown(before []byte) bool {
	closed := 0 // end tags after here
	for i := bytes.LastIndexByte(before, '<'); i >= 0; i = bytes.LastIndexByte(before[:i], '<') {
		tag := before[i+1:]
		if len(tag) == 0 || tag[0] != '/' && !chars.IsLetter(tag[0]) { // most of them
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

// InResult reports whether the text before ends with what a model writes when
// it begins to invent the result of a call.
func (e *Evidence) InResult(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r\n")
	if len(before) == 0 {
		return false
	}
	switch before[len(before)-1] {
	case '>':
	case ':', '*': // a label has its line for itself
		before = bytes.Trim(chars.LastLine(before), "* \t")
		return slices.ContainsFunc(e.Lex.Results, func(s string) bool { return string(before) == s })
	default:
		return false
	}
	return slices.ContainsFunc(e.Lex.Results, func(s string) bool { return bytes.HasSuffix(before, []byte(s)) })
}

// InQuotes reports whether the marker that stands here follows a quotation mark
// in a sentence.
func (e *Evidence) InQuotes() bool {
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
