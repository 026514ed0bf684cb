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
	ids    bool               // lists of ids are shown whole
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
func (a *aim) weigh(texts []line) {
	if len(a.weight) == 0 {
		return
	}
	in := make(map[string]int)
	last := make(map[string]int)
	for i, t := range texts {
		words(t.text, func(w string) {
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

// cut is cutText, except for lists of ids that are shown whole.
func (a *aim) cut(s string, most int, known func(string) bool) (string, bool) {
	if a.ids && idLine(s) {
		return strings.ReplaceAll(s, ", ", ","), false
	}
	return cutText(s, most, known)
}

// cutText returns a text of at most about most characters: its beginning, the names
// and numbers of the omitted text, and its end. One word, such as a link, is cut only
// if it is very long. Known reports which names are already shown; it may be nil.
func cutText(s string, most int, known func(string) bool) (string, bool) {
	if len(s) <= most || len(s) <= longestWord && !strings.ContainsAny(s, " \n") || isPath(s) {
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
	// A name may begin in the head or end in the tail.
	said := strings.Join(mentions(s[cutAt(s, max(head-longestName/2, 0)):], max(wide/3, leastNamed), func(w string) bool {
		return known != nil && known(w) || strings.Contains(s[:head], w) || strings.Contains(s[tail:], w)
	}), ", ")
	if said != "" {
		said += " … "
	}
	return strings.TrimSpace(s[:head]) + " … " + said + strings.TrimSpace(s[tail:]), true
}

// isPath reports whether a text is the path of a file, which is of no use in part.
func isPath(s string) bool {
	slash := strings.LastIndexByte(s, '/')
	if slash < 0 || len(s) > longestPath || strings.ContainsAny(s, "\n\"'`<>|") || strings.Contains(s[:slash], ": ") || strings.Contains(s[:slash], ". ") {
		return false
	}
	dot := strings.LastIndexByte(s, '.')
	end := s[dot+1:]
	first := s
	if i := strings.IndexByte(s, ' '); i >= 0 {
		first = s[:i]
	}
	return dot > slash && len(end) >= 1 && len(end) <= 5 && strings.IndexFunc(end, notWordly) < 0 && strings.Contains(first, "/")
}

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
