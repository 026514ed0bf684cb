package relay

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// rounds are the questions about a call in revisions whose servers ask in results.
// The server may ask in the same way, so what the client sends back is ours and the
// server's, and is taken apart before the server gets it.
type rounds struct {
	answered map[string]caller.Answer     // to questions of ours, by their keys
	inner    string                       // the state of the server
	open     map[string]*mcp.ElicitParams // that the client has to answer first
}

// statePrefix begins a state that holds answers of ours.
const statePrefix = "toolpost."

type roundState struct {
	Answers map[string]caller.Answer `json:"answers"`
	Inner   string                   `json:"inner,omitempty"`
}

// readRounds removes our state from the parameters of a call. rest is nil if there was none.
func readRounds(params json.RawMessage) (r rounds, rest json.RawMessage, err error) {
	r = rounds{answered: make(map[string]caller.Answer), open: make(map[string]*mcp.ElicitParams)}
	var p struct {
		Responses map[string]json.RawMessage `json:"inputResponses"`
		State     string                     `json:"requestState"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return r, nil, errors.New("inputResponses and requestState cannot be read")
	}
	ours, found := strings.CutPrefix(p.State, statePrefix)
	if found {
		if err := r.readState(ours); err != nil {
			return r, nil, err
		}
	}
	for key, raw := range p.Responses {
		var a caller.Answer
		if !strings.HasPrefix(key, rpc.QuestionKeyPrefix) {
			continue
		}
		if json.Unmarshal(raw, &a) != nil {
			return r, nil, errors.New("an answer to a question cannot be read")
		}
		r.answered[key], found = a, true
		delete(p.Responses, key)
	}
	if !found {
		return r, nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(params, &all); err != nil {
		return r, nil, err
	}
	delete(all, "inputResponses")
	delete(all, "requestState")
	if len(p.Responses) > 0 {
		if all["inputResponses"], err = json.Marshal(p.Responses); err != nil {
			return r, nil, err
		}
	}
	if r.inner != "" {
		if all["requestState"], err = json.Marshal(r.inner); err != nil {
			return r, nil, err
		}
	}
	rest, err = json.Marshal(all)
	return r, rest, err
}

func (r *rounds) readState(text string) error {
	if len(text) > rpc.MaxState {
		return errors.New("requestState is too long")
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	var s roundState
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return errors.New("requestState is none of ours")
	}
	for key, a := range s.Answers {
		if strings.HasPrefix(key, rpc.QuestionKeyPrefix) {
			r.answered[key] = a
		}
	}
	r.inner = s.Inner
	return nil
}

// state is what the client sends back the next time.
func (r *rounds) state(inner string) json.RawMessage {
	text, _ := json.Marshal(roundState{r.answered, inner}) // answers were JSON
	quoted, _ := json.Marshal(statePrefix + base64.RawURLEncoding.EncodeToString(text))
	return quoted
}

// question is the result that asks the client.
func (r *rounds) question() json.RawMessage {
	requests := make(mcp.InputRequestMap, len(r.open))
	for key, p := range r.open {
		requests[key] = p
	}
	asked, err := json.Marshal(requests)
	if err != nil {
		return nil
	}
	text, _ := json.Marshal(map[string]any{"resultType": "input_required", "inputRequests": json.RawMessage(asked), "requestState": r.state(r.inner)})
	return text
}

// keep adds our answers to a result in which the server asks something, so the client is not asked
// twice. It returns other results unchanged.
func (r *rounds) keep(response []byte) []byte {
	var e struct {
		Result struct{ ResultType, RequestState string }
	}
	if len(r.answered) == 0 || json.Unmarshal(response, &e) != nil || e.Result.ResultType != "input_required" {
		return response
	}
	text, err := rpc.ReplaceMember(response, r.state(e.Result.RequestState), "result", "requestState")
	if err != nil {
		return response
	}
	return text
}
