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

// TestWildcardsOpenNoFiles: the part of a model name that matches a * cannot open a file or start a program on the
// gateway's machine. Routes that name them explicitly can.
func TestWildcardsOpenNoFiles(t *testing.T) {
	script := filepath.Join(t.TempDir(), "talk.txtar")
	programtest.WriteFile(t, script, "-- 1.raw --\nGood evening.\n")
	started := filepath.Join(t.TempDir(), "started")
	url, _, _ := servedAt(t, `
agent_programs:
  touch: {format: codex, command: touch, args: [`+started+`]}
gateway:
  routes:
    - {model: "known", to: [{model: "sim/script:`+script+`"}]}
    - {model: "mine/*", to: [{model: "sim/*"}]}
    - {model: "*", to: [{model: "*"}]}
`)
	for model, status := range map[string]int{
		"known":                  200,
		"mine/offline":           200,
		"sim/script:" + script:   404,
		"mine/script:" + script:  404,
		"sim/script:/etc/passwd": 404,
		"sim/offline":            404,
		"agent/touch":            404,
	} {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		got, body := resp.StatusCode, string(b)
		if got != status || status == 404 && strings.Contains(body, "root:") {
			t.Errorf("%s: %d %s", model, got, body)
		}
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("a client started a program")
	}
}
