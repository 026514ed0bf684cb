package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
)

// checked returns the output of serve --check for a configuration.
func checked(t *testing.T, config string, args ...string) (said string, err error) {
	t.Helper()
	t.Setenv("TOOLPOST_CONFIG", "")
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	writeFile(t, file, config)
	var out bytes.Buffer
	cmd := newRoot()
	cmd.SetArgs(append([]string{"serve", "--check", "--config", file}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err = cmd.ExecuteContext(t.Context())
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String(), err
}

// TestCheckMisplacedSettings: the error for a wrongly indented setting gives its correct place.
func TestCheckMisplacedSettings(t *testing.T) {
	entry := "  routes:\n    - model: a\n      to:\n        - model: sim/offline\n"
	for _, c := range []struct{ config, says string }{
		{"gateway:\nroutes:\n  - {model: a, to: [{model: sim/offline}]}\n", `:2: routes: unknown field "routes"; it belongs below gateway`},
		{"gateway:\n" + entry + "          check: off\n", `:6: gateway.routes[0].to[0].check: unknown field "check"; it belongs in an entry of gateway.routes`},
		{"gateway:\n" + entry + "          rounds: 2\n", "it belongs in an entry of gateway.routes"},
		{"gateway:\n" + entry + "  weight: 2\n", "it belongs in an entry of gateway.routes.to"},
		{"gateway:\n" + entry + "  model: b\n", "it belongs in an entry of gateway.routes"},
		{"gateway:\n" + entry + "      addr: 127.0.0.1:1\n", "it belongs below gateway"},
		{"gateway:\n" + entry + "  cert: x\n", "it belongs below gateway.tls"},
		{"gateway:\n" + entry + "  tls:\n    drain: 5s\n", "it belongs below gateway"},
		{"gateway:\n" + entry + "  providers: {mine: {base_url: \"http://127.0.0.1:1/v1\"}}\n", `unknown field "providers"; it belongs at the top level`},
		{"gateway:\n" + entry + "  base_url: http://127.0.0.1:1/v1\n", "it belongs below a name in providers"},
		{"base_url: http://127.0.0.1:1/v1\n", "it belongs below a name in providers"},
		{"gateway:\n" + entry + "  nonsense: 1\n", `unknown field "nonsense"` + "\n"},
		{"providers:\n  mine: {base_url: \"http://127.0.0.1:1/v1\"}\n  gateway:\n    routes: []\n", ":3: providers.gateway: gateway is indented below providers and is read as a name there"},
		{"mcp_servers:\n  providers: {mine: {base_url: \"http://127.0.0.1:1/v1\"}}\n", ":2: mcp_servers.providers: providers is indented below mcp_servers"},
		{"gateway:\n  routes:\n    - model: a\n     to: [{model: sim/offline}]\n", ":4: unexpected value: either the indentation of this line differs"},
	} {
		said, err := checked(t, c.config)
		if err == nil || !strings.Contains(said+"\n", c.says) {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
	if said, err := checked(t, "mcp_servers:\n  gateway: {command: sh}\nproviders:\n  limits: {base_url: \"http://127.0.0.1:1/v1\"}\n"); err != nil {
		t.Errorf("names of the user's own that are those of sections: %v\n%s", err, said)
	}
}

// TestCheckRounds: too few rounds to return a result are refused by all checks.
func TestCheckRounds(t *testing.T) {
	for value, wrong := range map[string]bool{"0": true, "-1": true, "1": false, "20": false} {
		said, err := checked(t, "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], tools: [read_file], rounds: "+value+"}\n")
		if (err != nil) != wrong || wrong && !strings.Contains(said, "gateway.routes[0].rounds: "+value+" is too small; the minimum is 1") {
			t.Errorf("rounds: %s: %v\n%s", value, err, said)
		}
	}
	if said, err := checked(t, "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], rounds: 0}\n"); err == nil || !strings.Contains(said, "it has no effect, because the route has neither tools nor mcp") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestCheckUnusedProviders: an unusable provider is reported even if no route uses it. Passwords in its address are not
// repeated.
func TestCheckUnusedProviders(t *testing.T) {
	for base, says := range map[string]string{
		"http://":                    "no host",
		"http://u:hunter2@host/v1":   "holds a user or password",
		"http://host/v1?key=hunter2": "query",
		"http://${NOT_SET/v1":        "cannot be read",
		"http://host/v1":             "",
		"${NOT_SET}":                 "",
		"https://${NOT_SET}.host/v1": "",
	} {
		rows := "providers:\n  mine: {base_url: \"" + base + "\"}\n"
		said, err := checked(t, rows+"gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}]}\n")
		warned := strings.Contains(said, ":2: warning: providers.mine.base_url: no route uses it, and none could: ")
		if err != nil || warned != (says != "") || !strings.Contains(said, says) || strings.Contains(said, "hunter2") {
			t.Errorf("%s: %v\n%s", base, err, said)
		}
		if said, err := checked(t, rows+"gateway:\n  routes:\n    - {model: a, to: [{model: mine/x}]}\n"); (err != nil) != (says != "") || strings.Contains(said, "no route uses it") {
			t.Errorf("%s, with a route: %v\n%s", base, err, said)
		}
	}
	if said, err := checked(t, "providers:\n  my/own: {base_url: \"http://host/v1\"}\n"); err != nil || !strings.Contains(said, "a model is written NAME/MODEL") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestCheckHints: errors about common mistakes include the correct setting. Something missing only on this machine is a
// warning.
func TestCheckHints(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "")
	}
	routes := func(text string) string { return "gateway:\n  routes:\n" + text }
	for _, c := range []struct {
		config, says, not string
		wrong             bool
	}{
		{routes("    - model: *\n      to: [{model: sim/offline}]\n"), `:3: an unquoted * starts an alias in YAML; write "*"`, "", true},
		{routes("    - {model: a, to: openai/gpt-4o}\n"), "write [{model: openai/gpt-4o}]", "", true},
		{"routes: []\n", "it belongs below gateway", "", true},
		{"providers:\n  mine: {base_url: \"http://127.0.0.1:1/v1\", api_key: sk-x}\n", "key_env names the environment variable", "sk-x", true},
		{routes("    - {model: a, to: [{model: nobody/x}]}\n"), "nobody", "provider.Open", true},
		{routes("    - {model: a, to: [{model: bedrock/anthropic.claude-x}]}\n"), "warning: gateway.routes[0]", "provider.Open", false},
		{routes("    - {model: a, to: [{model: anthropic/claude-sonnet-4-5}, {model: sim/offline}]}\n"), "the other upstreams of a answer", "get no answer", false},
		{routes("    - {model: a, to: [{model: anthropic/claude-sonnet-4-5}]}\n"), "warning: gateway.routes[0].to[0].model: clients of a get no answer", "", false},
	} {
		said, err := checked(t, c.config)
		if !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) || (err != nil) != c.wrong {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
	t.Setenv(serve.AdminKeyEnv, "")
	said, err := checked(t, "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:0\n  routes: [{model: a, to: [{model: sim/offline}]}]\n", "--json")
	var told struct {
		OK       bool
		Mistakes []struct{ Warning bool }
	}
	if json.Unmarshal([]byte(said), &told) != nil || err != nil || !told.OK || len(told.Mistakes) != 1 || !told.Mistakes[0].Warning {
		t.Errorf("%v: %s", err, said)
	}
}
