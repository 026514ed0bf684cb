package invoke_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/tool"
)

// TestNoBlindRetry: after a transient error a call is made again only if the tool promises that twice is like once.
func TestNoBlindRetry(t *testing.T) {
	for effects, want := range map[tool.Effects]int{0: 1, tool.Idempotent: 2} {
		runs := 0
		f := tool.Tool{Name: "f", Effects: effects, Call: func(context.Context, json.RawMessage) (tool.Output, error) {
			if runs++; runs == 1 {
				return tool.Output{}, tool.Errorf(tool.Network, "the line is down")
			}
			return tool.Text("done"), nil
		}}
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Policy: invoke.AllowAll})
		if o := outcomes(t, s, call("a", "f", `{}`))[0]; runs != want {
			t.Errorf("effects %v: it ran %d times, want %d: %s", effects, runs, want, o.Result.Text())
		}
	}
}
