package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/config"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/doctor"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// TestDeclaredWords: the words that a setting declares, which a shell completes, are valid values, and another word is not.
func TestDeclaredWords(t *testing.T) {
	declared := 0
	for _, row := range settings.Table {
		if len(row.Words) == 0 {
			continue
		}
		declared++
		for _, word := range append(row.Words, "nonsense") {
			if row.Key == "sandbox" && word == "true" {
				continue // some systems cannot do it
			}
			s := settings.Defaults()
			err := row.Set(s, word)
			if err == nil {
				err = s.Check()
			}
			if (err == nil) != (word != "nonsense") {
				t.Errorf("%s: %s: %v", row.Key, word, err)
			}
		}
	}
	if declared != 7 {
		t.Errorf("%d settings declare words", declared)
	}
}

// TestSettingsPrecedence sets the same setting in the file, the environment and a flag. Later sources override earlier
// ones.
func TestSettingsPrecedence(t *testing.T) {
	clitest.Bare(t, map[string]string{"c.yaml": "model: from/file\nmax_turns: 3\nallow: [write]\n"})
	values := func(args ...string) map[string]config.ShownSetting {
		t.Helper()
		r := programtest.Run(t, "", append([]string{"config", "check", "--json"}, args...)...)
		var rows []config.ShownSetting
		if err := json.Unmarshal([]byte(r.Out), &rows); err != nil {
			t.Fatalf("%v: %s %s", err, r.Out, r.ErrOut)
		}
		out := make(map[string]config.ShownSetting)
		for _, row := range rows {
			out[row.Key] = row
		}
		return out
	}
	check := func(got config.ShownSetting, value, from string) {
		t.Helper()
		if got.Value != value || got.From != from {
			t.Errorf("%s is %q from %q, want %q from %q", got.Key, got.Value, got.From, value, from)
		}
	}
	check(values()["max_turns"], "20", "default")
	file := values("--config", "c.yaml")
	check(file["model"], "from/file", "c.yaml")
	check(file["max_turns"], "3", "c.yaml")
	check(file["allow"], "write", "c.yaml")
	check(file["root"], ".", "default")
	t.Setenv("TOOLPOST_CONFIG", "c.yaml")
	t.Setenv("TOOLPOST_MODEL", "from/env")
	t.Setenv("TOOLPOST_ALLOW", "exec, net")
	env := values()
	check(env["model"], "from/env", "TOOLPOST_MODEL")
	check(env["allow"], "exec, net", "TOOLPOST_ALLOW")
	check(env["max_turns"], "3", "c.yaml")

	s, err := settingsOf(t, "run", "-m", "from/flag", "--max-turns", "7", "--temperature", "0", "--allow", "write,exec")
	if err != nil || s.Model != "from/flag" || s.MaxTurns != 7 || s.Temperature == nil || *s.Temperature != 0 || strings.Join(s.Allow, " ") != "write exec" || s.Sources["model"] != "--model" {
		t.Errorf("%+v %v", s, err)
	}
}

// settingsOf returns the settings for a command line.
func settingsOf(t *testing.T, args ...string) (*settings.Settings, error) {
	t.Helper()
	cmd, rest, err := program.New().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return settings.Load(cmd)
}

