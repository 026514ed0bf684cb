package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/schema"
)

// maxSchema limits the definitions of one tool: a model gets all of them with
// every request.
const maxSchema = 48 << 10

// converter merges the schemas of an operation into one JSON Schema. References
// lead to definitions within that schema, which allows recursive schemas.
type converter struct {
	d      *Document
	report func(where, what string)
	body   bool // of a request: properties that only the server sets are omitted

	names   map[string]string // of definitions, by reference
	pending []string          // references whose definitions are not written yet
	defs    map[string]any
	size    int
}

// Keywords by the kind of their value. Other keywords are omitted: they do not
// restrict the valid values.
var (
	plainKeywords = strings.Fields(`type enum const format description default title
		minimum maximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minProperties maxProperties
		required dependentRequired minContains maxContains contentMediaType contentEncoding examples`)
	schemaKeywords = strings.Fields("items additionalProperties not contains propertyNames if then else unevaluatedItems unevaluatedProperties")
	listKeywords   = strings.Fields("allOf anyOf oneOf prefixItems")
	mapKeywords    = strings.Fields("properties patternProperties dependentSchemas")
)

// schema converts a schema and the schemas inside it.
func (c *converter) schema(node any, where string) any {
	m, ok := node.(map[string]any)
	if !ok {
		return node // true and false are schemas in version 3.1
	}
	if ref, ok := m[hole].(string); ok {
		c.report(where, "its schema is not in the document ("+ref+"): any value is taken")
		return map[string]any{}
	}
	if ref, ok := m["$ref"].(string); ok {
		out := map[string]any{"$ref": "#/$defs/" + c.name(ref)}
		if text, ok := m["description"].(string); ok {
			out["description"] = text
		}
		return out
	}
	out := make(map[string]any)
	for _, key := range plainKeywords {
		if v, ok := m[key]; ok {
			out[key] = v
		}
	}
	for _, key := range schemaKeywords {
		if v, ok := m[key]; ok {
			out[key] = c.schema(v, where)
		}
	}
	for _, key := range listKeywords {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			each := make([]any, len(list))
			for i, v := range list {
				each[i] = c.schema(v, where)
			}
			out[key] = each
		}
	}
	for _, key := range mapKeywords {
		if parts, ok := m[key].(map[string]any); ok {
			out[key] = c.parts(parts, where)
		}
	}
	c.omitReadOnly(m, out)
	return c.older(m, out, where)
}

func (c *converter) parts(parts map[string]any, where string) map[string]any {
	out := make(map[string]any, len(parts))
	for name, v := range parts {
		out[name] = c.schema(v, where+"."+name)
	}
	return out
}

// omitReadOnly removes the properties of a body that only the server sets.
func (c *converter) omitReadOnly(m, out map[string]any) {
	properties, _ := m["properties"].(map[string]any)
	kept, _ := out["properties"].(map[string]any)
	required, _ := out["required"].([]any)
	if !c.body || properties == nil {
		return
	}
	for name, v := range properties {
		p, _ := v.(map[string]any)
		if ref, ok := p["$ref"].(string); ok {
			target, _ := pointer(c.d.tree, ref)
			p, _ = target.(map[string]any)
		}
		if p["readOnly"] == true {
			delete(kept, name)
			required = slices.DeleteFunc(slices.Clone(required), func(v any) bool { return v == name })
		}
	}
	if delete(out, "required"); len(required) > 0 {
		out["required"] = required
	}
}

// older converts keywords of version 3.0 to JSON Schema, and omits keywords
// that would make the schema useless.
func (c *converter) older(m, out map[string]any, where string) any {
	for _, bound := range []string{"Minimum", "Maximum"} {
		key, plain := "exclusive"+bound, strings.ToLower(bound)
		switch v := m[key].(type) {
		case bool:
			if limit, ok := m[plain]; ok && v {
				delete(out, plain)
				out[key] = limit
			}
		case nil:
		default:
			out[key] = v
		}
	}
	if p, ok := out["pattern"].(string); ok {
		if _, err := schema.Compile(mustJSON(map[string]any{"pattern": p})); err != nil {
			c.report(where, "its pattern cannot be checked here and is left to the server")
			delete(out, "pattern")
		}
	}
	if list, ok := out["required"].([]any); ok && len(list) == 0 {
		delete(out, "required")
	}
	if out["type"] == "file" {
		out["type"] = "string"
	}
	if m["nullable"] != true {
		return out
	}
	if enum, ok := out["enum"].([]any); ok && !slices.Contains(enum, nil) {
		out["enum"] = append(slices.Clone(enum), nil)
	}
	if kind, ok := out["type"].(string); ok {
		out["type"] = []any{kind, "null"}
		return out
	}
	return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
}

// name returns the definition that a reference leads to.
func (c *converter) name(ref string) string {
	if name, ok := c.names[ref]; ok {
		return name
	}
	base := ref[strings.LastIndexByte(ref, '/')+1:]
	base = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, unescape.Replace(base))
	name := base
	for n := 2; slices.Contains(slices.Collect(maps.Values(c.names)), name); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	c.names[ref] = name
	c.pending = append(c.pending, ref)
	return name
}

// finish writes the definitions that are referred to, the nearest first, as many
// as there is room for.
func (c *converter) finish(root map[string]any) (schema.Schema, error) {
	c.size = len(mustJSON(root))
	for len(c.pending) > 0 {
		ref := c.pending[0]
		c.pending = c.pending[1:]
		name := c.names[ref]
		target, _ := pointer(c.d.tree, ref)
		def := c.schema(target, name)
		size := len(mustJSON(def))
		if c.size+size > maxSchema {
			c.report(name, fmt.Sprintf("its definitions are more than %d bytes: any value is taken here", maxSchema))
			def, size = map[string]any{}, 2
		}
		c.size += size
		c.defs[name] = def
	}
	c.prune(root)
	if len(c.defs) > 0 {
		root["$defs"] = c.defs
	}
	text := mustJSON(root)
	_, err := schema.Compile(text)
	return text, err
}

// prune removes definitions without references.
func (c *converter) prune(root any) {
	used := make(map[string]bool)
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				if name := strings.TrimPrefix(ref, "#/$defs/"); !used[name] {
					used[name] = true
					walk(c.defs[name])
				}
			}
			for _, v := range node {
				walk(v)
			}
		case []any:
			for _, v := range node {
				walk(v)
			}
		}
	}
	walk(root)
	maps.DeleteFunc(c.defs, func(name string, _ any) bool { return !used[name] })
}

// mustJSON writes a tree that was read from JSON.
func mustJSON(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}
