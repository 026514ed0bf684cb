package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Support is yes, no or unknown. The zero value is Unknown.
type Support uint8

// The three answers.
const (
	Unknown Support = iota
	No
	Yes
)

// String returns "yes", "no" or "unknown".
func (s Support) String() string { return [...]string{"unknown", "no", "yes"}[s%3] }

// MarshalJSON writes true, false or null.
func (s Support) MarshalJSON() ([]byte, error) {
	return []byte([...]string{"null", "false", "true"}[s%3]), nil
}

// Condition is a set of circumstances of a request.
type Condition uint8

// The circumstances that may take a capability away.
const (
	Thinking  Condition = 1 << iota // the model is asked to think
	WithTools                       // the request offers tools
	Streaming                       // the answer is streamed
)

var conditionNames = [...]string{"thinking", "tools", "streaming"}

// String lists the circumstances: "thinking, tools".
func (c Condition) String() string {
	var names []string
	for i, name := range conditionNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Answer is whether a model can do something: Support, except under the
// conditions in Unless, where it cannot. The zero value is unknown.
type Answer struct {
	Support Support
	Unless  Condition
}

// In returns the answer under circumstances c.
func (a Answer) In(c Condition) Support {
	if a.Support == Yes && a.Unless&c != 0 {
		return No
	}
	return a.Support
}

// String writes "yes", "no", "unknown" or "yes unless thinking".
func (a Answer) String() string {
	if a.Support == Yes && a.Unless != 0 {
		return "yes unless " + a.Unless.String()
	}
	return a.Support.String()
}

// MarshalJSON writes true, false or null; the condition is lost.
func (a Answer) MarshalJSON() ([]byte, error) { return a.Support.MarshalJSON() }

// strictest returns the answer that promises less. Unknown gives way.
func (a Answer) strictest(b Answer) Answer {
	switch {
	case a.Support == Unknown:
		return b
	case b.Support == Unknown:
		return a
	case a.Support == No || b.Support == No:
		return Answer{Support: No}
	}
	return Answer{Yes, a.Unless | b.Unless}
}

// parseAnswer reads "true", "false", "null" or "true unless thinking, tools".
func parseAnswer(s string) (Answer, error) {
	word, rest, conditional := strings.Cut(s, " unless ")
	var a Answer
	switch {
	case word == "true":
		a.Support = Yes
	case word == "false" && !conditional:
		a.Support = No
	case word == "null" && !conditional:
	default:
		return a, fmt.Errorf("expected true, false, null or \"true unless thinking\", found %.40q", s)
	}
	if !conditional {
		return a, nil
	}
	for name := range strings.SplitSeq(rest, ",") {
		bit := Condition(0)
		for i, known := range conditionNames {
			if strings.TrimSpace(name) == known {
				bit = 1 << i
			}
		}
		if bit == 0 {
			return a, fmt.Errorf("unknown condition %.40q; known: %s", strings.TrimSpace(name), strings.Join(conditionNames[:], ", "))
		}
		a.Unless |= bit
	}
	return a, nil
}

// Limit restricts a name or id: the allowed ASCII characters, and the length.
// The zero value means that no limit is known.
type Limit struct {
	Min, Max int
	chars    [2]uint64
	pattern  string
}

// UnmarshalText reads a pattern of one character class and a count, such as
// "[a-zA-Z0-9_-]{1,64}" or "[a-zA-Z0-9]{9}".
func (l *Limit) UnmarshalText(pattern []byte) (err error) {
	*l, err = parseLimit(string(pattern))
	return err
}

func parseLimit(pattern string) (Limit, error) {
	l := Limit{pattern: pattern}
	class, count, ok := strings.Cut(strings.TrimPrefix(pattern, "["), "]{")
	if !ok || pattern[0] != '[' || !strings.HasSuffix(count, "}") {
		return Limit{}, fmt.Errorf("expected a pattern such as [a-zA-Z0-9_-]{1,64}, found %.40q", pattern)
	}
	for i := 0; i < len(class); i++ {
		from, to := class[i], class[i]
		if i+2 < len(class) && class[i+1] == '-' {
			to = class[i+2]
			i += 2
		}
		for c := int(from); c <= int(to) && c < 128; c++ {
			l.chars[c/64] |= 1 << (c % 64)
		}
	}
	least, most, ranged := strings.Cut(strings.TrimSuffix(count, "}"), ",")
	if !ranged {
		most = least
	}
	if _, err := fmt.Sscan(least, &l.Min); err != nil {
		return Limit{}, fmt.Errorf("%.40q has no counts such as {1,64}", pattern)
	}
	if _, err := fmt.Sscan(most, &l.Max); err != nil || l.Max < l.Min || l.Max > 1<<16 {
		return Limit{}, fmt.Errorf("%.40q has no counts such as {1,64}", pattern)
	}
	return l, nil
}

// IsZero reports whether no limit is known.
func (l Limit) IsZero() bool { return l.pattern == "" }

// Allows reports whether s keeps to the limit.
func (l Limit) Allows(s string) bool {
	if l.IsZero() {
		return true
	}
	for i := range len(s) {
		if !l.AllowsByte(s[i]) {
			return false
		}
	}
	return len(s) >= l.Min && len(s) <= l.Max
}

// AllowsByte reports whether c may occur.
func (l Limit) AllowsByte(c byte) bool {
	return l.IsZero() || c < 128 && l.chars[c/64]&(1<<(c%64)) != 0
}

// String returns the pattern.
func (l Limit) String() string { return l.pattern }

// MarshalJSON writes the pattern, or null.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(l.pattern)
}
