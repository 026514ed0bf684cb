package emulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// EnvelopeOptions describe the possible answers of a host that decodes under a schema.
type EnvelopeOptions struct {
	Tools  []llm.ToolDef
	Choice llm.ToolChoice // with llm.MustCall, text is not allowed
	// Parallel allows several calls, under "tool_calls".
	Parallel bool
	// RequiredOnly leaves optional parameters out: tiny models fill in
	// whatever they are offered.
	RequiredOnly bool
	// The limits below apply where the tool's own schema has none. They stop small
	// models from writing endlessly. 0 means no limit.
	MaxString  int   // maxLength of strings
	MaxItems   int   // maxItems of arrays, and of "tool_calls"
	MaxInteger int64 // integers lie between -MaxInteger and MaxInteger
}

// TinyEnvelope are bounds for models of a few hundred million parameters.
var TinyEnvelope = EnvelopeOptions{RequiredOnly: true, MaxString: 200, MaxItems: 8, MaxInteger: 1_000_000}

// Envelope returns the JSON Schema of an answer, for hosts that decode under a schema:
// {"name": …, "arguments": {…}} for one of the tools, or, unless the choice demands a
// call, {"type": "text", "text": …}. With Parallel the calls are a list under
// "tool_calls". Parsers read such an answer like any other.
//
// The order of the tools' own keywords and properties is kept, because hosts generate
// in that order. The alternatives are joined by anyOf, which more hosts support than
// oneOf. Each has a different constant, so they exclude each other.
func Envelope(o EnvelopeOptions) (json.RawMessage, error) {
	const op = "emulate.Envelope"
	fail := func(format string, args ...any) (json.RawMessage, error) {
		return nil, &llm.Error{Op: op, Kind: llm.Invalid, Err: fmt.Errorf(format, args...)}
	}
	if o.Choice.Mode == llm.MustNotCall {
		return fail("the choice allows no call")
	}
	tools, err := permitted(op, o.Tools, o.Choice)
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 {
		return fail("no tools")
	}
	var defs object
	var alts []json.RawMessage
	for _, t := range tools {
		args, err := o.arguments(t, &defs)
		if err != nil {
			return fail("the schema of %q: %w", t.Name, err)
		}
		alts = append(alts, closed(field{"name", object{{"const", js.Marshal(t.Name)}}.raw()}, field{"arguments", args}))
	}
	if o.Parallel {
		list := object{{"type", json.RawMessage(`"array"`)}, {"items", anyOf(alts)}, {"minItems", json.RawMessage("1")}}
		if o.MaxItems > 0 {
			list = append(list, field{"maxItems", js.Marshal(o.MaxItems)})
		}
		alts = []json.RawMessage{closed(field{"tool_calls", list.raw()})}
	}
	if o.Choice.Mode != llm.MustCall {
		alts = append(alts, closed(field{"type", json.RawMessage(`{"const":"text"}`)}, field{"text", json.RawMessage(`{"type":"string","minLength":1}`)}))
	}
	root := anyOf(alts)
	if len(defs) > 0 {
		entries, err := readObject(root)
		if err != nil {
			return fail("%w", err)
		}
		root = append(entries, field{"$defs", defs.raw()}).raw()
	}
	return root, nil
}

// arguments returns the schema of a tool's arguments within the envelope. A schema
// with references moves to defs as a whole, to keep the references valid.
func (o EnvelopeOptions) arguments(t llm.ToolDef, defs *object) (json.RawMessage, error) {
	if !json.Valid(argsSchema(t)) {
		return nil, errors.New("it is no JSON")
	}
	base := "#/$defs/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t.Name)
	s, err := o.bound(argsSchema(t), base, 0)
	if err != nil || !bytes.Contains(s, []byte(`"$ref"`)) {
		return s, err
	}
	*defs = append(*defs, field{t.Name, s})
	return object{{"$ref", js.Marshal(base)}}.raw(), nil
}

// maxSchemaDepth bounds how deep a schema is followed.
const maxSchemaDepth = 64

