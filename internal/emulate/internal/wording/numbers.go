package wording

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Number is a number that a text speaks of.
type Number struct {
	Text string // as JSON writes it
	Word int    // which of the text's numbers it is: 5 % is 5 and 0.05
	// Percent marks a number before a percent sign, share the part it means.
	Percent, Share bool
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

// Numbers returns the numbers that a text speaks of, in its order: digits,
// words, percentages also as shares, numbers also times their scale.
func Numbers(text string) []Number {
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
	out  []Number
	last float64 // the number just read; NaN if something else was
	word int
	gap  bool // something follows it
}

// count takes a number and what else it may mean.
func (r *numberReader) count(v float64) {
	r.word++
	r.last, r.gap = v, false
	r.add(v)
}

func (r *numberReader) add(v float64) {
	r.put(Number{Text: strconv.FormatFloat(v, 'f', -1, 64), Word: r.word})
}

// Percent says that the last number is one of a hundred.
func (r *numberReader) percent() {
	for i := range r.out {
		r.out[i].Percent = r.out[i].Percent || r.out[i].Word == r.word
	}
	r.put(Number{Text: strconv.FormatFloat(round(r.last/100), 'f', -1, 64), Word: r.word, Share: true})
}

func (r *numberReader) put(e Number) {
	if len(r.out) < maxEvident && !slices.ContainsFunc(r.out, func(o Number) bool { return o.Text == e.Text }) {
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
		r.out = slices.DeleteFunc(r.out, func(e Number) bool { return e.Word == r.word })
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

// scanNumber reads the number at i and returns its length, 0 if there is none. A minus
// counts if no word precedes it.
func scanNumber(text string, i int) (float64, int) {
	start := i
	switch {
	case text[i] == '-' && (i == 0 || strings.IndexByte(" \t\n([{=,:<>\"'", text[i-1]) >= 0):
		i++
	case i > 0 && IsLetter(text[i-1]):
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
		case IsDigit(c):
			group++
			b.WriteByte(c)
		case c == ',' && !point && 0 < group && group <= 3 && grouped(text[i+1:]):
			group = 0
		case c == '.' && !point && group > 0 && i+1 < len(text) && IsDigit(text[i+1]):
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
	return len(text) >= 3 && IsDigit(text[0]) && IsDigit(text[1]) && IsDigit(text[2]) && (len(text) == 3 || !IsDigit(text[3]))
}

func lettersAt(text string, i int) int {
	n := 0
	for i+n < len(text) && IsLetter(text[i+n]) {
		n++
	}
	return n
}

// Count returns how many numbers a text speaks of.
func Count(numbers []Number) int {
	n, word := 0, 0
	for _, e := range numbers {
		if e.Word != word {
			n, word = n+1, e.Word
		}
	}
	return n
}
