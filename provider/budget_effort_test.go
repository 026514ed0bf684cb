package provider

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/wire"
)

// Where a format has no number of tokens to think, a model that is known to take efforts is told the nearest effort. Others
// refuse it, like Grok.
func TestBudgetsOfOtherFormats(t *testing.T) {
	const counted = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled","budget_tokens":NUMBER}}`
	const both = `{"model":"m","max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"enabled","budget_tokens":2000},"output_config":{"effort":"high"}}`
	number := func(n string) string { return strings.Replace(counted, "NUMBER", n, 1) }
	budget := []string{"degraded reasoning.budget"}
	for _, c := range []wordCase{
		{wire.Messages, "openai/gpt-5", number("1024"), []string{`"effort":"low"`}, nil, budget},
		{wire.Messages, "openai/gpt-5", number("4000"), []string{`"effort":"low"`}, nil, budget},
		{wire.Messages, "openai/gpt-5", number("10000"), []string{`"effort":"medium"`}, nil, budget},
		{wire.Messages, "openai/gpt-5", number("31999"), []string{`"effort":"high"`}, nil, budget},
		{wire.Messages, "openai/gpt-5", both, []string{`"effort":"high"`}, nil, budget},
		{wire.Messages, "openrouter/openai/gpt-5.1", number("10000"), []string{`"reasoning_effort":"medium"`}, nil, budget},
		{wire.Messages, "ollama/gpt-oss:20b", number("31999"), []string{`"think":"high"`}, nil, budget},
		{wire.Messages, "anthropic/claude-sonnet-4-5", number("10000"), []string{`"budget_tokens":10000`}, []string{"effort"}, nil},
		{wire.Messages, "openai/o4-mini", number("10000"), []string{`"medium"`}, nil, budget},
		{wire.Messages, "xai/grok-4", number("10000"), nil, []string{"effort"}, []string{"ignored reasoning.budget"}},
		{wire.Messages, "mistral/magistral-medium-latest", number("10000"), nil, []string{"effort"}, []string{"ignored reasoning.budget"}},
		{wire.Messages, "http://127.0.0.1:1/v1#nobody-knows-it", number("10000"), nil, []string{"effort"}, []string{"ignored reasoning.budget"}},
	} {
		c.sends(t, "reasoning.budget", "reasoning.effort")
	}
}
