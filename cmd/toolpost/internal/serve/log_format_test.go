//go:build !windows

package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// jsonLines parses every line of an output, and returns the messages.
func jsonLines(t *testing.T, text string) (messages []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time == "" || record.Level == "" || record.Msg == "" {
			t.Errorf("no JSON with a time, a level and a message: %s", line)
		}
		messages = append(messages, record.Msg)
	}
	return messages
}

// TestEveryLineOfALogInJSON runs a gateway process with log_format: json from its start to SIGTERM, with an MCP server that is
// missing, a request, and an upstream that fails. Every line that it prints is a JSON document.
func TestEveryLineOfALogInJSON(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "fail") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}]}`)
	}))
	t.Cleanup(up.Close)
	dir := clitest.Bare(t, map[string]string{"gateway.yaml": fmt.Sprintf(`providers: {up: {base_url: %s/v1, wire: chat}}
mcp_servers: {absent: {command: /nowhere/server}}
gateway:
  log_format: json
  drain_delay: 10ms
  max_body: 0
  ops_addr: 127.0.0.1:0
  admin_addr: 127.0.0.1:0
  keys: sqlite:keys.db
  routes: [{model: m, to: [{model: up/m, weight: 1}], retries: 0, mcp: [absent]}]
`, up.URL)})
	secret := ""
	if r := programtest.Run(t, "", "keys", "create", "--team", "red", "--keys", "sqlite:keys.db"); r.Code != 0 {
		t.Fatal(r.ErrOut)
	} else {
		secret = strings.TrimSpace(r.Out)
	}
	t.Setenv("TOOLPOST_ADMIN_KEY", "the-key-of-administrators-0123")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--addr", "127.0.0.1:0", "--config", filepath.Join(dir, "gateway.yaml"))
	cmd.Env = append(os.Environ(), programtest.BeTheProgram)
	var printed clitest.Writes
	cmd.Stderr = &printed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	var begun struct{ Msg, Address string }
	if json.Unmarshal([]byte(line), &begun); err != nil || begun.Msg != "listening on" {
		t.Fatalf("%v: %s", err, line)
	}
	for text, want := range map[string]int{"hello": 200, "fail": 500} {
		post, err := http.NewRequestWithContext(t.Context(), "POST", begun.Address+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: %d", text, resp.StatusCode)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	text, _ := printed.All()
	messages := jsonLines(t, text)
	for _, want := range []string{"health and metrics on", "administrators on", "MCP server absent", "request", "upstream attempt failed", "request failed", "the gateway has ended"} {
		if !slices.ContainsFunc(messages, func(m string) bool { return strings.HasPrefix(m, want) }) {
			t.Errorf("no line has the message %q: %s", want, text)
		}
	}
}

// TestStartThatFailsIsLoggedInJSON checks that a gateway which cannot start reports the reason as JSON, and keeps its exit code.
func TestStartThatFailsIsLoggedInJSON(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for name, test := range map[string]struct {
		config, says string
		args         []string
		code         int
	}{
		"address in use": {"", taken.Addr().String(), []string{"--addr", taken.Addr().String()}, cli.ExitFailed},
		"mistakes":       {"routes: [{model: m, to: [{model: nobody/m}]}]", "nobody", nil, cli.ExitFailed},
		"a wrong flag":   {"", "0.0.0.0", []string{"--addr", "0.0.0.0:1"}, cli.ExitUsage},
	} {
		clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  log_format: json\n  " + test.config + "\n"})
		r := programtest.Run(t, "", append([]string{"serve", "--config", "gateway.yaml"}, test.args...)...)
		if r.Code != test.code || !strings.Contains(r.ErrOut, test.says) {
			t.Errorf("%s: exit %d: %s", name, r.Code, r.ErrOut)
		}
		jsonLines(t, r.ErrOut)
	}
}
