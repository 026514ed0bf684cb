package shorten

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// aim is what a task asks about: its words, by how rare they are in the result.
type aim struct {
	weight map[string]float64 // of a word, 0 until weigh
	names  []string           // words with signs inside, such as tool/select.go
}

// mostWords bounds the words of a task that count, and mostNames its names.
const (
	mostWords = 200
	mostNames = 20
)

var plainWords = wordSet("the and for with that this from are was were has have had not but you your our their its which what when where who how why can could should would will into about over under than then them they his her she him all any each some such does did done been being please find show give make use using help save want need tool server result results")

func wordSet(s string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

func aimOf(task string) *aim {
	a := &aim{weight: make(map[string]float64)}
	for f := range strings.FieldsSeq(task) {
		f = strings.Trim(f, ".,;:!?\"'`()[]{}<>")
		if len(a.names) < mostNames && len(f) > 3 && len(f) < 100 && strings.ContainsAny(f, "_-./@0123456789") {
			a.names = append(a.names, f)
		}
	}
	words(task, func(w string) {
		if len(a.weight) < mostWords && !plainWords[w] {
			a.weight[w] = 0
		}
	})
	return a
}

// weigh gives the words their weights: what few of the texts have counts most.
func (a *aim) weigh(texts []string) {
	if len(a.weight) == 0 {
		return
	}
	in := make(map[string]int)
	last := make(map[string]int)
	for i, t := range texts {
		words(t, func(w string) {
			if _, ok := a.weight[w]; ok && last[w] != i+1 {
				last[w] = i + 1
				in[w]++
			}
		})
	}
	for w := range a.weight {
		a.weight[w] = math.Log(1 + float64(len(texts))/float64(1+4*in[w]))
	}
}

// fits is how well a text fits the task.
func (a *aim) fits(text string) float64 {
	sum := 0.0
	seen := make(map[string]bool)
	words(text, func(w string) {
		if f := a.weight[w]; f > 0 && !seen[w] {
			seen[w] = true
			sum += f
		}
	})
	for _, n := range a.names {
		if strings.Contains(text, n) {
			sum += 2
		}
	}
	return sum
}

// words calls f with each word of a text, in lower case and without the s of a plural.
// Words of fewer than three letters are none.
func words(s string, f func(string)) {
	start := -1
	for i, r := range s + " " {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= 3 && i-start < 40 {
			word(s[start:i], f)
		}
		start = -1
	}
}

// word calls f with a word, and with the words it is made of, as in EstimateText.
func word(w string, f func(string)) {
	for i, from := 1, 0; i <= len(w); i++ {
		if i == len(w) && from == 0 || i < len(w) && !(w[i] >= 'A' && w[i] <= 'Z' && w[i-1] >= 'a' && w[i-1] <= 'z') {
			continue
		}
		if i-from >= 3 {
			f(singular(strings.ToLower(w[from:i])))
		}
		from = i
	}
	f(singular(strings.ToLower(w)))
}

func singular(w string) string {
	if len(w) > 4 && w[len(w)-1] == 's' {
		return w[:len(w)-1]
	}
	return w
}

// cutText returns a text of at most about most characters: its beginning, the names
// and numbers of what is left out, and its end. One word, such as a link, is cut only
// if it is very long. Known reports what need not be named again; it may be nil.
func cutText(s string, most int, known func(string) bool) (string, bool) {
	if len(s) <= most || len(s) <= longestWord && !strings.ContainsAny(s, " \n") {
		return s, false
	}
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s, false
	}
	wide := int(int64(most) * int64(len(s)) / int64(n)) // in bytes
	head := cutAt(s, wide*3/5)
	tail := len(s) - wide/6
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	if i := strings.IndexByte(s[tail:], ' '); i >= 0 && i < 12 {
		tail += i + 1
	}
	said := mentions(s[head:tail], max(wide/3, leastNamed), func(w string) bool {
		return known != nil && known(w) || strings.Contains(s[:head], w) || strings.Contains(s[tail:], w)
	})
	if said != "" {
		said += " … "
	}
	return strings.TrimSpace(s[:head]) + " … " + said + strings.TrimSpace(s[tail:]), true
}

const (
	longestWord = 90 // bytes of one word that is not cut
	leastNamed  = 24 // bytes for the names of what is left out
)

// cutAt returns where to cut, at most n bytes on: between words if one is near, and
// never inside of a character.
func cutAt(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	for k := n; k > 0 && k > n-16; k-- {
		if s[k] == ' ' || s[k] == '\n' {
			return k
		}
	}
	return n
}

// mentions returns the names in a text that are not known yet: first what is quoted,
// then what has signs, digits or capitals inside, then numbers. It is at most `most`
// bytes long.
func mentions(s string, most int, known func(string) bool) string {
	var kinds [3][]string
	var used [3]int
	seen := make(map[string]bool)
	for f := range strings.FieldsFuncSeq(s, between) {
		if len(f) > 200 {
			continue
		}
		w := strings.Trim(f, ".,;:!?\"'`()[]{}<>*|\\=…")
		k := kindOfName(f, w)
		if k < 0 || used[k] > most || seen[w] {
			continue
		}
		seen[w] = true
		if !known(w) {
			kinds[k] = append(kinds[k], w)
			used[k] += len(w) + 2
		}
	}
	var out []string
	room := most - min(used[2], most/4) // some of it is for numbers
	for k, names := range kinds {
		if k == 2 {
			room += min(used[2], most/4)
		}
		for _, w := range names {
			if len(w)+2 <= room {
				room -= len(w) + 2
				out = append(out, w)
			}
		}
	}
	return strings.Join(out, ", ")
}

// between reports whether a character separates words: space, and what is written
// without any.
func between(r rune) bool { return unicode.IsSpace(r) || r >= 0x2e80 }

// kindOfName is how surely a word names something, 0 most of all and -1 if it does
// not. The field is the word with the signs around it.
func kindOfName(field, w string) int {
	if len(w) < 3 || len(w) > longestWord {
		return -1
	}
	if i := strings.Index(field, w); i > 0 && strings.ContainsAny(field[i-1:i], "'\"`") && strings.ContainsAny(field[i+len(w):], "'\"`") {
		return 0
	}
	if strings.HasPrefix(field, "--") {
		return 1
	}
	return sortOfName(w)
}

// sortOfName is 1 for words with signs, digits or capitals inside, 2 for numbers and
// -1 for others.
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
		return 2
	case digits > 0, signs > 0 && letters > signs+2, inner > 0 && inner+1 < letters:
		return 1
	}
	return -1
}

// isName reports whether a word names something.
func isName(w string) bool { return len(w) > 2 && sortOfName(w) >= 0 }
