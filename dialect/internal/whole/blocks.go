package whole

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/values"
)

// maxBlocks bounds the paragraphs at the end of an answer that the last block may have.
const maxBlocks = 6

// Blocks returns where the last blocks of text begin, the first one first: paragraphs, and their second lines after a
// sentence or a label that is the first one. If complete is set, the beginning of text is one of them.
func Blocks(text []byte, complete bool) (starts []int) {
	for i := len(bytes.TrimRight(text, " \t\r\n")); len(starts) < maxBlocks; {
		i = bytes.LastIndex(text[:i], []byte("\n\n"))
		if i < 0 {
			break
		}
		if bytes.Count(text[i:], []byte("```"))%2 == 0 { // not inside of a code fence
			starts = append(starts, i+2)
		}
	}
	if complete && len(starts) < maxBlocks {
		starts = append(starts, 0)
	}
	slices.Reverse(starts)
	var all []int
	for _, at := range starts {
		at = len(text) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
		all = append(all, at)
		line, rest, ok := bytes.Cut(text[at:], []byte("\n"))
		if line = bytes.TrimRight(line, " \r"); ok && len(rest) > 0 && (endsLine(line) || isElement(line)) && !values.ResultKeys[strings.ToLower(strings.Trim(string(line), "#* :"))] {
			all = append(all, len(text)-len(bytes.TrimLeft(rest, " \t\r\n")))
		}
	}
	return slices.Compact(all)
}

// isElement reports whether a line is an element with its end tag.
func isElement(line []byte) bool {
	return len(line) > 0 && line[0] == '<' && line[len(line)-1] == '>' && bytes.Contains(line, []byte("</"))
}

// InlineCode returns where the inline code begins that ends text, if a finished sentence or a label precedes it on its
// line, and -1 otherwise.
func InlineCode(text []byte) int {
	text = bytes.TrimRight(text, " \t\r\n")
	body, ok := bytes.CutSuffix(text, []byte("`"))
	at := bytes.LastIndexByte(body, '`')
	if !ok || at < 1 || bytes.IndexByte(body[at:], '\n') >= 0 || body[at-1] == '`' || at == len(body)-1 {
		return -1
	}
	line := body[bytes.LastIndexByte(body[:at], '\n')+1 : at]
	if line = bytes.TrimRight(line, " "); len(line) == 0 || bytes.IndexByte(line, '`') >= 0 || !endsLine(line) {
		return -1
	}
	return at
}

// endsLine reports whether a line ends with a sign that ends a sentence or a label.
func endsLine(line []byte) bool {
	last, _ := utf8.DecodeLastRune(line)
	return strings.ContainsRune(".!:…。！：।؟", last)
}

// Command returns a command line without the sign of the prompt.
func Command(block []byte) []byte {
	for _, prompt := range [...]string{"$ ", ">>> "} {
		if rest, ok := bytes.CutPrefix(block, []byte(prompt)); ok && bytes.IndexByte(bytes.TrimSpace(rest), '\n') < 0 {
			return rest
		}
	}
	return block
}