// TestConfigIsStrict: errors name the file and the line.
func TestConfigIsStrict(t *testing.T) {
	clitest.Bare(t, map[string]string{"tools.yaml": "- name: f\n  comand: [x]\n", "file": ""})
	for why, c := range map[string]struct{ text, want string }{
		"an unknown key":             {"max_turns: 3\nmodle: x\n", `c.yaml:2: the key "modle" is not known; did you mean model?`},
		"an unknown key deep down":   {"providers:\n  gpu:\n    base_url: http://h/v1\n    kye_env: X\n", `c.yaml:4: the key "kye_env" is not known`},
		"a key twice":                {"model: a\nmodel: b\n", "c.yaml:2: "},
		"the wrong type":             {"model: a\nmax_turns: many\n", "c.yaml:2: "},
		"no YAML at all":             {"model: [\n", "c.yaml:1: "},
		"a class nobody knows":       {"allow: [delete]\n", `c.yaml:1: allow: "delete" is not one of exec, net, write`},
		"too many turns":             {"max_turns: 9999\n", "max_turns is 9999; it can be 1 to 500"},
		"a temperature of no model":  {"temperature: 3\n", "temperature is 3; it can be 0 to 2"},
		"a server without address":   {"providers: {gpu: {wire: chat}}\n", "gpu has no base_url"},
		"an address without http":    {"providers:\n  gpu:\n    base_url: 127.0.0.1:28231\n", "c.yaml:3: providers.gpu.base_url: base_url of gpu does not begin with http:// or https://; begin with http://"},
		"an address of another kind": {"providers: {gpu: {base_url: \"localhost:8000/v1\"}}\n", "base_url of gpu does not begin with http://"},
		"a server nobody knows":      {"local: [ollamma]\n", `local: "ollamma" is not one of`},
		"a root that is not there":   {"root: nowhere\n", "nowhere"},
		"a root that is a file":      {"root: file\n", "file"},
		"a broken file of tools":     {"tools: [tools.yaml]\n", `tools.yaml: builtin: tool 1 (f): the key "comand"`},
	} {
		if err := os.WriteFile("c.yaml", []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TOOLPOST_LOCAL", "")
		r := programtest.Run(t, "", "config", "check", "--config", "c.yaml")
		if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, c.want) || strings.Count(strings.TrimSpace(r.ErrOut), "\n") > 0 {
			t.Errorf("%s: exit %d, %q, want %q in one line", why, r.Code, r.ErrOut, c.want)
		}
	}
	if r := programtest.Run(t, "", "config", "check", "--config", "nowhere.yaml"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "nowhere.yaml") {
		t.Errorf("a file that somebody named and is not there: %+v", r)
	}
}

