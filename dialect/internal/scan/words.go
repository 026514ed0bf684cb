package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
)

// Word returns the index after the name that begins i bytes from here, or i if there is none. The name ends before any
// byte in but. It includes Markdown backslashes.
func (in *Input) Word(i int, but string) int {
	for end := i + lexicon.MaxName; i < end && in.At(i); {
		c := in.Buf[in.Pos+i]
		if c == '\\' && in.escapesName(i+1) {
			i += 2
			continue
		}
		if c < utf8.RuneSelf {
			if !chars.IsNameByte(c) || strings.IndexByte(but, c) >= 0 {
				return i
			}
			i++
			continue
		}
		for n := 1; n < utf8.UTFMax && !utf8.FullRune(in.Buf[in.Pos+i:in.Pos+i+n]) && in.At(i+n); n++ {
		}
		r, n := utf8.DecodeRune(in.Buf[in.Pos+i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return i
		}
		i += n
	}
	return i
}

// escapesName reports whether a sign of names that Markdown escapes is at i.
func (in *Input) escapesName(i int) bool {
	c := in.Peek(i)
	return c == '_' || c == '-' || c == '.'
}

// Colon returns the index after a colon at k. A closing quote and white space may precede it.
func (in *Input) Colon(k int) int {
	if chars.IsQuote(in.Peek(k)) {
		k++
	} else if in.Peek(k) == 0xE2 {
		k += 3
	}
	if k = in.Spaces(k); in.Peek(k) == ':' {
		return k + 1
	}
	return k
}

// OpeningMarks returns the index after the brackets, quotes and white space at i. opened reports whether there were
// brackets or quotes.
func (in *Input) OpeningMarks(i int) (end int, opened bool) {
	for n := 0; n < MaxNested && in.At(i); n++ {
		c := in.Buf[in.Pos+i]
		switch {
		case chars.IsSpace(c), c == '\\' && strings.IndexByte("[({'\"", in.Peek(i+1)) >= 0:
		case strings.IndexByte("[({'\"", c) >= 0, opened && c == '`' && !in.HasAt(i, "```"):
			opened = true
		case opened && c == '*' && in.HasAt(i, lexicon.Bold):
			i++
		case c == 0xE2 && (in.HasAt(i, "“") || in.HasAt(i, "”") || in.HasAt(i, "‘")):
			opened = true
			i += 2
		default:
			return i, opened
		}
		i++
	}
	return i, opened
}

// EscapedWord returns the name at i without Markdown backslashes, and the index after it.
func (in *Input) EscapedWord(i int) (string, int) {
	j := in.Word(i, ":")
	if in.Peek(j) != '\\' {
		return string(in.Buf[in.Pos+i : in.Pos+j]), j
	}
	var name []byte
	for n := 0; n < lexicon.MaxName; n++ {
		name = append(name, in.Buf[in.Pos+i:in.Pos+j]...)
		if in.Peek(j) != '\\' || in.Peek(j+1) != '_' && in.Peek(j+1) != '-' && in.Peek(j+1) != '.' {
			break
		}
		i = j + 1
		j = in.Word(i, ":")
	}
	return string(name), j
}

// KeyAt returns the quoted key i bytes from here and the index of its value. The key is empty if there is none.
func (in *Input) KeyAt(i int) (key string, value int) {
	quote := in.Peek(i)
	if !chars.IsQuote(quote) {
		return "", i
	}
	j := in.Word(i+1, ":")
	if in.Peek(j) != quote {
		return "", i
	}
	key = string(in.Buf[in.Pos+i+1 : in.Pos+j])
	j = in.Spaces(j + 1)
	if in.Peek(j) != ':' {
		return "", i
	}
	return key, in.Spaces(j + 1)
}

// MaxGap limits the white space that is skipped after a call or a fence to look at the text after it.
const MaxGap = 64

// Ticks returns the number of backticks here, up to maxFence.
func (in *Input) Ticks() int {
	n := 0
	for n < maxFence && in.Peek(n) == '`' {
		n++
	}
	return n
}

// ClosingWord returns the word of the end tag at i, and the index after the tag.
func (in *Input) ClosingWord(i int) (word string, end int) {
	j := in.Word(i+2, "/")
	if in.Peek(j) != '>' {
		return "", i
	}
	return string(in.Buf[in.Pos+i+2 : in.Pos+j]), j + 1
}

// Gap returns the index after the white space i bytes from here, at most MaxGap bytes of it.
func (in *Input) Gap(i int) int {
	for end := i + MaxGap; i < end && in.At(i) && chars.IsSpace(in.Buf[in.Pos+i]); i++ {
	}
	return i
}

// Letter returns the character at i, where there must be a byte.
func (in *Input) Letter(i int) rune {
	for n := 1; n < utf8.UTFMax && !utf8.FullRune(in.Buf[in.Pos+i:in.Pos+i+n]) && in.At(i+n); n++ {
	}
	r, _ := utf8.DecodeRune(in.Buf[in.Pos+i:])
	return r
}

// Past returns the index after the bytes of set i bytes from here, at most MaxGap of them.
func (in *Input) Past(i int, set string) int {
	for end := i + MaxGap; i < end && in.At(i) && strings.IndexByte(set, in.Buf[in.Pos+i]) >= 0; {
		i++
	}
	return i
}

// LetterAt is Letter, but returns 0 after the end.
func (in *Input) LetterAt(i int) rune {
	if !in.At(i) {
		return 0
	}
	return in.Letter(i)
}

// maxFence limits the number of backticks that are read as one fence. It keeps the work linear.
const maxFence = 32

// FenceLength returns the length of the fence here with the first word of its info string.
func (in *Input) FenceLength() int {
	i := 3
	for i < maxFence && in.Peek(i) == '`' {
		i++
	}
	for in.At(i) && (chars.IsLetter(in.Peek(i)) || in.Peek(i) == '_') {
		i++
	}
	return i
}

// MaxHeader limits the length of a message header.
const MaxHeader = 512

// HeaderEnd returns the index of the end of a header whose first n bytes were read. ok reports whether the marker that
// ends headers is there. If not, end is the index of text that a header cannot contain, or 0.
func (in *Input) HeaderEnd(n int) (end int, ok bool) {
	for i := n; i-n < MaxHeader && in.At(i); i++ {
		switch c := in.Buf[in.Pos+i]; {
		case c == '<':
			if in.AnyOf(i, in.Lex.Head.Ends) > 0 {
				return i, true
			}
			if t, _ := in.Match(i); t.Is(lexicon.Drops) || t.Is(lexicon.Opens) {
				return i, false
			}
		case c == '`' || c == '{' || c == '"':
			return i, false
		}
	}
	return 0, false
}

// PyComment returns the index after the line with the comment at i, or i if there is no comment.
func (in *Input) PyComment(i int) int {
	if in.Peek(i) != '#' && !in.HasAt(i, "//") {
		return i
	}
	for j := i; j < i+MaxTag && in.At(j); j++ {
		if in.Buf[in.Pos+j] == '\n' {
			return j + 1
		}
	}
	return i
}

// AheadHeader reports whether the header whose first n bytes were read is complete.
func (in *Input) AheadHeader(n int) bool {
	_, ok := in.HeaderEnd(n)
	return ok
}
