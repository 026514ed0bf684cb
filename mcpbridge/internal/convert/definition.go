package convert

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// anyArguments is the schema of a tool that does not describe its arguments.
var anyArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// DefinitionOf returns a definition for a list of tools of our server. The schema is passed on
// unchanged but for the white space between its tokens. If it does not name a type,
// the type object is added, which the protocol demands.
func DefinitionOf(d llm.ToolDef) (*mcp.Tool, error) {
	if d.Kind == llm.FreeTool || d.Kind == llm.HostedTool {
		return nil, fmt.Errorf("mcp: %s is a tool of the kind %v, which MCP cannot offer", d.Name, d.Kind)
	}
	schema, err := objectSchema(d.Schema)
	if err != nil {
		return nil, fmt.Errorf("mcp: the schema of %s %w", d.Name, err)
	}
	return &mcp.Tool{Name: d.Name, Description: d.Description, InputSchema: schema}, nil
}

// objectSchema returns a schema of type object.
func objectSchema(schema json.RawMessage) (json.RawMessage, error) {
	text := bytes.TrimSpace(schema)
	if len(text) == 0 {
		return anyArguments, nil
	}
	var said struct {
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("is not a JSON object: %w", err)
	}
	switch {
	case string(said.Type) == `"object"`:
		return text, nil
	case said.Type != nil:
		return nil, fmt.Errorf("says that arguments are of the type %.40s; they are an object", said.Type)
	}
	rest := bytes.TrimSpace(text[1:])
	if rest[0] == '}' {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	return append([]byte(`{"type":"object",`), rest...), nil
}

// AddTool adds a tool to a server. Definitions may come from outside, and the SDK panics
// at those that it does not take.
func AddTool(s *mcp.Server, t *mcp.Tool, handle mcp.ToolHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	s.AddTool(t, handle)
	return nil
}

// ArgumentsOf returns the arguments of a call: an object, which is empty if the client
// sent none, or something else.
func ArgumentsOf(req *mcp.CallToolRequest) json.RawMessage {
	args := bytes.TrimSpace(req.Params.Arguments)
	if len(args) == 0 || args[0] != '{' {
		return json.RawMessage("{}")
	}
	return args
}

// Definition is a tool of a Service as clients are told of it.
func Definition(t tool.Tool) (*mcp.Tool, error) {
	def, err := DefinitionOf(t.Def())
	if err != nil {
		return nil, err
	}
	open := !t.Effects.Has(tool.Local)
	def.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: t.Effects.Has(tool.ReadOnly), IdempotentHint: t.Effects.Has(tool.Idempotent), OpenWorldHint: &open}
	if promises(t) {
		def.OutputSchema = t.OutputSchema
	}
	return def, nil
}

// promises reports whether clients are told what the tool returns: most know of
// objects only.
func promises(t tool.Tool) bool {
	var s struct{ Type any }
	return len(t.OutputSchema) > 0 && json.Unmarshal(t.OutputSchema, &s) == nil && s.Type == "object"
}
