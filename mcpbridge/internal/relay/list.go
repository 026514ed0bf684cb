package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/tool"
)

// tool returns the tool of the call, nil if the server has none of that name. The
// tools of a session are listed when one is called that is not known.
func (c *relayCall) tool(ctx context.Context) (*relayedTool, error) {
	for attempt := 1; ; attempt++ {
		c.inside.Lock()
		one, seen := c.tools[c.name], c.changes
		if !c.keeps() {
			one = nil // nothing would tell of a change
		}
		c.inside.Unlock()
		if one != nil {
			return one, nil
		}
		c.follow()
		list, err := c.list(ctx)
		if err != nil {
			return nil, err
		}
		tools := c.relay.know(list)
		c.inside.Lock()
		current := c.changes == seen
		if current {
			c.tools, c.listed = tools, time.Now()
		}
		c.inside.Unlock()
		if current || attempt == maxListAttempts {
			return tools[c.name], nil
		}
	}
}

// maxListAttempts limits how often a list that changed while it was read is read again for one call. The list of the
// last attempt is used for that call only.
const maxListAttempts = 3

// list asks the server for all its tools, in the way of the call.
func (c *relayCall) list(ctx context.Context) (*toollist.List, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, dispatchedKey{}, nil), c.relay.server.ConnectTimeout())
	defer cancel()
	n := 0
	list, err := toollist.ReadPages(c.relay.server.Name, func(cursor string) (toollist.Page, error) {
		n++
		p, err := c.page(ctx, n, cursor)
		if err != nil {
			return toollist.Page{}, err
		}
		page := toollist.Page{Next: p.NextCursor}
		for _, raw := range p.Tools {
			var t mcp.Tool
			var own struct{ InputSchema json.RawMessage }
			if json.Unmarshal(raw, &t) != nil || json.Unmarshal(raw, &own) != nil {
				continue // it cannot be called
			}
			page.Tools, page.Schemas = append(page.Tools, &t), append(page.Schemas, own.InputSchema)
		}
		return page, nil
	})
	if err != nil {
		return nil, err
	}
	return c.relay.RedactList(list), nil
}

// toolPage is a page of a list, as the server wrote it.
type toolPage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

// page asks for a page of the list.
func (c *relayCall) page(ctx context.Context, n int, cursor string) (*toolPage, error) {
	params := make(map[string]any)
	if cursor != "" {
		params["cursor"] = cursor
	}
	id, _ := json.Marshal(fmt.Sprintf("toolpost-list-%s-%d", bytes.Trim(c.e.ID, `"`), n))
	req, err := c.ownRequest(ctx, id, "tools/list", params)
	if err != nil {
		return nil, err
	}
	resp, err := c.relay.up.roundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := c.responseOf(resp, id)
	if err != nil {
		return nil, err
	}
	e, err := rpc.ReadEnvelope(text)
	var p toolPage
	switch {
	case err != nil || e.Error == nil && json.Unmarshal(e.Result, &p) != nil:
		return nil, fmt.Errorf("its answer with status %d cannot be read", resp.StatusCode)
	case e.Error != nil:
		return nil, errors.New(clip.Bytes(rpc.PlainText(e.Error.Message), convert.MaxError))
	}
	return &p, nil
}

// responseOf reads the response to a request of ours. Other messages of the stream go to the client: the server may
// announce there that its list has changed.
func (c *relayCall) responseOf(resp *http.Response, id json.RawMessage) ([]byte, error) {
	if !isStream(resp) {
		return io.ReadAll(resp.Body)
	}
	in := rpc.NewEvents(resp.Body)
	for {
		e, err := in.Next()
		if err != nil {
			return nil, fmt.Errorf("its stream ended without an answer: %w", err)
		}
		if e.Data != nil && rpc.Answers(e.Data, id) {
			return e.Data, nil
		}
		if news, err := rpc.ReadEnvelope(e.Data); err == nil {
			c.heard(news)
		}
		_ = c.out.event(c.relay.toldEvent(e)) // a client that is gone may come back by another stream
	}
}

// know makes tools of a list, with the earlier definitions of the server.
func (r *Relay) know(list *toollist.List) map[string]*relayedTool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn(list)
	out := make(map[string]*relayedTool, len(list.Defs))
	for _, d := range list.Defs {
		if !r.server.Uses(d.Name) {
			continue
		}
		one := &relayedTool{def: d, print: list.Prints[d.Name]}
		one.tool = tool.Tool{
			Name: tool.SafeName(d.Name), Description: d.Description, Input: list.Schemas[d.Name], Origin: tool.MCP, Source: r.server.Name, SourceHash: string(list.Hash), Timeout: r.alone.Timeout,
		}
		if r.server.Trust == config.TrustAnnotations {
			one.tool.Effects = d.Effects()
		}
		effects, changed := one.tool.Effects, !r.memory.Accepts(d, list.Prints[d.Name])
		one.tool.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
			if changed {
				e := tool.Errorf(tool.Permission, "MCP server %s changed this tool, and nobody has approved it; the call was not sent", r.server.Name)
				e.Recoverable, e.Fix = false, "Tell the user."
				return tool.Output{}, e
			}
			return r.send(ctx, effects, args)
		}
		var err error
		var note string
		if one.set, note, err = convert.Usable(one.tool); err == nil && note != "" && r.noted[d.Name] != note {
			if r.noted == nil {
				r.noted = make(map[string]string)
			}
			r.noted[d.Name] = note
			r.tell(config.Notice{Server: r.server.Name, Tool: d.Name, Text: clip.Bytes(rpc.PlainText(note), 600)})
		}
		if err != nil {
			r.tell(config.Notice{Server: r.server.Name, Tool: d.Name, Text: "cannot be called: " + clip.Bytes(rpc.PlainText(err.Error()), 600)})
			continue
		}
		out[d.Name] = one
	}
	return out
}

// filterList removes the tools that may not be used from a list. It returns nil if nothing changes.
func (r *Relay) filterList(s *relayed, data []byte, id json.RawMessage) []byte {
	if !rpc.Answers(data, id) {
		return nil
	}
	var e struct {
		Result struct{ Tools []json.RawMessage }
	}
	if json.Unmarshal(data, &e) != nil || e.Result.Tools == nil || len(e.Result.Tools) > toollist.MaxTools {
		return nil
	}
	var defs []config.ServerTool
	for _, raw := range e.Result.Tools {
		var t mcp.Tool
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		if d, err := toollist.Define(&t); err == nil {
			defs = append(defs, d)
		}
	}
	use := r.review(s, defs)
	kept := []json.RawMessage{}
	for _, raw := range e.Result.Tools {
		var t struct{ Name string }
		if json.Unmarshal(raw, &t) != nil || !r.server.Uses(t.Name) {
			continue
		}
		if ok, known := use[t.Name]; ok || !known { // what cannot be read cannot be called
			kept = append(kept, raw)
		}
	}
	if len(kept) == len(e.Result.Tools) {
		return nil
	}
	tools, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	out, err := rpc.ReplaceMember(data, tools, "result", "tools")
	if err != nil {
		return nil
	}
	return out
}
