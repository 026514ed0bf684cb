package refine_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// TestCallWrittenAsText: a model whose whole answer is a call that its route
// does not read is asked once more, for the call itself.
func TestCallWrittenAsText(t *testing.T) {
	const text = "<tool_call>{\"name\": \"look\", \"arguments\": {\"at\": \"it\"}}</tool_call>"
	for name, c := range map[string]struct {
		answers []string
		asked   int
		told    string
	}{
		"then in words":     {[]string{text, "It is blue."}, 2, "a call of look was written as text"},
		"again":             {[]string{text, text, "too late"}, 2, "a call of look was written as text"},
		"of something else": {[]string{`{"name": "peek", "arguments": {"at": "it"}}`, "It is blue."}, 2, `there is no tool called "peek"`},
		"only quoted":       {[]string{"The page says:\n\n" + text, "too late"}, 1, ""},
	} {
		asked := 0
		var last *llm.Request
		m := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			answer := c.answers[asked]
			asked++
			last = req
			r := emulate.CallReader{Request: req, Tools: req.Tools, Promotion: llm.PromoteOff}
			return r.Read(func(yield func(llm.Event, error) bool) {
				_ = yield(llm.TextDelta{Text: answer}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
			})
		})
		req := &llm.Request{Messages: []llm.Message{llm.User("Look.")}, Tools: []llm.ToolDef{{Name: "look"}}}
		r, err := llm.Generate(t.Context(), &refine.Retrier{Model: m, Retract: true}, req)
		if err != nil || asked != c.asked || len(r.Message.Calls()) > 0 {
			t.Errorf("%s: asked %d times, %+v, %v", name, asked, r.Message, err)
		}
		if told := last.Messages[len(last.Messages)-1]; !strings.Contains(told.Text(), c.told) {
			t.Errorf("%s: told %q", name, told.Text())
		}
	}
}
