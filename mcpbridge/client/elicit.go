package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/tool"
)

// elicit answers a server that asks the user something in the middle of a call. The question is
// handled like all questions of tools: the call ends, a person answers, perhaps another day, and the
// call is made again with the answer. If no person can be asked, or no call is meant, the answer is
// no.
func (l *remote) elicit(ctx context.Context, live *liveSession, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	decline := &mcp.ElicitResult{Action: "decline"}
	f := live.calls.asking(ctx)
	if f == nil || p == nil || p.Mode == "url" {
		return decline, nil
	}
	schema, err := toollist.SchemaText(p.RequestedSchema)
	if err != nil {
		return decline, nil
	}
	prompt := tool.Prompt{Message: fmt.Sprintf("MCP server %s asks: %s", l.Name, clip.Bytes(rpc.PlainText(p.Message), rpc.MaxQuestion)), Schema: schema}
	value, err := tool.Ask(f.caller, prompt)
	if err != nil {
		if nobody(err) {
			return decline, nil
		}
		f.waits(err)
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	var content map[string]any
	if err := json.Unmarshal(value, &content); err != nil {
		return decline, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
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
