package jsonfix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Fix reads a whole text as one JSON value and lists every edit it made. Text
// and code fences around the value are edits too. A valid text is returned
// unchanged, without the white space around it.
func Fix(text string) (value json.RawMessage, edits []llm.Repair, err error) {
	found, err := read(text, false)
	if err != nil {
		return nil, nil, err
	}
	return found[0].Value, found[0].Edits, nil
}

// Readings yields all plausible ways to read a text, first the one that Fix
// returns. A caller with a schema takes the first that fits it.
func Readings(text string) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		found, _ := read(text, false)
		if len(found) > 0 && len(found[0].Edits) > 0 { // with 007 as a number
			if again, err := read(text, true); err == nil && string(again[0].Value) != string(found[0].Value) {
				found = append(found, again[0])
			}
		}
		for _, rd := range found {
			if !yield(rd) {
				return
			}
			if inside, ok := rd.unwrap(); ok && !yield(inside) {
				return
			}
		}
	}
}

// unwrap reads a string that holds JSON as that JSON. Only a schema can ask
// for this.
func (rd Reading) unwrap() (Reading, bool) {
	var s string
	if len(rd.Value) == 0 || rd.Value[0] != '"' || json.Unmarshal(rd.Value, &s) != nil {
		return Reading{}, false
	}
	inside, err := read(s, false)
	if err != nil || inside[0].Value[0] == '"' {
		return Reading{}, false
	}
	edits := append(slices.Clone(rd.Edits), llm.Repair{Rule: "stringified", Class: llm.Coercion})
	if class := inside[0].Class(); class != llm.Intact {
		edits = append(edits, llm.Repair{Rule: "inside-string", Class: class})
	}
	return Reading{inside[0].Value, edits}, true
}

// read returns the readings of a text, best first, or an error if there are
// none. A valid text has one, without edits. With numbers, 007 is a number.
func read(text string, numbers bool) ([]Reading, error) {
	if value := []byte(strings.Trim(text, " \t\r\n")); json.Valid(value) {
		return []Reading{{Value: value}}, nil
	}
	if len(text) > DefaultMaxBytes {
		return nil, fmt.Errorf("the text is longer than %d bytes", DefaultMaxBytes)
	}
	s := scanner{text: text, bytes: []byte(text), numbers: numbers}
	start := len(text) - len(strings.TrimLeft(text, " \t\r\n\ufeff"))
	if start == len(text) {
		return nil, errNoValue
	}
	var found []Reading
	var err error
	prose := !startsValue(text[start:])
	if !prose || isCall(text[start:]) {
		found, err = s.from(start)
	}
	if len(found) == 0 || found[0].scalarWithText() || found[0].Class() >= llm.Guess && strings.Contains(text[start+1:], "```") {
		others := s.starts(start, prose || err == nil && found[0].scalarWithText())
		slices.SortStableFunc(others, Reading.compare)
		found = append(others, found...)
	}
	if len(found) == 0 && strings.HasPrefix(text[start:], "{{") && strings.HasSuffix(strings.TrimSpace(text), "}}") { // braces doubled for a template
		found, _ = s.from(start + 1)
	}
	if len(found) == 0 && err == nil && isShort(text) {
		found, err = s.from(start)
	}
	if len(found) == 0 {
		return nil, cmp.Or(err, errNoValue)
	}
	return found, nil
}

// startsValue reports whether text begins like a value or a code fence, and
// not like prose.
func startsValue(text string) bool {
	if strings.HasPrefix(text, "`{") || strings.HasPrefix(text, "`[") {
		return false // a value in the back quotes of Markdown
	}
	return strings.IndexByte("{[(\"'`\\/#", text[0]) >= 0 || strings.HasPrefix(text, "“") || strings.HasPrefix(text, "‘")
}

// isCall reports whether text begins with a name and a parenthesis.
func isCall(text string) bool {
	name, _, ok := strings.Cut(text, "(")
	name = strings.TrimRight(name, " ")
	return ok && name != "" && isIdentifier([]byte(name))
}

// isShort reports whether a text without brackets may be meant as one string,
// or as several, and is not prose.
func isShort(text string) bool {
	text = strings.TrimSpace(text)
	for line := range strings.Lines(text) {
		if len(strings.Fields(line)) > 4 {
			return false
		}
	}
	return len(text) <= 80 && !strings.ContainsAny(text, "{[")
}
