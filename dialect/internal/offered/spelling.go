package offered

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/llm"
)

// The check over the whole answer also finds names in spellings that no reader accepts: in camel case, in full-width
// letters, or with zero-width characters.

// MayMean reports whether a word may mean a tool: it is a name, or contains signs or capitals that occur in spellings
// of names.
func (n *Names) MayMean(word []byte) bool {
	return bytes.ContainsAny(word, `\.:/-`) || n.exactly(word) || bytes.HasPrefix(word, []byte("function")) || bytes.ContainsFunc(word, chars.IsCapital)
}

// Meant is Resolve that also accepts names in camel case.
func (n *Names) Meant(word string) (name string, ok bool) {
	if name, ok = n.Resolve(word); ok || !strings.ContainsFunc(word, chars.IsCapital) {
		return name, ok
	}
	i := slices.IndexFunc(n.Tools, func(t llm.ToolDef) bool {
		return len(t.Name) >= len(word) && chars.IsCapital(rune(word[len(word)-1])) == chars.IsCapital(rune(t.Name[len(t.Name)-1])) && strings.EqualFold(withoutSeparators(t.Name), word)
	})
	if i < 0 {
		return word, false
	}
	return n.Tools[i].Name, true
}

// withoutSeparators returns a name without its separators.
func withoutSeparators(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && chars.IsSeparator(byte(r)) {
			return -1
		}
		return r
	}, name)
}

// appendCamelPairs appends the pairs of bytes at the end of the first word of names in camel case, while there is room.
// Such pairs are rare in text.
func appendCamelPairs(tools []llm.ToolDef, pairs []NamePair) []NamePair {
	for _, t := range tools {
		i := strings.IndexAny(t.Name, "_-.")
		if i < 1 || i+1 == len(t.Name) || len(pairs) == maxPairs {
			continue
		}
		if p := (NamePair{t.Name[i-1], strings.ToUpper(t.Name[i+1 : i+2])[0]}); !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// indexCapital is IndexPair for a pair whose second byte is a capital. Capitals are rare in text, so a search for them
// alone is the fastest.
func indexCapital(text []byte, p NamePair) int {
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
