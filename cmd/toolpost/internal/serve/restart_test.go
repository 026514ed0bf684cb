//go:build !windows

package serve_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestLameDuckServesRequestsAfterSIGTERM stops a gateway process while a stream is open. For drain_delay, /readyz fails and
// new requests are served, on new and existing connections, which are closed then. After it the gateway stops listening,
// so load balancers try another, and the stream continues to its end. The gateway exits with status 0.
func TestLameDuckServesRequestsAfterSIGTERM(t *testing.T) {
	goOn := make(chan struct{})
	upstream := slowChat(t, goOn)
	dir := clitest.Bare(t, map[string]string{"gateway.yaml": fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  drain: 1m\n  drain_delay: 3s\n  routes: [{model: m, to: [{model: up/m}]}]\n", upstream)})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--addr", "127.0.0.1:0", "--config", filepath.Join(dir, "gateway.yaml"))
	cmd.Env = append(os.Environ(), programtest.BeTheProgram)
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

// balancer distributes requests over servers as haproxy or nginx do with ordinary settings: a refused connection goes to the
// next server, and a request that was sent is never sent again. With checks, as in haproxy, a server is left out after three
// failed checks of /readyz; without, as in nginx, only its connections tell.
type balancer struct {
	servers []string
	down    []atomic.Bool
	next    atomic.Int64
	client  *http.Client
}

func newBalancer(t *testing.T, checks bool, servers ...string) *balancer {
	b := &balancer{servers: servers, down: make([]atomic.Bool, len(servers)), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	if !checks {
		return b
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-ended })
	go func() {
		defer close(ended)
		failed := make([]int, len(servers))
		for {
			for i, addr := range servers {
				resp, err := b.client.Get("http://" + addr + "/readyz")
				if err == nil {
					resp.Body.Close()
				}
				if failed[i]++; err == nil && resp.StatusCode == http.StatusOK {
					failed[i] = 0
				}
				b.down[i].Store(failed[i] >= 3)
			}
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return b
}

// ask sends a request to one server after another until one is connected to.
func (b *balancer) ask(body string) error {
	begin := int(b.next.Add(1))
	err := errors.New("no server is up")
	for i := range 2 * len(b.servers) {
		at := (begin + i) % len(b.servers)
		if i < len(b.servers) && b.down[at].Load() {
			continue
		}
		var resp *http.Response
		if resp, err = b.client.Post("http://"+b.servers[at]+"/v1/chat/completions", "application/json", strings.NewReader(body)); errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "Hello")) {
			err = fmt.Errorf("%d %s", resp.StatusCode, text)
		}
		return err
	}
	return err
}

// TestRollingRestartWithoutFailedRequest restarts two gateways one after the other behind a balancer, while clients send
// requests and streams all the time.
func TestRollingRestartWithoutFailedRequest(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, piece := range []string{`{"role":"assistant","content":"Hel"},"finish_reason":null`, `{"content":"lo Hello"},"finish_reason":"stop"`} {
				fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", piece)
				w.(http.Flusher).Flush()
				time.Sleep(300 * time.Millisecond)
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}]}`)
	}))
	t.Cleanup(up.Close)
	dir := clitest.Bare(t, map[string]string{"gateway.yaml": fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  drain_delay: 1500ms\n  routes: [{model: m, to: [{model: up/m}]}]\n", up.URL)})
	start := func(addr string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--addr", addr, "--config", filepath.Join(dir, "gateway.yaml"))
		cmd.Env = append(os.Environ(), programtest.BeTheProgram)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		for range 600 {
			if resp, err := http.Get("http://" + addr + "/readyz"); err == nil {
				if resp.Body.Close(); resp.StatusCode == http.StatusOK {
					return cmd
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatal("the gateway does not start")
		return nil
	}
	var addrs []string
	var running []*exec.Cmd
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, l.Addr().String())
		l.Close()
		running = append(running, start(addrs[len(addrs)-1]))
	}
	for name, checks := range map[string]bool{"health checks as haproxy": true, "no health checks as nginx": false} {
		b := newBalancer(t, checks, addrs...)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var asked, failed atomic.Int64
		for w := range 6 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					asked.Add(1)
					if err := b.ask(fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, w%2 == 0)); err != nil {
						failed.Add(1)
						t.Errorf("%s: %v", name, err)
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		for i, addr := range addrs {
			time.Sleep(500 * time.Millisecond)
			if err := running[i].Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := running[i].Wait(); err != nil {
				t.Errorf("%s: a gateway ended with %v", name, err)
			}
			running[i] = start(addr)
		}
		time.Sleep(500 * time.Millisecond)
		close(stop)
		wg.Wait()
		t.Logf("%s: %d requests, %d failed", name, asked.Load(), failed.Load())
	}
}
