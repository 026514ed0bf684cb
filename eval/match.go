package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/schema"
)

// Match is a condition on a value. One field besides Optional and Fold is set.
type Match struct {
	// Value must be equal, as JSON. With Fold, texts are compared without case, spaces and the marks ,./-_*^ as the
	// Berkeley leaderboard does.
	Value json.RawMessage
	Fold  bool
	// Members must match the members of an object, which has no others.
	Members map[string]Match
	// Items must match the items of a list, one by one.
	Items []Match
	// AnyOf are alternatives. Nil and empty differ: no value matches an empty list.
	AnyOf []Match
	// Pattern must match a text.
	Pattern *regexp.Regexp
	// Range are the least and the greatest number.
	Range *[2]float64
	// Schema must accept the value.
	Schema *schema.Compiled
	// Any accepts every value.
	Any bool
	// Optional accepts a missing argument, too.
	Optional bool
}

// Holds reports whether value is accepted.
func (m Match) Holds(value json.RawMessage) bool {
	switch {
	case m.Any:
		return true
	case m.Pattern != nil:
		return js.Kind(value) == '"' && m.Pattern.MatchString(js.Text(value))
	case m.Range != nil:
		var n float64
		return json.Unmarshal(value, &n) == nil && n >= m.Range[0] && n <= m.Range[1]
	case m.Schema != nil:
		return len(m.Schema.Validate(value)) == 0
	case m.AnyOf != nil:
		return slices.ContainsFunc(m.AnyOf, func(m Match) bool { return m.Holds(value) })
	case m.Members != nil:
		return js.Kind(value) == '{' && len(memberProblems(m.Members, value, "")) == 0
	case m.Items != nil:
		return js.Kind(value) == '[' && slices.EqualFunc(m.Items, slices.Collect(js.Elements(value)), func(m Match, v []byte) bool { return m.Holds(v) })
	case m.Fold && js.Kind(m.Value) == '"':
		return js.Kind(value) == '"' && foldText(js.Text(m.Value)) == foldText(js.Text(value))
	}
	return js.Equal(m.Value, value)
}

// memberProblems returns the faults of the members of an object.
func memberProblems(want map[string]Match, object json.RawMessage, what string) []Problem {
	var out []Problem
	found := make(map[string]bool, len(want))
	for key, value := range js.Members(object) {
		name := string(key)
		m, known := want[name]
		switch {
		case !known:
			out = append(out, Problem{ExtraArgument, fmt.Sprintf("%s%s is not expected", what, name)})
		case !m.Holds(value):
			out = append(out, Problem{WrongArgument, fmt.Sprintf("%s%s is %s, not %s", what, name, short(string(value)), m)})
		}
		found[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !found[name] && !want[name].Optional {
			out = append(out, Problem{MissingArgument, fmt.Sprintf("%s%s is missing", what, name)})
		}
	}
	return out
}

// String describes the match for a person.
func (m Match) String() string {
	switch {
	case m.Any:
		return "any value"
	case m.Pattern != nil:
		return "a text that matches " + m.Pattern.String()
	case m.Range != nil:
		return fmt.Sprintf("a number from %v to %v", m.Range[0], m.Range[1])
	case m.Schema != nil:
		return "a value of its schema"
	case m.AnyOf != nil:
		return joinMatches(m.AnyOf, " or ")
	case m.Items != nil:
		return "[" + joinMatches(m.Items, ", ") + "]"
	case m.Members != nil:
		var words []string
		for _, name := range slices.Sorted(maps.Keys(m.Members)) {
			words = append(words, name+": "+m.Members[name].String())
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	return short(string(m.Value))
}

func joinMatches(list []Match, between string) string {
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = m.String()
	}
	return strings.Join(words, between)
}

// foldText drops what the Berkeley leaderboard does not compare.
func foldText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(" ,./-_*^", r):
			return -1
		case r == '\'':
			return '"'
		}
		return unicode.ToLower(r)
	}, s)
}

// TextMatch is a condition on a text.
type TextMatch struct {
	Equals   *string
	Contains []string // all of them, in any case
	Lacks    []string // none of them
	Matches  *regexp.Regexp
}

func (m TextMatch) empty() bool {
	return m.Equals == nil && len(m.Contains) == 0 && len(m.Lacks) == 0 && m.Matches == nil
}

// problem returns the fault of the text, or "".
func (m TextMatch) problem(text string) string {
	folded := strings.ToLower(text)
	switch {
	case m.Equals != nil && strings.TrimSpace(text) != strings.TrimSpace(*m.Equals):
		return fmt.Sprintf("is not %q", *m.Equals)
	case m.Matches != nil && !m.Matches.MatchString(text):
		return "does not match " + m.Matches.String()
	}
	for _, s := range m.Contains {
		if !strings.Contains(folded, strings.ToLower(s)) {
			return fmt.Sprintf("does not contain %q", s)
		}
	}
	for _, s := range m.Lacks {
		if strings.Contains(folded, strings.ToLower(s)) {
			return fmt.Sprintf("contains %q", s)
		}
	}
	return ""
}
