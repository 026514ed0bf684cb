package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/tool"
)

// elicit answers a server that asks the user something in the middle of a call. The call stays open while the person
// answers, and its timeout does not run: the tool has begun, and to call it again would repeat what it did. Only a
// question that waits for another process ends the call. If no person can be asked, or no call is meant, the answer is
// no.
func (l *remote) elicit(ctx context.Context, live *liveSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	decline := &mcp.ElicitResult{Action: "decline"}
	f := live.calls.asking(ctx)
	if f == nil || p == nil {
		return decline, nil
	}
	prompt, err := l.prompt(p)
	if err != nil {
		return decline, nil
	}
	asks, cancel := context.WithCancel(f.ctx) // the context of the call has the runtime that asks
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer f.pause()()
	value, err := tool.Ask(asks, prompt)
	if err != nil {
		if nobody(err) {
			return decline, nil
		}
		if asks.Err() == nil {
			f.waits(err)
		}
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	if p.Mode == "url" {
		if string(value) != "true" {
			return decline, nil
		}
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	var content map[string]any
	if err := json.Unmarshal(value, &content); err != nil {
		return decline, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: withDefaults(content, prompt.Schema)}, nil
}

// withDefaults adds the default of each field that an answer leaves out.
func withDefaults(content map[string]any, schema json.RawMessage) map[string]any {
	var of struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &of) != nil {
		return content
	}
	for name, field := range of.Properties {
		if _, given := content[name]; given || field.Default == nil {
			continue
		}
		if content == nil {
			content = make(map[string]any)
		}
		content[name] = field.Default
	}
	return content
}

// takeElicitation takes questions before the SDK, which refuses some schemas that the protocol has (a choice of several
// titled values).
func (l *remote) takeElicitation(live *liveSession) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.ElicitRequest); ok && method == "elicitation/create" {
				return l.elicit(ctx, live, r.Params)
			}
			return next(ctx, method, req)
		}
	}
}

// nobody reports whether a question failed for want of a person to answer it.
func nobody(err error) bool {
	var e *tool.Error
	if errors.As(err, &e) && e.Code == tool.Permission {
		return true
	}
	var n interface{ Nobody() bool }
	return errors.As(err, &n) && n.Nobody()
}

// maxAddress bounds an address that a person is asked to open.
const maxAddress = 2 << 10

// prompt is a question of a server as a person is asked it. An address is shown, and never opened from here.
func (l *remote) prompt(p *mcp.ElicitParams) (tool.Prompt, error) {
	message := clip.Bytes(rpc.PlainText(p.Message), rpc.MaxQuestion)
	if p.Mode != "url" {
		schema, err := toollist.SchemaText(p.RequestedSchema)
		return tool.Prompt{Message: fmt.Sprintf("MCP server %s asks: %s", l.Name, message), Schema: schema, Held: true}, err
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(p.URL) > maxAddress || rpc.PlainText(p.URL) != p.URL {
		return tool.Prompt{}, errors.New("the address cannot be shown")
	}
	return tool.Prompt{
		Message: fmt.Sprintf("MCP server %s asks you to open %s (host %s): %s\nAnswer true when you have done that.", l.Name, u.String(), u.Host, message),
		Schema:  json.RawMessage(`{"type":"boolean"}`), Held: true,
	}, nil
}

// addresses are the addresses that a server names in the error of a call that needs a visit first.
func addresses(data json.RawMessage) string {
	var named struct{ Elicitations []mcp.ElicitParams }
	_ = json.Unmarshal(data, &named) // without any, the message has to do
	var out []string
	for i, e := range named.Elicitations {
		if i < 5 {
			out = append(out, clip.Bytes(rpc.PlainText(e.URL), maxAddress))
		}
	}
	return strings.Join(out, ", ")
}
