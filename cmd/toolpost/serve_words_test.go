package main

import (
	"strings"
	"testing"
)

// TestCheckSaysWhatIsMeant: implausible settings are refused or reported, once and in suitable words.
func TestCheckSaysWhatIsMeant(t *testing.T) {
	bare(t, nil)
	const to = "to: [{model: sim/offline}]"
	for _, c := range []struct {
		config, says, not string
		wrong             bool
	}{
		{"gateway:\n  routes:\n    - {model: 'fast ', " + to + "}\n", `:3: gateway.routes[0].model: route 1 (fast ): "fast " has spaces at its ends`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, to: [{model: ' sim/offline'}]}\n", `gateway.routes[0].to[0].model: route 1 (fast): " sim/offline" has spaces at its ends`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", thinking: 7}\n", `"7" is no word for how much to think`, "", true},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", thinking: high}\n", "", "thinking", false},
		{"gateway:\n  routes:\n    - {model: fast, " + to + ", pass: [files], pass_team: ops}\n", ":3: warning: gateway.routes[0].pass_team: it is for keys, which are not set", "", false},
		{"gateway:\n  keys: sqlite:k.db\n  routes:\n    - {model: fast, " + to + ", pass: [files], pass_team: ops}\n", "", "pass_team", false},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: [b]}\n    - {model: b, " + to + ", fallback: [c]}\n    - {model: c, " + to + ", fallback: [a]}\n", ":3: warning: gateway.routes[0].fallback: fallbacks lead in a circle (a → b → c → a)", "routes[1].fallback", false},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: [b, c]}\n    - {model: b, " + to + ", fallback: [c]}\n    - {model: c, " + to + "}\n", "", "circle", false},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline, weight: two}]}\n", "weight", "no upstream that is asked", true},
		{"gateway:\n  drain: -5s\n  routes: [{model: a, " + to + "}]\n", ":2: gateway.drain: -5s is no time to wait: it is less than 0", "give a unit", true},
		{"model_list:\n  - {model_name: a}\n", `:1: model_list: the key "model_list" is not known; this looks like a configuration of LiteLLM's proxy, of which 'toolpost serve import FILE'`, "", true},
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
