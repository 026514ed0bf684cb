package main

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestCheckMissingKeyNamesOtherUpstreams: a warning about an upstream without a key mentions other upstreams only if they can answer.
func TestCheckMissingKeyNamesOtherUpstreams(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "")
	const openai, anthropic, offline = "{model: openai/gpt-4o}", "{model: anthropic/claude-sonnet-4-5}", "{model: sim/offline}"
	for to, answered := range map[string]bool{
		openai:                    false,
		openai + ", " + anthropic: false,
		openai + ", " + offline:   true,
		openai + ", {model: sim/offline, weight: 0}": false,
	} {
		place(t, "gateway.yaml", "gateway:\n  routes: [{model: a, to: ["+to+"]}]\n")
		said := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml").errOut
		if strings.Contains(said, "the other upstreams of a answer instead") != answered || strings.Contains(said, "clients of a get no answer") == answered {
			t.Errorf("%s: %s", to, said)
		}
	}
}
