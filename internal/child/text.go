package child

import (
	"strings"
	"unicode"
)

// IsControl reports whether r controls a terminal or the direction of text.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\u2028' || r == '\u2029'
}

// PlainText removes the characters of text that a terminal would obey.
func PlainText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
