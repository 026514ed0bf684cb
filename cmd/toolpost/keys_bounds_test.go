package main

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestKeysWarnOfUnknownNames: keys create and keys set warn alike about unknown models, routes and tools of a
// key.
func TestKeysWarnOfUnknownNames(t *testing.T) {
	clitest.Bare(t, nil)
	place(t, "gateway.yaml", `mcp_servers:
  tickets: {command: tickets}
gateway:
  keys: sqlite:keys.db
  routes:
    - {model: fast, to: [{model: sim/offline}], tools: [read_file], mcp: [tickets]}
`)
	key := makeKey(t, "--team", "research")[:13]
	for args, says := range map[string]string{
		"--models fats":                 "toolpost: warning: --models: no route of the configuration is for fats; did you mean fast?\n",
		"--routes fats":                 "toolpost: warning: --routes: no route of the configuration is for fats; did you mean fast?\n",
		"--tools nosuch":                "toolpost: warning: --tools: no route of the configuration has a tool nosuch, and none of a vendor is known by that name\n",
		"--tools read_fil,web_search":   "toolpost: warning: --tools: no route of the configuration has a tool read_fil, and none of a vendor is known by that name; did you mean read_file?\n",
		"--tools web_serch":             "did you mean web_search?",
		"--tools ticket__list":          "has a tool ticket__list",
		"--tools write_file":            "has a tool write_file",
		"--tools read_file":             "",
		"--tools read_*,mcp":            "",
		"--tools tickets__list":         "",
		"--tools tickets__*":            "",
		"--tools *":                     "",
		"--tools none":                  "",
		"--tools plugin:pdf,googleMaps": "",
	} {
		for _, command := range []string{"create --team research", "set " + key} {
			r := toolpost(t, "", strings.Fields("keys "+command+" --config gateway.yaml "+args)...)
			if r.code != 0 || !strings.Contains(r.errOut, says) || says == "" && strings.Contains(r.errOut, "warning") {
				t.Errorf("%s %s: %d %s", command, args, r.code, r.errOut)
			}
		}
	}
}
