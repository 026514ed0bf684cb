//go:build !windows

// Package restart restarts gateways one after the other behind haproxy and nginx, while clients send requests and streams.
package restart

import (
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
)

// pause is the time between the restarts of two gateways: nginx leaves a server out for 10 seconds after a refused connection.
const pause = 11 * time.Second

// balancers are programs with ordinary settings. BALANCER, ONE and TWO are addresses.
var balancers = []struct {
	program, config string
	args            []string
}{
	{"haproxy", `
defaults
  mode http
  timeout connect 5s
  timeout client 1m
  timeout server 1m
  option redispatch
frontend clients
  bind BALANCER
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk GET /readyz
  server one ONE check
  server two TWO check
`, []string{"-f", "FILE", "-db"}},
	{"nginx", `
daemon off;
pid DIR/nginx.pid;
error_log stderr error;
events {}
http {
  access_log off;
  client_body_temp_path DIR/body;
  proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi;
  scgi_temp_path DIR/scgi;
  upstream gateways { server ONE; server TWO; keepalive 16; }
  server {
    listen BALANCER;
    location / {
      proxy_pass http://gateways;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`, []string{"-c", "FILE", "-p", "DIR"}},
}

// model is an upstream whose answers take 50 ms, and whose streams take 3 seconds.
func model(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(string(body), `"stream":true`) {
		time.Sleep(50 * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"}}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range []string{`{"role":"assistant","content":"Hel"},"finish_reason":null`, `{"content":"lo "},"finish_reason":null`, `{"content":"Hello"},"finish_reason":"stop"`} {
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", piece)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Second)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// freeAddr returns an address that no program listens on.
func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a program until the end of the test, and waits until it answers with 200 at a URL.
func start(t *testing.T, url, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if strings.HasSuffix(program, "toolpost") {
		cmd.Stderr = nil
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for range 600 {
		if resp, err := http.Get(url); err == nil {
			if resp.Body.Close(); resp.StatusCode == http.StatusOK {
				return cmd
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s does not start", program)
	return nil
}

// ask sends a request or a stream, and returns an error unless the answer is complete.
func ask(client *http.Client, url string, stream bool) error {
	resp, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream)))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "Hello") || stream && !strings.Contains(string(text), "[DONE]")) {
		err = fmt.Errorf("%d %s", resp.StatusCode, text)
	}
	return err
}

// TestRollingRestart restarts two gateways one after the other behind each program. No request and no stream may fail.
func TestRollingRestart(t *testing.T) {
	toolpost := os.Getenv("TOOLPOST_RESTART")
	if toolpost == "" {
		t.Skip("conformance/run restart builds the command and sets TOOLPOST_RESTART")
	}
	for _, b := range balancers {
		t.Run(b.program, func(t *testing.T) {
			program, err := exec.LookPath(b.program)
			if err != nil {
				t.Skipf("%s is not installed, and could not be", b.program)
			}
			up := httptest.NewServer(http.HandlerFunc(model))
			t.Cleanup(up.Close)
			dir, addr := t.TempDir(), freeAddr(t)
			config := filepath.Join(dir, "gateway.yaml")
			write(t, config, fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  routes: [{model: m, to: [{model: up/m}]}]\n", up.URL))
			gateways := []string{freeAddr(t), freeAddr(t)}
			gateway := func(addr string) *exec.Cmd {
				return start(t, "http://"+addr+"/readyz", toolpost, "serve", "--addr", addr, "--config", config)
			}
			running := []*exec.Cmd{gateway(gateways[0]), gateway(gateways[1])}
			file := filepath.Join(dir, "balancer.conf")
			places := strings.NewReplacer("BALANCER", addr, "ONE", gateways[0], "TWO", gateways[1], "DIR", dir, "FILE", file)
			write(t, file, places.Replace(b.config))
			var args []string
			for _, a := range b.args {
				args = append(args, places.Replace(a))
			}
			start(t, "http://"+addr+"/readyz", program, args...)
			restart(t, "http://"+addr, func(i int) {
				if err := running[i].Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if err := running[i].Wait(); err != nil {
					t.Errorf("a gateway ended with %v", err)
				}
				running[i] = gateway(gateways[i])
			}, len(gateways))
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// restart keeps clients busy while each gateway is restarted in turn.
func restart(t *testing.T, url string, one func(i int), n int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var requests, streams, failed atomic.Int64
	for w := range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				stream := w%2 == 0
				if requests.Add(1); stream {
					streams.Add(1)
				}
				if err := ask(client, url, stream); err != nil {
					failed.Add(1)
					t.Errorf("stream %t: %v", stream, err)
				}
			}
		})
	}
	for i := range n {
		time.Sleep(pause)
		one(i)
	}
	time.Sleep(pause)
	close(stop)
	wg.Wait()
	t.Logf("%d requests, %d of them streams, %d failed", requests.Load(), streams.Load(), failed.Load())
}
