package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The content of a file never controls the terminal that shows its mistakes. A key in place of a name is not printed.
func TestCheckOutputIsPrintable(t *testing.T) {
	for name, test := range map[string]struct {
		text, want string
		hidden     []string
	}{
		"setting":   {"gateway:\n  \"evil\\e[31m\": 1\n", "evil␛[31m", []string{"\x1b"}},
		"direction": {"gateway:\n  routes:\n    - {model: \"a\\u202eb\", to: [{model: sim/native}]}\n", `a\u202eb`, []string{"\u202e"}},
		"host":      {"providers:\n  x: {base_url: 'http://127.0.0.1:1/v1', headers: {host: evil}}\n", "follows from the request itself", nil},
		"key":       {"providers:\n  x: {base_url: 'http://127.0.0.1:1/v1', key_env: hunter2-abcdefghijklmnop}\ngateway:\n  routes:\n    - {model: m, to: [{model: x/y}]}\n", "", []string{"hunter2"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "g.yml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := toolpost(t, "", "serve", "--check", "--config", file)
			all := got.out + got.errOut
			if !strings.Contains(all, test.want) {
				t.Errorf("no %q in %q", test.want, all)
			}
			for _, h := range test.hidden {
				if strings.Contains(all, h) {
					t.Errorf("%q in %q", h, all)
				}
			}
		})
	}
}

// The same holds for messages of import.
func TestImportOutputIsPrintable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.yml")
	if err := os.WriteFile(file, []byte("model_list:\n  - {model_name: \"evil\\e[31m\", litellm_params: {model: openai/gpt-4o}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := toolpost(t, "", "serve", "import", file)
	if all := got.out + got.errOut; strings.Contains(all, "\x1b") || !strings.Contains(all, "evil") {
		t.Errorf("%q", all)
	}
}
