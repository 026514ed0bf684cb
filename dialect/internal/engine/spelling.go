package engine

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// The check over the whole answer also knows names in spellings that no reader
// takes for a name: in camel case, in full-width letters, with characters in them
// that have no width.

// mayMean reports whether a word is worth a closer look: it is a name, or holds
// signs or capitals that names are written with.
func (n *names) mayMean(word []byte) bool {
	return bytes.ContainsAny(word, `\.:/-`) || n.exactly(word) || bytes.HasPrefix(word, []byte("function")) || bytes.ContainsFunc(word, isCapital)
}

func isCapital(r rune) bool { return r >= 'A' && r <= 'Z' }

// meant is resolve for names in camel case, too.
func (n *names) meant(word string) (name string, ok bool) {
	if name, ok = n.resolve(word); ok || !strings.ContainsFunc(word, isCapital) {
		return name, ok
	}
	i := slices.IndexFunc(n.tools, func(t llm.ToolDef) bool {
		return len(t.Name) >= len(word) && isCapital(rune(word[len(word)-1])) == isCapital(rune(t.Name[len(t.Name)-1])) && strings.EqualFold(withoutSeparators(t.Name), word)
	})
	if i < 0 {
		return word, false
	}
	return n.tools[i].Name, true
}

// withoutSeparators returns a name as one word.
func withoutSeparators(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isSeparator(byte(r)) {
			return -1
		}
		return r
	}, name)
}

// appendCamelPairs appends the pairs of bytes with which names in camel case go
// on behind their first word, as long as there is room. They are rare in text.
func appendCamelPairs(tools []llm.ToolDef, pairs []namePair) []namePair {
	for _, t := range tools {
		i := strings.IndexAny(t.Name, "_-.")
		if i < 1 || i+1 == len(t.Name) || len(pairs) == maxPairs {
			continue
		}
		if p := (namePair{t.Name[i-1], strings.ToUpper(t.Name[i+1 : i+2])[0]}); !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// indexCapital is indexPair for a pair whose second byte is a capital: there are so
// few in text that a search for them alone is the fastest.
func indexCapital(text []byte, p namePair) int {
	for i := 1; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], p.second)
		if n < 0 {
			break
		}
		if i += n; text[i-1] == p.first {
			return i - 1
		}
	}
	return -1
}

// watchFolded looks at the words between two indexes of the buffer if full-width
// signs or characters without a width stand there. The others were looked at.
func (m *machine) watchFolded(at, end int) {
	text := m.buf[at:min(end+maxAhead, len(m.buf))]
	first := indexOdd(text)
	if first < 0 || at+first >= end {
		return
	}
	plain := foldSpelling(m.buf[max(0, at+first-maxTail) : at+len(text)]) // the name may have begun earlier
	for i := 0; i < len(plain); {
		n := wordLength(plain[i:])
		if n == 0 {
			i++
			continue
		}
		if m.looksCalled(plain, i, n) && !m.accounted(m.base+at+first) {
			m.unread(m.base+at+first, plain[i+n:])
			return
		}
		i += n
	}
}

// indexOdd returns the index of the first character in text that foldSpelling
// changes, -1 if there is none.
func indexOdd(text []byte) int {
	if bytes.IndexByte(text, 0xE2) < 0 && bytes.IndexByte(text, 0xEF) < 0 { // most text
		return -1
	}
	for i := 0; i < len(text); {
		n := indexEither(text[i:], 0xE2, 0xEF)
		if i += n; i >= len(text) {
			break
		}
		if r, size := utf8.DecodeRune(text[i:]); foldRune(r) != r && size > 1 {
			return i
		}
		i++
	}
	return -1
}

// foldSpelling returns text with the ASCII that full-width letters and brackets
// stand for, and without what has no width.
func foldSpelling(text []byte) []byte { return bytes.Map(foldRune, text) }

func foldRune(r rune) rune {
	switch {
	case r >= 0x200B && r <= 0x200D, r == 0x2060, r == 0xFEFF:
		return -1
	case r >= 0xFF21 && r <= 0xFF5A, r == 0xFF08, r == 0xFF09, r == 0xFF5B, r == 0xFF5D: // letters, brackets
		return r - 0xFEE0
	}
	return r
}
