package loose

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Kinds are the kinds of value that may stand somewhere.
type Kinds struct {
	Known                bool // a schema tells it
	Null, String, Number bool
}

// AnyKind allows every kind, where nothing is known.
var AnyKind = Kinds{Null: true, String: true, Number: true}

// WantsText reports whether a string must stand there and no number.
func (k Kinds) WantsText() bool { return k.String && !k.Number }

// Scalar is a word without quotes as JSON, and the repair that took.
type Scalar struct {
	JSON  string
	Rule  string // empty if nothing was repaired
	Class llm.RepairClass
	Bad   bool // it lacks form in JSON that the schema takes
}

// Word reads a word without quotes where one of kinds must stand. A number keeps
// its spelling where text is wanted.
func Word(word string, kinds Kinds) Scalar {
	lit := Literal(word)
	switch {
	case IsConstant(word):
	case isNotANumber(word) && kinds.Null && !kinds.Known:
		return Scalar{"null", "literal", llm.Guess, false}
	case isNotANumber(word) && kinds.Null:
		return Scalar{"null", "literal", llm.Coercion, false}
	case isNotANumber(word) && !kinds.String:
		return Scalar{"null", "literal", llm.Guess, true}
	case lit[0] == '"':
		if v, ok := dictCall(word); ok && !(kinds.Known && kinds.String) {
			return Scalar{v, "dict-call", llm.Syntax, false}
		}
		return Scalar{lit, "bare-word", llm.Guess, false}
	case lit != word && kinds.WantsText():
		return Scalar{quote(word), "number-as-text", llm.Coercion, false}
	}
	return Scalar{JSON: lit}
}

// dictCall returns dict(a=1) as JSON.
func dictCall(word string) (string, bool) {
	if !strings.HasPrefix(word, "dict(") {
		return "", false
	}
	p := parser{s: word, isName: func(string) bool { return false }}
	n, ok := p.value()
	w := writer{call: &Call{}}
	ok = ok && p.i == len(p.s) && isDict(n) && w.value(n) && len(p.repairs) == 0
	return w.b.String(), ok && !slices.ContainsFunc(w.call.Repairs, func(r llm.Repair) bool { return r.Rule != "dict-call" })
}

// isDict reports whether a call is one of dict with only keywords.
func isDict(n node) bool {
	return n.kind == callNode && n.text == "dict" && !slices.ContainsFunc(n.items, func(it item) bool { return it.key == "" })
}

// isNotANumber reports whether a word is NaN or an infinity, which JSON lacks.
func isNotANumber(word string) bool {
	word = strings.TrimSuffix(strings.TrimPrefix(word, "float("), ")")
	word = strings.Trim(word, `"'`)
	for _, module := range [...]string{"math.", "np.", "numpy.", "Number."} {
		word = strings.TrimPrefix(word, module)
	}
	switch strings.ToLower(strings.TrimLeft(word, "+-")) {
	case "nan", "infinity", "inf":
		return true
	}
	return false
}

// IsConstant reports whether a word is a constant of Python or JSON.
func IsConstant(word string) bool {
	switch word {
	case "True", "true", "False", "false", "None", "null":
		return true
	}
	return false
}

// Literal returns a Python word as JSON: a constant, a number, else a
// string.
func Literal(word string) string {
	switch word {
	case "True", "true":
		return "true"
	case "False", "false":
		return "false"
	case "None", "null":
		return "null"
	}
	if json.Valid([]byte(word)) {
		return word
	}
	s := strings.ReplaceAll(strings.TrimPrefix(word, "+"), "_", "")
	digits := strings.TrimPrefix(s, "-")
	if digits != "" && strings.Trim(digits, "0123456789") == "" { // 007
		digits = strings.TrimLeft(digits, "0")
		if digits == "" {
			return "0"
		}
		return s[:len(s)-len(strings.TrimPrefix(s, "-"))] + digits
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && strings.ContainsAny(s, ".eE") && !strings.ContainsAny(s, "xXpPnNiI") {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return quote(word)
}

// quote writes a string as JSON.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) //nolint:errcheck // a string can be written to a builder
	return strings.TrimSuffix(b.String(), "\n")
}

// Value reads the object or list at the beginning of text, in the notation of JavaScript, Python, Ruby, PHP or Lua. It
// reports false if a bracket is missing or anything had to be guessed.
func Value(text string) (value json.RawMessage, n int, ok bool) {
	work := maxWork * (len(text) + 1)
	p := parser{s: text, work: &work, isName: func(string) bool { return false }}
	v, ok := p.value()
	w := writer{call: &Call{}}
	if !ok || !w.value(v) || len(p.repairs) > 0 {
		return nil, 0, false
	}
	if bare := slices.ContainsFunc(w.call.Repairs, func(r llm.Repair) bool { return r.Rule == "bare-word" }); bare && strings.ContainsAny(text[:p.i], `"'`) {
		return nil, 0, false // a variable of a program
	}
	return json.RawMessage(w.b.String()), p.i, true
}
