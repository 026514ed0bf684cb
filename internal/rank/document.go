package rank

import (
	"maps"
	"slices"
	"strings"
)

// The weights of a tool's fields.
const (
	nameWeight        = 2
	descriptionWeight = 1
	paramWeight       = 0.6 // names of parameters
	paramTextWeight   = 0.6 // their descriptions and allowed values

	nameMeaning, descriptionMeaning, paramMeaning = 1.5, 1, 0.2
)

// Document returns the fields of a tool: its name, its description, and the
// names, descriptions and allowed values of its parameters, from a JSON Schema
// as encoding/json decodes it.
func Document(name, description string, schema map[string]any) []Field {
	var names, texts strings.Builder
	collect(schema, 0, &names, &texts)
	return []Field{
		{name, nameWeight, nameMeaning}, {description, descriptionWeight, descriptionMeaning},
		{names.String(), paramWeight, paramMeaning}, {texts.String(), paramTextWeight, 0},
	}
}

// maxDepth limits the depth of parameters.
const maxDepth = 4

func collect(schema map[string]any, depth int, names, texts *strings.Builder) {
	if depth > maxDepth {
		return
	}
	props, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		names.WriteString(name + "\n")
		p, _ := props[name].(map[string]any)
		if d, ok := p["description"].(string); ok {
			texts.WriteString(d + "\n")
		}
		if values, ok := p["enum"].([]any); ok {
			for _, v := range values {
				if s, ok := v.(string); ok {
					texts.WriteString(s + "\n")
				}
			}
		}
		collect(p, depth+1, names, texts)
		if items, ok := p["items"].(map[string]any); ok {
			collect(items, depth+1, names, texts)
		}
	}
}
