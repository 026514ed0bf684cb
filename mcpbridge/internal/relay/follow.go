package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// following is how a connection without a session learns that the list of tools has changed. Only then may its list be
// kept: by a subscription, since revision 2026-07-28.
type following struct {
	begun bool // it is tried once at a time
	sure  bool // the server has said that it announces changes
	never bool // the server does not keep a subscription
}

// The bounds of a kept list.
const (
	keptList     = 30 * time.Second // how old it may be, if the server announces nothing
	keptLeast    = 10 * time.Second // a shorter subscription is not worth another one
	followedFrom = 2                // the call of a connection that begins to follow: many clients make just one
)

// keeps reports whether the list of the session may be used for another call. The caller holds the lock.
func (s *relayed) keeps() bool {
	return s.key != "" || s.follows.sure && time.Since(s.listed) < keptList
}

// follow has the server announce changes of its list, if the connection needs that.
func (c *relayCall) follow() {
	c.inside.Lock()
	defer c.inside.Unlock()
	f := &c.follows
	if c.key != "" || !c.isNewest() || c.calls < followedFrom || f.begun || f.never {
		return
	}
	f.begun = true
	id := json.RawMessage(`"toolpost-follow"`)
	req, err := c.ownRequest(c.Context, id, "subscriptions/listen", map[string]any{"notifications": map[string]bool{"toolsListChanged": true}})
	if err != nil {
		f.never = true
		return
	}
	c.Running.Add(1) // the call counts still
	go func() {
		defer c.Running.Done()
		began := time.Now()
		c.relayed.hear(c.relay, req, id)
		c.inside.Lock()
		defer c.inside.Unlock()
		c.forgetTools()
		c.follows = following{never: !c.follows.sure || time.Since(began) < keptLeast}
	}()
}

// hear reads a subscription until it ends.
func (s *relayed) hear(r *Relay, req *http.Request, id json.RawMessage) {
	resp, err := r.up.roundTrip(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if !isStream(resp) {
		return
	}
	in := rpc.NewEvents(resp.Body)
	for {
		event, err := in.Next()
		if err != nil || event.Data != nil && rpc.Answers(event.Data, id) {
			return
		}
		e, err := rpc.ReadEnvelope(event.Data)
		if err != nil {
			continue
		}
		s.heard(e)
		var agreed struct {
			Notifications struct{ ToolsListChanged bool }
		}
		if e.Method == "notifications/subscriptions/acknowledged" && json.Unmarshal(e.Params, &agreed) == nil {
			s.inside.Lock()
			s.follows.sure = agreed.Notifications.ToolsListChanged
			s.forgetTools() // they may have changed before
			s.inside.Unlock()
		}
	}
}

// forgetTools has the tools listed again for the next call. The caller holds the lock.
func (s *relayed) forgetTools() {
	s.tools = nil
	s.changes++
}

// ownRequest is a request of ours that the server gets in the way of the client's call.
func (c *relayCall) ownRequest(ctx context.Context, id json.RawMessage, method string, params map[string]any) (*http.Request, error) {
	var call struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(c.e.Params, &call)
	delete(call.Meta, "progressToken")
	if len(call.Meta) > 0 {
		params["_meta"] = call.Meta
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req := requestTo(ctx, c.req, body)
	for name := range req.Header {
		if bytes.HasPrefix([]byte(name), []byte("Mcp-Param-")) {
			delete(req.Header, name)
		}
	}
	req.Header.Del("Mcp-Name")
	if req.Header.Get("Mcp-Method") != "" {
		req.Header.Set("Mcp-Method", method)
	}
	return req, nil
}
