package loose

import (
	"math"
	"strconv"
	"strings"
)

// maxExact is the largest integer up to which sums of float64 are exact.
const maxExact = 1 << 53

// arithmetic returns the value of an expression of numbers, like 60*2 or
// (1+0.05)**3, as JSON. It reports false for a number alone, for a result that is
// not exact enough, and for anything else.
func arithmetic(word string) (string, bool) {
	if strings.IndexFunc(word, func(r rune) bool { return !strings.ContainsRune("0123456789.eE_+-*/%() ", r) }) >= 0 {
		return "", false
	}
	s := sum{text: strings.ReplaceAll(word, " ", "")}
	v, ok := s.terms(0)
	if !ok || s.text != "" || s.signs == 0 || math.IsNaN(v) || math.Abs(v) > maxExact {
		return "", false
	}
	return strconv.FormatFloat(v, 'f', -1, 64), true
}

// sum is the rest of an expression.
type sum struct {
	text  string
	signs int // operators that were read
}

// take passes over the first of the operators with which the rest begins.
func (s *sum) take(operators ...string) string {
	for _, op := range operators {
		if strings.HasPrefix(s.text, op) {
			s.text = s.text[len(op):]
			s.signs++
			return op
		}
	}
	return ""
}

func (s *sum) terms(depth int) (float64, bool) {
	v, ok := s.factors(depth)
	for ok {
		op := s.take("+", "-")
		if op == "" {
			break
		}
		var w float64
		if w, ok = s.factors(depth); op == "-" {
			w = -w
		}
		v += w
	}
	return v, ok
}

func (s *sum) factors(depth int) (float64, bool) {
	v, ok := s.power(depth)
	for ok && !strings.HasPrefix(s.text, "**") {
		op := s.take("*", "//", "/", "%")
		if op == "" {
			break
		}
		var w float64
		w, ok = s.power(depth)
		switch op {
		case "*":
			v *= w
		case "/":
			v /= w
		case "//":
			v = math.Floor(v / w)
		case "%":
			v -= w * math.Floor(v/w)
		}
	}
	return v, ok && !math.IsInf(v, 0)
}

func (s *sum) power(depth int) (float64, bool) {
	if depth > maxDepth {
		return 0, false
	}
	if strings.HasPrefix(s.text, "-") {
		s.text = s.text[1:]
		v, ok := s.power(depth + 1)
		return -v, ok
	}
	v, ok := s.operand(depth + 1)
	if ok && s.take("**") != "" {
		var w float64
		w, ok = s.power(depth + 1)
		v = math.Pow(v, w)
	}
	return v, ok
}

// operand reads a number, or an expression in parentheses.
func (s *sum) operand(depth int) (float64, bool) {
	if strings.HasPrefix(s.text, "(") {
		s.text = s.text[1:]
		v, ok := s.terms(depth)
		if !ok || !strings.HasPrefix(s.text, ")") {
			return 0, false
		}
		s.text = s.text[1:]
		return v, true
	}
	n := 0
	for n < len(s.text) && (strings.IndexByte("0123456789._eE", s.text[n]) >= 0 || n > 0 && strings.IndexByte("+-", s.text[n]) >= 0 && s.text[n-1]|0x20 == 'e') {
		n++
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s.text[:n], "_", ""), 64)
	dated := n > 1 && s.text[0] == '0' && s.text[1] >= '0' && s.text[1] <= '9' // as in 2024-05-01
	s.text = s.text[n:]
	return v, err == nil && !dated
}
