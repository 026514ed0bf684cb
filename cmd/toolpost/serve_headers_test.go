package main

import (
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestCheckPortsAndHeaders: invalid ports and headers are refused before the first request, by --check and by
// serve in the same words. Values of headers are not repeated.
func TestCheckPortsAndHeaders(t *testing.T) {
	const route = "gateway:\n  routes: [{model: a, to: [{model: ROUTE}]}]\n"
	to := func(id string) string { return strings.Replace(route, "ROUTE", id, 1) }
	own := func(rest string) string { return "providers:\n  one:\n    " + rest + "\n" + to("one/m") }
	mcp := func(rest string) string {
		return "mcp_servers:\n  one: {" + rest + "}\ngateway:\n  routes: [{model: a, to: [{model: sim/offline}], mcp: [one]}]\n"
	}
	for _, test := range []struct{ name, config, says string }{
		{"addr", "gateway:\n  addr: 127.0.0.1:65536\n" + goodRoute, `:2: gateway.addr: "65536" is not a port; it can be 0 to 65535`},
		{"ops_addr", "gateway:\n  ops_addr: 127.0.0.1:99999\n" + goodRoute, `:2: gateway.ops_addr: "99999" is not a port`},
		{"base_url", own("base_url: http://127.0.0.1:65536/v1"), `:5: gateway.routes[0].to[0].model: route 1 (a): the address: "65536" is not a port; it can be 1 to 65535`},
		{"base_url with port 0", own("base_url: http://127.0.0.1:0/v1"), `"0" is not a port`},
		{"the address of a model", to("'http://127.0.0.1:99999/v1#m'"), `"99999" is not a port`},
		{"a name with a space", own(`base_url: http://127.0.0.1:1/v1
    headers: {"X Team": s3cret-value}`), `:4: providers.one.headers: headers of one: "X Team" is not a name of a header`},
		{"a name with a colon", own(`base_url: http://127.0.0.1:1/v1
    headers: {"X-Team:": s3cret-value}`), `"X-Team:" is not a name of a header`},
		{"an umlaut", own(`base_url: http://127.0.0.1:1/v1
    headers: {"X-Größe": s3cret-value}`), `is not a name of a header`},
		{"no name", own(`base_url: http://127.0.0.1:1/v1
    headers: {"": s3cret-value}`), "a header has no name"},
		{"a value of two lines", own(`base_url: http://127.0.0.1:1/v1
    headers: {X-Team: "s3cret-value\r\nHost: x"}`), "the value of the header X-Team holds a line break"},
		{"the port of an MCP server", mcp("url: 'http://127.0.0.1:99999/mcp'"), `url: "99999" is not a port`},
		{"a header of an MCP server", mcp(`url: 'http://127.0.0.1:1/mcp', headers: {"X Team": s3cret-value}`), `headers: "X Team" is not a name of a header`},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.Bare(t, map[string]string{"gateway.yaml": test.config})
			checked := toolpost(t, "", "serve", "--config", "gateway.yaml", "--check")
			served := within(t, 10*time.Second, "serve", "--config", "gateway.yaml")
			if checked.code == 0 || checked.code != served.code || refusalOf(checked) != refusalOf(served) {
				t.Errorf("--check says %d %s\nand serve says %d %s", checked.code, checked.errOut, served.code, served.errOut)
			}
			if !strings.Contains(checked.errOut, test.says) || strings.Contains(checked.errOut, "s3cret") {
				t.Errorf("it does not say %q but\n%s", test.says, checked.errOut)
			}
		})
	}
	for _, config := range []string{own("base_url: http://127.0.0.1:65535/v1\n    headers: {X-Team_1.a: 'a b', x: ''}"), own("base_url: http://[::1]/v1")} {
		clitest.Bare(t, map[string]string{"gateway.yaml": config})
		if r := toolpost(t, "", "serve", "--config", "gateway.yaml", "--check"); r.code != 0 {
			t.Errorf("%s\nis refused: %s", config, r.errOut)
		}
	}
}
