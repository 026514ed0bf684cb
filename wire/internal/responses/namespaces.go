package responses

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// decodeNamespace returns the tools of a namespace, and false if it holds anything but
// tools that the client runs.
func decodeNamespace(d *codec.Decoder, v []byte) ([]llm.ToolDef, bool) {
	space := make(map[string]json.RawMessage)
	var inner []byte
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "tools":
			inner = val
		case "name":
			d.Str(val)
			space[string(key)] = slices.Clone(val)
		default:
			space[string(key)] = slices.Clone(val)
		}
	}
	if !d.Array(inner) || js.Text(space["name"]) == "" || space[codec.FunctionField] != nil {
		return nil, false
	}
	raw, err := json.Marshal(space)
	if err != nil {
		return nil, false
	}
	var tools []llm.ToolDef
	for el := range d.Elements(inner) {
		if kind := d.Str(d.Get(el, "type")); js.Kind(el) != '{' || d.Get(el, codec.NamespaceField) != nil || kind != "function" && kind != "custom" {
			return nil, false
		}
		t := decodeTool(d, el)
		d.ExtraField(&t.Extra, codec.NamespaceField, raw)
		tools = append(tools, t)
	}
	return tools, len(tools) > 0
}

// encodeNamespace writes the first tools of a list that belong to one namespace, and returns their number.
func encodeNamespace(e *codec.Encoder, tools []llm.ToolDef) int {
	space, _ := spaceOf(tools[0])
	e.Object()
	e.StringField("type", "namespace")
	for _, key := range js.Keys(space) {
		e.AnyKey(key)
		e.Raw(space[key])
	}
	e.ArrayField("tools")
	n := 0
	for _, t := range tools {
		next, name := spaceOf(t)
		if next == nil || !maps.EqualFunc(space, next, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			break
		}
		t.Name = name
		own := maps.Clone(t.Extra[names.Responses])
		delete(own, codec.NamespaceField)
		t.Extra = maps.Clone(t.Extra)
		t.Extra[names.Responses] = own
		encodeTool(e, t)
		n++
	}
	e.EndArray()
	e.End()
	return n
}

// spaceOf returns the namespace of a tool, nil if there is none, and the tool's name in it.
func spaceOf(t llm.ToolDef) (map[string]json.RawMessage, string) {
	var space map[string]json.RawMessage
	if raw := t.Extra[names.Responses][codec.NamespaceField]; raw == nil || json.Unmarshal(raw, &space) != nil {
		return nil, t.Name
	}
	name := cmp.Or(js.Text(space[codec.FunctionField]), t.Name)
	delete(space, codec.FunctionField)
	return space, name
}
