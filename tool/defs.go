package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// maxDefs bounds the definitions in one file.
const maxDefs = 100_000

// Definition is a tool in a file: without a function, and perhaps
// with a name no vendor accepts.
type Definition struct {
	// ID distinguishes definitions of one name; it is the name if the file does
	// not have an id.
	ID string
	llm.ToolDef
}

// ParseDefs reads definitions in the forms of vendors, MCP servers and people: one JSON array, one object with the
// array under "tools", or one object per line. A definition has its schema under "parameters", "input_schema",
// "inputSchema" or "schema", and may be inside {"type":"function","function":{…}}.
func ParseDefs(text []byte) ([]Definition, error) {
	var out []Definition
	dec := json.NewDecoder(bytes.NewReader(text))
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("tool: definition %d: %w", len(out)+1, err)
		}
		list := []json.RawMessage{raw}
		if inner, ok := definitionList(raw); ok {
			list = inner
		}
		for _, one := range list {
			d, err := parseDef(one, true)
			if err != nil {
				return nil, fmt.Errorf("tool: definition %d: %w", len(out)+1, err)
			}
			if out = append(out, d); len(out) > maxDefs {
				return nil, fmt.Errorf("tool: more than %d definitions", maxDefs)
			}
		}
	}
	return out, nil
}

// definitionList returns the elements of an array, or of the one under "tools".
func definitionList(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil { // null is not a list
		return list, true
	}
	var wrapped struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && wrapped.Tools != nil {
		return wrapped.Tools, true
	}
	return nil, false
}

// parseDef reads one definition. With wrapped it may be inside another object.
func parseDef(raw json.RawMessage, wrapped bool) (Definition, error) {
	var d struct {
		ID          string            `json:"id"`
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Parameters  json.RawMessage   `json:"parameters"`
		InputSchema json.RawMessage   `json:"input_schema"`
		MCPSchema   json.RawMessage   `json:"inputSchema"`
		Schema      json.RawMessage   `json:"schema"`
		Examples    []json.RawMessage `json:"examples"`
		Function    json.RawMessage   `json:"function"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return Definition{}, js.Explain(err)
	}
	if wrapped && d.Name == "" && len(d.Function) > 0 && d.Function[0] == '{' {
		return parseDef(d.Function, false)
	}
	if d.Name == "" {
		return Definition{}, errors.New(`it has no "name"`)
	}
	def := Definition{ID: d.ID, ToolDef: llm.ToolDef{Name: d.Name, Description: d.Description, Examples: d.Examples}}
	for _, s := range []json.RawMessage{d.Parameters, d.InputSchema, d.MCPSchema, d.Schema} {
		if len(s) > 0 && string(s) != "null" {
			def.Schema = s
			break
		}
	}
	if def.ID == "" {
		def.ID = d.Name
	}
	return def, nil
}
