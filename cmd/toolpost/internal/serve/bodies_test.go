package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
)

// TestServeLogBodies sends requests to a gateway that stores bodies, and searches the files of its store. They contain
// the request and no secrets. The log reports that bodies are stored. Neither the log nor the metrics contain secrets.
func TestServeLogBodies(t *testing.T) {
	const vendorKey, adminKey = "quite-unlike-a-key", "an-admin-key-of-more-than-24-bytes"
	clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  keys: " + keysFile + "\n  log_bodies: true\n  log_body_size: 5000\n  routes:\n    - {model: any, to: [{model: sim/offline}]}\n    - {model: quiet, to: [{model: sim/offline}], log_bodies: false}\n"})
	t.Setenv("OPENAI_API_KEY", vendorKey)
	t.Setenv(serve.AdminKeyEnv, adminKey)
	key := makeKey(t, "--team", "research")
	var said clitest.Writes
	url := programtest.StartServeWith(t, &said, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
	ask := func(model, text string) string {
		t.Helper()
		body, _ := json.Marshal(map[string]any{"model": model, "messages": []any{map[string]string{"role": "user", "content": text}}, "metadata": map[string]string{"api_key": "short and sweet"}})
		post, _ := http.NewRequest("POST", url+"/v1/chat/completions", strings.NewReader(string(body)))
		post.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
			t.Fatal(resp.Status, string(b))
		}
		return resp.Header.Get("Toolpost-Request-Id")
	}
	id := ask("any", "Greetings! "+vendorKey+" "+adminKey+" "+key+" Authorization: Basic "+"dXNlcjpwYXNzd29yZDEyMzQ=")
	other := ask("quiet", "Whispered.")
	programtest.Must(t, programtest.Run(t, "", "usage", "--request", id, "--keys", keysFile), 0, id, "research", "asked: ", "Greetings!", "[stripped:", "answered: ", "application/json", `"content":`)
	programtest.Must(t, programtest.Run(t, "", "usage", "--request", id, "--json", "--keys", keysFile), 0, `"text": "{\"`, `"bytes": `)
	if got := programtest.Run(t, "", "usage", "--request", other, "--keys", keysFile); got.Code != 1 || !strings.Contains(got.ErrOut, "is not kept: it needs log_bodies") {
		t.Errorf("%d %s", got.Code, got.ErrOut)
	}
	if got := programtest.Run(t, "", "usage", "--request", id, "--by", "team", "--keys", keysFile); got.Code != 2 {
		t.Errorf("%d %s", got.Code, got.ErrOut)
	}
	var stored strings.Builder
	files, _ := filepath.Glob("keys.db*")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stored.Write(b)
	}
	if !strings.Contains(stored.String(), "Greetings!") || strings.Contains(stored.String(), "Whispered") {
		t.Errorf("%v do not hold what was asked, or hold too much", files)
	}
	text, _ := said.All()
	if !strings.Contains(text, "gateway.log_bodies") || !strings.Contains(text, "requests and answers are kept for 720h0m0s") {
		t.Errorf("nobody is told that bodies are kept: %s", text)
	}
	resp, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	for place, text := range map[string]string{"store": stored.String(), "log": text, "metrics": string(metrics)} {
		for _, secret := range []string{vendorKey, adminKey, key[14:], "dXNlcjpwYXNz", "short and sweet"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has %q", place, secret)
			}
		}
		if place != "store" && strings.Contains(text, "Greetings") {
			t.Errorf("the %s has what was asked", place)
		}
	}
}
