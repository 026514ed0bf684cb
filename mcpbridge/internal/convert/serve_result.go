package convert

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// ResultOf returns a result for a client of our server. structured is the JSON that the tool
// returned, nil if there is none.
func ResultOf(r llm.Result, structured json.RawMessage) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Content: []mcp.Content{}, IsError: r.Failed}
	for _, p := range r.Parts {
		out.Content = append(out.Content, contentOf(p))
	}
	if len(structured) > 0 && structured[0] == '{' {
		out.StructuredContent = structured
	}
	return out
}

// FailedResult is a result that is an error.
func FailedResult(text string) *mcp.CallToolResult {
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

// ServedResult is the outcome of a call as a client gets it: what a model would see, with the original content of another
// server, and the structured result if the tool promises one or the server sent one. hidden reports whether a text contains
// a secret.
func ServedResult(t tool.Tool, o *invoke.Outcome, from *Original, hidden func(string) bool) *mcp.CallToolResult {
	if o.Result.Failed {
		return ResultOf(o.Result, nil)
	}
	content := from.contentFor(o.Result.Parts, hidden)
	if !promises(t) && content == nil {
		return ResultOf(o.Result, nil)
	}
	res := ResultOf(o.Result, o.Structured)
	if content != nil {
		res.Content = content
	}
	if res.StructuredContent == nil && promises(t) {
		res.IsError = true
		res.Content = append(res.Content, &mcp.TextContent{Text: "The tool ran, and its result is not of the form that it promises."})
	}
	return res
}
