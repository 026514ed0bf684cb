package main

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestHiddenNamesAreSuggestedLast: 'serve --for' prefers a model that lists contain.
func TestHiddenNamesAreSuggestedLast(t *testing.T) {
	const secret, shown = "    - {model: backstage, hidden: true, to: [{model: sim/offline}]}\n", "    - {model: onstage, to: [{model: sim/offline}]}\n"
	for routes, want := range map[string]string{secret + shown: "onstage", secret: "backstage", secret + "    - {model: 'stage-*', to: [{model: sim/offline}]}\n": "stage-"} {
		clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  routes:\n" + routes})
		must(t, toolpost(t, "", "serve", "--check", "--config", "gateway.yaml"), 0, "the routes are in order: backstage")
		if r := toolpost(t, "", "serve", "--for", "codex", "--config", "gateway.yaml"); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("of\n%s\n%s is not named: %s%s", routes, want, r.out, r.errOut)
		}
	}
}
