package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestCheckOfNames: names with a variable, which is not replaced, or with invisible characters are refused. The
// characters do not reach a terminal.
func TestCheckOfNames(t *testing.T) {
	clitest.Bare(t, nil)
	const to = "to: [{model: sim/offline}]"
	for _, c := range []struct{ config, says string }{
		{"gateway:\n  routes:\n    - {model: '${NAME}', " + to + "}\n", ":3: gateway.routes[0].model: route 1 (${NAME}): variables are not replaced here, and ${NAME} would be part of the name"},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: 'openai/${NAME}'}]}\n", ":3: gateway.routes[0].to[0].model: route 1 (a): variables are not replaced here"},
		{"gateway:\n  routes:\n    - {model: a, " + to + ", fallback: ['${NAME}']}\n", "gateway.routes[0].fallback[0]: route 1 (a): variables are not replaced here"},
		{"gateway:\n  keys: sqlite:k.db\n  routes:\n    - {model: a, " + to + ", pass: [files], pass_team: '${TEAM}'}\n", "gateway.routes[0].pass_team: route 1 (a): variables are not replaced here"},
		{"gateway:\n  routes:\n    - {model: \"a\\eb\", " + to + "}\n", `route 1 ("a\x1bb"): "a\x1bb" has invisible characters`},
		{"gateway:\n  routes:\n    - {model: a, to: [{model: \"sim/off\\0line\"}]}\n", `"sim/off\x00line" has invisible characters`},
		{"providers: {'${GPU}': {base_url: 'http://g.example.org/v1'}}\ngateway:\n  routes:\n    - {model: a, " + to + "}\n", ":1: providers: variables are not replaced here, and ${GPU}"},
	} {
		said, err := checked(t, c.config)
		if err == nil || !strings.Contains(said, c.says) || strings.ContainsAny(said, "\x1b\x00") {
			t.Errorf("%s: %v\n%s", c.config, err, said)
		}
	}
}

// TestCheckOfLimits: a limit below 0 means no limit, and is reported.
func TestCheckOfLimits(t *testing.T) {
	clitest.Bare(t, nil)
	const routes = "gateway: {routes: [{model: a, to: [{model: sim/offline}]}]}\n"
	said, err := checked(t, "limits:\n  idle: -5m\n  text: -1\n"+routes)
	if err != nil || !strings.Contains(said, ":2: warning: limits.idle: a value below 0 means no limit") || !strings.Contains(said, ":3: warning: limits.text: a value below 0 means no limit") {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := checked(t, "limits: {idle: 5m, time: 1h}\n"+routes); err != nil || strings.Contains(said, "limits") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestCheckMissingVariableWarns: a missing variable is a warning in a check. The warning mentions that serve
// refuses to start without it.
func TestCheckMissingVariableWarns(t *testing.T) {
	clitest.Bare(t, nil)
	for _, name := range []string{"AZURE_OPENAI_ENDPOINT", "AWS_REGION", "TOOLPOST_ADMIN_KEY"} {
		t.Setenv(name, "")
	}
	for model, variable := range map[string]string{"azure/gpt-4o": "AZURE_OPENAI_ENDPOINT", "bedrock/amazon.nova-lite-v1:0": "AWS_REGION"} {
		config := "gateway:\n  routes:\n    - {model: a, to: [{model: '" + model + "'}]}\n"
		said, err := checked(t, config)
		if want := "its address needs " + variable + " to be set; serve does not start without it"; err != nil || !strings.Contains(said, want) {
			t.Errorf("%s: %v\n%s", model, err, said)
		}
		file := filepath.Join(t.TempDir(), "c.yaml")
		writeFile(t, file, config)
		if got := toolpost(t, "", "serve", "--addr", "127.0.0.1:0", "--config", file); got.code != 1 || !strings.Contains(got.errOut, variable) || strings.Contains(got.errOut, "does not start") {
			t.Errorf("%s: exit %d: %s", model, got.code, got.errOut)
		}
	}
	if said, err := checked(t, "gateway:\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:8232\n  routes:\n    - {model: a, to: [{model: sim/offline}]}\n"); err != nil || !strings.Contains(said, "TOOLPOST_ADMIN_KEY; serve does not start without it") {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestImportOfTabs: a tab in a LiteLLM file is reported with its line, as in ours.
func TestImportOfTabs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for text, line := range map[string]string{
		"model_list:\n\t- model_name: a\n": "line 2", "model_list:\n  - model_name: a\n    litellm_params:\n    \tmodel: openai/m\n": "line 4",
		"model_list:\n  -\tmodel_name: a\n    litellm_params: {model: openai/m}\n": "line 2",
	} {
		writeFile(t, file, text)
		must(t, toolpost(t, "", "serve", "import", file), 1, line+": it is not YAML: this line has a tab; YAML is indented with spaces only")
	}
}
