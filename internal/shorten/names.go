package shorten

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The sorts of names, the surest first.
const (
	quotedName = iota // text in quotes
	phraseName        // words with capitals in a row, such as a person
	signedName        // a word with signs, digits or capitals inside
	numberName
	nameSorts
)

// mentions returns the names in a text that are not known yet, the surest first. It is
// at most `most` bytes long, but for quoted words of up to leastQuoted.
func mentions(s string, most int, known func(string) bool) []string {
	g := gathered{most: most, known: known, seen: make(map[string]bool)}
	quotes(s, func(w string) { g.add(quotedName, w) })
	phrases(s, func(w string) { g.add(phraseName, w) })
	for f := range strings.FieldsFuncSeq(s, between) {
		if len(f) > 200 {
			continue
		}
		w := strings.Trim(f, trimmed)
		if k := kindOfName(f, w); k >= 0 {
			g.add(k, w)
		}
	}
	return g.choose()
}

// trimmed are the signs around a word.
const trimmed = ".,;:!?\"'`()[]{}<>*|\\=…"

// gathered are the names of a text.
type gathered struct {
	most  int
	known func(string) bool
	seen  map[string]bool
	sorts [nameSorts][]string
	used  [nameSorts]int
}

func (g *gathered) add(sort int, w string) {
	if g.used[sort] > max(g.most, leastQuoted) || g.seen[w] {
		return
	}
	g.seen[w] = true
	if !g.known(w) {
		g.sorts[sort] = append(g.sorts[sort], w)
		g.used[sort] += len(w) + 2
	}
}

// choose returns the names that there is room for. Some of it is set aside for words
// with signs and for numbers.
func (g *gathered) choose() []string {
	var out []string
	numbers := min(g.used[numberName], g.most/4)
	signed := min(g.used[signedName], g.most/2)
	room := g.most - numbers
	said := "" // part of a name is not named again
	for sort, names := range g.sorts {
		switch sort {
		case quotedName:
			room = max(room, min(g.used[quotedName], leastQuoted))
		case phraseName:
			room = min(room, g.most-numbers) - signed
		case signedName:
			room += signed
		case numberName:
			room += numbers
		}
		for _, w := range names {
			if len(w)+2 <= room && (sort == quotedName || !strings.Contains(said, w)) {
				room -= len(w) + 2
				out = append(out, w)
				said += w + "\n"
			}
		}
	}
	return out
}

const (
	leastQuoted = 48 // bytes for quoted words of the omitted text
	longestName = 60 // bytes of a name of several words
)

// quotes calls f with the quoted words of a text: one word or a few. An apostrophe is
// not a quote.
func quotes(s string, f func(string)) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '"' && c != '\'' && c != '`' || i > 0 && wordly(s[i-1]) {
			continue
		}
		part := s[i+1 : min(len(s), i+2+longestName)]
		end := strings.IndexAny(part, string(c)+"\n")
		if end < 0 || part[end] != c {
			continue
		}
		w := part[:end]
		if after := i + end + 2; after < len(s) && wordly(s[after]) {
			continue
		}
		if (len(w) >= 3 || foreign(w)) && w == strings.TrimSpace(w) && strings.ContainsFunc(w, unicode.IsLetter) {
			f(w)
		}
		i += end + 1
	}
}

func wordly(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func notWordly(r rune) bool { return r >= utf8.RuneSelf || !wordly(byte(r)) }

// foreign reports whether a word is of a script that needs few characters for one.
func foreign(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return r >= 0x2e80 && r != utf8.RuneError
}

// mostPhrase is how many words a name has at most.
const mostPhrase = 4

// phrases calls f with names of several words: two or more that have capitals, and
// numbers between or after them, with no sign between. The first word of a sentence is none.
func phrases(s string, f func(string)) {
	var run []string
	capitals := 0 // words of the run that have some
	end := func() {
		if capitals > 1 {
			if w := strings.Join(run, " "); len(w) <= longestName {
				f(w)
			}
		}
		run, capitals = run[:0], 0
	}
	starts := false // a sentence
	for field := range strings.FieldsFuncSeq(s, between) {
		w := strings.Trim(field, trimmed)
		capital := strings.IndexFunc(w, unicode.IsUpper) >= 0
		number := w != "" && len(w) < 5 && sortOfName(w) == numberName
		opens := w != "" && !strings.HasPrefix(field, w)
		if opens || starts || len(run) == mostPhrase {
			end()
		}
		if capital && !starts || number && len(run) > 0 {
			if run = append(run, w); capital {
				capitals++
			}
		} else {
			end()
		}
		if !strings.HasSuffix(field, w) || w == "" {
			end()
		}
		starts = strings.ContainsAny(field[len(field)-1:], ".!?:")
	}
	end()
}

// between reports whether a character separates words: space, and characters of
// scripts without spaces.
func between(r rune) bool { return unicode.IsSpace(r) || r >= 0x2e80 }

// kindOfName is the sort of name that a word is, -1 if it is none. The field is the word with the signs around it.
func kindOfName(field, w string) int {
	if len(w) < 3 || len(w) > longestWord {
		return -1
	}
	if i := strings.Index(field, w); i > 0 && strings.ContainsAny(field[i-1:i], "'\"`") && strings.ContainsAny(field[i+len(w):], "'\"`") {
		return quotedName
	}
	if strings.HasPrefix(field, "--") {
		return signedName
	}
	return sortOfName(w)
}

// sortOfName is the sort of name that a word is by itself, -1 if it is none.
func sortOfName(w string) int {
	letters, digits, signs, inner := 0, 0, 0, 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'A' && c <= 'Z':
			letters++
			if i > 0 {
				inner++
			}
		case c == '_', c == '/', c == '@', c == '.' && i > 0:
			signs++
		case c >= 'a' && c <= 'z':
			letters++
		}
	}
	switch {
	case digits > 0 && letters == 0:
		return numberName
	case digits > 0, signs > 0 && letters > signs+2, inner > 0 && inner+1 < letters:
		return signedName
	}
	return -1
}

// isName reports whether a word names something.
func isName(w string) bool { return len(w) > 2 && sortOfName(w) >= 0 }

const (
	longestPath = 180 // bytes of a path that is not cut
	longestWord = 90  // bytes of one word that is not cut
	leastNamed  = 24  // bytes for the names of the omitted text
)
