package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// checked returns what serve --check says of a configuration.
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

// TestCheckHints: mistakes that many make are told with what to write in their place, and what only this machine lacks is a
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
		{routes("    - model: *\n      to: [{model: sim/offline}]\n"), `:3: a * that stands alone means something else in YAML; write "*"`, "", true},
		{routes("    - {model: a, to: openai/gpt-4o}\n"), "write [{model: openai/gpt-4o}]", "", true},
		{"routes: []\n", "it stands below gateway", "", true},
		{"providers:\n  mine: {base_url: \"http://127.0.0.1:1/v1\", api_key: sk-x}\n", "key_env names the variable", "sk-x", true},
		{routes("    - {model: a, to: [{model: nobody/x}]}\n"), "nobody", "provider.Open", true},
		{routes("    - {model: a, to: [{model: bedrock/anthropic.claude-x}]}\n"), "warning: gateway.routes[0]", "provider.Open", false},
		{routes("    - {model: a, to: [{model: anthropic/claude-sonnet-4-5}, {model: sim/offline}]}\n"), "the others of a answer", "get no answer", false},
		{routes("    - {model: a, to: [{model: anthropic/claude-sonnet-4-5}]}\n"), "warning: gateway.routes[0].to[0].model: clients of a get no answer", "", false},
	} {
		said, err := checked(t, c.config)
		if !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) || (err != nil) != c.wrong {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
	t.Setenv(adminKeyEnv, "")
	said, err := checked(t, "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:0\n  routes: [{model: a, to: [{model: sim/offline}]}]\n", "--json")
	var told struct {
		OK       bool
		Mistakes []struct{ Warning bool }
	}
	if json.Unmarshal([]byte(said), &told) != nil || err != nil || !told.OK || len(told.Mistakes) != 1 || !told.Mistakes[0].Warning {
		t.Errorf("%v: %s", err, said)
	}
}
