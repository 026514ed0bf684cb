package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// clientCall is a call of a client: where its progress goes and who is asked about
// it.
type clientCall struct {
	req    *mcp.CallToolRequest
	limit  time.Duration // of a question
	direct bool          // questions are requests of ours; later revisions have them in results
	turn   *heldTurn     // nil if the call needs none
	held   *heldCall     // nil if questions are requests
	of     *Service
	// account has the record of the call.
	account *caller.Account

	mu       sync.Mutex
	last     float64
	answered map[string]caller.Answer     // by the key of the question
	open     map[string]*mcp.ElicitParams // that the client has to answer first
}

func newClientCall(req *mcp.CallToolRequest, limit time.Duration) (*clientCall, error) {
	c := &clientCall{req: req, limit: limit, direct: true, answered: make(map[string]caller.Answer), open: make(map[string]*mcp.ElicitParams)}
	if p := req.Session.InitializeParams(); p != nil && p.ProtocolVersion >= rpc.Newest {
		c.direct = false
	}
	before, err := readState(req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	for key, a := range before {
		c.answered[key] = a
	}
	for key, response := range req.Params.InputResponses {
		if r, ok := response.(*mcp.ElicitResult); ok && r != nil {
			c.answered[key] = caller.Answer{Action: r.Action, Content: r.Content}
		}
	}
	return c, nil
}

// readState reads the answers of earlier rounds. They need no signature: they are answers of the
// client, which may give any.
func readState(state string) (map[string]caller.Answer, error) {
	if state == "" {
		return nil, nil
	}
	if len(state) > rpc.MaxState {
		return nil, fmt.Errorf("requestState has more than %d bytes", rpc.MaxState)
	}
	text, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		return nil, errors.New("requestState is none of ours")
	}
	var answers map[string]caller.Answer
	if err := json.Unmarshal(text, &answers); err != nil {
		return nil, errors.New("requestState is none of ours")
	}
	return answers, nil
}

func writeState(answers map[string]caller.Answer) string {
	if len(answers) == 0 {
		return ""
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// canAsk reports whether the client can ask a person by a form.
func (c *clientCall) canAsk() bool {
	p := c.req.Session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // neither means form, as in the first revision that had it
}

// asks returns the result that asks the client, nil if nothing is to be asked.
func (c *clientCall) asks() *mcp.CallToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		return nil
	}
	requests := make(mcp.InputRequestMap, len(c.open))
	for key, p := range c.open {
		requests[key] = p
	}
	return &mcp.CallToolResult{InputRequests: requests, RequestState: writeState(c.answered)}
}

// progress tells the client how far a call has come. The numbers that clients get
// only rise.
func (c *clientCall) progress(ctx context.Context, p tool.Progress) {
	c.mu.Lock()
	req := c.req
	token := req.Params.GetProgressToken()
	switch {
	case token == nil:
	case p.Done > c.last:
		c.last = p.Done
	case p.Total == 0:
		c.last++
	default:
		c.last = math.Nextafter(c.last, math.Inf(1))
	}
	done := c.last
	c.mu.Unlock()
	if token == nil {
		return
	}
	// A client that does not listen must not hold up the call.
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Message, Progress: done, Total: p.Total})
}

// Pause gives up the turn of the call.
func (c *clientCall) Pause(ctx context.Context) func() {
	if c.turn == nil {
		return func() {}
	}
	c.turn.release()
	return func() { c.turn.take(ctx) }
}

// Client names the client.
func (c *clientCall) Client() string {
	if p := c.req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return "client " + clip.Bytes(rpc.PlainText(p.ClientInfo.Name), 60)
	}
	return "client"
}

// Ask puts a question to the client. It returns nil if the client will answer by
// making the call again.
func (c *clientCall) Ask(ctx context.Context, key string, p *mcp.ElicitParams, held bool) (*caller.Answer, error) {
	if held && !c.direct {
		return c.askHeld(ctx, c.of, key, p)
	}
	c.mu.Lock()
	a, there := c.answered[key]
	if !there && !c.direct {
		c.open[key] = p
	}
	c.mu.Unlock()
	switch {
	case there:
		return &a, nil
	case !c.direct:
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, errors.New("the client did not answer in time"))
	defer cancel()
	res, err := c.req.Session.Elicit(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return &caller.Answer{Action: res.Action, Content: res.Content}, nil
}
