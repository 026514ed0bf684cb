package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// An empty turn of the user between two of the model's is said to Gemini, which refuses a call right behind the model's own turn.
func TestEmptyTurnsToGemini(t *testing.T) {
	req := llm.Request{MaxTokens: 100, Messages: turnsOf("q", "a", "", "b", "c")}
	body, warnings := planned(t, opened(t, new(Client), "gemini/gemini-2.5-flash"), &req)
	if !strings.Contains(body, `"(This message is empty.)"`) || len(warned(warnings, "history")) != 1 {
		t.Errorf("%s %v", body, warnings)
	}
}
