package main

import (
	"strings"
	"testing"
)

// TestCheckNamesNearVendors: the error for a misspelt vendor in a route suggests a close one, as on the command line.
func TestCheckNamesNearVendors(t *testing.T) {
	said, err := checked(t, "gateway:\n  routes:\n    - {model: a, to: [{model: opnai/gpt-4o}]}\n")
	if err == nil || !strings.Contains(said, `:3: gateway.routes[0].to[0].model: `) || !strings.Contains(said, `nobody is known to serve "opnai/gpt-4o"; did you mean openai/gpt-4o?`) {
		t.Errorf("%v\n%s", err, said)
	}
	for _, args := range [][]string{{"run", "--model", "opnai/gpt-4o", "hi"}, {"models", "probe", "opnai/gpt-4o"}} {
		if got := toolpost(t, "", args...); got.code == 0 || !strings.Contains(got.errOut, "did you mean openai/gpt-4o?") {
			t.Errorf("%v: %d %s", args, got.code, got.errOut)
		}
	}
}
