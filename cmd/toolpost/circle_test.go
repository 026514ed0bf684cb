package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRecursiveYAMLAnchors: in every YAML file of a command, a recursive anchor is an error with its position.
func TestRecursiveYAMLAnchors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	for text, command := range map[string][]string{
		"agents:\n  - {name: one, output: &o {answer: *o}}\n":                                    {"run", "-m", "sim/native", "--output-schema", file + "#one", "task"},
		"model_list:\n  - &m {model_name: a, litellm_params: *m}\n":                              {"serve", "import", file},
		"gateway:\n  routes: &r [{model: a, to: *r}]\n":                                          {"serve", "--check", "--config", file},
		"tools:\n  - {name: a, description: d, command: [x], parameters: &p {properties: *p}}\n": {"tools", "list", "--tools", file},
		"mcp_servers:\n  s: &s {command: x, env: *s}\n":                                          {"mcp", "import", file},
	} {
		writeFile(t, file, text)
		got := toolpost(t, "", command...)
		if got.code == 0 || !strings.Contains(got.errOut, "names what it is a part of") || !strings.Contains(got.errOut, "2: ") {
			t.Errorf("%v: exit %d: %s%s", command, got.code, got.out, got.errOut)
		}
	}
}
