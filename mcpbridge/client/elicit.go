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

// elicit answers a server that asks the user something in the middle of a call. The call stays open while the person
// answers, and its timeout does not run: the tool has begun, and to call it again would repeat what it did. Only a
// question that waits for another process ends the call. If no person can be asked, or no call is meant, the answer is
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
	prompt := tool.Prompt{Message: fmt.Sprintf("MCP server %s asks: %s", l.Name, clip.Bytes(rpc.PlainText(p.Message), rpc.MaxQuestion)), Schema: schema, Held: true}
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
