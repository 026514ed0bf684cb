package refine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/schema"
)

type verdict struct {
	Decision string  `json:"decision"`
	Score    float64 `json:"score,omitempty"`
}

type answer struct {
	Answer string `json:"answer"`
}

// TestStructuredOutput is the contract of structured output, by its numbers.
func TestStructuredOutput(t *testing.T) {
	emit := func(args string) []llm.Part { return []llm.Part{call("emit_output", args)} }
	for _, c := range []struct {
		name  string
		says  []any
		want  string // the value, or what the error says
		fails bool
		asked int
		told  string // in the second question
	}{
		{"2.1 the tool gives the answer", []any{emit(`{"answer":"x"}`)}, `{"answer":"x"}`, false, 1, ""},
		{"2.1 text JSON is accepted", []any{`{"answer":"x"}`}, `{"answer":"x"}`, false, 1, ""},
		{"2.2 first fenced block", []any{"Here:\n```json\n{\"answer\":\"x\"}\n```\nDone."}, `{"answer":"x"}`, false, 1, ""},
		{"2.2 incomplete", []any{`{"answer": "incomplete...`, emit(`{"answer":"x"}`)}, `{"answer":"x"}`, false, 2, "Found incomplete JSON (opening brace without closing)."},
		{"2.2 incomplete list", []any{`[1, 2`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "Found incomplete JSON (opening bracket without closing)."},
		{"2.2 not JSON at all", []any{`This is not JSON at all {{{`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "Found incomplete JSON (opening brace without closing)."},
		{"2.2 empty", []any{"", `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "Response was empty."},
		{"2.2 no JSON", []any{"I would say yes.", `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "No JSON content found in response text."},
		{"2.2 fence not marked as JSON", []any{"```\nyes\n```", `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "Found code block but not marked as JSON."},
		{"2.2 fence with errors", []any{"```json\n{\"answer\" \"x\" y}\n```", `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "Found JSON code block but it contains syntax errors."},
		{"2.2 wrong shape says which field", []any{`{"answer":[1]}`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "was valid JSON but did not match the required output schema. The value at /answer must be a string, not an array of 1 item. Please correct the field types"},
		{"2.2 syntax and shape sound different", []any{`nope`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "did not contain valid JSON"},
		{"2.3 any fenced block, the first valid wins", []any{"```\nnot json\n```\n```json\n{\"answer\":\"x\"}\n```"}, `{"answer":"x"}`, false, 1, ""},
		{"2.3 JSON that contains a fence", []any{"```json\n{\"answer\":\"use ```go\\nx``` here\"}\n```"}, "{\"answer\":\"use ```go\\nx``` here\"}", false, 1, ""},
		{"2.3 trailing prose", []any{`{"answer":"x"} I hope that helps.`}, `{"answer":"x"}`, false, 1, ""},
		{"2.3 exhausted, syntax", []any{"no"}, "Attempt 0 (initial): No JSON content found in response text.; Attempt 1: No JSON content found in response text.; Attempt 2:", true, 3, ""},
		{"2.3 exhausted, schema keeps the field", []any{`{"answer":[1]}`, `{"answer":{"a":1}}`}, "The value at /answer must be a string, not an object", true, 3, ""},
		{"2.3 a bare scalar is a shape failure", []any{`42`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "was valid JSON but did not match"},
		{"2.3 so is a list", []any{`["x"]`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "was valid JSON but did not match"},
		{"2.3 so is null", []any{`null`, `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "was valid JSON but did not match"},
		{"2.2 the answer so far is quoted to 500 characters", []any{strings.Repeat("é", 600), `{"answer":"x"}`}, `{"answer":"x"}`, false, 2, "**Your response started with:**\n" + strings.Repeat("é", 500) + "...\n"},
		{"7.3 always bad: 1+2 calls", []any{"bad"}, "Attempt 2", true, 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &actor{says: c.says}
			got, err := refine.Into[answer](t.Context(), m, ask(), 0)
			check(t, m, got, err, c.want, c.fails, c.asked, c.told)
		})
	}
}

// TestUnwrapping is 2.3 and 7.3: only what is unambiguous.
func TestUnwrapping(t *testing.T) {
	for _, c := range []struct {
		name  string
		says  []any
		want  string
		asked int
	}{
		{"7.3 under the field's own name", []any{`{"decision":{"decision":"APPROVE"}}`}, `{"decision":"APPROVE"}`, 1},
		{"2.3 under value", []any{`{"decision":{"value":"APPROVE"}}`}, `{"decision":"APPROVE"}`, 1},
		{"2.3 only one has the type", []any{`{"decision":{"value":1,"result":"APPROVE"}}`}, `{"decision":"APPROVE"}`, 1},
		{"7.3 an error is no answer", []any{`{"decision":{"error":"x"}}`, `{"decision":"no"}`}, `{"decision":"no"}`, 2},
		{"2.3 another key beside", []any{`{"decision":{"value":"yes","error":"x"}}`, `{"decision":"no"}`}, `{"decision":"no"}`, 2},
		{"7.3 two candidates", []any{`{"decision":"a","score":{"value":1,"result":2}}`, `{"decision":"no"}`}, `{"decision":"no"}`, 2},
		{"2.3 a bool is no number", []any{`{"decision":"a","score":true}`, `{"decision":"no"}`}, `{"decision":"no"}`, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &actor{says: c.says}
			got, err := refine.Into[verdict](t.Context(), m, ask(), 0)
			check(t, m, got, err, c.want, false, c.asked, "")
		})
	}
}

func check(t *testing.T, m *actor, got any, err error, want string, fails bool, asked int, told string) {
	t.Helper()
	if len(m.asked) != asked {
		t.Errorf("asked %d times, want %d", len(m.asked), asked)
	}
	if fails {
		if err == nil || !strings.Contains(err.Error(), want) || llm.KindOf(err) != llm.BrokenPromise {
			t.Errorf("error %v of kind %s, want one with %q", err, llm.KindOf(err), want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(got)
	var a, b any
	if json.Unmarshal(raw, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("got %s, want %s", raw, want)
	}
	if told != "" {
		last := m.asked[1].Messages
		if text := last[len(last)-1].Text(); !strings.Contains(text, told) {
			t.Errorf("the model was told\n%s\nand not\n%s", text, told)
		}
	}
}

func TestTheFieldErrorSurvives(t *testing.T) {
	m := &actor{says: []any{`{"answer":[1]}`, `{"answer":[true]}`}}
	_, err := refine.Into[answer](t.Context(), m, ask(), 0)
	var fault schema.Fault
	if !errors.As(err, &fault) || fault.Path != "/answer" || fault.Expected == "" || fault.Received == "" {
		t.Errorf("fault %+v in %v", fault, err)
	}
}

func TestCallsOfOtherToolsComeBack(t *testing.T) {
	search := llm.ToolDef{Name: "search", Schema: json.RawMessage(`{"type":"object"}`)}
	for name, says := range map[string][]llm.Part{
		"alone":            {llm.Text{Text: "Let me see."}, call("search", `{"q":"x"}`)},
		"beside an answer": {call("emit_output", `{"answer":"early"}`), call("search", `{"q":"x"}`)},
	} {
		m := &actor{says: []any{says}}
		req := ask()
		req.Tools = []llm.ToolDef{search}
		_, err := refine.Into[answer](t.Context(), m, req, 0)
		var calls *refine.CallsError
		if !errors.As(err, &calls) || len(calls.Response.Message.Calls()) != 1 || len(m.asked) != 1 {
			t.Errorf("%s: asked %d times, error %v", name, len(m.asked), err)
			continue
		}
		if name == "beside an answer" && len(calls.Response.Warnings) == 0 {
			t.Errorf("%s: the early answer was dropped in silence", name)
		}
	}
	req := ask()
	req.Tools = []llm.ToolDef{{Name: "emit_output"}}
	if _, err := refine.Into[answer](t.Context(), &actor{says: []any{"x"}}, req, 0); llm.KindOf(err) != llm.Invalid {
		t.Errorf("a tool called emit_output was accepted: %v", err)
	}
}

func TestRecoveryWithinTheBudget(t *testing.T) {
	for tries, want := range map[int]int{0: 3, 1: 1, 2: 2, 5: 5} {
		m := &actor{says: []any{"no"}}
		if _, err := refine.Into[answer](t.Context(), m, ask(), tries); err == nil || len(m.asked) != want {
			t.Errorf("tries %d: asked %d times, error %v", tries, len(m.asked), err)
		}
	}
	m := &actor{says: []any{"no"}}
	req := ask()
	req.RetryBudget = llm.NewRetryBudget(1)
	if _, err := refine.Into[answer](t.Context(), m, req, 9); err == nil || len(m.asked) != 2 {
		t.Errorf("a budget of 1: asked %d times, error %v", len(m.asked), err)
	}
}

func TestIntoOfOtherTypes(t *testing.T) {
	if got, err := refine.Into[[]int](t.Context(), &actor{says: []any{"```json\n[1,2,3]\n```"}}, ask(), 0); err != nil || len(got) != 3 {
		t.Errorf("got %v %v", got, err)
	}
	if got, err := refine.Into[map[string]int](t.Context(), &actor{says: []any{`{"a":"1"}`}}, ask(), 0); err != nil || got["a"] != 1 {
		t.Errorf("got %v %v", got, err)
	}
	if _, err := refine.Into[chan int](t.Context(), &actor{says: []any{`{}`}}, ask(), 0); llm.KindOf(err) != llm.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestStreamShowsTheValueGrow(t *testing.T) {
	text := `{"answer":"` + strings.Repeat("all work and no play ", 40) + `"}`
	var lengths []int
	for v, err := range refine.Stream[answer](t.Context(), &actor{says: []any{text}}, ask(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, len(v.Value.Answer))
		if v.Whole != (len(v.Value.Answer) == 840) {
			t.Errorf("%d characters, whole %v", len(v.Value.Answer), v.Whole)
		}
	}
	for i := 1; i < len(lengths); i++ {
		if lengths[i] < lengths[i-1] {
			t.Errorf("the value shrank: %v", lengths)
		}
	}
	if len(lengths) < 5 || len(lengths) > 40 {
		t.Errorf("%d values were shown", len(lengths))
	}
	for range refine.Stream[answer](t.Context(), &actor{says: []any{text}}, ask(), 0) {
		break // the reader may stop at any time
	}
}

func ExampleInto() {
	type recipe struct {
		Name    string   `json:"name"`
		Minutes int      `json:"minutes"`
		Needs   []string `json:"needs"`
	}
	model := &actor{says: []any{
		"Lasagna takes about an hour.", // no JSON: the model is told so, and asked again
		`{"name": "Lasagna", "minutes": "60", "needs": ["pasta", "tomatoes"]}`,
	}}
	req := &llm.Request{Messages: []llm.Message{llm.User("How do I make lasagna?")}}
	r, err := refine.Into[recipe](context.Background(), model, req, 3)
	fmt.Println(r.Name, r.Minutes, r.Needs, err)
	// Output: Lasagna 60 [pasta tomatoes] <nil>
}

// TestIntoIsExact: a value that the schema did not see does not reach a Go value.
func TestIntoIsExact(t *testing.T) {
	type order struct {
		Amount int `json:"amount"`
	}
	open := &llm.Request{Output: &llm.OutputFormat{Schema: []byte(`{"type":"object","properties":{"amount":{"type":"integer","maximum":100}},"required":["amount"]}`)}}
	for text, want := range map[string]int{`{"amount":5,"more":1}`: 5, `{"amount":5,"AMOUNT":5000}`: 0, `{"AMOUNT":5000,"amount":5}`: 0} {
		v, err := refine.Into[order](t.Context(), &actor{says: []any{text}}, open, 1)
		if v.Amount != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
}