// bound copies a schema with the bounds of o, its references below base.
func (o EnvelopeOptions) bound(raw json.RawMessage, base string, depth int) (json.RawMessage, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxSchemaDepth)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && (raw[0] == 't' || raw[0] == 'f') { // true and false are schemas
		return raw, nil
	}
	entries, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	var required []string
	for _, m := range entries {
		if m.key == "required" {
			_ = json.Unmarshal(m.value, &required) // wrong: none
		}
	}
	out := make(object, 0, len(entries)+2)
	for _, m := range entries {
		switch m.key {
		case "$schema", "$id", "$comment", "examples", "default", "title":
			continue // nothing that restricts
		case "$ref":
			m.value = js.Marshal(base + strings.TrimPrefix(js.Decode[string](m.value), "#"))
		case "properties", "$defs", "definitions", "patternProperties":
			m.value, err = o.boundEach(m, required, base, depth)
		case "items", "additionalProperties", "not":
			m.value, err = o.boundItems(m.value, base, depth)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			m.value, err = o.boundList(m.value, base, depth)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return append(out, o.limits(raw)...).raw(), nil
}

func (o EnvelopeOptions) boundEach(m field, required []string, base string, depth int) (json.RawMessage, error) {
	entries, err := readObject(m.value)
	if err != nil {
		return nil, err
	}
	out := entries[:0:0]
	for _, p := range entries {
		if o.RequiredOnly && m.key == "properties" && !slices.Contains(required, p.key) {
			continue
		}
		if p.value, err = o.bound(p.value, base, depth+1); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out.raw(), nil
}

// boundItems bounds one schema, or a list of them as draft-07 has it.
func (o EnvelopeOptions) boundItems(raw json.RawMessage, base string, depth int) (json.RawMessage, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return o.boundList(raw, base, depth)
	}
	return o.bound(raw, base, depth+1)
}

func (o EnvelopeOptions) boundList(raw json.RawMessage, base string, depth int) (json.RawMessage, error) {
	var out []json.RawMessage
	for _, alt := range js.Decode[[]json.RawMessage](raw) {
		alt, err := o.bound(alt, base, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, alt)
	}
	return array(out), nil
}

// limits returns the bounds that a schema does not set itself.
func (o EnvelopeOptions) limits(raw json.RawMessage) object {
	entries, _ := readObject(raw) // the caller has read it
	has := make(map[string]json.RawMessage, len(entries))
	for _, m := range entries {
		has[m.key] = m.value
	}
	var out object
	set := func(on bool, typ, key string, value int64, unless ...string) {
		if !on || js.Decode[string](has["type"]) != typ {
			return
		}
		for _, u := range append(unless, key, "enum", "const") {
			if _, ok := has[u]; ok {
				return
			}
		}
		out = append(out, field{key, js.Marshal(value)})
	}
	set(o.MaxString > 0, "string", "maxLength", int64(o.MaxString), "format", "pattern")
	set(o.MaxItems > 0, "array", "maxItems", int64(o.MaxItems))
	set(o.MaxInteger > 0, "integer", "minimum", -o.MaxInteger, "exclusiveMinimum")
	set(o.MaxInteger > 0, "integer", "maximum", o.MaxInteger, "exclusiveMaximum")
	return out
}

func anyOf(alts []json.RawMessage) json.RawMessage {
	if len(alts) == 1 {
		return alts[0]
	}
	return object{{"anyOf", array(alts)}}.raw()
}

// permitted returns the tools that the choice leaves, or the error of op if
// they cannot be emulated.
func permitted(op string, tools []llm.ToolDef, c llm.ToolChoice) ([]llm.ToolDef, error) {
	fail := func(kind llm.Kind, format string, args ...any) ([]llm.ToolDef, error) {
		return nil, &llm.Error{Op: op, Kind: kind, Err: fmt.Errorf(format, args...)}
	}
	var out []llm.ToolDef
	for _, t := range tools {
		if !c.Permits(t.Name) {
			continue
		}
		if t.Kind == llm.HostedTool {
			return fail(llm.Unsupported, "the tool %q is run by its provider and cannot be emulated", t.Name)
		}
		if !plainName(t.Name) {
			return fail(llm.Invalid, "the name %q would be read as markup", t.Name)
		}
		out = append(out, t)
	}
	if len(out) == 0 && c.Mode == llm.MustCall {
		return fail(llm.Invalid, "a call of %s is demanded, but no such tool is offered", cmp.Or(c.Name, "some tool"))
	}
	return out, nil
}
