//go:build unix

package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/testkit"
)

// TestStackOfAStream: a text stream needs at most a stack of 8 kB. A stack never shrinks while its stream is open, and
// there are thousands of streams.
func TestStackOfAStream(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector makes frames larger")
	}
	const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Talk."}]}`
	url, log, limit := serveLimited(t)
	if !beginsStream(t, url, body) { // warm-up: initialisation happens only once
		t.Fatal("no stream")
	}
	limit()
	if !beginsStream(t, url, body) {
		log.mu.Lock()
		defer log.mu.Unlock()
		t.Errorf("a stack became larger:\n%.16000s", log.text.String())
	}
}

// serveLimited starts a gateway whose stacks are limited after a call of limit.
func serveLimited(t *testing.T) (url string, log *lines, limit func()) {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(talk))
	t.Cleanup(upstream.Close)
	config := filepath.Join(t.TempDir(), "gateway.yaml")
	programtest.WriteFile(t, config, "providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}\ngateway:\n  routes:\n    - {model: m, to: [{model: up/m, tools: native}]}\n")
	cmd := programtest.Program(t, "serve", "--addr", "127.0.0.1:0", "--config", config)
	cmd.Env = append(cmd.Env, "TOOLPOST_TEST_LIMIT_STACK=1", "TOOLPOST_CONFIG=", "XDG_CONFIG_HOME="+t.TempDir())
	log = newLines()
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ = strings.Cut(strings.TrimSpace(line), "listening on ")
	return url, log, func() { in.Close(); log.until(t, "stacks are limited") }
}

// talk sends three words, and never ends.
func talk(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range []string{"One", " two", " three"} {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", word)
		w.(http.Flusher).Flush()
	}
	<-r.Context().Done()
}

// beginsStream reports whether a stream delivers all its words. The stream stays open, because only its end may need
// more stack.
func beginsStream(t *testing.T, url, body string) bool {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	t.Cleanup(func() { resp.Body.Close() })
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		if strings.Contains(s.Text(), "three") {
			return true
		}
	}
	return false
}
