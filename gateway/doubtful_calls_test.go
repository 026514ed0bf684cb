package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A call that the text may only talk about reaches clients as text, or as a call once the model has confirmed it. The
// question is asked once and only with reask.
func TestDoubtfulCallsReachClientsAfterAQuestion(t *testing.T) {
	const call = `<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`
	for kind, doubtful := range map[string]string{
		"a doubt":   "There is no forecast here, so do not wait, I look it up:\n\n" + call,
		"a guess":   "I look it up.\n\n" + strings.Replace(call, `"Rome"`, "the city of Rome", 1),
		"two texts": "There is no forecast here, so do not wait, I look it up:\n\n" + call + "\n\nThen I tell you.",
	} {
		for _, c := range []struct {
			name, second string
			check        gateway.Check
			asked        int32
			calls        int
			text         string
		}{
			{name: "without reask", check: gateway.Annotate, asked: 1, text: doubtful},
			{name: "confirmed", check: gateway.Reask, second: call, asked: 2, calls: 1},
			{name: "confirmed in the same words", check: gateway.Reask, second: doubtful, asked: 2, calls: 1},
			{name: "withdrawn", check: gateway.Reask, second: "I only explained it.", asked: 2, text: "I only explained it."},
		} {
			for format := range roots {
				if format == wire.Gemini {
					continue // no text of this vendor becomes a call
				}
				for _, stream := range []bool{false, true} {
					var asked atomic.Int32
					m := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
						text := doubtful
						if asked.Add(1) > 1 {
							last, _ := json.Marshal(req.Messages[len(req.Messages)-1])
							if text = c.second; !strings.Contains(string(last), "Did you intend to call get_weather?") {
								t.Errorf("%s, %s, %s: the question is %s", kind, c.name, format, last)
							}
						}
						return answered(text)
					})
					got := ask(t, reaskingGateway(t, m, c.check), format, weatherRequest(format), stream)
					if got.err != nil || asked.Load() != c.asked || len(got.Message.Calls()) != c.calls || !strings.HasSuffix(got.Message.Text(), c.text) {
						t.Errorf("%s, %s, %s, stream %v: asked %d times, %d calls, text %q, %v", kind, c.name, format, stream, asked.Load(), len(got.Message.Calls()), got.Message.Text(), got.err)
					}
				}
			}
		}
	}
}

// The question about a doubtful call counts against the budget. Where the budget or the end of the answer forbids it,
// the client gets the call as text with a warning.
func TestDoubtfulCallsAreTextWhereTheModelCannotBeAsked(t *testing.T) {
	const call = `<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`
	const doubtful = "There is no forecast here, so do not wait, I look it up:\n\n" + call + "\n\nThen I tell you."
	const wrong = `<tool_call>{"name": "get_weather", "arguments": {"town": "Rome"}}</tool_call>`
	for _, c := range []struct {
		name    string
		answers []string
		finish  llm.Reason
		failed  bool
	}{
		{name: "cut off", answers: []string{doubtful}, finish: llm.Length},
		{name: "no budget left", answers: []string{wrong, wrong, doubtful}},
		{name: "the question counts", answers: []string{doubtful, wrong, wrong}, failed: true},
	} {
		for _, stream := range []bool{false, true} {
			var asked atomic.Int32
			m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
				text := c.answers[min(int(asked.Add(1)), len(c.answers))-1]
				return func(yield func(llm.Event, error) bool) {
					_ = yield(llm.TextDelta{Text: text}, nil) && yield(llm.Finish{Reason: cmp.Or(c.finish, llm.Stop)}, nil)
				}
			})
			got := ask(t, reaskingGateway(t, m, gateway.Reask), wire.Chat, weatherRequest(wire.Chat), stream)
			if int(asked.Load()) != len(c.answers) || (got.err != nil) != c.failed {
				t.Errorf("%s, stream %v: asked %d times, %v", c.name, stream, asked.Load(), got.err)
				continue
			}
			if c.failed {
				continue
			}
			if len(got.Message.Calls()) > 0 || got.Message.Text() != doubtful || got.Finish.Reason == llm.ToolCalls {
				t.Errorf("%s, stream %v: %d calls, %s, text %q", c.name, stream, len(got.Message.Calls()), got.Finish.Reason, got.Message.Text())
			}
		}
	}
}
