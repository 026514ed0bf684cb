package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// ownHome gives the test a separate home folder, to isolate it from the user's files.
func ownHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	t.Setenv("TOOLPOST_MODELS", "")
	return dir
}

func TestModelsShow(t *testing.T) {
	ownHome(t)
	r := toolpost(t, "", "models", "show", "--explain", "claude-sonnet-4-5")
	for _, want := range []string{"claude-sonnet-4-5\n", "variant  sonnet", "tool choice required", "yes unless thinking", "claude (rules.yaml:"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if r.code != cli.ExitOK || r.errOut != "" || strings.Contains(r.out, "\x1b") {
		t.Errorf("exit %d, %q, %q", r.code, r.errOut, r.out)
	}
	r = toolpost(t, "", "models", "show", "gpt-4o", "nobody-knows-9b")
	if r.code != cli.ExitOK || !strings.Contains(r.errOut, "warning: nobody-knows-9b: unknown model") || strings.Count(r.out, "native tools") != 2 {
		t.Errorf("exit %d, %q\n%s", r.code, r.errOut, r.out)
	}
}

func TestModelsShowJSON(t *testing.T) {
	ownHome(t)
	r := toolpost(t, "", "models", "show", "--json", "--explain", "qwen3:8b")
	var got struct {
		Model   struct{ Family string }
		Explain []struct{ Field, Rule string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Model.Family != "qwen" || len(got.Explain) == 0 || got.Explain[0].Rule == "" {
		t.Errorf("%v: %s", err, r.out)
	}
}

// TestModelsBatch checks the contract for scripts.
func TestModelsBatch(t *testing.T) {
	ownHome(t)
	in := `{"id":"llama3.3:70b"}
{"id":7}
{}
not json

{"id":""}
{"id":"gpt-4o","more":"is ignored"}
`
	r := toolpost(t, in, "models", "show", "--batch")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != cli.ExitOK || len(lines) != 6 {
		t.Fatalf("exit %d, %d lines:\n%s", r.code, len(lines), r.out)
	}
	var first struct {
		ID, Family, Variant, Provider, Org *string
		Version                            []int
		Size                               *float64
		Custom                             *bool
		Capability                         map[string]any
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if *first.ID != "llama3.3:70b" || *first.Family != "llama" || len(first.Version) != 2 || *first.Size != 70e9 || *first.Custom || first.Variant != nil || first.Provider != nil {
		t.Errorf("%s", lines[0])
	}
	for _, key := range strings.Fields("native_tools parallel_tools tool_streaming json_mode reasoning tool_choice_required context_window max_output_tokens emulation_style") {
		if _, ok := first.Capability[key]; !ok {
			t.Errorf("no %s in %s", key, lines[0])
		}
	}
	for i, want := range []string{1: `{"id":7,"error":`, 2: `{"id":null,"error":`, 3: `{"id":null,"error":`, 4: `"family":"unknown"`, 5: `"family":"gpt"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
}

func TestModelsList(t *testing.T) {
	dir := ownHome(t)
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte("models: {house-qwen: {base: \"qwen3:8b\", native_tools: false}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := toolpost(t, "", "models", "list", "--models", file, "qwen")
	if r.code != cli.ExitOK || !strings.HasPrefix(r.out, "MODEL ") || !strings.Contains(r.out, "house-qwen") || strings.Contains(r.out, "gpt-4o") {
		t.Errorf("exit %d, %s\n%s", r.code, r.errOut, r.out)
	}
	r = toolpost(t, "", "models", "list", "--json", "kimi")
	var models []map[string]any
	if err := json.Unmarshal([]byte(r.out), &models); err != nil || len(models) == 0 {
		t.Errorf("%v: %s", err, r.out)
	}
	if r = toolpost(t, "", "models", "list", "no-such-thing"); r.code != cli.ExitFailed {
		t.Errorf("exit %d for nothing found", r.code)
	}
}

func TestModelsUpdate(t *testing.T) {
	dir := ownHome(t)
	const db = `{"x":{"models":{"new-model-1":{"tool_call":true,"limit":{"context":777}}}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api.json" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(db))
	}))
	defer server.Close()
	r := toolpost(t, "", "models", "update", "--from", server.URL+"/api.json")
	if r.code != cli.ExitOK || !strings.Contains(r.out, "1 models of models.dev") {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.errOut)
	}
	r = toolpost(t, "", "models", "show", "--explain", "new-model-1")
	if !strings.Contains(r.out, "777") || !strings.Contains(r.out, "imported from models.dev") || r.errOut != "" {
		t.Errorf("%s%s", r.out, r.errOut)
	}
	file := filepath.Join(dir, "api.json")
	if err := os.WriteFile(file, []byte(db), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := toolpost(t, "", "models", "update", "--from", file); r.code != cli.ExitOK {
		t.Errorf("from a file: exit %d, %s", r.code, r.errOut)
	}
	for _, from := range []string{server.URL + "/other", filepath.Join(dir, "none.json"), "models_test.go"} {
		if r := toolpost(t, "", "models", "update", "--from", from); r.code != cli.ExitFailed || r.errOut == "" {
			t.Errorf("from %s: exit %d, %s", from, r.code, r.errOut)
		}
	}
}

func TestModelsWrongUse(t *testing.T) {
	ownHome(t)
	for _, args := range []string{"models show", "models show --batch gpt-4o", "models show --batch --json", "models update", "models update x", "models nonsense", "models list --nonsense"} {
		if r := toolpost(t, "", strings.Fields(args)...); r.code != cli.ExitUsage || !strings.Contains(r.errOut, "--help") {
			t.Errorf("toolpost %s: exit %d, %s", args, r.code, r.errOut)
		}
	}
	r := toolpost(t, "", "models", "show", "--models", "models_test.go", "gpt-4o")
	if r.code != cli.ExitFailed || !strings.Contains(r.errOut, "models_test.go:") {
		t.Errorf("a file that is no models.yaml: exit %d, %s", r.code, r.errOut)
	}
}

// A models file may set every format. An unknown format is refused whenever the file is read, with its line and the
// valid names.
func TestModelsFileFormats(t *testing.T) {
	file := filepath.Join(ownHome(t), "mine.yaml")
	t.Setenv("TOOLPOST_MODELS", file)
	set := func(format string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("models:\n  mine: {base: claude-sonnet-4-5, wire: "+format+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("converse")
	if r := toolpost(t, "", "models", "show", "--json", "mine"); r.code != cli.ExitOK || !strings.Contains(r.out, `"wire":"converse"`) && !strings.Contains(r.out, `"wire": "converse"`) {
		t.Errorf("exit %d, %s\n%s", r.code, r.errOut, r.out)
	}
	set("convers")
	for _, args := range [][]string{{"models", "show", "mine"}, {"config", "check"}, {"run", "-m", "sim/native", "hello"}, {"parse", "--model", "mine", "x"}} {
		want := file + `:2: unknown format "convers"; the formats are chat, responses, messages, gemini, ollama, converse. Did you mean "converse"?`
		if r := toolpost(t, "", args...); r.code == cli.ExitOK || !strings.Contains(r.errOut, want) {
			t.Errorf("%v: exit %d, %s\nwant %s", args, r.code, r.errOut, want)
		}
	}
}
