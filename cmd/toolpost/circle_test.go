package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
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
		programtest.WriteFile(t, file, text)
		got := programtest.Run(t, "", command...)
		if got.Code == 0 || !strings.Contains(got.ErrOut, "names what it is a part of") || !strings.Contains(got.ErrOut, "2: ") {
			t.Errorf("%v: exit %d: %s%s", command, got.Code, got.Out, got.ErrOut)
		}
	}
}
