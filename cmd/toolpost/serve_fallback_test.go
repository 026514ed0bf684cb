package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestCheckFallbackWithoutKey: a fallback without a key does not count as a replacement.
func TestCheckFallbackWithoutKey(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "")
	const routes = "gateway:\n  routes:\n  - {model: a, to: [{model: openai/gpt-4o}], fallback: [%s]}\n" +
		"  - {model: b, to: [{model: anthropic/claude-sonnet-4-5}]}\n" +
		"  - {model: c, to: [{model: sim/offline}]}\n" +
		"  - {model: d-*, to: [{model: sim/*}]}\n" +
		"  - {model: d-x, to: [{model: openai/gpt-4o}]}\n" +
		"  - {model: e, from: [chat], to: [{model: openai/gpt-4o}]}\n" +
		"  - {model: e, from: [messages], to: [{model: sim/offline}]}\n" +
		"  - {model: f, to: [{model: sim/offline, weight: 0}, {model: openai/gpt-4o}]}\n"
	for fallback, who := range map[string]string{
		"b": "", "c": "c", "b, c": "c", "d-offline": "d-offline", "d-x": "", "d-x, b": "", "e": "e", "f": "",
	} {
		place(t, "gateway.yaml", fmt.Sprintf(routes, fallback))
		said := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml").errOut
		line := ""
		for l := range strings.Lines(said) {
			if strings.Contains(l, "gateway.routes[0]") {
				line = l
			}
		}
		want := "clients of a get no answer"
		if who != "" {
			want = "it cannot be used, and " + who + " answers instead"
		}
		if !strings.Contains(line, want) {
			t.Errorf("with the fallback %s, %q is not said but %q", fallback, want, line)
		}
	}
}

// TestUnreplacedVariables: variables that would be sent or used as a file name without replacement are refused.
// Unset variables are reported.
func TestUnreplacedVariables(t *testing.T) {
	clitest.Bare(t, nil)
	t.Setenv("THERE", "there")
	const route = "gateway:\n  routes: [{model: a, to: [{model: sim/offline}]%s}]\n"
	for _, c := range []struct {
		config, says string
		refused      bool
	}{
		{"providers: {up: {base_url: 'http://127.0.0.1:1/v1', headers: {X-Team: '${THERE}'}}}\n" + fmt.Sprintf(route, ""), "headers of up: ${THERE} would be sent as it stands there", true},
		{fmt.Sprintf(route, "") + "  keys: sqlite:${THERE}.db\n", "variables are not replaced here, and ${THERE} would be part of the file name", true},
		{fmt.Sprintf(route, "") + "  state: sqlite:${NO_SUCH}.db\n", "variables are not replaced here", true},
		{"providers: {up: {base_url: 'http://127.0.0.1:/v1', wire: chat}}\n" + "gateway:\n  routes: [{model: a, to: [{model: up/m}]}]\n", "the port after the colon of its host is missing", true},
		{"mcp_servers: {far: {url: 'http://127.0.0.1:1/mcp', headers: {Authorization: 'Bearer ${NO_SUCH}'}}}\n" + fmt.Sprintf(route, ", mcp: [far]"), "the tools of far are missing until the server can be started: the variable NO_SUCH is not set", false},
		{"mcp_servers: {far: {url: 'http://127.0.0.1:1/mcp', headers: {Authorization: 'Bearer ${THERE}'}}}\n" + fmt.Sprintf(route, ", mcp: [far]"), "", false},
		{"mcp_servers: {far: {url: 'http://127.0.0.1:/mcp'}}\n" + fmt.Sprintf(route, ", mcp: [far]"), "the port after the colon of its host is missing", true},
	} {
		place(t, "gateway.yaml", c.config)
		r := toolpost(t, "", "serve", "--check", "--config", "gateway.yaml")
		if (r.code != 0) != c.refused || !strings.Contains(r.errOut, c.says) || c.says == "" && r.errOut != "" {
			t.Errorf("%s\nis %d: %s", c.config, r.code, r.errOut)
		}
	}
}
