package usercatalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/catalog"
)

func TestRemember(t *testing.T) {
	values := map[string]string{"native_tools": "true", "dialect": "hermes_json"}
	const line = "  # found: today\n" + `  "http://h/v1#m": {dialect: hermes_json, native_tools: true}` + "\n"
	for _, c := range []struct{ why, before, after string }{
		{"no file", "", "models:\n" + line},
		{"only rules", "rules:\n  - name: x\n    match: {family: qwen}\n    set: {json_mode: true}", "rules:\n  - name: x\n    match: {family: qwen}\n    set: {json_mode: true}\nmodels:\n" + line},
		{"others stay", "# mine\nmodels:\n  # a friend\n  other: {json_mode: true}\n", "# mine\nmodels:\n" + line + "  # a friend\n  other: {json_mode: true}\n"},
		{"an earlier note goes", "models:\n  # found: yesterday\n  \"http://h/v1#m\": {native_tools: false}\n  other: {json_mode: true}\n", "models:\n" + line + "  other: {json_mode: true}\n"},
		{"settings of the user stay", "models:\n  \"http://h/v1#M\":\n    native_tools: false\n    context_window: 4096\n  other: {json_mode: true}\nrules: []\n",
			"models:\n  # found: today\n" + `  "http://h/v1#m": {context_window: 4096, dialect: hermes_json, native_tools: true}` + "\n  other: {json_mode: true}\nrules: []\n"},
		{"another indent", "models:\n    other: {json_mode: true}\n", "models:\n    # found: today\n" + `    "http://h/v1#m": {dialect: hermes_json, native_tools: true}` + "\n    other: {json_mode: true}\n"},
	} {
		t.Run(c.why, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "new", "models.yaml")
			if c.before != "" {
				if err := replaceFile(file, []byte(c.before)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a second time changes nothing
				if err := Remember(file, "http://h/v1#m", "today", values); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			cat, err := loadFile(catalog.Default(), file)
			if err != nil {
				t.Fatal(err)
			}
			if m := cat.Lookup("http://h/v1#m"); m.NativeTools.Support != catalog.Yes || m.Dialect != "hermes_json" {
				t.Errorf("the catalogue knows %+v", m)
			}
		})
	}
}

// A file that cannot be extended is not touched.
func TestRememberRefuses(t *testing.T) {
	for _, c := range []struct{ why, before, value string }{
		{"no YAML", "models: [", "true"},
		{"one line", "models: {a: {json_mode: true}}\n", "true"},
		{"no setting", "", "perhaps"},
	} {
		file := filepath.Join(t.TempDir(), "models.yaml")
		if c.before != "" {
			if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := Remember(file, "m", "today", map[string]string{"native_tools": c.value})
		if err == nil || !strings.Contains(err.Error(), "add this yourself") {
			t.Errorf("%s: %v", c.why, err)
		}
		if got, _ := os.ReadFile(file); string(got) != c.before {
			t.Errorf("%s: the file is now %s", c.why, got)
		}
	}
}

func TestNoteIsReadBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	if note, err := Note(file, "acme/bot"); note != "" || err != nil {
		t.Errorf("without a file: %q, %v", note, err)
	}
	for id, note := range map[string]string{"acme/bot": "tuned: 95 % right", "acme/other": "probed"} {
		if err := Remember(file, id, note, map[string]string{"native_tools": "false"}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{"acme/bot": "tuned: 95 % right", "ACME/bot": "tuned: 95 % right", "acme/other": "probed", "acme/none": ""} {
		if note, err := Note(file, id); note != want || err != nil {
			t.Errorf("%s: %q, %v", id, note, err)
		}
	}
}
