package dialect

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/dialect/internal/write"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// readsBack reports whether the calls among parts, as d writes them, are read as
// the same calls. White space around a string does not count: some dialects
// trim.
func (l *List) readsBack(d spec.Dialect, parts []llm.Part, sections bool) bool {
	var calls []llm.Part
	types := map[string]map[string]any{}
	for _, p := range parts {
		if c, ok := p.(llm.Call); ok {
			calls = append(calls, c)
			args, _ := decodeJSON(c.Args).(map[string]any)
			if types[c.Name] == nil {
				types[c.Name] = map[string]any{}
			}
			maps.Copy(types[c.Name], args)
		}
	}
	text, _, err := write.Turn(d.Write, calls, sections)
	if err != nil {
		return false
	}
	p := Parser{Dialects: l, Dialect: d.Name, Tools: toolsFor(types)}
	n := 0
	for ev, err := range p.Parse(Whole(text)) {
		if err != nil {
			return false
		}
		switch ev := ev.(type) {
		case llm.InvalidCall:
			return false
		case llm.Call:
			if n == len(calls) {
				return false
			}
			if wrote := calls[n].(llm.Call); ev.Name != wrote.Name || !sameArgs(ev, wrote) {
				return false
			}
			n++
		}
	}
	return n == len(calls)
}

// toolsFor returns tools that take arguments of the types that these have.
func toolsFor(args map[string]map[string]any) []llm.ToolDef {
	var tools []llm.ToolDef
	for _, name := range slices.Sorted(maps.Keys(args)) {
		schema, _ := json.Marshal(typeOf(args[name])) // it came out of a decoder
		tools = append(tools, llm.ToolDef{Name: name, Schema: schema})
	}
	return tools
}

// typeOf returns the schema of values like v.
func typeOf(v any) map[string]any {
	switch v := v.(type) {
	case string:
		return map[string]any{"type": "string"}
	case json.Number:
		return map[string]any{"type": "number"}
	case bool:
		return map[string]any{"type": "boolean"}
	case []any:
		items := map[string]any{}
		if len(v) > 0 {
			items = typeOf(v[0])
		}
		return map[string]any{"type": "array", "items": items}
	case map[string]any:
		props := map[string]any{}
		for key, value := range v {
			props[key] = typeOf(value)
		}
		return map[string]any{"type": "object", "properties": props}
	}
	return map[string]any{"type": "null"}
}

// decodeJSON reads a value with its numbers unchanged written; no text is an
// empty object.
func decodeJSON(raw json.RawMessage) (v any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return map[string]any{}
	}
	return v
}

// trimmed is the form of arguments in which white space around strings does not count.
var trimmed = js.Form{Mode: js.ByValue, Text: func(dst, text []byte) []byte { return js.AppendShortest(dst, bytes.TrimSpace(text)) }}

// sameArgs reports whether two calls have the same arguments. No arguments are an empty object.
func sameArgs(a, b llm.Call) bool {
	orEmpty := func(args json.RawMessage) []byte {
		if !js.Valid(args) {
			return []byte("{}")
		}
		return args
	}
	return trimmed.Equal(orEmpty(a.Args), orEmpty(b.Args))
}
