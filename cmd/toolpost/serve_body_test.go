package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestUnfinishedRequestBodies: a client that does not finish its request body cannot hold a connection forever, for any key
// and path. A response may take longer than its request.
func TestUnfinishedRequestBodies(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(1500 * time.Millisecond)
		io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"late"},"finish_reason":"stop"}]}`)
	}))
	defer upstream.Close()
	const settings = "\ngateway:\n  addr: 127.0.0.1:0\n  body_timeout: 1s\n  routes:\n    - {model: m, to: [{model: up/m, tools: native}]}\n"
	open, _, _ := servedAt(t, "providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}"+settings)
	keyed, _, _ := servedAt(t, "providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}"+settings+"  keys: sqlite:"+filepath.Join(t.TempDir(), "keys.db")+"\n")
	var waiting sync.WaitGroup
	for request, want := range map[string]string{
		open + " POST /v1/chat/completions":  " 408 ",
		keyed + " POST /v1/chat/completions": " 401 ",
		keyed + " POST /nowhere":             " 401 ",
		open + " POST /nowhere":              " 404 ",
		open + " GET /healthz":               " 200 ",
		open + " GET /v1/models":             " 200 ",
		open + " GET /metrics":               " 200 ",
	} {
		waiting.Go(func() {
			url, line, _ := strings.Cut(request, " ")
			if got := neverEnding(t, strings.TrimPrefix(url, "http://"), line); !strings.Contains(got, want) {
				t.Errorf("%s: %.200q", line, got)
			}
		})
	}
	waiting.Wait()
	resp, err := http.Post(open+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), "late") {
		t.Errorf("%s %v", b, err)
	}
}

// neverEnding sends a request with an endless body, and returns the response until the connection ends.
func neverEnding(t *testing.T, host, line string) string {
	t.Helper()
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	io.WriteString(c, line+" HTTP/1.1\r\nHost: "+host+"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	b, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(b)
}
