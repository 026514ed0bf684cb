package emulate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/rank"
)

// evident is a number that a text speaks of.
type evident struct {
	text string // as JSON writes it
	word int    // which of the text's numbers it is: 5 % is 5 and 0.05
	// percent marks a number before a percent sign, share the part it means.
	percent, share bool
}

// maxEvident bounds how many numbers are taken from a text.
const maxEvident = 64

// numberWords are numbers written as words.
var numberWords = map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
	"nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	"half": 0.5, "quarter": 0.25, "dozen": 12, "couple": 2, "pair": 2, "once": 1, "twice": 2, "double": 2, "triple": 3,
	"single": 1, "first": 1, "second": 2, "third": 3,
}

// scales multiply the number before them.
var scales = map[string]float64{
	"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "m": 1e6, "bn": 1e9, "dozen": 12,
}

// spans are stretches of time that count without a number before them: "next
// week" is one week, or seven days.
var spans = map[string][]float64{
	"day": {1}, "daily": {1}, "today": {0, 1}, "tomorrow": {1}, "week": {1, 7}, "weekly": {1, 7}, "weekend": {2}, "month": {1, 30},
	"monthly": {1, 30}, "year": {1, 12, 365}, "yearly": {1, 12, 365}, "annual": {1, 12}, "annually": {1, 12}, "hour": {1, 60},
}

// numbersIn returns the numbers that a text speaks of, in its order: digits,
// words, percentages also as shares, numbers also times their scale.
func numbersIn(text string) []evident {
	r := numberReader{last: math.NaN()}
	for i := 0; i < len(text); {
		if v, n := scanNumber(text, i); n > 0 {
			r.count(v)
			i += n
		} else if n := lettersAt(text, i); n > 0 {
			r.letters(strings.ToLower(text[i : i+n]))
			i += n
		} else {
			r.mark(text[i])
			i++
		}
	}
	return r.out
}

type numberReader struct {
	out  []evident
	last float64 // the number just read; NaN if something else was
	word int
	gap  bool // something stands behind it
}

// count takes a number and what else it may mean.
func (r *numberReader) count(v float64) {
	r.word++
	r.last, r.gap = v, false
	r.add(v)
}

func (r *numberReader) add(v float64) {
	r.put(evident{text: strconv.FormatFloat(v, 'f', -1, 64), word: r.word})
}

// percent says that the last number is one of a hundred.
func (r *numberReader) percent() {
	for i := range r.out {
		r.out[i].percent = r.out[i].percent || r.out[i].word == r.word
	}
	r.put(evident{text: strconv.FormatFloat(round(r.last/100), 'f', -1, 64), word: r.word, share: true})
}

func (r *numberReader) put(e evident) {
	if len(r.out) < maxEvident && !slices.ContainsFunc(r.out, func(o evident) bool { return o.text == e.text }) {
		r.out = append(r.out, e)
	}
}

func (r *numberReader) letters(w string) {
	after := !math.IsNaN(r.last)
	spelled, isNumber := numberWords[w]
	switch scale, span := scales[w], spans[w]; {
	case after && len(w) == 1 && scale != 0 && (r.gap || w == "m"): // 5 m may be metres
		r.last = round(r.last * scale)
		r.add(r.last)
		return
	case after && scale != 0: // 8.5 million is not 8.5
		r.out = slices.DeleteFunc(r.out, func(e evident) bool { return e.word == r.word })
		r.last = round(r.last * scale)
		r.add(r.last)
		return
	case after && w == "percent":
		r.percent()
	case scale != 0 && len(w) > 2:
		r.count(scale)
		return
	case isNumber:
		r.count(spelled)
		return
	case !after && span != nil:
		r.word++
		for _, v := range span {
			r.add(v)
		}
	}
	r.last = math.NaN()
}

func (r *numberReader) mark(c byte) {
	r.gap = true
	switch {
	case c == '%' && !math.IsNaN(r.last):
		r.percent()
	case c != ' ' && c != '-':
		r.last = math.NaN()
	}
}

