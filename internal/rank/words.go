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
	for i := 0; i < len(text); {
		if prev == lower { // most letters follow one of their kind
			end := i
			for end < len(text) && text[end] >= 'a' && text[end] <= 'z' {
				end++
			}
			word = append(word, text[i:min(end, i+max(0, maxWord-len(word)))]...)
			if i = end; i == len(text) {
				break
			}
		}
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		i += n
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

// plainClass has the classes of the characters of ASCII.
var plainClass = func() (t [utf8.RuneSelf]charClass) {
	for i := range t {
		switch c := byte(i); {
		case c >= 'a' && c <= 'z':
			t[i] = lower
		case c >= 'A' && c <= 'Z':
			t[i] = upper
		case c >= '0' && c <= '9':
			t[i] = digit
		}
	}
	return t
}()

func class(r rune) charClass {
	if r < utf8.RuneSelf {
		return plainClass[r]
	}
	switch {
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
