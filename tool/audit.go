package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// AuditReport is what an audit of a definition found.
type AuditReport struct {
	Tool string `json:"tool"`
	// Score is the share of five questions a good description answers: is
	// there an example, what happens at the edges, what does input look like,
	// when is it the wrong tool, is each parameter unmistakable.
	Score    float64   `json:"score"`
	Tokens   int       `json:"tokens"` // what it costs in every request, estimated
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one thing a model or a vendor may stumble over.
type Finding struct {
	Rule      string `json:"rule"`                // stable name, like "no-example"
	Parameter string `json:"parameter,omitempty"` // concerned; empty means the tool itself
	Problem   string `json:"problem"`
	Fix       string `json:"fix"`
}

// Audit looks at definitions the way a model that knows nothing else does, and
// reports on each, in order. It does not judge whether they are true.
func Audit(defs []llm.ToolDef) []AuditReport {
	reports := make([]AuditReport, len(defs))
	names, texts := make(map[string]int), make(map[string]string)
	for i, d := range defs {
		a := audit{def: d, params: parameters(d.Schema)}
		r := a.run()
		if names[d.Name]++; names[d.Name] > 1 {
			r.add("duplicate-name", "", "another tool has the same name", "Rename one, or put them in namespaces.")
		}
		if other, ok := texts[d.Description]; ok && d.Description != "" && other != d.Name {
			r.add("duplicate-description", "", "it is described in the same words as "+other,
				"Say what this one does that the other does not.")
		}
		texts[d.Description] = d.Name
		reports[i] = r
	}
	return reports
}

func (r *AuditReport) add(rule, parameter, problem, fix string) {
	r.Findings = append(r.Findings, Finding{rule, parameter, problem, fix})
}

type audit struct {
	def    llm.ToolDef
	params []parameter
}

// parameter is what an audit looks at in a property of the schema.
type parameter struct {
	name, description string
	required          bool
	constrained       bool // the schema says more than the type
	typed             bool
}

// questions are what a good description answers. Each is worth a fifth.
var questions = []struct {
	rule, problem, fix string
	answered           func(audit) bool
}{
	{"no-example", "there is no example of a call", `Add one: Example: {"city": "Rome"}.`,
		func(a audit) bool { return len(a.def.Examples) > 0 || a.says("example", "e.g.", "for instance") }},
	{"no-edge-cases", "nothing is said about limits, empty results or errors",
		"Say what comes back when nothing is found, when it fails, and what the limits are.",
		func(a audit) bool {
			return a.says("if ", "when ", "unless", "empty", "error", "fail", "not found", "at most", "up to", "limit", "default", "maximum")
		}},
	{"no-input-format", "nothing is said about what input looks like",
		"Name the format: a relative path, an ISO 8601 date, a two-letter country code; or restrict it in the schema.",
		audit.showsFormat},
	{"no-boundaries", "nothing is said about when this is the wrong tool",
		`Say what it is not for and what to use instead: "Do not use it for …; use … instead."`,
		func(a audit) bool {
			return a.says("do not", "don't", "not for", "instead", "never", "only", "cannot", "does not", "must not")
		}},
	{"unclear-parameter", "a parameter can be mistaken for something else",
		"Describe each parameter in a sentence, or give it a name that says what it holds.",
		func(a audit) bool { return !slices.ContainsFunc(a.params, parameter.unclear) }},
}

func (a audit) run() AuditReport {
	r := AuditReport{Tool: a.def.Name, Tokens: llm.EstimateTool(a.def)}
	answered := 0
	for _, q := range questions {
		if q.answered(a) {
			answered++
		} else {
			r.add(q.rule, "", q.problem, q.fix)
		}
	}
	r.Score = float64(answered) / float64(len(questions))
	a.wording(&r)
	a.parameters(&r)
	a.schema(&r)
	return r
}

// schema reports what cannot be used at all, and what a vendor will not hold a
// model to.
func (a audit) schema(r *AuditReport) {
	if len(a.def.Schema) == 0 {
		return
	}
	if _, err := schema.Compile(a.def.Schema); err != nil {
		r.add("broken-schema", "", err.Error(), "Mend it; no call can be validated as it is.")
		return
	}
	lost := make(map[string][]string) // place and keyword → vendors
	var order []schema.Loss
	for _, v := range schema.Vendors() {
		n, err := schema.Narrow(a.def.Schema, v, false)
		if err != nil {
			r.add("vendor-loss", "", fmt.Sprintf("it cannot be written for %s: %v", v, err), "Make it simpler.")
			continue
		}
		for _, l := range n.Losses {
			key := l.Path + " " + l.Keyword
			if lost[key] == nil {
				order = append(order, l)
			}
			lost[key] = append(lost[key], string(v))
		}
	}
	for _, l := range order {
		r.add("vendor-loss", strings.TrimPrefix(l.Path, "/properties/"),
			fmt.Sprintf("%s does not hold a model to %q", strings.Join(lost[l.Path+" "+l.Keyword], " or "), l.Keyword),
			"Calls are validated here all the same. If models break it often, say it in words.")
	}
}

// The lengths of descriptions that are too short to say anything, and long
// enough to be cut or to cost more than they help.
const (
	shortDescription = 20
	longDescription  = 1024
	shortParameter   = 10
)

// Words that take space and say nothing, and words that sell.
var (
	vague     = []string{"stuff", "things", "various", "etc", "misc", "miscellaneous", "somehow", "whatever", "handles", "processes", "and more"}
	marketing = []string{"powerful", "seamless", "seamlessly", "amazing", "revolutionary", "cutting-edge", "effortless",
		"effortlessly", "world-class", "best-in-class", "innovative", "blazing", "state-of-the-art", "unleash", "elevate", "empower"}
)

func (a audit) wording(r *AuditReport) {
	if !ValidName(a.def.Name) {
		r.add("invalid-name", "", fmt.Sprintf("%.80q is a name some vendor refuses", a.def.Name),
			"Use 1 to 64 letters, digits, _ and -; as it is, it would be sent as "+SafeName(a.def.Name)+".")
	}
	switch n := utf8.RuneCountInString(a.def.Description); {
	case n == 0:
		r.add("no-description", "", "there is no description", "Say what it does, when not to use it, and what its input looks like.")
	case n < shortDescription:
		r.add("short-description", "", fmt.Sprintf("the description has %d characters", n), "Say in a sentence or two what it does and returns.")
	case n > longDescription:
		r.add("long-description", "", fmt.Sprintf("the description has %d characters, and every request pays for them", n), "Keep what changes a decision; some vendors cut the rest.")
	}
	if w := a.words(vague); w != "" {
		r.add("vague-words", "", "vague: "+w, "Say which.")
	}
	if w := a.words(marketing); w != "" {
		r.add("marketing-words", "", "praise: "+w, "Delete it; a model chooses by what a tool does.")
	}
}

func (a audit) parameters(r *AuditReport) {
	for _, p := range a.params {
		n := utf8.RuneCountInString(p.description)
		switch {
		case n == 0 && p.required:
			r.add("undocumented-required", p.name, "it is required and has no description", "Say what it holds, in what form, with an example.")
		case n == 0:
			r.add("undocumented", p.name, "it has no description", "Say what it holds and what happens without it.")
		case n < shortParameter:
			r.add("short-parameter", p.name, fmt.Sprintf("its description has %d characters", n), "Say what it holds, in what form.")
		}
		if !p.typed {
			r.add("untyped", p.name, "its schema names no type", "Name the type, so that a wrong value is found before it is used.")
		}
	}
}

// says reports whether the description, or that of a parameter, has one of the
// phrases.
func (a audit) says(phrases ...string) bool {
	texts := []string{a.def.Description}
	for _, p := range a.params {
		texts = append(texts, p.description)
	}
	text := strings.ToLower(strings.Join(texts, "\n"))
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}

func (a audit) showsFormat() bool {
	if len(a.params) == 0 || a.says("format", "iso ", "iso-", "relative", "absolute", "e.g.", "example", "such as", "in the form", "separated", "between") {
		return true
	}
	return !slices.ContainsFunc(a.params, func(p parameter) bool { return !p.constrained })
}

// words returns those of the list that stand in the description.
func (a audit) words(list []string) string {
	text := " " + strings.Map(func(r rune) rune {
		if strings.ContainsRune(".,;:!?()\n\t\"'", r) {
			return ' '
		}
		return r
	}, strings.ToLower(a.def.Description)) + " "
	var found []string
	for _, w := range list {
		if strings.Contains(text, " "+w+" ") {
			found = append(found, w)
		}
	}
	return strings.Join(found, ", ")
}

// ambiguous are names that say nothing of what a parameter holds, unless its
// description does.
var ambiguous = []string{"user", "file", "path", "id", "name", "data", "value", "input", "arg", "args", "param", "options", "text", "type", "x"}

func (p parameter) unclear() bool {
	n := utf8.RuneCountInString(p.description)
	return n < shortParameter && (slices.Contains(ambiguous, strings.ToLower(p.name)) || !p.constrained)
}

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
		var keys map[string]json.RawMessage
		if json.Unmarshal(s.Properties[name], &keys) != nil {
			keys = nil
		}
		p := parameter{name: name, required: slices.Contains(s.Required, name)}
		_ = json.Unmarshal(keys["description"], &p.description) // another type is no description
		for _, k := range []string{"enum", "const", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "items", "properties"} {
			p.constrained = p.constrained || keys[k] != nil
		}
		p.constrained = p.constrained || string(keys["type"]) == `"boolean"`
		for _, k := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
			p.typed = p.typed || keys[k] != nil
		}
		out = append(out, p)
	}
	return out
}
