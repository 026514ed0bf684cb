package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Requests that would be refused with 400 are sent in words that the vendor takes, and what is changed is said.
func TestNothingThatVendorsRefuse(t *testing.T) {
	const (
		both      = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled","budget_tokens":2000},"output_config":{"effort":"medium"}}`
		counted   = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled","budget_tokens":NUMBER}}`
		adaptive  = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}`
		off       = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"disabled"}}`
		low       = `{"model":"m","messages":[{"role":"user","content":"hi"}],"reasoning_effort":"low"}`
		stops     = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"stop_sequences":["A"]}`
		stopsHard = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"temperature":0.3,"presencePenalty":0.3,"frequencyPenalty":0.2,"stopSequences":["A"],"thinkingConfig":{"thinkingLevel":"HIGH"}}}`
	)
	number := func(n string) string { return strings.Replace(counted, "NUMBER", n, 1) }
	budget, effort := []string{"degraded reasoning.budget"}, []string{"degraded reasoning.effort"}
	sampled := []string{"ignored temperature", "ignored frequency_penalty", "ignored presence_penalty", "ignored stop"}
	samplers := []string{`"temperature"`, `_penalty"`, `"stop"`}
	for _, c := range []wordCase{
		{wire.Messages, "gemini/gemini-2.5-pro", both, []string{`"thinkingBudget":2000`}, []string{"thinkingLevel"}, []string{"ignored reasoning.effort"}},
		{wire.Messages, "gemini/gemini-3-flash-preview", both, []string{`"thinkingLevel":"MEDIUM"`}, []string{"thinkingBudget"}, []string{"ignored reasoning.budget"}},
		{wire.Messages, "gemini/gemini-flash-latest", both, []string{`"thinkingLevel":"MEDIUM"`}, []string{"thinkingBudget"}, []string{"ignored reasoning.budget"}},
		{wire.Messages, "anthropic/claude-opus-4-6", both, []string{`"budget_tokens":2000`, `"effort":"medium"`}, nil, nil},
		{wire.Messages, "gemini/gemini-2.5-pro", adaptive, []string{`"thinkingBudget":32768`}, nil, effort},
		{wire.Messages, "gemini/gemini-2.5-flash", adaptive, []string{`"thinkingBudget":24576`}, nil, effort},
		{wire.Messages, "gemini/gemini-2.5-flash-lite", adaptive, []string{`"thinkingBudget":24576`}, nil, effort},
		{wire.Messages, "gemini/gemini-2.5-pro", number("60000"), []string{`"thinkingBudget":32768`}, nil, budget},
		{wire.Messages, "gemini/gemini-2.5-pro", number("100"), []string{`"thinkingBudget":128`}, nil, budget},
		{wire.Messages, "gemini/gemini-2.5-pro", number("32768"), []string{`"thinkingBudget":32768`}, nil, nil},
		{wire.Messages, "gemini/gemini-2.5-flash", number("60000"), []string{`"thinkingBudget":24576`}, nil, budget},
		{wire.Messages, "gemini/gemini-2.5-flash-lite", number("100"), []string{`"thinkingBudget":512`}, nil, budget},
		{wire.Messages, "gemini/gemini-2.5-flash-lite", off, []string{`"thinkingBudget":0`}, nil, nil},
		{wire.Messages, "gemini/gemini-3-flash-preview", number("60000"), []string{`"thinkingBudget":60000`}, nil, nil},
		{wire.Chat, "ollama/qwen3:8b", low, []string{`"think":true`}, nil, effort},
		{wire.Chat, "ollama/deepseek-r1:8b", low, []string{`"think":true`}, nil, effort},
		{wire.Chat, "ollama/gpt-oss:20b", low, []string{`"think":"low"`}, nil, nil},
		{wire.Messages, "openai/gpt-5", stops, nil, []string{`"stop"`}, []string{"ignored stop"}},
		{wire.Messages, "openai/o4-mini", stops, nil, []string{`"stop"`}, []string{"ignored stop"}},
		{wire.Messages, "openai/gpt-4o", stops, []string{`"stop":["A"]`}, nil, nil},
		{wire.Messages, "openrouter/openai/gpt-5.1", stops, []string{`"stop":["A"]`}, nil, nil},
		{wire.Gemini, "openai/gpt-5.1", stopsHard, []string{`"effort":"high"`}, samplers, sampled},
		{wire.Gemini, "openrouter/openai/gpt-5.1", stopsHard, []string{`"high"`}, samplers, sampled},
		{wire.Gemini, "openrouter/openai/gpt-5", stopsHard, []string{`"high"`}, samplers, sampled},
	} {
		c.sends(t, "reasoning.budget", "reasoning.effort", "temperature", "frequency_penalty", "presence_penalty", "stop")
	}
}

// A client of Ollama's own format knows which words its server takes.
func TestOwnDegreeOfThinking(t *testing.T) {
	m := opened(t, &Client{}, "ollama/qwen3:8b")
	j, err := m.planned(&llm.Request{Messages: []llm.Message{llm.User("hi")}, Reasoning: &llm.Reasoning{Effort: "low"}}, true)
	if err != nil || j.req.Reasoning.Effort != "low" || slices.ContainsFunc(j.warnings, func(w llm.Warning) bool { return w.Feature == "reasoning.effort" }) {
		t.Errorf("%+v, warnings %v, error %v", j.req.Reasoning, j.warnings, err)
	}
}
