package mcpbridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// anyArguments is the schema of a tool that does not describe its arguments.
var anyArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// definitionOf returns a definition for a list of tools of our server. The schema is passed on
// unchanged but for the white space between its tokens. If it does not name a type,
// the type object is added, which the protocol demands.
func definitionOf(d llm.ToolDef) (*mcp.Tool, error) {
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
		return nil, fmt.Errorf("is no JSON object: %w", err)
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

// addTool adds a tool to a server. Definitions may come from outside, and the SDK panics
// at those that it does not take.
func addTool(s *mcp.Server, t *mcp.Tool, handle mcp.ToolHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	s.AddTool(t, handle)
	return nil
}

// argumentsOf returns the arguments of a call: an object, which is empty if the client
// sent none, or something else.
func argumentsOf(req *mcp.CallToolRequest) json.RawMessage {
	args := bytes.TrimSpace(req.Params.Arguments)
	if len(args) == 0 || args[0] != '{' {
		return json.RawMessage("{}")
	}
	return args
}

// resultOf returns a result for a client of our server. structured is the JSON that the tool
// returned, nil if there is none.
func resultOf(r llm.Result, structured json.RawMessage) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Content: []mcp.Content{}, IsError: r.Failed}
	for _, p := range r.Parts {
		out.Content = append(out.Content, contentOf(p))
	}
	if len(structured) > 0 && structured[0] == '{' {
		out.StructuredContent = structured
	}
	return out
}

// failedResult is a result that is an error.
func failedResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}

// contentOf is the inverse of partOf.
func contentOf(p llm.Part) mcp.Content {
	switch p := p.(type) {
	case llm.Text:
		return &mcp.TextContent{Text: p.Text}
	case llm.Media:
		switch {
		case p.Data == nil:
			return &mcp.ResourceLink{URI: p.URL, Name: p.Name, MIMEType: p.MIME}
		case p.Kind == llm.Image:
			return &mcp.ImageContent{Data: p.Data, MIMEType: p.MIME}
		case p.Kind == llm.Audio:
			return &mcp.AudioContent{Data: p.Data, MIMEType: p.MIME}
		}
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "attachment:" + p.Name, MIMEType: p.MIME, Blob: p.Data}}
	}
	return &mcp.TextContent{Text: fmt.Sprintf("[a part of the kind %T cannot be sent]", p)}
}

// definition is a tool of a Service as clients are told of it.
func definition(t tool.Tool) (*mcp.Tool, error) {
	def, err := definitionOf(t.Def())
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

// result is the outcome of a call as a client gets it: what a model would see, and
// the structured result if the tool promises one.
func result(t tool.Tool, o *invoke.Outcome) *mcp.CallToolResult {
	if o.Result.Failed || !promises(t) {
		return resultOf(o.Result, nil)
	}
	res := resultOf(o.Result, o.Structured)
	if res.StructuredContent == nil {
		res.IsError = true
		res.Content = append(res.Content, &mcp.TextContent{Text: "The tool ran, and its result is not of the form that it promises."})
	}
	return res
}
