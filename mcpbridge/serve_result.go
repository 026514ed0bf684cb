package mcpbridge

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/tool"
)

// definition is a tool of a Service as clients are told of it.
func definition(t tool.Tool) (*mcp.Tool, error) {
	def, err := offered(t.Def())
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
