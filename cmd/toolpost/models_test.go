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
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

func TestModelsShow(t *testing.T) {
	programtest.OwnHome(t)
	r := programtest.Run(t, "", "models", "show", "--explain", "claude-sonnet-4-5")
	for _, want := range []string{"claude-sonnet-4-5\n", "variant  sonnet", "tool choice required", "yes unless thinking", "claude (rules.yaml:"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("no %q in\n%s", want, r.Out)
		}
	}
	if r.Code != cli.ExitOK || r.ErrOut != "" || strings.Contains(r.Out, "\x1b") {
		t.Errorf("exit %d, %q, %q", r.Code, r.ErrOut, r.Out)
	}
	r = programtest.Run(t, "", "models", "show", "gpt-4o", "nobody-knows-9b")
	if r.Code != cli.ExitOK || !strings.Contains(r.ErrOut, "warning: nobody-knows-9b: unknown model") || strings.Count(r.Out, "native tools") != 2 {
		t.Errorf("exit %d, %q\n%s", r.Code, r.ErrOut, r.Out)
	}
}

func TestModelsShowJSON(t *testing.T) {
	programtest.OwnHome(t)
	r := programtest.Run(t, "", "models", "show", "--json", "--explain", "qwen3:8b")
	var got struct {
		Model   struct{ Family string }
		Explain []struct{ Field, Rule string }
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || got.Model.Family != "qwen" || len(got.Explain) == 0 || got.Explain[0].Rule == "" {
		t.Errorf("%v: %s", err, r.Out)
	}
}

// TestModelsBatch checks the contract for scripts.
func TestModelsBatch(t *testing.T) {
	programtest.OwnHome(t)
	in := `{"id":"llama3.3:70b"}
{"id":7}
{}
not json

{"id":""}
{"id":"gpt-4o","more":"is ignored"}
`
	r := programtest.Run(t, in, "models", "show", "--batch")
	lines := strings.Split(strings.TrimSpace(r.Out), "\n")
	if r.Code != cli.ExitOK || len(lines) != 6 {
		t.Fatalf("exit %d, %d lines:\n%s", r.Code, len(lines), r.Out)
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
	dir := programtest.OwnHome(t)
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte("models: {house-qwen: {base: \"qwen3:8b\", native_tools: false}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := programtest.Run(t, "", "models", "list", "--models", file, "qwen")
	if r.Code != cli.ExitOK || !strings.HasPrefix(r.Out, "MODEL ") || !strings.Contains(r.Out, "house-qwen") || strings.Contains(r.Out, "gpt-4o") {
		t.Errorf("exit %d, %s\n%s", r.Code, r.ErrOut, r.Out)
	}
	r = programtest.Run(t, "", "models", "list", "--json", "kimi")
	var models []map[string]any
	if err := json.Unmarshal([]byte(r.Out), &models); err != nil || len(models) == 0 {
		t.Errorf("%v: %s", err, r.Out)
	}
	if r = programtest.Run(t, "", "models", "list", "no-such-thing"); r.Code != cli.ExitFailed {
		t.Errorf("exit %d for nothing found", r.Code)
	}
}

func TestModelsUpdate(t *testing.T) {
	dir := programtest.OwnHome(t)
	const db = `{"x":{"models":{"new-model-1":{"tool_call":true,"limit":{"context":777}}}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api.json" {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(db))
	}))
	defer server.Close()
	r := programtest.Run(t, "", "models", "update", "--from", server.URL+"/api.json")
	if r.Code != cli.ExitOK || !strings.Contains(r.Out, "1 models of models.dev") {
		t.Fatalf("exit %d, %s%s", r.Code, r.Out, r.ErrOut)
	}
	r = programtest.Run(t, "", "models", "show", "--explain", "new-model-1")
	if !strings.Contains(r.Out, "777") || !strings.Contains(r.Out, "imported from models.dev") || r.ErrOut != "" {
		t.Errorf("%s%s", r.Out, r.ErrOut)
	}
	file := filepath.Join(dir, "api.json")
	if err := os.WriteFile(file, []byte(db), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := programtest.Run(t, "", "models", "update", "--from", file); r.Code != cli.ExitOK {
		t.Errorf("from a file: exit %d, %s", r.Code, r.ErrOut)
	}
	for _, from := range []string{server.URL + "/other", filepath.Join(dir, "none.json"), "models_test.go"} {
		if r := programtest.Run(t, "", "models", "update", "--from", from); r.Code != cli.ExitFailed || r.ErrOut == "" {
			t.Errorf("from %s: exit %d, %s", from, r.Code, r.ErrOut)
		}
	}
}

func TestModelsWrongUse(t *testing.T) {
	programtest.OwnHome(t)
	for _, args := range []string{"models show", "models show --batch gpt-4o", "models show --batch --json", "models update", "models update x", "models nonsense", "models list --nonsense"} {
		if r := programtest.Run(t, "", strings.Fields(args)...); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, "--help") {
			t.Errorf("toolpost %s: exit %d, %s", args, r.Code, r.ErrOut)
		}
	}
	r := programtest.Run(t, "", "models", "show", "--models", "models_test.go", "gpt-4o")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "models_test.go:") {
		t.Errorf("a file that is no models.yaml: exit %d, %s", r.Code, r.ErrOut)
	}
}

// A models file may set every format. An unknown format is refused whenever the file is read, with its line and the
// valid names.
func TestModelsFileFormats(t *testing.T) {
	file := filepath.Join(programtest.OwnHome(t), "mine.yaml")
	t.Setenv("TOOLPOST_MODELS", file)
	set := func(format string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("models:\n  mine: {base: claude-sonnet-4-5, wire: "+format+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("converse")
	if r := programtest.Run(t, "", "models", "show", "--json", "mine"); r.Code != cli.ExitOK || !strings.Contains(r.Out, `"wire":"converse"`) && !strings.Contains(r.Out, `"wire": "converse"`) {
		t.Errorf("exit %d, %s\n%s", r.Code, r.ErrOut, r.Out)
	}
	set("convers")
	for _, args := range [][]string{{"models", "show", "mine"}, {"config", "check"}, {"run", "-m", "sim/native", "hello"}, {"parse", "--model", "mine", "x"}} {
		want := file + `:2: unknown format "convers"; the formats are chat, responses, messages, gemini, ollama, converse. Did you mean "converse"?`
		if r := programtest.Run(t, "", args...); r.Code == cli.ExitOK || !strings.Contains(r.ErrOut, want) {
			t.Errorf("%v: exit %d, %s\nwant %s", args, r.Code, r.ErrOut, want)
		}
	}
}
