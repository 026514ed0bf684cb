package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// Whoever leaves it to the model how much it thinks (Gemini's budget of -1) gets that: the number where the format has it, and
// no measure where it has none.
func TestBudgetsLeftToTheModel(t *testing.T) {
	c := new(Client)
	for _, test := range []struct{ id, has, hasNot string }{
		{"gemini/gemini-2.5-flash", `"thinkingBudget":-1`, "thinkingLevel"},
		{"gemini/gemini-2.5-flash-lite", `"thinkingBudget":-1`, "thinkingLevel"},
		{"gemini/gemini-3-pro-preview", `"thinkingBudget":-1`, "thinkingLevel"},
		{"anthropic/claude-opus-4-7", `"adaptive"`, "effort"},
		{"openai/gpt-5.1", `"reasoning":{`, "effort"},
	} {
		req := llm.Request{Messages: turnsOf("hi"), MaxTokens: 30000, Reasoning: &llm.Reasoning{Tokens: -1}}
		body, warnings := planned(t, opened(t, c, test.id), &req)
		if !strings.Contains(body, test.has) || strings.Contains(body, test.hasNot) || len(warned(warnings, "reasoning.budget"))+len(warned(warnings, "reasoning.effort")) > 0 {
			t.Errorf("%s: want %s, not %s: %s %v", test.id, test.has, test.hasNot, body, warnings)
		}
	}
}
