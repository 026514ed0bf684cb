package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolpost/toolpost/internal/clip"
)

// constraint returns the demand of one broken keyword.
func constraint(k jsonschema.ErrorKind) (keyword, expected, says string) {
	must := func(keyword, expected string) (string, string, string) {
		return keyword, expected, "must be " + expected
	}
	switch k := k.(type) {
	case *kind.Type:
		return must("type", typePhrase(k.Want))
	case *kind.Enum:
		return must("enum", choices(k.Want))
	case *kind.Const:
		return must("const", choices([]any{k.Want}))
	case *kind.Format:
		return must("format", "a valid "+k.Want)
	case *kind.Pattern:
		return must("pattern", "a string that matches "+clip.Bytes(k.Want, 200))
	case *kind.MinLength:
		return must("minLength", fmt.Sprintf("at least %s long", plural(k.Want, "character")))
	case *kind.MaxLength:
		return must("maxLength", fmt.Sprintf("at most %s long", plural(k.Want, "character")))
	case *kind.Minimum:
		return must("minimum", "at least "+ratio(k.Want))
	case *kind.Maximum:
		return must("maximum", "at most "+ratio(k.Want))
	case *kind.ExclusiveMinimum:
		return must("exclusiveMinimum", "more than "+ratio(k.Want))
	case *kind.ExclusiveMaximum:
		return must("exclusiveMaximum", "less than "+ratio(k.Want))
	case *kind.MultipleOf:
		return must("multipleOf", "a multiple of "+ratio(k.Want))
	}
	return structure(k)
}

// structure is constraint for keywords about arrays, objects and logic.
func structure(k jsonschema.ErrorKind) (keyword, expected, says string) {
	have := func(keyword, expected string) (string, string, string) {
		return keyword, expected, "must have " + expected
	}
	switch k := k.(type) {
	case *kind.MinItems:
		return have("minItems", "at least "+plural(k.Want, "item"))
	case *kind.MaxItems:
		return have("maxItems", "at most "+plural(k.Want, "item"))
	case *kind.MinProperties:
		return have("minProperties", "at least "+plural(k.Want, "property"))
	case *kind.MaxProperties:
		return have("maxProperties", "at most "+plural(k.Want, "property"))
	case *kind.AdditionalItems:
		return have("items", fmt.Sprintf("%s fewer", plural(k.Count, "item")))
	case *kind.UniqueItems:
		return "uniqueItems", "different items", fmt.Sprintf("must have different items, but items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "contains", "an item of the kind the schema demands", "lacks an item of the kind the schema demands"
	case *kind.MinContains:
		return have("minContains", fmt.Sprintf("at least %s of the kind the schema demands", plural(k.Want, "item")))
	case *kind.MaxContains:
		return have("maxContains", fmt.Sprintf("at most %s of the kind the schema demands", plural(k.Want, "item")))
	case *kind.OneOf:
		return "oneOf", "exactly one alternative", fmt.Sprintf("fits alternatives %d and %d, but must fit exactly one", k.Subschemas[0], k.Subschemas[1])
	case *kind.Not:
		return "not", "a value the schema does not exclude", "is a value the schema excludes"
	case *kind.FalseSchema:
		return "false", "nothing", "must not be there; leave it out"
	case *kind.InvalidJsonValue:
		return "json", "a JSON value", fmt.Sprintf("is not a JSON value but a Go %T", k.Value)
	}
	return "schema", "a valid value", "is not valid"
}

// shapeOf describes a value without showing it.
func shapeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case absent:
		return ""
	case bool:
		return "a boolean"
	case string:
		return "a string of " + plural(utf8.RuneCountInString(v), "character")
	case []any:
		return "an array of " + plural(len(v), "item")
	case map[string]any:
		return "an object with " + plural(len(v), "property")
	case json.Number:
		if readNumber(Integer, string(v), true) != "" {
			return "an integer"
		}
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return "an integer"
	}
	return "a number"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// typePhrase writes types as "an integer or null".
func typePhrase(types []string) string {
	out := make([]string, len(types))
	for i, t := range types {
		w, _ := typeWord(t)
		out[i] = article(w) + " " + t
		if w == Null {
			out[i] = t
		}
	}
	return strings.Join(out, " or ")
}

// choices lists the values of an enumeration, shortened if there are many.
func choices(values []any) string {
	const most = 20
	words := make([]string, 0, min(len(values), most))
	for _, v := range values[:min(len(values), most)] {
		b, err := json.Marshal(v)
		if err != nil {
			continue
		}
		words = append(words, clip.Bytes(string(b), 80))
	}
	switch {
	case len(values) > most:
		return fmt.Sprintf("one of %s and %d more", strings.Join(words, ", "), len(values)-most)
	case len(words) == 1:
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// ratio writes a bound exactly if it is a decimal.
func ratio(r *big.Rat) string {
	if n, exact := r.FloatPrec(); exact && n < 20 {
		return clip.Bytes(r.FloatString(n), 40)
	}
	return clip.Bytes(r.RatString(), 40)
}

func name(s string) string { return clip.Bytes(strconv.Quote(s), 80) }

// didYouMean names the one candidate that is almost s.
func didYouMean(s string, candidates []string) string {
	var found []string
	for _, c := range candidates {
		if strings.EqualFold(s, c) {
			return fmt.Sprintf(" Did you mean %q?", c)
		}
		if len(s) > 3 && near(strings.ToLower(s), strings.ToLower(c)) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", found[0])
}

// near reports whether a and b differ by at most two edits. Long names are not
// compared: they are rarely mistyped.
func near(a, b string) bool {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return false
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)] <= 2
}
