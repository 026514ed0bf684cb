package serve_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestServe sends a client's requests to the gateway, without a configuration and with routes.
func TestServe(t *testing.T) {
	t.Setenv("TOOLPOST_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	config := "gateway:\n  addr: 127.0.0.1:0\n  routes:\n    - {model: small, to: [{model: sim/offline}]}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		model  string
		status int
	}{
		{[]string{"--addr", "127.0.0.1:0"}, "any", 200},
		{[]string{"--config", file}, "small", 200},
		{[]string{"--config", file}, "any", 404},
	} {
		url := programtest.StartServe(t, test.args...)
		body := `{"model":"` + test.model + `","messages":[{"role":"user","content":"Hello"}]}`
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(b), map[int]string{200: "offline stand-in", 404: "unknown model"}[test.status]) {
			t.Errorf("%v, %s: %d %s", test.args, test.model, resp.StatusCode, b)
		}
	}
}

// TestServeAsDocumented sends the curl requests of the documentation.
func TestServeAsDocumented(t *testing.T) {
	t.Setenv("TOOLPOST_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	url := programtest.StartServe(t, "--addr", "127.0.0.1:0")
	for _, page := range []string{"README.md", "docs/gateway.md"} {
		text, err := os.ReadFile(filepath.Join(programtest.ModuleRoot(t), page))
		if err != nil {
			t.Fatal(err)
		}
		_, command, found := strings.Cut(string(text), "curl -s http://127.0.0.1:8230")
		path, rest, _ := strings.Cut(command, " ")
		_, rest, _ = strings.Cut(rest, "-d '")
		body, _, closed := strings.Cut(rest, "'\n")
		if !found || !closed {
			t.Errorf("%s shows no curl", page)
			continue
		}
		resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(b), `"name":"get_weather"`) || !strings.Contains(string(b), `Rome`) {
			t.Errorf("%s: %d %s", page, resp.StatusCode, b)
		}
	}
}

// TestServeRefuses checks configurations that serve refuses.
func TestServeRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	for config, says := range map[string]string{
		"gateway:\n  routs: []\n": "unknown field \"routs\"",
		"gateway:\n  routes:\n    - {model: a, to: [{model: nobody/x}]}\n":                  "nobody is known to serve",
		"gateway:\n  routes:\n    - {model: a, to: []}\n":                                   "it has no upstream",
		"gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline, tools: magic}]}\n": "in the way \"magic\"",
	} {
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", file), 1, says)
	}
	programtest.Must(t, programtest.Run(t, "", "serve", "--addr", "0.0.0.0:0"), 2, "reachable from other machines, and without keys")
}
