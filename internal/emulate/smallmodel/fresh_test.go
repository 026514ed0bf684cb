package smallmodel

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// Requests whose author had not read the rules for small models. At first sight 63 of 70 got the right tool and 54 the
// right arguments by rule. Every rule that they asked for is kept.
func TestFreshRequestsGetTheRightTool(t *testing.T) {
	tools := builtins(t)
	tool, call, open := 0, 0, 0
	requests := requestsIn(t, "fresh.jsonl")
	for _, r := range requests {
		chosen, reason := conversationOf([]llm.Message{llm.User(r.Ask)}).Choose(tools, llm.ToolChoice{}, false)
		var names []string
		for _, d := range chosen {
			names = append(names, d.Name)
		}
		got := strings.Join(names, " ")
		named := len(r.Calls) == 0 && got == ""
		right := named
		args, free := map[string]any{}, false
		if len(chosen) == 1 {
			args, free = fixed(t, r.Ask, tools)
		}
		for _, c := range r.Calls {
			if c.Tool == got {
				named = true
				right = right || !free && allowed(c.Args, args)
			}
		}
		switch {
		case right:
			tool, call = tool+1, call+1
		case named && free:
			tool, open = tool+1, open+1
		case named:
			tool++
		}
		if !right {
			t.Logf("%q: %q %v, free %v (%s)", r.Ask, got, args, free, reason)
		}
	}
	t.Logf("of %d requests %d get the right tool; %d the right arguments by rule, and %d by the model", len(requests), tool, call, open)
	if tool < 69 || call < 63 {
		t.Errorf("of %d requests %d get the right tool, and %d the right call; both were more", len(requests), tool, call)
	}
}
