package main

import (
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestServeNumberErrors: the error for an invalid number gives its place, the problem and a valid value.
func TestServeNumberErrors(t *testing.T) {
	clitest.Bare(t, nil)
	route := "  routes:\n    - {model: m, to: [{model: sim/offline}]}\n"
	weight := func(w string) string {
		return "gateway:\n  routes:\n    - {model: m, to: [{model: sim/offline, weight: " + w + "}]}\n"
	}
	for text, says := range map[string]string{
		weight("99999999999999999999999"):                       `g.yaml:3: gateway.routes[0].to[0].weight: "99999999999999999999999" is too large; write a smaller number, in digits`,
		weight("1e30"):                                          `"1e30" is too large`,
		weight("1e3"):                                           `"1e3" is not a whole number in digits; write 1000`,
		weight("[1]"):                                           "expected a whole number, but found a list",
		"gateway:\n  drain: 1e3\n" + route:                      `g.yaml:2: gateway.drain: "1e3" is not a duration like 90s or 10m: it has no unit; write 1000s for seconds`,
		"gateway:\n  drain: 10\n" + route:                       `"10" is not a duration like 90s or 10m: it has no unit; write 10s for seconds`,
		"gateway:\n  drain: [1s]\n" + route:                     "expected a duration like 90s or 10m, but found a list",
		"mcp_servers:\n  t: {}\ngateway:\n" + route:             "server t: a stdio server needs a command, another one a url: write {command: PROGRAM} or {url: https://HOST/mcp}",
		"providers:\n  b: {like: bedrok}\ngateway:\n" + route:   `g.yaml:2: providers.b.like: b is like no vendor that is called "bedrok"; did you mean bedrock?`,
		"providers:\n  b: {like: qqqqqqqq}\ngateway:\n" + route: `is called "qqqqqqqq"; there are `,
	} {
		place(t, "g.yaml", text)
		must(t, toolpost(t, "", "serve", "--check", "--config", "g.yaml"), 1, says)
	}
}
