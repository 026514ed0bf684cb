package jsonfix

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// scanner finds the values in a whole text.
type scanner struct {
	text    string
	bytes   []byte // the same
	numbers bool   // as in Options
	start   int    // where the value begins
	pos     int
	values  []json.RawMessage
	edits   editLog
}

func (s *scanner) note(rule string, class llm.RepairClass, start, end int) {
	s.edits = append(s.edits, llm.Repair{Rule: rule, Class: class, Start: start, End: end})
}

// maxStarts bounds how many brackets in prose are tried as the beginning of
// the value.
const maxStarts = 16

// starts reads the value from each place in the middle of the text where one
// might begin. Without brackets, after a beginning that looked like a value, only
// a code fence counts.
func (s *scanner) starts(after int, brackets bool) []Reading {
	var found []Reading
	tried := 0
	for at := after; at < len(s.text) && tried < maxStarts; at++ {
		c := s.text[at]
		isFence := strings.HasPrefix(s.text[at:], "```")
		if !isFence && (!brackets || c != '{' && c != '[') {
			continue
		}
		tried++
		rds, err := s.from(at)
		if err == nil && rds[0].empty() {
			continue // an opening bracket alone proves nothing
		}
		if err == nil {
			found = append(found, rds...)
		}
		if isFence {
			at += 2
			if err == nil {
				return found // a fence shows where the value is
			}
		}
	}
	return found
}

// from reads the value, or the values, that begin at start.
func (s scanner) from(start int) ([]Reading, error) {
	s.start, s.pos, s.values, s.edits = start, start, nil, nil
	if before := s.text[:start]; strings.Trim(before, " \t\r\n") != "" {
		s.note("text-before", classBefore(before, s.text[start:]), 0, start)
	}
	for s.between(); s.pos < len(s.text); s.between() {
		if !s.another() {
			s.note("text-after", s.classAfter(), s.pos, len(s.text))
			break
		}
		if err := s.value(); err != nil {
			if len(s.values) == 0 {
				return nil, err
			}
			s.note("text-after", llm.Guess, s.pos, len(s.text))
			break
		}
	}
	if len(s.values) == 0 {
		return nil, errNoValue
	}
	return s.readings(), nil
}

// classBefore returns the class of dropping the text before a value. Text that
// announces the value is not part of it; a word right before it may be.
func classBefore(before, rest string) llm.RepairClass {
	before = strings.TrimRight(before, " \t")
	if strings.ContainsAny(before, "{[") {
		return llm.Guess // that may have been the value
	}
	if strings.HasPrefix(rest, "```") || before == "\ufeff" || before == "`" || strings.HasSuffix(before, ":") || strings.HasSuffix(before, "\n") {
		return llm.Syntax
	}
	return llm.Guess
}

// classAfter returns the class of dropping the text after a value. Text that is
// set off from the value is not part of it, if the value was whole and the text
// contains nothing of JSON.
func (s *scanner) classAfter() llm.RepairClass {
	rest := strings.TrimSpace(s.text[s.pos:])
	inline := rest == "`" && s.start > 0 && s.text[s.start-1] == '`'
	spaced := s.pos > 0 && isSpace(s.text[s.pos-1]) && !strings.ContainsAny(rest, "{}[]\"")
	first := Reading{s.values[0], s.edits}
	if (inline || spaced) && first.container() && first.Class() <= llm.Syntax && !first.has("extra-closer") &&
		!slices.ContainsFunc(s.edits, func(e llm.Repair) bool { return e.Rule == "trailing-comma" && e.End == s.pos }) {
		return llm.Syntax
	}
	return llm.Guess
}

// readings returns one reading for one value, and for several an array of them
// followed by each.
func (s *scanner) readings() []Reading {
	s.edits.sort()
	if len(s.values) == 1 {
		return []Reading{{s.values[0], s.edits}}
	}
	all := json.RawMessage("[")
	for k, v := range s.values {
		if k > 0 {
			all = append(all, ',')
		}
		all = append(all, v...)
	}
	edits := append([]llm.Repair{{Rule: "concatenated", Class: llm.Guess, End: len(s.text)}}, s.edits...)
	found := []Reading{{append(all, ']'), edits}}
	for _, v := range s.values {
		found = append(found, Reading{v, edits})
	}
	return found
}

// maxValues bounds how many values may follow one another.
const maxValues = 1 << 16

// another reports whether a value may start here. After a value it must be an
// object or an array, or set off from that value.
func (s *scanner) another() bool {
	if len(s.values) == 0 {
		return true
	}
	c := s.text[s.pos]
	if len(s.values) >= maxValues {
		return false
	}
	if c == '{' || c == '[' || c == '/' {
		return true
	}
	gap := strings.TrimRight(s.text[:s.pos], " \t\r")
	return (strings.HasSuffix(gap, "\n") || strings.HasSuffix(gap, ",")) && strings.IndexByte("{[", s.values[0][0]) < 0
}

// between skips text that is allowed around values: white space, commas, closing
// brackets that close nothing, code fences.
func (s *scanner) between() {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case isSpace(rest[0]):
			s.pos++
		case strings.HasPrefix(rest, "```"):
			n := 3
			for n < len(rest) && (isWord(rest[n]) || isDigit(rest[n])) {
				n++
			}
			s.note("code-fence", llm.Syntax, s.pos, s.pos+n)
			s.pos += n
		case len(s.values) > 0 && strings.IndexByte(",;)}]", rest[0]) >= 0:
			s.extra(rest[0])
		default:
			return
		}
	}
}

// extra skips a comma or closing bracket after a value. A brace after an object
// is one too many, for a brace missing before would have left a trace; with other
// brackets an opening one may be missing.
func (s *scanner) extra(c byte) {
	last := s.values[len(s.values)-1]
	rule, class := "extra-closer", llm.Guess
	switch {
	case c == ',' || c == ';':
		rule, class = "trailing-comma", llm.Syntax
	case c == '}' && last[len(last)-1] == '}':
		class = llm.Syntax
	}
	s.note(rule, class, s.pos, s.pos+1)
	s.pos++
}

// value reads one value.
func (s *scanner) value() error {
	r := NewReader(Options{Base: s.pos, Stops: []string{"```"}, bare: true, numbers: s.numbers})
	n, err := r.readWhole(s.bytes[s.pos:])
	switch {
	case err == errNoValue && len(s.values) > 0: // a comment at the end
		s.pos = len(s.text)
	case err != nil:
		return err
	default:
		s.values = append(s.values, r.Value())
		s.pos += n
	}
	if len(s.edits) == 0 {
		s.edits = r.Repairs()
	} else {
		s.edits = append(s.edits, r.Repairs()...)
	}
	return nil
}
