//go:build !windows

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// TestLameDuckServesRequestsAfterSIGTERM stops a gateway process while a stream is open. For drain_delay, /readyz fails and
// new requests are served, on new and existing connections, which are closed then. After it the gateway stops listening,
// so load balancers try another, and the stream continues to its end. The gateway exits with status 0.
func TestLameDuckServesRequestsAfterSIGTERM(t *testing.T) {
	goOn := make(chan struct{})
	upstream := slowChat(t, goOn)
	dir := clitest.Bare(t, map[string]string{"gateway.yaml": fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  drain: 1m\n  drain_delay: 3s\n  routes: [{model: m, to: [{model: up/m}]}]\n", upstream)})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--addr", "127.0.0.1:0", "--config", filepath.Join(dir, "gateway.yaml"))
	cmd.Env = append(os.Environ(), beTheProgram)
	log := newLines()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	addr := strings.TrimPrefix(url, "http://")

	stream, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	before, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	fmt.Fprintf(before, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	kept := bufio.NewReader(before)
	if resp, err := http.ReadResponse(kept, nil); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	} else {
		_, _ = io.Copy(io.Discard, resp.Body)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.until(t, "the gateway is about to end")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200, "/v1/models": 200} {
		resp, err := client.Get(url + path)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v %v", path, resp, err)
			continue
		}
		resp.Body.Close()
	}
	fmt.Fprintf(before, "GET /v1/models HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	if resp, err := http.ReadResponse(kept, nil); err != nil || resp.StatusCode != 200 || !resp.Close {
		t.Errorf("a connection that was there before: %v %v", resp, err)
	}
	log.until(t, "no more requests are taken")
	if _, err := net.DialTimeout("tcp", addr, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the delay: %v", err)
	}

	close(goOn)
	if b, err := io.ReadAll(stream.Body); err != nil || !strings.HasSuffix(strings.TrimSpace(string(b)), "[DONE]") {
		t.Errorf("the stream: %v\n%s", err, b)
	}
	log.until(t, "the gateway has ended")
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after its end: %v", err)
	}
}
