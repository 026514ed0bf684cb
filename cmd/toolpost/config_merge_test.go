package main

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// TestConfigurationsMerge: a route or a provider may override merged settings (<<). Duplicates in one mapping are
// refused. The command and the gateway read the file alike.
func TestConfigurationsMerge(t *testing.T) {
	const first = "gateway:\n  routes:\n    - &base\n      model: a\n      to: [{model: sim/offline}]\n      max_requests: 3\n"
	const provider = "providers:\n  one: &one\n    base_url: http://127.0.0.1:1/v1\n    wire: messages\n"
	for name, c := range map[string]struct{ config, refused string }{
		"a route":            {first + "    - <<: *base\n      model: b\n", ""},
		"a route, behind":    {first + "    - model: b\n      <<: *base\n", ""},
		"a provider":         {provider + "  two:\n    <<: *one\n    base_url: http://127.0.0.1:2/v1\n", ""},
		"the same route":     {first + "    - <<: *base\n", "routes 1 and 2 are both for a"},
		"twice":              {first + "    - <<: *base\n      model: b\n      model: c\n", `mapping key "model" already defined`},
		"a key of no name":   {first + "    - <<: *base\n      modle: b\n", `unknown field "modle"`},
		"no mapping":         {first + "    - <<: 5\n      model: b\n", ":7:"},
		"twice of a section": {provider + "providers: {}\n", `mapping key "providers" already defined`},
	} {
		said, err := checked(t, c.config)
		if (err != nil) != (c.refused != "") || !strings.Contains(said, c.refused) {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
	var s settings.Settings
	if _, err := settings.Decode([]byte(first+"    - model: b\n      <<: *base\n"+provider+"  two:\n    <<: *one\n    base_url: http://127.0.0.1:2/v1\n"), &s); err != nil {
		t.Fatal(err)
	}
	if r := s.Gateway.Routes; len(r) != 2 || r[1].Model != "b" || r[1].MaxRequests != 3 || len(r[1].To) != 1 || r[0].Model != "a" {
		t.Errorf("the routes are %+v", r)
	}
	if p := s.Providers; p["two"].BaseURL != "http://127.0.0.1:2/v1" || p["two"].Wire != "messages" || p["one"].BaseURL != "http://127.0.0.1:1/v1" {
		t.Errorf("the providers are %+v", p)
	}
}
