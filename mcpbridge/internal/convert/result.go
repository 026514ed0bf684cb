package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// OutcomeOf reads the answer of a server, for the record.
func OutcomeOf(server string, status int, effects tool.Effects, text []byte) (tool.Output, error) {
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
	if err != nil {
		return tool.Output{}, unreadable(server)
	}
	return Result(server, effects, e.Result)
}

func unreadable(server string) error {
	return tool.Errorf(tool.Execution, "the answer of MCP server %s cannot be read", server)
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
	MaxParts = 256
	MaxError = 16 << 10
)

// exact are the members of a result that the SDK does not decode, or not without loss: it reads numbers as floating point.
type exact struct {
	ResultType string          `json:"resultType"`
	Structured json.RawMessage `json:"structuredContent"`
	Requests   json.RawMessage `json:"inputRequests"`
	Task       json.RawMessage `json:"task"`
	Content    json.RawMessage `json:"content"`
}

// IsTask reports whether the answer of a server is a task instead of a result.
func IsTask(text []byte) bool {
	var x exact
	e, err := rpc.ReadEnvelope(text)
	return err == nil && json.Unmarshal(e.Result, &x) == nil && x.isTask()
}

func (x exact) isTask() bool {
	return x.ResultType == "task" || x.ResultType == "" && len(x.Task) > 0 && x.Task[0] == '{'
}

// Result turns the result of a call, as the server wrote it, into what a model and programs get.
func Result(server string, effects tool.Effects, text json.RawMessage) (tool.Output, error) {
	var res mcp.CallToolResult
	var x exact
	if json.Unmarshal(text, &res) != nil || json.Unmarshal(text, &x) != nil {
		return tool.Output{}, unreadable(server)
	}
	return read(server, effects, &res, x)
}

// Decoded turns a result that the SDK has decoded into what a model and programs get.
func Decoded(server string, effects tool.Effects, res *mcp.CallToolResult) (tool.Output, error) {
	var x exact
	if text, ok := res.Meta[rpc.ExactResult].(string); ok {
		if json.Unmarshal([]byte(text), &x) != nil {
			return tool.Output{}, unreadable(server)
		}
	} else if res.StructuredContent != nil { // of a server in this process
		text, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return tool.Output{}, unreadable(server)
		}
		x.Structured = text
	}
	return read(server, effects, res, x)
}

// read is the only reader of results. A result that is an error becomes an error whose message is the text.
func read(server string, effects tool.Effects, res *mcp.CallToolResult, x exact) (tool.Output, error) {
	if err := unfinished(server, effects, res, x); err != nil {
		return tool.Output{}, err
	}
	var out tool.Output
	var texts []string
	for i, c := range res.Content {
		if i == MaxParts {
			out.Parts = append(out.Parts, llm.Text{Text: fmt.Sprintf("[%d more parts of the result are left out]", len(res.Content)-MaxParts)})
			break
		}
		part := partOf(c)
		if t, ok := part.(llm.Text); ok {
			texts = append(texts, t.Text)
		}
		out.Parts = append(out.Parts, part)
	}
	if len(x.Structured) > 0 && string(x.Structured) != "null" {
		out.Structured = x.Structured
		if len(res.Content) > 0 && !repeats(texts, x.Structured) {
			out.Parts, texts = append(out.Parts, llm.Text{Text: string(x.Structured)}), append(texts, string(x.Structured))
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
	return out, serverError(clip.Bytes(message, MaxError))
}

// serverError is the error of a tool that ran and reports a failure. Its words may describe what failed. They are not
// evidence of a refusal of our policy or of a model, nor of a call that was cancelled: the tool ran.
func serverError(message string) error {
	e := tool.FromError(errors.New(message))
	switch e.Code {
	case tool.Permission, tool.ModelRefusal, tool.Cancelled, tool.Uncertain:
		return tool.Errorf(tool.Execution, "%s", message)
	}
	return e
}

// unfinished is the error of a result that is not the end of a call. Whether the call took effect is unknown then.
func unfinished(server string, effects tool.Effects, res *mcp.CallToolResult, x exact) error {
	code := Unanswered(tool.Execution, effects)
	kind := clip.Bytes(rpc.PlainText(x.ResultType), 60)
	switch {
	case len(res.InputRequests) > 0:
		return tool.Errorf(tool.Execution, "MCP server %s asks something first; the client makes the call again with the answer", server)
	case res.NeedsInput() || x.ResultType == "input_required":
		return tool.Errorf(code, "MCP server %s wants input for the call and does not ask for any, so nothing can be answered; the outcome of the call is unknown", server)
	case kind == "task" || x.isTask() && len(res.Content) == 0:
		return tool.Errorf(code, "MCP server %s answered with a task, which it was not asked for; the task may still run, and its outcome is unknown", server)
	case kind != "" && kind != "complete":
		return tool.Errorf(code, "MCP server %s answered with a result of the type %q, which is not known here; the outcome of the call is unknown", server, kind)
	}
	return nil
}

// repeats reports whether texts say what a structured result says: one of them, or all together if it is a list. Servers
// that wrap a value as {"result": value} write the value as text.
func repeats(texts []string, structured json.RawMessage) bool {
	values := []json.RawMessage{structured}
	var object map[string]json.RawMessage
	if json.Unmarshal(structured, &object) == nil && len(object) == 1 {
		for _, value := range object {
			values = append(values, value)
		}
	}
	for _, value := range values {
		var items []json.RawMessage
		if slices.ContainsFunc(texts, func(text string) bool { return textIsValue(text, value) }) {
			return true
		}
		if json.Unmarshal(value, &items) == nil && len(items) == len(texts) && len(items) > 0 {
			all := true
			for i, item := range items {
				all = all && textIsValue(texts[i], item)
			}
			if all {
				return true
			}
		}
	}
	return false
}

// textIsValue reports whether a text is the JSON of a value, or the string that the value is.
func textIsValue(text string, value json.RawMessage) bool {
	var plain string
	if json.Unmarshal(value, &plain) == nil && plain == text {
		return true
	}
	return json.Valid([]byte(text)) && js.Equal([]byte(text), value)
}

// Part turns a piece of a message of a server into a part.
func Part(c mcp.Content) llm.Part { return partOf(c) }

// ResourcePart turns the content of a resource into a part.
func ResourcePart(uri, mime, text string, data []byte) llm.Part {
	return resource(&mcp.ResourceContents{URI: uri, MIMEType: mime, Text: text, Blob: data})
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
