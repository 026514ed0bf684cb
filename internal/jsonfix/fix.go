package jsonfix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Reading is one way to read a text as a JSON value.
type Reading struct {
	Value json.RawMessage
	Edits []llm.Repair // in the order of the text
}

// Class returns the most doubtful class among the edits.
func (rd Reading) Class() llm.RepairClass { return llm.Provenance{Repairs: rd.Edits}.Worst() }

// Fix reads a whole text as one JSON value and lists every edit it took. Text
// and code fences around the value are edits too. A valid text is returned as
// it is, without the white space around it.
func Fix(text string) (value json.RawMessage, edits []llm.Repair, err error) {
	if rd, ok := valid(text); ok {
		return rd.Value, nil, nil
	}
	found, err := read(text, false)
	if err != nil {
		return nil, nil, err
	}
	return found[0].Value, found[0].Edits, nil
}

// Readings yields all plausible ways to read a text, first the one that Fix
// returns. Whoever has a schema takes the first that fits it.
func Readings(text string) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		var found []Reading
		if rd, ok := valid(text); ok {
			found = []Reading{rd}
		} else {
			found, _ = read(text, false)
			if again, err := read(text, true); err == nil && len(found) > 0 && string(again[0].Value) != string(found[0].Value) {
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

func valid(text string) (Reading, bool) {
	value := []byte(strings.Trim(text, " \t\r\n"))
	return Reading{Value: value}, json.Valid(value)
}

// unwrap reads a string that holds JSON as that JSON. Only a schema can ask
// for this.
func (rd Reading) unwrap() (Reading, bool) {
	var s string
	if len(rd.Value) == 0 || rd.Value[0] != '"' || json.Unmarshal(rd.Value, &s) != nil {
		return Reading{}, false
	}
	inside, err := read(s, false)
	if in, ok := valid(s); ok {
		inside, err = []Reading{in}, nil
	}
	if err != nil || inside[0].Value[0] == '"' {
		return Reading{}, false
	}
	edits := append(slices.Clone(rd.Edits), llm.Repair{Rule: "stringified", Class: llm.Coercion})
	if class := inside[0].Class(); class != llm.Intact {
		edits = append(edits, llm.Repair{Rule: "inside-string", Class: class})
	}
	return Reading{inside[0].Value, edits}, true
}

// maxStarts bounds how many brackets in prose are tried as the beginning of
// the value.
const maxStarts = 16

// read returns the readings of a text that is not valid, best first, or an
// error if there are none.
func read(text string, numbers bool) ([]Reading, error) {
	if len(text) > DefaultMaxBytes {
		return nil, fmt.Errorf("the text is longer than %d bytes", DefaultMaxBytes)
	}
	s := scan{text: text, bytes: []byte(text), numbers: numbers}
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

// scalarWithText reports whether rd is a string or number in the middle of
// other text.
func (rd Reading) scalarWithText() bool {
	return rd.Value[0] != '{' && rd.Value[0] != '[' &&
		slices.ContainsFunc(rd.Edits, func(e llm.Repair) bool { return e.Rule == "text-after" })
}

// empty reports whether rd is no more than an opening bracket.
func (rd Reading) empty() bool {
	inside := rd.Value[1:max(len(rd.Value)-1, 1)]
	return len(bytes.TrimSpace(inside)) == 0 && slices.ContainsFunc(rd.Edits, func(e llm.Repair) bool { return e.Rule == "missing-closer" })
}

// compare puts the surer reading first, and of two alike the object, which
// prose has more rarely than brackets.
func (rd Reading) compare(other Reading) int {
	return cmp.Or(cmp.Compare(rd.Class(), other.Class()), cmp.Compare(other.Value[0], rd.Value[0]))
}
