package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// OutcomeOf reads the answer of a server, for the record.
func OutcomeOf(server string, status int, text []byte) (tool.Output, error) {
	e, err := rpc.ReadEnvelope(text)
	if err != nil && status != http.StatusOK {
		return tool.Output{}, tool.Errorf(tool.Execution, "MCP server %s answered with status %d", server, status)
	}
	if e.Error != nil {
		code := tool.Execution
		if e.Error.Code == jsonrpc.CodeInvalidParams {
			code = tool.Validation
		}
		return tool.Output{}, tool.Errorf(code, "MCP server %s: %s", server, clip.Bytes(rpc.PlainText(e.Error.Message), MaxError))
	}
	var res mcp.CallToolResult
	if err != nil || json.Unmarshal(e.Result, &res) != nil {
		return tool.Output{}, tool.Errorf(tool.Execution, "the answer of MCP server %s cannot be read", server)
	}
	if len(res.InputRequests) > 0 {
		return tool.Output{}, tool.Errorf(tool.Execution, "MCP server %s asks something first; the client makes the call again with the answer", server)
	}
	out, err := Output(&res)
	var exact struct{ StructuredContent json.RawMessage }
	if json.Unmarshal(e.Result, &exact) == nil && len(exact.StructuredContent) > 0 {
		out.Structured = exact.StructuredContent
	}
	return out, err
}

// Unanswered is the code of a call without an answer: the given one if repeating the call is
// harmless, else the code of an unknown outcome.
func Unanswered(code tool.Code, effects tool.Effects) tool.Code {
	if effects.Has(tool.Idempotent) {
		return code
	}
	return tool.Uncertain
}

// The bounds of a result; its frame is bounded, too.
const (
	maxParts = 256
	MaxError = 16 << 10
)

// Output turns a result into what a model and programs get. A result that is an
// error becomes one whose message is the text.
func Output(res *mcp.CallToolResult) (tool.Output, error) {
	var out tool.Output
	var texts []string
	for i, c := range res.Content {
		if i == maxParts {
			out.Parts = append(out.Parts, llm.Text{Text: fmt.Sprintf("[%d more parts of the result are left out]", len(res.Content)-maxParts)})
			break
		}
		part := partOf(c)
		if t, ok := part.(llm.Text); ok {
			texts = append(texts, t.Text)
		}
		out.Parts = append(out.Parts, part)
	}
	if res.StructuredContent != nil {
		var err error
		if out.Structured, err = structured(res.StructuredContent, texts); err != nil {
			return out, tool.Errorf(tool.Execution, "the structured result cannot be read: %v", err)
		}
	}
	if !res.IsError {
		return out, nil
	}
	message := strings.TrimSpace(strings.Join(texts, "\n"))
	if message == "" {
		message = strings.TrimSpace("the tool failed and does not say why " + string(out.Structured))
	}
	out.Parts = slices.DeleteFunc(out.Parts, func(p llm.Part) bool { _, is := p.(llm.Text); return is })
	return out, ownWords(clip.Bytes(message, MaxError))
}

// ownWords is the error of a tool that ran and reports a failure. Its text must not look like a
// refusal of our policy, because that would mean that the tool did not run.
func ownWords(message string) error {
	e := tool.FromError(errors.New(message))
	if e.Code == tool.Permission {
		return tool.Errorf(tool.Execution, "%s", message)
	}
	return e
}

// structured writes a structured result. The SDK reads numbers as floating point;
// servers repeat the result as text, which has the exact numbers.
func structured(v any, texts []string) (json.RawMessage, error) {
	if len(texts) == 1 {
		var same any
		if json.Unmarshal([]byte(texts[0]), &same) == nil && reflect.DeepEqual(same, v) {
			return json.RawMessage(texts[0]), nil
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return journal.Canonical(b)
}

// partOf turns a piece of a result into a part of a message.
func partOf(c mcp.Content) llm.Part {
	switch c := c.(type) {
	case *mcp.TextContent:
		return llm.Text{Text: c.Text}
	case *mcp.ImageContent:
		return media(llm.Image, c.MIMEType, "", c.Data)
	case *mcp.AudioContent:
		return media(llm.Audio, c.MIMEType, "", c.Data)
	case *mcp.ResourceLink:
		return llm.Text{Text: strings.TrimSpace(fmt.Sprintf("[resource %s: %s %s]", c.URI, c.Name, c.Description))}
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	}
	return llm.Text{Text: "[a part of the result is of a kind that is not known here]"}
}

func resource(r *mcp.ResourceContents) llm.Part {
	if r == nil {
		return llm.Text{Text: "[an empty resource]"}
	}
	if r.Blob == nil {
		return llm.Text{Text: fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text)}
	}
	kind := llm.Document
	for _, k := range []llm.MediaKind{llm.Image, llm.Audio, llm.Video} {
		if strings.HasPrefix(r.MIMEType, string(k)+"/") {
			kind = k
		}
	}
	return media(kind, r.MIMEType, r.URI, r.Blob)
}

// media returns a part for data, or a text with the reason for its absence.
func media(kind llm.MediaKind, mime, name string, data []byte) llm.Part {
	if kind != llm.Document && !strings.HasPrefix(mime, string(kind)+"/") {
		return llm.Text{Text: fmt.Sprintf("[%d bytes of type %.60q, which is no %s]", len(data), mime, kind)}
	}
	if len(data) == 0 {
		return llm.Text{Text: fmt.Sprintf("[an empty %s]", kind)}
	}
	return llm.Media{Kind: kind, MIME: mime, Name: name, Data: data}
}
