package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/clip"
)

// InOneLine returns the beginning of a text in one line, without characters that control a terminal.
func InOneLine(text string) string {
	return OneLine(strings.Join(strings.Fields(Printable(text)), " "), 100)
}

// OneLine returns text without control characters, shortened to n runes.
func OneLine(text string, n int) string {
	return clip.Runes(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text), n)
}

// Printable replaces control characters by pictures. The output of a model can then not move the cursor or change the
// colours of the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// WholeRunes returns the length of text without an incomplete character at its end.
func WholeRunes(text string) int {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}
