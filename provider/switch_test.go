package provider_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// lawful says what is wrong with a history that a vendor was sent.
func lawful(req *llm.Request) error {
	var open []string
	ids := map[string]bool{}
	for i, m := range req.Messages {
		if m.Role == llm.RoleTool {
			if len(m.Parts) < len(open) {
				return fmt.Errorf("message %d has %d results for %d calls", i, len(m.Parts), len(open))
			}
			for k, want := range open {
				r, ok := m.Parts[k].(llm.Result)
				if !ok || r.CallID != want {
					return fmt.Errorf("message %d: part %d is %+v, not the result of %s", i, k, m.Parts[k], want)
				}
			}
			open = nil
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d of %s comes before the results of %v", i, m.Role, open)
		}
		for _, c := range m.Calls() {
			if ids[c.ID] {
				return fmt.Errorf("the id %q is there twice", c.ID)
			}
			ids[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%v have no results", open)
	}
	return nil
}

// strictActor is the actor, but it refuses a history that is not in order.
func strictActor(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if err := lawful(req); err != nil {
		return func(yield func(llm.Event, error) bool) {
			yield(nil, &llm.Error{Op: "sim", Kind: llm.Invalid, Status: 400, Err: err})
		}
	}
	if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool || strings.Contains(last.Text(), "sunny") {
		plain := req.Clone()
		plain.Messages = []llm.Message{llm.User("thank you")}
		plain.Tools, plain.System = nil, ""
		return actor(ctx, plain)
	}
	return actor(ctx, req)
}

// talk asks a model, answers its calls, and lets another model speak about the
// results.
func talk(t *testing.T, conversation []llm.Message, asks, speaks llm.Model, question string) []llm.Message {
	t.Helper()
	req := ask(question)
	req.Messages = append(conversation, llm.User(question))
	r, err := llm.Generate(t.Context(), asks, req)
	if err != nil || len(r.Message.Calls()) == 0 {
		t.Fatalf("calls %v, error %v, text %q", r.Message.Calls(), err, r.Message.Text())
	}
	req.Messages = append(req.Messages, r.Message)
	var results []llm.Result
	for _, c := range r.Message.Calls() {
		results = append(results, llm.Result{CallID: c.ID, Name: c.Name, Parts: []llm.Part{llm.Text{Text: "sunny"}}})
	}
	req.Messages = append(req.Messages, llm.Results(results...))
	if r, err = llm.Generate(t.Context(), speaks, req); err != nil || r.Message.Text() == "" {
		t.Fatalf("text %q, error %v", r.Message.Text(), err)
	}
	return append(req.Messages, r.Message)
}

// Conversations with calls go from every vendor and route to every other and
// back, streamed and whole.
func TestModelSwitch(t *testing.T) {
	server := serve(t, &sim.Server{Model: llm.ModelFunc(strictActor)})
	var models []llm.Model
	var names []string
	for _, h := range hosts {
		for _, route := range routes {
			c := cell{host: h, route: route, whole: len(models)%2 == 1}
			models = append(models, c.open(t, server))
			names = append(names, c.String())
		}
	}
	for i, a := range models {
		for k, b := range models {
			t.Run(fmt.Sprintf("%s to %s", names[i], names[k]), func(t *testing.T) {
				conversation := talk(t, nil, a, b, "single")
				talk(t, conversation, b, a, "parallel")
			})
		}
	}
}

// The walk of the five vendors and back, in one conversation.
func TestWalk(t *testing.T) {
	server := serve(t, &sim.Server{Model: llm.ModelFunc(strictActor)})
	var conversation []llm.Message
	order := append(append([]host{}, hosts...), hosts[3], hosts[2], hosts[1], hosts[0])
	for i, h := range order {
		next := order[(i+1)%len(order)]
		a := cell{host: h, route: provider.Native}.open(t, server)
		b := cell{host: next, route: provider.Native}.open(t, server)
		conversation = talk(t, conversation, a, b, "parallel")
	}
	calls := 0
	for _, m := range conversation {
		calls += len(m.Calls())
	}
	t.Logf("%d messages, %d calls, %d vendors", len(conversation), calls, len(order))
}
