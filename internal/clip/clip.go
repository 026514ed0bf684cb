// Package clip shortens text for people: error messages, tables, logs and excerpts. It never cuts inside of a character as
// people see it, like a letter with its accents, an emoji or a flag, and it always marks the cut.
package clip

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bytes returns text if it has at most n bytes. Otherwise it returns the characters that fit into n bytes, and "…" after them.
func Bytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:boundary(text, Rune(text, n))] + "…"
}

// Runes returns text if it has at most n runes. Otherwise it returns at most n runes, of which the last is "…".
func Runes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	end, count := 0, 0
	for i := range text {
		if count == n-1 {
			end = i
		}
		if count++; count > n {
			return text[:boundary(text, end)] + "…"
		}
	}
	return text
}

// Line is [Runes] of text with all white space as single spaces.
func Line(text string, n int) string { return Runes(strings.Join(strings.Fields(text), " "), n) }

// Words is [Line] that cuts between words if a word ends near, and leaves no punctuation before the "…".
func Words(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	short := Runes(text, n)
	if short == text {
		return text
	}
	short = strings.TrimSuffix(short, "…")
	if i := strings.LastIndexByte(short, ' '); i > len(short)-16 {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:.") + "…"
}

// Middle returns text if it has at most n bytes. Otherwise it returns the first n-tail bytes and the last tail bytes, both
// without parts of characters, and between them how many bytes are left out.
func Middle(text string, n, tail int) string {
	if len(text) <= n {
		return text
	}
	from, to := boundary(text, Rune(text, n-tail)), len(text)-tail
	for to < len(text) && (!utf8.RuneStart(text[to]) || boundary(text, to) != to) {
		to++
	}
	return fmt.Sprintf("%s … [%d bytes left out] … %s", text[:from], to-from, text[to:])
}

// Rune returns the largest index of at most n at which text can be cut without splitting the bytes of a rune. It is for texts whose
// form is stored; for people, use the other functions.
func Rune(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n = max(n, 0); n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	return n
}

// longestCharacter bounds the bytes that boundary looks back at. Longer characters are cut between their runes.
const longestCharacter = 128

// boundary returns i, which is between two runes, or a smaller index if i is inside of a character: before a combining mark, next to a joiner, or
// between the two halves of a flag. These are the rules of Unicode's grapheme clusters that matter for text of today.
func boundary(text string, i int) int {
	for at := i; at < len(text) && i-at < longestCharacter; {
		if at == 0 {
			return 0
		}
		next, _ := utf8.DecodeRuneInString(text[at:])
		before, size := utf8.DecodeLastRuneInString(text[:at])
		if !extends(next) && before != zeroWidthJoiner && !(before == '\r' && next == '\n') && !splitsFlag(text, at, next) {
			return at
		}
		at -= size
	}
	return i
}

const zeroWidthJoiner = '\u200d'

// extends reports whether r belongs to the character before it.
func extends(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r == zeroWidthJoiner, r >= 0x1F3FB && r <= 0x1F3FF, r >= 0xE0020 && r <= 0xE007F, r >= 0x1160 && r <= 0x11FF: // skin tones, tags, Hangul vowels and finals
		return true
	}
	return unicode.Is(unicode.M, r)
}

// splitsFlag reports whether next, at i, is the second half of a flag, which is two regional indicators.
func splitsFlag(text string, i int, next rune) bool {
	if !regional(next) {
		return false
	}
	n := 0
	for range longestCharacter {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if !regional(r) {
			break
		}
		n++
		i -= size
	}
	return n%2 == 1
}

func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
