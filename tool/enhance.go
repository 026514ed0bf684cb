package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Enhance returns a definition whose description includes facts from its schema
// and the effects: bounds, formats and defaults of parameters, and whether it
// only reads. It does not invent facts. It also returns the added sentences. A
// second call adds nothing.
//
// It helps with models that see little of the schema. Models that see all of it
// would read everything twice, so it is never applied by default.
func Enhance(d llm.ToolDef, effects Effects) (llm.ToolDef, []string) {
	var all []string
	switch {
	case effects.Has(ReadOnly):
		all = append(all, onlyReads)
	case effects.Has(Idempotent):
		all = append(all, onceIsEnough)
	}
	all = append(all, statements(d.Schema)...)
	added := slices.DeleteFunc(all, func(s string) bool { return strings.Contains(d.Description, s) })
	if len(added) > 0 {
		d.Description = strings.TrimSpace(d.Description + "\n" + strings.Join(added, " "))
	}
	return d, slices.Clip(added)
}

// The effects in words for a model.
const (
	onlyReads    = "It only reads."
	onceIsEnough = "The same call twice has the effect of one."
)

// statements returns a sentence for each parameter of which the schema states
// something.
func statements(s json.RawMessage) []string {
	var out []string
	for _, p := range parameters(s) {
		if len(p.facts) > 0 {
			out = append(out, p.name+": "+strings.Join(p.facts, ", ")+".")
		}
	}
	return out
}

// withoutEnhancement returns a description without the line that Enhance added.
// The same questions then find an enhanced definition and a plain one.
func withoutEnhancement(d llm.ToolDef) string {
	i := strings.LastIndexByte(d.Description, '\n')
	if i < 0 {
		return d.Description
	}
	line := d.Description[i:]
	for _, s := range append(statements(d.Schema), onlyReads, onceIsEnough) {
		line = strings.Replace(line, s, "", 1)
	}
	if strings.TrimSpace(line) != "" {
		return d.Description
	}
	return d.Description[:i]
}

// longestFact limits the text about one keyword, in bytes.
const longestFact = 60

// facts returns the facts about its values in the keywords of a property.
func facts(keys map[string]json.RawMessage) []string {
	var out []string
	for _, k := range []struct{ keyword, format string }{
		{"format", "in the format %s"}, {"pattern", "of the form %s"}, {"minimum", "at least %s"}, {"exclusiveMinimum", "more than %s"},
		{"maximum", "at most %s"}, {"exclusiveMaximum", "less than %s"}, {"multipleOf", "a multiple of %s"}, {"minLength", "at least %s characters"},
		{"maxLength", "at most %s characters"}, {"minItems", "at least %s items"}, {"maxItems", "at most %s items"}, {"default", "%s if left out"},
	} {
		value := strings.Trim(string(bytes.TrimSpace(keys[k.keyword])), `"`)
		if value != "" && value != "null" && len(value) <= longestFact && !strings.ContainsAny(value, "\n\r") {
			out = append(out, fmt.Sprintf(k.format, value))
		}
	}
	return out
}