// round takes away what binary fractions add.
func round(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// scanNumber reads the number at i and returns its length, 0 if there is none.
// A minus counts where no word stands before it.
func scanNumber(text string, i int) (float64, int) {
	start := i
	switch {
	case text[i] == '-' && (i == 0 || strings.IndexByte(" \t\n([{=,:<>\"'", text[i-1]) >= 0):
		i++
	case i > 0 && isLetter(text[i-1]):
		return 0, 0 // the 2 of H2O
	}
	digits, n := scanDigits(text[i:])
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || len(digits) > 15 {
		return 0, 0
	}
	if i > start {
		v = -v
	}
	return v, i - start + n
}

// scanDigits reads digits with a decimal point at the start of text and returns
// them, without the commas that group them by three, and their length in text.
func scanDigits(text string) (string, int) {
	var b strings.Builder
	group, point := 0, false // group counts the digits since the last comma
	for i := range len(text) {
		c := text[i]
		switch {
		case isDigit(c):
			group++
			b.WriteByte(c)
		case c == ',' && !point && 0 < group && group <= 3 && grouped(text[i+1:]):
			group = 0
		case c == '.' && !point && group > 0 && i+1 < len(text) && isDigit(text[i+1]):
			point = true
			b.WriteByte(c)
		default:
			return b.String(), i
		}
	}
	return b.String(), len(text)
}

// grouped reports whether text begins with three digits and no fourth.
func grouped(text string) bool {
	return len(text) >= 3 && isDigit(text[0]) && isDigit(text[1]) && isDigit(text[2]) && (len(text) == 3 || !isDigit(text[3]))
}

func lettersAt(text string, i int) int {
	n := 0
	for i+n < len(text) && isLetter(text[i+n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 }

// spokenOf returns how many numbers a text speaks of.
func spokenOf(numbers []evident) int {
	n, word := 0, 0
	for _, e := range numbers {
		if e.word != word {
			n, word = n+1, e.word
		}
	}
	return n
}

// generic are words in the names of parameters that say nothing about them.
var generic = stemSet("type value number name unit list option mode data info parameter include flag enable")

func stemSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, s := range rank.Stems(text) {
		out[s] = true
	}
	return out
}

// evidence is what a conversation says about the values of a tool's
// parameters. A nil evidence says nothing.
type evidence struct {
	request string
	lower   string          // the request, in lower case
	said    map[string]bool // the stems of its words
	about   map[string]bool // the stems of the tool's name, which are no reason
	numbers []evident       // of the whole conversation
	words   []string        // of the whole conversation, as they stand
	days    []moment        // of the request
	clocks  []string        // of the request
}

func evidenceFor(t turn, tool string) *evidence {
	brief := t.text[max(0, len(t.text)-maxKnown):]
	return &evidence{
		request: t.text, lower: strings.ToLower(t.text), said: stemSet(t.text), about: stemSet(tool),
		numbers: numbersIn(t.known), words: wordsOf(t.known), days: daysIn(brief), clocks: clocksIn(brief),
	}
}

// long reports whether a request is too long to be searched for names and counts.
func (e *evidence) long() bool { return len(e.request) > maxKnown }

// values returns those of a list of values that the request says.
func (e *evidence) values(list []json.RawMessage) []json.RawMessage {
	if e == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(v json.RawMessage) bool { return !says(e.lower, v) && !e.means(v) })
}

// means reports whether the request says a value in another form: "parks" for
// Park, "two" for "2".
func (e *evidence) means(v json.RawMessage) bool {
	word := decode[string](v)
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		return slices.ContainsFunc(e.numbers, func(n evident) bool { return n.text == word })
	}
	return len(word) > 2 && e.speaksOf(word)
}

// offers reports whether the request gives a reason to fill a parameter that
// may be left out: it names it, or one of its values, or a year.
func (e *evidence) offers(name string, s object) bool {
	if e == nil {
		return true
	}
	def := string(s.get("default"))
	listed := decode[[]json.RawMessage](s.get("enum"))
	for _, v := range e.values(listed) {
		if string(v) != def {
			return true
		}
	}
	if slices.Equal(rank.Stems(name), rank.Stems("year")) && slices.ContainsFunc(e.numbers, evident.isYear) {
		return true
	}
	if found, takes := e.moments(name, s); takes {
		return len(found) > 0 && !e.open(name, len(e.days))
	}
	switch typ := decode[string](s.get("type")); {
	case yesNo(s) != nil && e.asks(e.hints(name)):
		return true
	case (typ == "integer" || typ == "number") && (len(e.counted(name)) > 0 || e.percents(name)):
		return true
	case typ == "string" && !s.has("enum") && len(e.people(name)) > 0:
		return true
	case len(listed) > 0 && yesNo(s) == nil:
		return false // which of them, nobody has said
	}
	return e.names(name)
}

// offersAny reports whether the request gives a reason to fill one of the
// properties of an object that may all be left out.
func (e *evidence) offersAny(props object) bool {
	return slices.ContainsFunc(props, func(p field) bool {
		about, _ := readObject(p.value)
		return e.offers(p.key, about)
	})
}

// names reports whether the request has every word of a parameter's name that
// says something.
func (e *evidence) names(name string) bool {
	own := slices.DeleteFunc(rank.Stems(name), func(w string) bool { return generic[w] || e.about[w] })
	return len(own) > 0 && !slices.ContainsFunc(own, func(w string) bool { return !e.said[w] })
}

// denials are the words with which a request refuses something.
var denials = []string{"not", "no", "without", "don't", "dont", "never", "exclude", "excluding", "except", "n't"}

// affirms reports whether the request names a yes-or-no parameter and refuses
// nothing.
func (e *evidence) affirms(name string) bool {
	if e == nil || !e.names(name) && !e.asks(e.hints(name)) {
		return false
	}
	return !slices.ContainsFunc(denials, func(w string) bool { return mentions(e.lower, w) })
}

// isYear reports whether a number looks like a year of our time.
func (n evident) isYear() bool {
	return len(n.text) == 4 && (strings.HasPrefix(n.text, "19") || strings.HasPrefix(n.text, "20"))
}

// says reports whether a text in lower case has a value of a list of values,
// with no letter around it. One letter says nothing.
func says(lower string, value json.RawMessage) bool {
	word := strings.ToLower(decode[string](value))
	return len(word) > 1 && (mentions(lower, word) || mentions(lower, strings.NewReplacer("_", " ", "-", " ").Replace(word)))
}

// mentions reports whether text has phrase with no letter or digit around it.
// Both are in lower case.
func mentions(text, phrase string) bool {
	for from := 0; phrase != ""; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(phrase)
		if (start == 0 || !isLetter(text[start-1]) && !isDigit(text[start-1])) && (end == len(text) || !isLetter(text[end]) && !isDigit(text[end])) {
			return true
		}
		from = end
	}
	return false
}
