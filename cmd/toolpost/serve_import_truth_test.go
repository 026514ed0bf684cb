package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestImportOfYAML11Booleans: LiteLLM uses YAML 1.1, and its examples write True.
func TestImportOfYAML11Booleans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for _, row := range []struct {
		settings string
		cached   bool
		says     string
		silent   string // must not be printed
	}{
		{"cache: true", true, "cache: answers are given again", ""},
		{"cache: True", true, "cache: answers are given again", ""},
		{"cache: TRUE", true, "cache: answers are given again", ""},
		{"cache: yes", true, "cache: answers are given again", ""},
		{"cache: On", true, "cache: answers are given again", ""},
		{`cache: "true"`, true, "cache: answers are given again", ""},
		{"cache: False", false, "", "cache"},
		{"cache: no", false, "", "cache"},
		{"cache: {type: redis}", false, "cache is not taken over: it is neither true nor false", ""},
		{"drop_params: True", false, "", "drop_params"},
		{"drop_params: yes", false, "", "drop_params"},
		{"drop_params: False", false, "drop_params: what an upstream cannot do", ""},
		{`fallbacks: [{"*": [a]}]`, false, "fallbacks of * are not taken over", "there is no such model"},
	} {
		writeFile(t, file, "model_list:\n"+liteEntry("a", "model: openai/gpt-4o")+"litellm_settings: {"+row.settings+"}\n")
		got := toolpost(t, "", "serve", "import", file)
		if got.code != 0 || strings.Contains(got.out, "cache: 10m") != row.cached || !strings.Contains(got.errOut, row.says) || row.silent != "" && strings.Contains(got.errOut, row.silent) {
			t.Errorf("%s: %d\n%s%s", row.settings, got.code, got.out, got.errOut)
		}
	}
	writeFile(t, file, "model_list:\n"+liteEntry("a", "model: openai/gpt-4o")+"router_settings: {model_group_alias: {b: {model: a, hidden: yes}}}\n")
	if got := toolpost(t, "", "serve", "import", file); !strings.Contains(got.out, "hidden: true") {
		t.Errorf("%s%s", got.out, got.errOut)
	}
}
