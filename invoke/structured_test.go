package invoke_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// TestStructuredOutput: what a tool returns as JSON reaches the program if it is
// what the tool promises; the model is shown the parts, or else the JSON.
func TestStructuredOutput(t *testing.T) {
	price := schema.Schema(`{"type":"object","properties":{"price":{"type":"number"}},"required":["price"]}`)
	for _, c := range []struct {
		name, returns, text string
		promise             schema.Schema
		structured, shown   string
		warned              int
	}{
		{"no promise", `{"x":1}`, "one", nil, `{"x":1}`, "one", 0},
		{"as promised", `{"price":2}`, "", price, `{"price":2}`, `{"price":2}`, 0},
		{"not as promised", `{"price":"2"}`, "two", price, "", "two", 1},
		{"not as promised, and no text", `{"price":"2"}`, "", price, "", `{"price":"2"}`, 1},
		{"nothing, though promised", "", "two", price, "", "two", 1},
		{"no JSON", `{"price":`, "two", nil, "", "two", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := tool.New("f", "Does it.", nil, func(context.Context, json.RawMessage) (tool.Output, error) {
				out := tool.Output{Structured: json.RawMessage(c.returns)}
				if c.text != "" {
					out.Parts = tool.Text(c.text).Parts
				}
				return out, nil
			})
			f.OutputSchema = c.promise
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f)})
			warned := 0
			for ev, err := range s.Do(t.Context(), []llm.Call{call("a", "f", `{}`)}) {
				if err != nil {
					t.Fatal(err)
				}
				switch ev := ev.(type) {
				case llm.Warning:
					warned++
				case invoke.Outcome:
					if string(ev.Structured) != c.structured || ev.Result.Text() != c.shown || ev.Error != nil {
						t.Errorf("%s, shown %q, %v", ev.Structured, ev.Result.Text(), ev.Error)
					}
				}
			}
			if warned != c.warned {
				t.Errorf("%d warnings", warned)
			}
		})
	}
	if _, err := tool.NewSet(tool.Tool{Name: "f", OutputSchema: schema.Schema(`{"type":7}`), Call: func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil }}); err == nil {
		t.Error("a schema that cannot be used was taken")
	}
}

// TestOriginOfHandBuiltTools: a constructor says that the program hands a function
// over; a literal says nothing, and its changes are refused.
func TestOriginOfHandBuiltTools(t *testing.T) {
	run := func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("done"), nil }
	made := tool.New("made", "Does it.", nil, run)
	bare := tool.Tool{Name: "bare", Call: run}
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(made, bare)})
	got := outcomes(t, s, call("a", "made", `{}`), call("b", "bare", `{}`))
	if got[0].Error != nil || got[1].Error == nil || got[1].Error.Code != tool.Permission {
		t.Errorf("%v, %v", got[0].Error, got[1].Error)
	}
}

// TestFuncIsStructured: what a function returns as a struct is structured, too.
func TestFuncIsStructured(t *testing.T) {
	f := tool.Func("f", "Does it.", func(context.Context, struct{}) (struct {
		N int `json:"n"`
	}, error) {
		return struct {
			N int `json:"n"`
		}{7}, nil
	})
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f)})
	if o := outcomes(t, s, call("a", "f", `{}`))[0]; string(o.Structured) != `{"n":7}` || o.Result.Text() != `{"n":7}` {
		t.Errorf("%s %s", o.Structured, o.Result.Text())
	}
}

func ExampleRunner_structured() {
	quote := tool.New("quote", "Quotes a price.", nil, func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{Structured: json.RawMessage(`{"price":12.5}`)}, nil
	})
	quote.OutputSchema = schema.Schema(`{"type":"object","properties":{"price":{"type":"number"}},"required":["price"]}`)
	quote.Extra = llm.Extra{"messages": {"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}
	s, err := (&invoke.Runner{Tools: tool.MustSet(quote)}).Session(nil)
	if err != nil {
		panic(err)
	}
	for ev := range s.Do(context.Background(), []llm.Call{{ID: "1", Name: "quote"}}) {
		if o, ok := ev.(invoke.Outcome); ok {
			fmt.Println(string(o.Structured))
		}
	}
	// Output: {"price":12.5}
}
