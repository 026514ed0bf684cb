package conversation

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// saidBeforeEach equals SaidBefore of each prefix, for conversations of every shape.
func TestSaidUntil(t *testing.T) {
	call := llm.Assistant(llm.Text{Text: "I look."}, llm.Call{ID: "c", Name: "f"})
	result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c", Parts: []llm.Part{llm.Text{Text: "seen"}}}}}
	talk := []llm.Message{llm.User("a"), call, result, llm.Assistant(llm.Text{Text: "b"}), llm.Assistant(llm.Text{Text: "c"}), llm.User(""), llm.User("a"), call}
	all := saidBeforeEach(talk)
	if len(all) != len(talk)+1 {
		t.Fatalf("%d hashes of %d messages", len(all), len(talk))
	}
	for i := range all {
		if all[i] != SaidBefore(talk[:i]) {
			t.Errorf("before message %d it is another", i)
		}
	}
}

func TestDrawnIDs(t *testing.T) {
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
			t.Errorf("drawn(%q) = %t", id, got)
		}
	}
}
