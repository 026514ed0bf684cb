package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/tool"
)

// tool returns the tool of the call, nil if the server has none of that name. The
// tools of a session are listed when one is called that is not known.
func (c *relayCall) tool(ctx context.Context) (*relayedTool, error) {
	for attempt := 1; ; attempt++ {
		c.inside.Lock()
		one, seen := c.tools[c.name], c.changes
		c.inside.Unlock()
		if one != nil {
			return one, nil
		}
		list, exact, err := c.list(ctx)
		if err != nil {
			return nil, err
		}
		tools := c.relay.know(list, exact)
		c.inside.Lock()
		current := c.changes == seen
		if current {
			c.tools = tools
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

// list asks the server for all its tools, in the way of the call. Exact are their
// schemas as the server wrote them.
func (c *relayCall) list(ctx context.Context) (*listing, map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, dispatchedKey{}, nil), c.relay.server.connectTimeout())
	defer cancel()
	var defs []ServerTool
	exact, size := make(map[string]json.RawMessage), 0
	cursors := make(map[string]bool)
	cursor := ""
	for page := 1; ; page++ {
		p, err := c.page(ctx, page, cursor)
		if err != nil {
			return nil, nil, err
		}
		for _, raw := range p.Tools {
			var t mcp.Tool
			var own struct{ InputSchema json.RawMessage }
			if json.Unmarshal(raw, &t) != nil || json.Unmarshal(raw, &own) != nil {
				continue
			}
			d, err := define(&t)
			if _, twice := exact[d.Name]; err != nil || twice {
				continue // it cannot be called
			}
			d, ok := c.relay.redactTool(d)
			if !ok {
				continue // its schema holds a secret of ours
			}
			size += len(raw)
			defs, exact[d.Name] = append(defs, d), own.InputSchema
		}
		switch {
		case page == maxPages || len(defs) > maxTools || size > maxListBytes:
			return nil, nil, fmt.Errorf("its list of tools has more than %d pages, %d tools or %d bytes", maxPages, maxTools, maxListBytes)
		case p.NextCursor == "":
			return newListing(defs), exact, nil
		case cursors[p.NextCursor]:
			return nil, nil, errors.New("the pages of its list of tools go round in a circle")
		}
		cursor = p.NextCursor
		cursors[cursor] = true
	}
}

// toolPage is a page of a list, as the server wrote it.
type toolPage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

// page asks for a page of the list.
func (c *relayCall) page(ctx context.Context, n int, cursor string) (*toolPage, error) {
	var call struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(c.e.Params, &call)
	params := make(map[string]any)
	if cursor != "" {
		params["cursor"] = cursor
	}
	delete(call.Meta, "progressToken")
	if len(call.Meta) > 0 {
		params["_meta"] = call.Meta
	}
	id, _ := json.Marshal(fmt.Sprintf("toolpost-list-%s-%d", bytes.Trim(c.e.ID, `"`), n))
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "tools/list", "params": params})
	if err != nil {
		return nil, err
	}
	req := requestTo(ctx, c.req, body)
	for name := range req.Header {
		if len(name) > 10 && name[:10] == "Mcp-Param-" {
			delete(req.Header, name)
		}
	}
	req.Header.Del("Mcp-Name")
	if req.Header.Get("Mcp-Method") != "" {
		req.Header.Set("Mcp-Method", "tools/list")
	}
	resp, err := c.relay.up.roundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := responseOf(resp, id)
	if err != nil {
		return nil, err
	}
	e, err := readEnvelope(text)
	var p toolPage
	switch {
	case err != nil || e.Error == nil && json.Unmarshal(e.Result, &p) != nil:
		return nil, fmt.Errorf("its answer with status %d cannot be read", resp.StatusCode)
	case e.Error != nil:
		return nil, errors.New(clip.Bytes(plainText(e.Error.Message), maxError))
	}
	return &p, nil
}

// responseOf reads the response to a request of ours.
func responseOf(resp *http.Response, id json.RawMessage) ([]byte, error) {
	if !isStream(resp) {
		return io.ReadAll(resp.Body)
	}
	in := newEvents(resp.Body)
	for {
		e, err := in.next()
		if err != nil {
			return nil, fmt.Errorf("its stream ended without an answer: %w", err)
		}
		if e.data != nil && answers(e.data, id) {
			return e.data, nil
		}
	}
}

// know makes tools of a list, with the earlier definitions of the server.
func (r *Relay) know(list *listing, exact map[string]json.RawMessage) map[string]*relayedTool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn(list)
	out := make(map[string]*relayedTool, len(list.defs))
	for _, d := range list.defs {
		if r.server.Tools != nil && !slices.Contains(r.server.Tools, d.Name) {
			continue
		}
		one := &relayedTool{def: d, print: list.prints[d.Name]}
		one.tool = tool.Tool{
			Name: tool.SafeName(d.Name), Description: d.Description, Input: exact[d.Name], Origin: tool.MCP, Source: r.server.Name, SourceHash: string(list.hash), Timeout: r.alone.Timeout,
		}
		if r.server.Trust == TrustAnnotations {
			one.tool.Effects = d.effects()
		}
		effects, changed := one.tool.Effects, !r.memory.accepts(d, list.prints[d.Name])
		one.tool.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
			if changed {
				e := tool.Errorf(tool.Permission, "MCP server %s changed this tool, and nobody has approved it; the call was not sent", r.server.Name)
				e.Recoverable, e.Fix = false, "Tell the user."
				return tool.Output{}, e
			}
			return r.send(ctx, effects, args)
		}
		var err error
		if one.set, err = tool.NewSet(one.tool); err != nil {
			r.tell(Notice{Server: r.server.Name, Tool: d.Name, Text: "cannot be called: " + clip.Bytes(plainText(err.Error()), 600)})
			continue
		}
		out[d.Name] = one
	}
	return out
}

// filterList removes the tools that may not be used from a list. It returns nil if nothing changes.
func (r *Relay) filterList(s *relayed, data []byte, id json.RawMessage) []byte {
	if !answers(data, id) {
		return nil
	}
	var e struct {
		Result struct{ Tools []json.RawMessage }
	}
	if json.Unmarshal(data, &e) != nil || e.Result.Tools == nil || len(e.Result.Tools) > maxTools {
		return nil
	}
	var defs []ServerTool
	for _, raw := range e.Result.Tools {
		var t mcp.Tool
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		if d, err := define(&t); err == nil {
			defs = append(defs, d)
		}
	}
	use := r.review(s, defs)
	kept := []json.RawMessage{}
	for _, raw := range e.Result.Tools {
		var t struct{ Name string }
		if json.Unmarshal(raw, &t) != nil || r.server.Tools != nil && !slices.Contains(r.server.Tools, t.Name) {
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
	out, err := replaceMember(data, tools, "result", "tools")
	if err != nil {
		return nil
	}
	return out
}
