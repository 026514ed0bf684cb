// Package outputfields reads the outputs of Conductor workflows.
package outputfields

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/schema"
)

// maxFieldDepth is how deep fields may be nested.
const maxFieldDepth = 10

// Schema returns the schema of an object with these fields, as the outputs of
// Conductor workflows are described: by name, each with a type (string, number,
// integer, boolean, array or object), a description, constraints, items and
// properties, and nullable. All fields are required, except properties of objects
// that say required: false. A word that is not known is an error that names its
// field; a constraint that is misspelt would not hold.
func Schema(fields map[string]any) (schema.Schema, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("schema: there are no fields")
	}
	object, err := objectOf(fields, "", 1)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if _, err := schema.Compile(out); err != nil { // a constraint with a value that it cannot have
		return nil, err
	}
	return out, nil
}

func objectOf(fields map[string]any, path string, depth int) (map[string]any, error) {
	properties, required := make(map[string]any), []string{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := path + name
		field, ok := fields[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the field %s is not a description with a type", at)
		}
		needed, ok := true, true
		if r, there := field["required"]; there {
			if needed, ok = r.(bool); !ok || path == "" {
				return nil, fmt.Errorf("the field %s: required can only be true or false, inside an object", at)
			}
		}
		p, err := fieldOf(field, at, depth)
		if err != nil {
			return nil, err
		}
		properties[name] = p
		if needed {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, nil
}

// fieldWords are the constraints that a field of each type may have.
var fieldWords = map[string][]string{
	"string":  {"enum", "pattern", "minLength", "maxLength"},
	"number":  {"enum", "minimum", "maximum"},
	"integer": {"enum", "minimum", "maximum"},
	"boolean": {},
	"array":   {"items", "minItems", "maxItems"},
	"object":  {"properties"},
}

func fieldOf(field map[string]any, at string, depth int) (map[string]any, error) {
	if depth > maxFieldDepth {
		return nil, fmt.Errorf("the field %s is nested deeper than %d", at, maxFieldDepth)
	}
	kind, _ := field["type"].(string)
	words, ok := fieldWords[kind]
	if !ok {
		return nil, fmt.Errorf("the field %s has the type %v; there are string, number, integer, boolean, array and object", at, field["type"])
	}
	out := map[string]any{"type": kind}
	nullable := false
	for _, word := range slices.Sorted(maps.Keys(field)) {
		value := field[word]
		switch {
		case word == "type" || word == "required":
		case word == "nullable":
			if nullable, ok = value.(bool); !ok {
				return nil, fmt.Errorf("the field %s: nullable is neither true nor false", at)
			}
		case word == "description":
			out[word] = value
		case !slices.Contains(words, word):
			return nil, fmt.Errorf("the field %s: %s means nothing for the type %s", at, word, kind)
		case word == "properties" || word == "items":
			if err := nested(out, word, value, at, depth); err != nil {
				return nil, err
			}
		default:
			out[word] = value
		}
	}
	if nullable {
		out["type"] = []string{kind, "null"}
		if values, ok := out["enum"].([]any); ok {
			out["enum"] = append(slices.Clone(values), nil)
		}
	}
	return out, nil
}

// nested reads the items of an array or the properties of an object.
func nested(out map[string]any, word string, value any, at string, depth int) error {
	inside, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("the field %s: %s is not a description", at, word)
	}
	if word == "items" {
		item, err := fieldOf(inside, at+"[]", depth+1)
		out["items"] = item
		return err
	}
	object, err := objectOf(inside, at+".", depth+1)
	if err != nil {
		return err
	}
	for _, key := range []string{"properties", "required", "additionalProperties"} {
		out[key] = object[key]
	}
	return nil
}
