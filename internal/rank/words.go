package rank

import (
	"unicode"
	"unicode/utf8"
)

// words calls add with each word of text, in lower case: runs of letters and
// digits, with the humps of camelCase cut apart ("getHTTPStatus" is get, http,
// status). A letter of a script without spaces is a separate word. add may
// change the word until it returns.
func words(text string, add func([]byte)) {
	var room [4 * maxWord]byte
	word := room[:0]
	flush := func() {
		if len(word) > 0 {
			add(word)
			word = word[:0]
		}
	}
	prev := other
	for _, r := range text {
		c := class(r)
		switch {
		case c == prev && c != ideograph, prev == upper && c == lower && utf8.RuneCount(word) == 1,
			c == digit && prev != other && prev != ideograph, prev == digit && c != other && c != ideograph:
		case prev == upper && c == lower: // HTTPServer: the S begins the next word
			last, n := utf8.DecodeLastRune(word)
			word = word[:len(word)-n]
			flush()
			word = utf8.AppendRune(word, last)
		default:
			flush()
		}
		switch {
		case c == other || len(word) >= maxWord:
		case r < utf8.RuneSelf && c == upper:
			word = append(word, byte(r)+'a'-'A')
		case r < utf8.RuneSelf:
			word = append(word, byte(r))
		default:
			word = utf8.AppendRune(word, unicode.ToLower(r))
		}
		prev = c
	}
	flush()
}

// maxWord limits a word: a longer word is data, and only its start counts.
const maxWord = 40

type charClass uint8

const (
	other charClass = iota
	lower
	upper
	digit
	ideograph
)

func class(r rune) charClass {
	switch {
	case r >= 'a' && r <= 'z':
		return lower
	case r >= 'A' && r <= 'Z':
		return upper
	case r >= '0' && r <= '9':
		return digit
	case r < utf8.RuneSelf:
		return other
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
		return ideograph
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	}
	return other
}
