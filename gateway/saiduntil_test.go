package gateway

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// What was said until each message is what was said before it, for conversations of every shape.
func TestSaidUntil(t *testing.T) {
	call := llm.Assistant(llm.Text{Text: "I look."}, llm.Call{ID: "c", Name: "f"})
	result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c", Parts: []llm.Part{llm.Text{Text: "seen"}}}}}
	talk := []llm.Message{llm.User("a"), call, result, llm.Assistant(llm.Text{Text: "b"}), llm.Assistant(llm.Text{Text: "c"}), llm.User(""), llm.User("a"), call}
	all := saidUntil(talk)
	if len(all) != len(talk)+1 {
		t.Fatalf("%d hashes of %d messages", len(all), len(talk))
	}
	for i := range all {
		if all[i] != saidBefore(talk[:i]) {
			t.Errorf("before message %d it is another", i)
		}
	}
}
