package wording

import "strings"

// Mentions reports whether text has phrase with no letter or digit around it.
// Both are in lower case.
func Mentions(text, phrase string) bool {
	for from := 0; phrase != ""; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(phrase)
		if (start == 0 || !IsLetter(text[start-1]) && !IsDigit(text[start-1])) && (end == len(text) || !IsLetter(text[end]) && !IsDigit(text[end])) {
			return true
		}
		from = end
	}
	return false
}

func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

func IsLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 }

// Edge has the characters that may surround a word.
const Edge = `.,?!;:'"()[]{}<>` + "`“”‘’"
