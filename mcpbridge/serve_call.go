package mcpbridge

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
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// clientCall is a call of a client: where its progress goes and who is asked about
// it.
type clientCall struct {
	req    *mcp.CallToolRequest
	limit  time.Duration // of a question
	direct bool          // questions are requests of ours; later revisions have them in results
	turn   *heldTurn     // nil if the call needs none

	mu       sync.Mutex
	last     float64
	answered map[string]answer            // by the key of the question
	open     map[string]*mcp.ElicitParams // that the client has to answer first
}

// clientCallKey is the key of the clientCall in the context of its session.
type clientCallKey struct{}

// answer is what a client says to a question.
type answer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// newest is the first revision in which servers send no requests: what they ask is
// in the result of a call, which the client makes again with the answers.
const newest = "2026-07-28"

func newClientCall(req *mcp.CallToolRequest, limit time.Duration) (*clientCall, error) {
	c := &clientCall{req: req, limit: limit, direct: true, answered: make(map[string]answer), open: make(map[string]*mcp.ElicitParams)}
	if p := req.Session.InitializeParams(); p != nil && p.ProtocolVersion >= newest {
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
			c.answered[key] = answer{r.Action, r.Content}
		}
	}
	return c, nil
}

// readState reads the answers of earlier rounds. They need no signature: they are answers of the
// client, which may give any.
func readState(state string) (map[string]answer, error) {
	if state == "" {
		return nil, nil
	}
	if len(state) > maxState {
		return nil, fmt.Errorf("requestState has more than %d bytes", maxState)
	}
	text, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		return nil, errors.New("requestState is none of ours")
	}
	var answers map[string]answer
	if err := json.Unmarshal(text, &answers); err != nil {
		return nil, errors.New("requestState is none of ours")
	}
	return answers, nil
}

func writeState(answers map[string]answer) string {
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
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	c.mu.Lock()
	switch {
	case p.Done > c.last:
		c.last = p.Done
	case p.Total == 0:
		c.last++
	default:
		c.last = math.Nextafter(c.last, math.Inf(1))
	}
	done := c.last
	c.mu.Unlock()
	// A client that does not listen must not hold up the call.
	_ = c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Message, Progress: done, Total: p.Total})
}

// maxShown is how long arguments may be that a person is asked about: more than
// can be read is not agreed to.
const maxShown = 8 << 10

// asker is a call whose client can be asked.
type asker interface {
	// ask returns nil if the client will answer by making the call again.
	ask(ctx context.Context, key string, p *mcp.ElicitParams) (*answer, error)
	client() string
}

// approveByClient asks the client's user about a call, or a question of its tool.
func approveByClient(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	c, ok := ctx.Value(clientCallKey{}).(asker)
	if !ok {
		return journal.Approval{}, errors.New("the call belongs to no client")
	}
	by := c.client()
	form, refusal := form(q)
	if refusal != "" {
		return q.Answer(false, "policy", refusal), nil
	}
	if own, ok := c.(*clientCall); ok && q.Prompt == 0 && own.turn != nil {
		own.turn.release() // it has not begun, and a person takes time
		defer own.turn.take(ctx)
	}
	a, err := c.ask(ctx, questionKey(q), form)
	if err != nil {
		return journal.Approval{}, err
	}
	if a == nil {
		return q.Answer(false, by, "the client has to ask first, and then to make the call again"), nil
	}
	return reply(q, by, *a), nil
}

// reply turns what the client says into a decision.
func reply(q invoke.Question, by string, a answer) journal.Approval {
	if a.Action == "cancel" {
		return q.Answer(false, by, "the user of the client closed the question without an answer")
	}
	if a.Action != "accept" {
		return q.Answer(false, by, "the user of the client said no ("+clip.Bytes(plainText(a.Action), 40)+")")
	}
	if q.Prompt == 0 {
		if allow, _ := a.Content["allow"].(bool); !allow {
			return q.Answer(false, by, "the user of the client said no")
		}
		return q.Answer(true, by, "")
	}
	var value any = a.Content
	if wrapped(q.Schema) {
		value = a.Content["answer"]
	}
	text, err := json.Marshal(value)
	if err != nil || q.Fault(text) != "" {
		return q.Answer(false, by, "the answer does not fit the question: "+q.Fault(text))
	}
	out := q.Answer(true, by, "")
	out.Value = text
	return out
}

func (c *clientCall) client() string {
	if p := c.req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return "client " + clip.Bytes(plainText(p.ClientInfo.Name), 60)
	}
	return "client"
}

// ask puts a question to the client. It returns nil if the client will answer by
// making the call again.
func (c *clientCall) ask(ctx context.Context, key string, p *mcp.ElicitParams) (*answer, error) {
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
	return &answer{res.Action, res.Content}, nil
}

// questionKey identifies exactly this question about exactly these arguments.
func questionKey(q invoke.Question) string {
	h, _ := journal.HashValue([]any{q.Tool, q.ParamsHash, q.Prompt, q.Message})
	return questionKeyPrefix + string(h[len(h)-24:])
}

// form is the question as a client asks it, or why it cannot be asked.
func form(q invoke.Question) (*mcp.ElicitParams, string) {
	if q.Prompt > 0 {
		schema := q.Schema
		if wrapped(schema) {
			inner := `{"type":"string"}`
			if len(schema) > 0 {
				inner = string(schema)
			}
			schema = json.RawMessage(`{"type":"object","properties":{"answer":` + inner + `},"required":["answer"]}`)
		}
		return &mcp.ElicitParams{Mode: "form", Message: clip.Bytes(plainText(q.Message), maxQuestion), RequestedSchema: schema}, ""
	}
	if len(q.Args) > maxShown {
		return nil, fmt.Sprintf("a person has to allow it, and arguments of %d bytes are too long for a question", len(q.Args))
	}
	message := fmt.Sprintf("Allow %s with %s?", q.Tool, plainText(string(q.Args)))
	if q.Reason != "" {
		message += "\n" + clip.Bytes(plainText(q.Reason), maxQuestion)
	}
	if q.Repeats != "" {
		message += "\nThe same call was made before, and nobody knows whether it took effect: it may happen twice."
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow this call","default":false}},"required":["allow"]}`)}, ""
}

// wrapped reports whether a tool's question asks for a value that is not an object. Forms need an
// object.
func wrapped(schema json.RawMessage) bool {
	var s struct{ Type string }
	return json.Unmarshal(schema, &s) != nil || s.Type != "object"
}
