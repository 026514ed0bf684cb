package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
)

// questions are the questions that a good definition answers. Each is worth a fifth.
var questions = []struct {
	rule, problem, fix string
	answered           func(*audit) bool
}{
	{"no-example", "there is no example of a call, nor of what its free parameters hold", `Give examples in the schema, or a call in the description: {"city": "Rome"}.`, (*audit).showsExample},
	{"no-edge-cases", "nothing is said about limits, defaults or what comes back", "Give numbers and lists their bounds, optional parameters their defaults, and say what it returns.", (*audit).knowsEdges},
	{"no-input-format", "the form of some input is left open", "Name the format: a relative path, an ISO 8601 date, a two-letter country code; or restrict it in the schema.", (*audit).showsFormat},
	{"no-boundaries", "nothing is said about when this is the wrong tool", `Say what it is not for, and which tool is: "It does not search inside files; search_files does."`, (*audit).drawsBoundaries},
	{"unclear-parameter", "a parameter can be mistaken for something else", "Describe each parameter in a sentence, or give it a name that says what it holds.", (*audit).namesParameters},
}

// showsExample reports whether a model sees an example of a call.
func (a *audit) showsExample() bool {
	if len(a.def.Examples) > 0 || a.shownCall() {
		return true
	}
	free, shown := 0, 0
	for _, p := range a.params {
		if p.closed {
			continue
		}
		free++
		if p.example || literal(p.description) {
			shown++
		}
	}
	return 2*shown >= free
}

// shownCall reports whether the description holds arguments of a call.
func (a *audit) shownCall() bool {
	text := a.def.Description
	for i := strings.IndexByte(text, '{'); i >= 0; {
		var args map[string]json.RawMessage
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&args) == nil && len(args) > 0 {
			return !slices.ContainsFunc(slices.Collect(maps.Keys(args)), func(name string) bool {
				return !slices.ContainsFunc(a.params, func(p parameter) bool { return p.name == name })
			})
		}
		next := strings.IndexByte(text[i+1:], '{')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return false
}

// knowsEdges reports whether the description states the limits of the tool: a
// sentence states a condition, or there are other sentences than the first and
// half of the parameters document their limits or their default.
func (a *audit) knowsEdges() bool {
	known, of := 0, 0
	for _, p := range a.params {
		if p.closed && p.required {
			continue
		}
		of++
		if p.bounded || p.fallback || !p.required && literal(p.description) {
			known++
		}
	}
	states := func(s string) bool { return has(s, conditions) }
	return slices.ContainsFunc(a.sentences, states) || len(a.sentences) >= 2 && 2*known >= of
}

// showsFormat reports whether a model knows the format of each parameter.
func (a *audit) showsFormat() bool {
	return !slices.ContainsFunc(a.params, func(p parameter) bool {
		return p.free() && !p.example && !p.bounded && !literal(p.description) && p.news() < 2
	})
}

// drawsBoundaries reports whether the description excludes some uses or refers
// to another tool, and no other tool has nearly the same description.
func (a *audit) drawsBoundaries() bool {
	return !a.alike && (a.refers || slices.ContainsFunc(a.sentences, denies))
}

// Words that state a condition, and words that deny or restrict.
var conditions = []string{"if", "when", "unless", "otherwise", "empty", "fails", "fail", "error", "missing", "until", "most", "least", "larger", "longer", "up"}
var denials = []string{"not", "never", "only", "cannot", "without", "except", "instead", "unless", "no", "don't", "doesn't", "can't", "won't", "rather"}

// denies reports whether a sentence denies or restricts something.
func denies(sentence string) bool { return has(sentence, denials) }

