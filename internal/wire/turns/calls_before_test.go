package turns_test

import (
	"testing"

	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// Ids of new calls in an answer differ from those of the conversation, even if its beginning was left out.
func TestCallsBefore(t *testing.T) {
	call := func(ids ...string) llm.Message {
		msg := llm.Message{Role: llm.RoleAssistant}
		for _, id := range ids {
			msg.Parts = append(msg.Parts, llm.Call{ID: id, Name: "note"})
		}
		return msg
	}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: id}}}
	}
	for name, c := range map[string]struct {
		messages []llm.Message
		next     string
	}{
		"nothing":             {nil, "call_1"},
		"others' ids":         {[]llm.Message{call("toolu_7", "x"), result("x")}, "call_3"},
		"all":                 {[]llm.Message{call("call_1"), result("call_1"), call("call_2")}, "call_3"},
		"without the first":   {[]llm.Message{call("call_2"), result("call_2")}, "call_3"},
		"only a result":       {[]llm.Message{result("call_5")}, "call_6"},
		"from a text":         {[]llm.Message{call("call_text_4")}, "call_5"},
		"a vendor's number":   {[]llm.Message{call("call_9999999999999999999")}, "call_2"},
		"no number":           {[]llm.Message{call("call_-7", "call_x3", "call_")}, "call_4"},
		"more calls than ids": {[]llm.Message{call("call_1", "a", "b")}, "call_4"},
		"the provider's own":  {[]llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "srv", Hosted: true}}}}, "call_1"},
	} {
		ids := llm.CallIDs{After: turns.CallsBefore(c.messages)}
		if got := ids.Take(""); got != c.next {
			t.Errorf("%s: %s, want %s", name, got, c.next)
		}
	}
}
