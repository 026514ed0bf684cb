package gateway_test

import (
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
	const doubtful = "There is no forecast here, so do not wait, I look it up:\n\n" + call
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
							t.Errorf("%s, %s: the question is %s", c.name, format, last)
						}
					}
					return func(yield func(llm.Event, error) bool) {
						_ = yield(llm.TextDelta{Text: text}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
					}
				})
				got := ask(t, reaskingGateway(t, m, c.check), format, weatherRequest(format), stream)
				if got.err != nil || asked.Load() != c.asked || len(got.Message.Calls()) != c.calls || !strings.HasSuffix(got.Message.Text(), c.text) {
					t.Errorf("%s, %s, stream %v: asked %d times, %d calls, text %q, %v", c.name, format, stream, asked.Load(), len(got.Message.Calls()), got.Message.Text(), got.err)
				}
			}
		}
	}
}
