package conversation

import (
	"slices"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestPointsOfAHistory checks that the hashes of a point depend only on the messages before it, for conversations of every shape.
func TestPointsOfAHistory(t *testing.T) {
	call := llm.Assistant(llm.Text{Text: "I look."}, llm.Call{ID: "c", Name: "f"})
	result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c", Parts: []llm.Part{llm.Text{Text: "seen"}}}}}
	talk := []llm.Message{llm.User("a"), call, result, llm.Assistant(llm.Text{Text: "b"}), llm.Assistant(llm.Text{Text: "c"}), llm.User(""), llm.User("a"), call}
	whole := NewHistory(talk)
	for i := range len(talk) + 1 {
		until := NewHistory(talk[:i])
		if whole.sentBefore(i) != until.sentBefore(i) || whole.question(i) != until.question(i) {
			t.Errorf("message %d has other hashes with messages after it", i)
		}
		own := NewHistory(slices.DeleteFunc(slices.Clone(talk[:i]), func(m llm.Message) bool { return m.Role == llm.RoleAssistant }))
		if n := len(own.messages); own.question(n) != whole.sentBefore(i) {
			t.Errorf("what was sent before message %d includes messages of the model", i)
		}
	}
	if whole.question(4) != whole.question(3) || whole.question(3) == whole.question(1) || whole.question(5) != whole.question(3) {
		t.Error("a question is not that of the reply")
	}
}

// TestQuestionOfASplitAnswer checks that held results are found if the client sends the text before the calls as a message.
func TestQuestionOfASplitAnswer(t *testing.T) {
	h := holder(t, nil)
	h.of("me", "1").keepTurn(heldFor("call_1", "found"))
	talk := conversation("a", "call_1", heldArgs)
	talk = []llm.Message{talk[0], llm.Assistant(llm.Text{Text: "I look."}), talk[1]}
	if got := oursIn(h.of("me", "2").MergeHeld(talk, anyTool)); !slices.Equal(got, []string{"found"}) {
		t.Errorf("put back %q", got)
	}
}

func TestRandomIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"toolu_01A09q90qw90lq917835lq9":             true,
		"call_YHLNBHNMFURZGB7U_1":                   true,
		"call_YHLNBHNMFURZGBVU_1":                   true, // without a digit
		"tooluse_kZJMlvQmRJ6eAyJE5GIl7Q":            true,
		"call_550e8400-e29b-41d4-a716-446655440000": true,
		"chatcmpl-tool-3ab4c0dfbc7d4b8f8d1f7f8d2c2": true,
		"functions.get_weather:0":                   false,
		"functions.getweatherforecasts:12":          false,
		"getWeatherForCity":                         false,
		"toolu_1":                                   false,
		"call_12":                                   false,
		"":                                          false,
	} {
		if got := isRandomID(id); got != want {
			t.Errorf("isRandomID(%q) = %t", id, got)
		}
	}
}
