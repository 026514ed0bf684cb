package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/schema"
)

// conforms checks a narrowed schema against what the vendor's API refuses. It
// is written from the vendors' pages and error messages, not from the tables
// of this package.
func conforms(vendor schema.Vendor, n schema.Narrowed) error {
	var root map[string]any
	if err := json.Unmarshal(n.Schema, &root); err != nil {
		return err
	}
	if root["type"] != "object" {
		return fmt.Errorf("the root is of type %v", root["type"])
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref"} {
		if _, ok := root[k]; ok {
			return fmt.Errorf("%s at the root", k)
		}
	}
	c := checker{root: root}
	switch {
	case vendor == schema.OpenAI && n.Strict:
		return c.walk(root, "", c.openaiStrict)
	case vendor == schema.OpenAI:
		return c.walk(root, "", c.openaiLoose)
	case vendor == schema.Anthropic && n.Strict:
		return c.walk(root, "", c.anthropicStrict)
	case vendor == schema.Anthropic:
		return c.walk(root, "", c.anthropicLoose)
	case vendor == schema.Gemini:
		return c.walk(root, "", c.gemini)
	}
	return c.walk(root, "", c.ollama)
}

type checker struct{ root map[string]any }

// walk applies check to every schema it can reach.
func (c checker) walk(s any, at string, check func(map[string]any, string) error) error {
	m, ok := s.(map[string]any)
	if !ok {
		if _, ok := s.(bool); ok {
			return nil
		}
		return fmt.Errorf("%s is no schema", at)
	}
	if err := check(m, at); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	for _, k := range []string{"properties", "$defs"} {
		sub, _ := m[k].(map[string]any)
		for name, p := range sub {
			if err := c.walk(p, at+"/"+k+"/"+name, check); err != nil {
				return err
			}
		}
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, _ := m[k].([]any)
		for i, p := range list {
			if err := c.walk(p, fmt.Sprintf("%s/%s/%d", at, k, i), check); err != nil {
				return err
			}
		}
	}
	for _, k := range []string{"items", "additionalProperties", "not", "contains"} {
		if p, ok := m[k].(map[string]any); ok {
			if err := c.walk(p, at+"/"+k, check); err != nil {
				return err
			}
		}
	}
	return nil
}

func only(m map[string]any, known string) error {
	for k := range m {
		if !slices.Contains(strings.Fields(known), k) {
			return fmt.Errorf("%s is not permitted", k)
		}
	}
	return nil
}

func has(m map[string]any, k string) bool {
	_, ok := m[k]
	return ok
}

func isType(m map[string]any, t string) bool {
	list, ok := m["type"].([]any)
	return ok && contains(list, t) || m["type"] == t
}

func (c checker) refs(m map[string]any) error {
	ref, ok := m["$ref"].(string)
	if !ok {
		return nil
	}
	defs, _ := c.root["$defs"].(map[string]any)
	if !has(defs, strings.TrimPrefix(ref, "#/$defs/")) {
		return fmt.Errorf("the reference %s leads nowhere", ref)
	}
	return nil
}

func (c checker) closed(m map[string]any, all bool) error {
	if !isType(m, "object") {
		return nil
	}
	if m["additionalProperties"] != false {
		return fmt.Errorf("additionalProperties is %v", m["additionalProperties"])
	}
	props, ok := m["properties"].(map[string]any)
	if !ok {
		return fmt.Errorf("no properties")
	}
	required, _ := m["required"].([]any)
	for _, r := range required {
		if !has(props, r.(string)) {
			return fmt.Errorf("required %v is not declared", r)
		}
	}
	if all && len(required) != len(props) {
		return fmt.Errorf("%d of %d properties are required", len(required), len(props))
	}
	return nil
}

func (c checker) openaiStrict(m map[string]any, at string) error {
	if err := only(m, "type description title properties required additionalProperties items enum const anyOf $ref $defs pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"); err != nil {
		return err
	}
	if has(m, "$ref") && len(m) > 1 {
		return fmt.Errorf("keywords beside $ref")
	}
	if !has(m, "type") && !has(m, "anyOf") && !has(m, "$ref") {
		return fmt.Errorf("no type")
	}
	if f, ok := m["format"].(string); ok && !slices.Contains(strings.Fields("date-time time date duration email hostname ipv4 ipv6 uuid"), f) {
		return fmt.Errorf("format %s", f)
	}
	if isType(m, "array") && !has(m, "items") {
		return fmt.Errorf("array schema missing items")
	}
	if list, ok := m["anyOf"].([]any); ok && len(list) == 0 {
		return fmt.Errorf("empty anyOf")
	}
	if err := c.refs(m); err != nil {
		return err
	}
	return c.closed(m, true)
}

func (c checker) openaiLoose(m map[string]any, _ string) error {
	if m["type"] == "array" && !has(m, "items") {
		return fmt.Errorf("array schema missing items")
	}
	return c.refs(m)
}

func (c checker) anthropicStrict(m map[string]any, at string) error {
	if err := only(m, "type description title properties required additionalProperties items enum const anyOf $ref $defs pattern format minItems default"); err != nil {
		return err
	}
	if v, ok := m["minItems"].(float64); ok && v > 1 {
		return fmt.Errorf("minItems %v", v)
	}
	if err := c.anthropicLoose(m, at); err != nil {
		return err
	}
	return c.closed(m, false)
}

func (c checker) anthropicLoose(m map[string]any, _ string) error {
	props, _ := m["properties"].(map[string]any)
	for name := range props {
		if len(name) == 0 || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
			return fmt.Errorf("property key %q", name)
		}
	}
	return c.refs(m)
}

func (c checker) gemini(m map[string]any, _ string) error {
	if err := only(m, "type format title description nullable enum items maxItems minItems properties required minProperties maxProperties minimum maximum minLength maxLength pattern default anyOf propertyOrdering"); err != nil {
		return err
	}
	if has(m, "anyOf") {
		if len(m) > 1 {
			return fmt.Errorf("other fields alongside any_of")
		}
		return nil
	}
	t, ok := m["type"].(string)
	if !ok {
		return fmt.Errorf("type must be specified when not using any_of: %v", m["type"])
	}
	if t != "object" && (has(m, "properties") || has(m, "required")) {
		return fmt.Errorf("properties: only allowed for OBJECT type")
	}
	if (t == "array") != has(m, "items") {
		return fmt.Errorf("items: field predicate failed")
	}
	enum, _ := m["enum"].([]any)
	for _, v := range enum {
		if s, ok := v.(string); !ok || s == "" || t != "string" {
			return fmt.Errorf("enum: only non-empty strings, got %v on %s", v, t)
		}
	}
	if f, ok := m["format"].(string); ok && t == "string" && f != "enum" && f != "date-time" {
		return fmt.Errorf("format %s", f)
	}
	props, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	for _, r := range required {
		if !has(props, r.(string)) {
			return fmt.Errorf("required %v: property is not defined", r)
		}
	}
	return nil
}

// ollama checks that the server's own types would keep everything. Items are
// kept as they are.
func (c checker) ollama(m map[string]any, at string) error {
	if strings.Contains(at, "/items") {
		return nil
	}
	known := "type description enum properties items anyOf title"
	if at == "" {
		known += " required"
	}
	if err := only(m, known); err != nil {
		return err
	}
	if _, ok := m["properties"]; ok && at == "" && m["properties"] == nil {
		return fmt.Errorf("properties is null")
	}
	return nil
}
