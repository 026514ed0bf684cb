package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/tool"
)

// heldCall is a call of a client that gets questions in results, since revision 2026-07-28. A tool that asks while it
// runs keeps running between the requests of the client, so that it is called once.
type heldCall struct {
	call   *clientCall
	tool   string
	args   journal.Hash
	user   string
	cancel func()
	follow func() bool      // stops the call from ending with its connection
	asks   chan *heldPrompt // questions that the client has to be told
	prompt *heldPrompt      // the last of them

	done chan struct{} // closed when the call is over
	res  *mcp.CallToolResult
	err  error
}

// heldPrompt is a question of a tool that waits for the answer.
type heldPrompt struct {
	token, key string
	params     *mcp.ElicitParams
	reply      chan caller.Answer // has room for it
}

// heldPrefix begins the state of a client whose call waits for an answer.
const heldPrefix = "held."

// hold runs a call until it is over or its tool asks something.
func (s *Service) hold(ctx context.Context, one *served, c *clientCall, t tool.Tool, run func(ctx context.Context, cancel func()) (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	h := &heldCall{
		call: c, tool: t.Name, args: journal.ParamsHash(convert.ArgumentsOf(c.req)), user: keyOf(c.req), asks: make(chan *heldPrompt), done: make(chan struct{}),
	}
	c.held = h
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h.cancel = cancel
	h.follow = context.AfterFunc(one.Context, cancel)
	go func() {
		defer close(h.done)
		defer cancel()
		h.res, h.err = run(life, cancel)
	}()
	return s.await(ctx, one, h)
}

// await waits for the end of a call or its next question. The call ends with ctx meanwhile.
func (s *Service) await(ctx context.Context, one *served, h *heldCall) (*mcp.CallToolResult, error) {
	defer context.AfterFunc(ctx, h.cancel)()
	select {
	case <-h.done:
		return h.res, h.err
	case p := <-h.asks:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held[p.token], h.prompt = h, p
		if !one.piped && h.follow() { // the connection is over with this request
			context.AfterFunc(s.life, h.cancel)
		}
		return p.result(), nil
	}
}

// result is the result that asks the client.
func (p *heldPrompt) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{p.key: p.params}, RequestState: heldPrefix + p.token}
}

// resume answers the question of a call that waits, and waits again.
func (s *Service) resume(ctx context.Context, req *mcp.CallToolRequest, t tool.Tool, token string) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	h := s.held[token]
	if h == nil || h.tool != t.Name || h.user != keyOf(req) || h.args != journal.ParamsHash(convert.ArgumentsOf(req)) {
		s.mu.Unlock()
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the call that asked this is over; it is not run again"}
	}
	r, ok := req.Params.InputResponses[h.prompt.key].(*mcp.ElicitResult)
	if !ok || r == nil {
		defer s.mu.Unlock()
		return h.prompt.result(), nil
	}
	delete(s.held, token) // a question is answered once
	s.mu.Unlock()
	h.call.mu.Lock()
	h.call.req = req // which gets the progress from now on
	h.call.mu.Unlock()
	h.prompt.reply <- caller.Answer{Action: r.Action, Content: r.Content}
	return s.await(ctx, s.connection(req.Session), h)
}

// askHeld asks the client while the tool waits.
func (c *clientCall) askHeld(ctx context.Context, s *Service, key string, params *mcp.ElicitParams) (*caller.Answer, error) {
	p := &heldPrompt{token: rand.Text(), key: key, params: params, reply: make(chan caller.Answer, 1)}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, p.token)
	}()
	limit := time.NewTimer(c.limit)
	defer limit.Stop()
	asks := c.held.asks
	for {
		select {
		case asks <- p:
			asks = nil
		case a := <-p.reply:
			return &a, nil
		case <-limit.C:
			return nil, errors.New("the client did not answer in time")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// keyOf names the key that a request came with.
func keyOf(req *mcp.CallToolRequest) string {
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		return extra.TokenInfo.UserID
	}
	return ""
}