// TestModelSourcesInOrder tries the sources of a model in order: settings, keys, servers, offline.
func TestModelSourcesInOrder(t *testing.T) {
	clitest.Bare(t, nil)
	defer func(was time.Duration) { openmodel.Patience = was }(openmodel.Patience)
	openmodel.Patience = time.Minute
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			w.Write([]byte(`{"data":[{"id":"qwen"},{"id":"other"}]}`))
		case "/gguf/models":
			w.Write([]byte(`{"data":[{"id":"/srv/models/SmolLM2-135M.Q4_1.gguf"}]}`))
		case "/api/tags":
			w.Write([]byte(`{"models":[{"name":"llama3.2:3b"}]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>my web shop")) }))
	defer empty.Close()
	choose := func(s *settings.Settings) openmodel.Choice {
		return openmodel.Choose(t.Context(), &s.ModelOptions, s.Sources["model"])
	}
	at := func(vendor, base string) *settings.Settings {
		return &settings.Settings{ModelOptions: settings.ModelOptions{Local: []string{vendor}, Providers: map[string]settings.ProviderConfig{vendor: {BaseURL: base}}}}
	}
	if f := choose(&settings.Settings{ModelOptions: settings.ModelOptions{Local: []string{"none"}}}); f.ID != openmodel.OfflineID {
		t.Errorf("nothing there: %+v", f)
	}
	if f := choose(at("vllm", empty.URL+"/v1")); f.ID != openmodel.OfflineID {
		t.Errorf("something else on the port: %+v", f)
	}
	if f := choose(at("vllm", server.URL+"/v1")); f.ID != "vllm/qwen" || !strings.Contains(f.Why, server.URL) {
		t.Errorf("a server: %+v", f)
	}
	if f := choose(at("llamacpp", server.URL+"/gguf")); f.ID != "llamacpp/SmolLM2-135M.Q4_1.gguf" {
		t.Errorf("a server with a file: %+v", f)
	}
	t.Setenv("OLLAMA_HOST", strings.TrimPrefix(server.URL, "http://"))
	if f := choose(&settings.Settings{ModelOptions: settings.ModelOptions{Local: []string{"ollama"}}}); f.ID != "ollama/llama3.2:3b" {
		t.Errorf("Ollama elsewhere: %+v", f)
	}
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	t.Setenv("OLLAMA_HOST", "0.0.0.0:"+port) // the listen address differs from the address for clients
	if f := choose(&settings.Settings{ModelOptions: settings.ModelOptions{Local: []string{"ollama"}}}); f.ID != "ollama/llama3.2:3b" {
		t.Errorf("Ollama on every address: %+v", f)
	}
	t.Setenv("OLLAMA_HOST", "http://[")
	if f := choose(&settings.Settings{ModelOptions: settings.ModelOptions{Local: []string{"ollama"}}}); f.ID != openmodel.OfflineID {
		t.Errorf("an address that is none: %+v", f)
	}
	t.Setenv("GROQ_API_KEY", "k")
	if f := choose(at("vllm", server.URL+"/v1")); !strings.HasPrefix(f.ID, "groq/") || f.Why != "GROQ_API_KEY is set" {
		t.Errorf("a key: %+v", f)
	}
	t.Setenv("ANTHROPIC_API_KEY", "k")
	if f := choose(&settings.Settings{}); !strings.HasPrefix(f.ID, "anthropic/") {
		t.Errorf("two keys: %+v", f)
	}
	if f := choose(&settings.Settings{ModelOptions: settings.ModelOptions{Model: "x/y"}, Sources: map[string]string{"model": "--model"}}); f != (openmodel.Choice{ID: "x/y", Why: "set by --model"}) {
		t.Errorf("the settings: %+v", f)
	}
}

// TestFoundModelsCanBeOpened opens the models that a key alone selects.
func TestFoundModelsCanBeOpened(t *testing.T) {
	table := settings.Vendors()
	for _, k := range openmodel.Keyed {
		if table[k.Vendor].KeyEnv == "" {
			t.Errorf("%s has no key in the table of vendors", k.Vendor)
		}
		client, err := openmodel.Client(new(settings.ModelOptions))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Open(k.Vendor + "/" + k.Model); err != nil {
			t.Error(err)
		}
	}
	for _, name := range settings.LocalServers {
		if doctor.StartLocal[name] == "" || table[name].BaseURL == "" {
			t.Errorf("%s cannot be started or found", name)
		}
	}
}

func TestDoctor(t *testing.T) {
	clitest.Bare(t, map[string]string{"bad.yaml": "a: b\n"})
	r := programtest.Run(t, "", "doctor")
	for _, want := range []string{"– keys", "✓ model         sim/offline, because", "✓ tools         list_files, read_file, search_files\n", "✓ record"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("no %q in\n%s", want, r.Out)
		}
	}
	if r.Code != cli.ExitOK {
		t.Errorf("a bare machine is no failure: %+v", r)
	}
	t.Setenv("MISTRAL_API_KEY", "sk-secret-value")
	if r := programtest.Run(t, "", "doctor", "--json"); !strings.Contains(r.Out, "MISTRAL_API_KEY") || strings.Contains(r.Out+r.ErrOut, "sk-secret") {
		t.Errorf("keys: %s", r.Out)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLPOST_STORE", filepath.Join(blocked, "runs"))
	if r := programtest.Run(t, "", "doctor"); r.Code != cli.ExitFailed || !strings.Contains(r.Out, "✗ record") || !strings.Contains(r.Out, "TOOLPOST_STORE") {
		t.Errorf("a record that cannot be written: %+v", r)
	}
	if r := programtest.Run(t, "", "doctor", "--config", "bad.yaml"); r.Code != cli.ExitFailed || !strings.Contains(r.Out, `bad.yaml:1: the key "a"`) {
		t.Errorf("a broken configuration: %+v", r)
	}
}
