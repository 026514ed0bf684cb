package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// Thinking goes back to Mistral as parts of the content, for its models that think, and to nobody else.
func TestThinkingGoesBackToMistral(t *testing.T) {
	for id, goes := range map[string]bool{
		"mistral/magistral-medium-latest": true, "mistral/mistral-medium-2604": true,
		"mistral/mistral-large-latest": false, "openai/gpt-4o": false, "groq/llama-3.3-70b-versatile": false,
	} {
		text, _ := planned(t, opened(t, &Client{}, id), &llm.Request{Messages: []llm.Message{llm.User("hi"),
			{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: "hm"}, llm.Text{Text: "said"}}}, llm.User("go on")}})
		if strings.Contains(text, `"thinking":[{"type":"text","text":"hm"}]`) != goes || strings.Contains(text, "hm") != goes {
			t.Errorf("%s: %s", id, text)
		}
	}
}
