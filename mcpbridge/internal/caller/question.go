package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// ClientCallKey is the key of the clientCall in the context of its session.
type ClientCallKey struct{}

// Answer is what a client says to a question.
type Answer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// maxShown is how long arguments may be that a person is asked about: more than
// can be read is not agreed to.
const maxShown = 8 << 10

// asker is a call whose client can be asked.
type asker interface {
	// Ask returns nil if the client will answer by making the call again. The tool of a question that is held has
	// begun: it is asked while the call stays open.
	Ask(ctx context.Context, key string, p *mcp.ElicitParams, held bool) (*Answer, error)
	Client() string
	// Pause gives up the turn of a call that has not begun. The call has it again when the returned function returns.
	Pause(ctx context.Context) (resume func())
}

// ApproveByClient asks the client's user about a call, or a question of its tool.
func ApproveByClient(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	c, ok := ctx.Value(ClientCallKey{}).(asker)
	if !ok {
		return journal.Approval{}, errors.New("the call belongs to no client")
	}
	by := c.Client()
	form, refusal := form(q)
	if refusal != "" {
		return q.Answer(false, "policy", refusal), nil
	}
	if q.Prompt == 0 {
		defer c.Pause(ctx)() // it has not begun, and a person takes time
	}
	a, err := c.Ask(ctx, questionKey(q), form, q.Held)
	if err != nil {
		return journal.Approval{}, err
	}
	if a == nil {
		return q.Answer(false, by, "the client has to ask first, and then to make the call again"), nil
	}
	return reply(q, by, *a), nil
}

// reply turns what the client says into a decision.
func reply(q invoke.Question, by string, a Answer) journal.Approval {
	if a.Action == "cancel" {
		return q.Answer(false, by, "the user of the client closed the question without an answer")
	}
	if a.Action != "accept" {
		return q.Answer(false, by, "the user of the client said no ("+clip.Bytes(rpc.PlainText(a.Action), 40)+")")
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

// questionKey identifies exactly this question about exactly these arguments and this effect.
func questionKey(q invoke.Question) string {
	h, _ := journal.HashValue([]any{q.Tool, q.ParamsHash, q.Prompt, q.Message, q.Bound, q.Changed})
	return rpc.QuestionKeyPrefix + string(h[len(h)-24:])
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
		return &mcp.ElicitParams{Mode: "form", Message: clip.Bytes(rpc.PlainText(q.Message), rpc.MaxQuestion), RequestedSchema: schema}, ""
	}
	if len(q.Args) > maxShown {
		return nil, fmt.Sprintf("a person has to allow it, and arguments of %d bytes are too long for a question", len(q.Args))
	}
	message := fmt.Sprintf("Allow %s with %s?", q.Tool, rpc.PlainText(string(q.Args)))
	if q.Runs != "" {
		message += "\nIt runs: " + clip.Bytes(rpc.PlainText(q.Runs), rpc.MaxQuestion)
	}
	if why := q.Why(); why != "" {
		message += "\n" + clip.Bytes(rpc.PlainText(why), rpc.MaxQuestion)
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