// has reports whether a sentence has one of the words, and other words too: the
// listed words alone do not count.
func has(sentence string, list []string) bool {
	words := strings.FieldsFunc(strings.ToLower(sentence), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	n := 0
	for _, w := range words {
		if slices.Contains(list, w) {
			n++
		}
	}
	return n > 0 && len(words) >= max(4, 2*n)
}

// namesParameters reports whether each parameter is unmistakable.
func (a *audit) namesParameters() bool { return !slices.ContainsFunc(a.params, parameter.unclear) }

// parameter is an audit's view of a property of the schema.
type parameter struct {
	name, description string
	kind              string // of the schema; "" if it names none, or several
	required          bool
	nullable          bool // null is a value
	typed             bool
	closed            bool     // an enum, a constant or a boolean
	bounded           bool     // the schema restricts the values of the type
	fallback          bool     // the schema has a default
	facts             []string // that the schema states about its values
	example           bool     // the schema has an example
}

// free reports whether a model must invent the value.
func (p parameter) free() bool {
	return !p.closed && (p.kind == "string" || p.kind == "")
}

// ambiguous are names that do not explain a parameter without a description.
var ambiguous = []string{"user", "file", "path", "id", "name", "data", "value", "input", "arg", "args", "param", "options", "text", "type", "x"}

// unclear reports whether neither name nor description nor type explains the value.
func (p parameter) unclear() bool {
	if p.closed && len(p.name) > 1 {
		return false
	}
	if slices.Contains(ambiguous, strings.ToLower(p.name)) || utf8.RuneCountInString(p.name) < 2 {
		return p.news() < 2
	}
	return p.news() < 1 && !p.bounded && len(rank.Stems(p.name)) < 2
}

// news counts the words of its description that are not in its name.
func (p parameter) news() int {
	said := rank.Stems(p.name)
	n := 0
	for _, w := range rank.Stems(p.description) {
		if !slices.Contains(said, w) {
			said = append(said, w)
			n++
		}
	}
	return n
}

// literal reports whether a text quotes a value, or contains a value other than
// a word: a date, a path, an address, a number.
func literal(text string) bool {
	for _, quote := range []string{"`", `"`, "“"} {
		if strings.Contains(text, quote) {
			return true
		}
	}
	for _, marker := range []string{"e.g. ", "e.g., ", "such as ", "for example", "like "} {
		if _, rest, found := strings.Cut(text, marker); found && strings.TrimSpace(rest) != "" {
			return true
		}
	}
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, ".,;:()[]")
		if quoted(word) || strings.ContainsFunc(word, unicode.IsDigit) || strings.ContainsAny(strings.TrimLeft(word, "/"), "/@_") {
			return true
		}
	}
	return false
}

// quoted reports whether a word begins with a single quote.
func quoted(word string) bool { return len(word) > 2 && word[0] == '\'' }

// parameters returns the properties of a schema, by name.
func parameters(raw json.RawMessage) []parameter {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	var out []parameter
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := readParameter(s.Properties[name])
		p.name, p.required = name, slices.Contains(s.Required, name)
		out = append(out, p)
	}
	return out
}

func readParameter(raw json.RawMessage) parameter {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		keys = nil
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(k string) bool { return keys[k] != nil })
	}
	var p parameter
	_ = json.Unmarshal(keys["description"], &p.description) // a value of another type is ignored
	var kinds []string
	if json.Unmarshal(keys["type"], &p.kind) != nil && json.Unmarshal(keys["type"], &kinds) == nil {
		p.nullable = slices.Contains(kinds, "null")
		if kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" }); len(kinds) == 1 {
			p.kind = kinds[0]
		}
	}
	p.closed = has("enum", "const") || p.kind == "boolean"
	p.bounded = p.closed || has("pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "properties")
	p.fallback, p.example = has("default"), has("examples", "example", "default")
	p.facts = facts(keys)
	p.typed = has("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf")
	return p
}

// keywordScore is the score of a checker that looks for words in the description.
func keywordScore(d llm.ToolDef, params []parameter) float64 {
	text := strings.ToLower(d.Description)
	n := 0
	for _, words := range [][]string{
		{"example", "e.g.", "for instance", "such as", "like:"},
		{"note:", "warning:", "caution:", "important:", "edge case"},
		{"format:", "must be", "should be", "expects", "accepts"},
		{"do not use", "instead use", "not for"},
	} {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			n++
		}
	}
	if !slices.ContainsFunc(params, func(p parameter) bool { return slices.Contains(ambiguous[:8], p.name) }) {
		n++
	}
	return float64(n) / 5
}
