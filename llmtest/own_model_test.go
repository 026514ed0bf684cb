package llmtest_test

// A model of one's own, and the suite that holds it to the contract: copy this
// file to begin.

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
)

func TestOwnModel(t *testing.T) {
	llmtest.TestModel(t, func(*testing.T) llm.Model { return parrot{} })
}

// parrot calls the first permitted tool with the last word of the message, and
// repeats its result.
type parrot struct{}

func (p parrot) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range p.answer(req) {
			if err := ctx.Err(); err != nil {
				yield(nil, &llm.Error{Op: "parrot", Kind: llm.Canceled, Err: err})
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// answer returns all events at once; a real model yields each when it arrives.
func (parrot) answer(req *llm.Request) []llm.Event {
	last := req.Messages[len(req.Messages)-1]
	for _, t := range req.Tools {
		if last.Role == llm.RoleTool || !req.Choice.Permits(t.Name) {
			continue
		}
		words := strings.Fields(last.Text())
		args, _ := json.Marshal(map[string]string{"city": strings.Trim(words[len(words)-1], "?.")})
		call := llm.Call{ID: fmt.Sprintf("parrot_%d", len(req.Messages)), Name: t.Name, Args: args}
		return []llm.Event{
			llm.CallStart{ID: call.ID, Name: call.Name}, llm.CallDelta{ID: call.ID, Args: string(args)}, call,
			llm.Finish{Reason: llm.ToolCalls},
		}
	}
	said := last.Text()
	for _, p := range last.Parts {
		if r, ok := p.(llm.Result); ok {
			said += r.Text()
		}
	}
	return []llm.Event{llm.TextDelta{Text: said}, llm.Finish{Reason: llm.Stop}}
}
