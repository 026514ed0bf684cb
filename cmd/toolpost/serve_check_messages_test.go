package main

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestCheckReportsEachMistakeOnce: a value that is not allowed has one line, although the file and the gateway both check it.
func TestCheckReportsEachMistakeOnce(t *testing.T) {
	clitest.Bare(t, nil)
	said, err := checked(t, `gateway:
  routes:
    - model: m
      strategy: random
      retries: 99
      timeout: -1s
      cooldown: -1s
      to:
        - {model: sim/offline, retries: -1, first_byte: -1s, idle: -1s, max_in_flight: -1}
`)
	for _, path := range []string{"strategy", "retries", "timeout", "cooldown", "to[0].retries", "to[0].first_byte", "to[0].idle", "to[0].max_in_flight"} {
		if n := strings.Count(said, " gateway.routes[0]."+path+": "); err == nil || n != 1 {
			t.Errorf("%s is reported %d times, %v", path, n, err)
		}
	}
	if n := strings.Count(said, "gateway.routes[0]"); n != 8 {
		t.Errorf("%d lines:\n%s", n, said)
	}
}

// TestCheckImplausibleSettings: implausible settings are refused or reported, once and in suitable words.
func TestCheckImplausibleSettings(t *testing.T) {
	clitest.Bare(t, nil)
	const to = "to: [{model: sim/offline}]"
	for _, c := range []struct {
		config, says, not string
		wrong             bool
	}{
		{"gateway:\n  routes:\n    - {model: 'fast ', " + to + "}\n", `:3: gateway.routes[0].model: route 1 (fast ): "fast " begins or ends with spaces`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, to: [{model: ' sim/offline'}]}\n", `gateway.routes[0].to[0].model: route 1 (fast): " sim/offline" begins or ends with spaces`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", thinking: 7}\n", `"7" is not a level of thinking`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", thinking: high}\n", "", "thinking", false},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", pass: [files], pass_team: ops}\n", ":3: warning: gateway.routes[0].pass_team: it has no effect without keys", "", false},
		{"gateway:\n  keys: sqlite:k.db\n  routes:\n    - {model: fast, " + to + ", pass: [files], pass_team: ops}\n", "", "pass_team", false},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: [b]}\n    - {model: b, " + to + ", fallback: [c]}\n    - {model: c, " + to + ", fallback: [a]}\n", ":3: warning: gateway.routes[0].fallback: these fallbacks form a cycle (a → b → c → a)", "routes[1].fallback", false},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: [b, c]}\n    - {model: b, " + to + ", fallback: [c]}\n    - {model: c, " + to + "}\n", "", "cycle", false},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline, weight: two}]}\n", "weight", "no upstream that is asked", true},
		{"gateway:\n  drain: -5s\n  routes: [{model: a, " + to + "}]\n", ":2: gateway.drain: -5s is too small; the minimum is 1ms", "give a unit", true},
		{"model_list:\n  - {model_name: a}\n", `:1: model_list: unknown field "model_list"; this looks like a configuration of the LiteLLM proxy; 'toolpost serve import FILE' converts it`, "", true},
		{"gateway:\n  routes:\n    - &r\n      model: fast\n      " + to + "\n    - <<: *r\n      model: fast2\n", "", "gateway.yaml: ", false},
	} {
		said, err := checked(t, c.config)
		if strings.Contains(c.config, "<<") { // it does not matter here whether this is an error
			c.wrong = err != nil
		}
		if (err != nil) != c.wrong || !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
}
