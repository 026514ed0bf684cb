package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// serve is one of the servers beside the gateway. It prints its address.
func serve(role, to string) error {
	handlers := map[string]func(*url.URL) http.Handler{
		"upstream": func(*url.URL) http.Handler { return http.HandlerFunc(answer) },
		"plain":    plainProxy,
		"reencode": func(u *url.URL) http.Handler { return reencoder{u.String()} },
	}
	make, ok := handlers[role]
	if !ok {
		return errors.New("no such role: " + role)
	}
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, make(u))
}

// pieces are the deltas of a streamed answer: with the finish, 21 events.
var pieces = func() []string {
	list := []string{`{"role":"assistant","content":""}`}
	for _, word := range strings.Fields("I will look at the weather in Rome for you now and") {
		list = append(list, fmt.Sprintf(`{"content":"%s "}`, word))
	}
	list = append(list, `{"tool_calls":[{"index":0,"id":"call_abc123","type":"function","function":{"name":"get_weather","arguments":""}}]}`)
	for _, piece := range []string{`{\"`, `city`, `\":`, `\"`, `Rome`, `\"}`} {
		list = append(list, `{"tool_calls":[{"index":0,"function":{"arguments":"`+piece+`"}}]}`)
	}
	return list
}()

const whole = `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_abc123","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":80,"completion_tokens":20,"total_tokens":100}}`

// answer is the upstream.
func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !bytes.Contains(body, []byte(`"stream":true`)) && !bytes.Contains(body, []byte(`"stream": true`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	const chunk = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n"
	for _, piece := range pieces {
		fmt.Fprintf(w, chunk, piece, "null")
		_ = flush.Flush()
	}
	fmt.Fprintf(w, chunk+"data: [DONE]\n\n", "{}", `"tool_calls"`)
}

// outgoing keeps connections as a gateway does.
var outgoing = &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true}

// plainProxy passes everything on. It reads the request first: without that, httputil cuts off some
// streams under load.
func plainProxy(u *url.URL) http.Handler {
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: outgoing, FlushInterval: -1}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.ServeHTTP(w, r)
	})
}

// reencoder reads request and answer as JSON and writes them anew.
type reencoder struct{ to string }

func (p reencoder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	body, err := anew(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req, _ := http.NewRequestWithContext(r.Context(), r.Method, p.to+r.URL.Path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	resp, err := outgoing.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, _ := io.ReadAll(resp.Body)
		b, _ = anew(b)
		_, _ = w.Write(b)
		return
	}
	flush := http.NewResponseController(w)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Bytes()
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		if out, err := anew(data); err == nil {
			data = out
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = flush.Flush()
	}
}

func anew(b []byte) ([]byte, error) {
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// processes are the servers of a run.
type processes struct {
	mu   sync.Mutex
	list []*process
	dir  string
}

// process is a server and what it started, a process group of its own.
type process struct {
	*exec.Cmd
	ended chan struct{}
}

// stop ends all of them.
func (p *processes) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.list {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-c.ended
	}
	p.list = nil
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// run starts a command.
func (p *processes) run(c *exec.Cmd) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return nil, err
	}
	one := &process{c, make(chan struct{})}
	p.list = append(p.list, one)
	go func() {
		_ = c.Wait()
		close(one.ended)
	}()
	return one, nil
}

// start starts a server and reads its address from its first line.
func (p *processes) start(name string, args ...string) (url string, pid int, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	defer out.Close()
	c := exec.Command(name, args...)
	c.Stdout = out
	one, err := p.run(c)
	if err != nil {
		return "", 0, err
	}
	out.Close() // so that the end of the server is the end of what is read
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		return "", 0, errors.New(name + " says nothing")
	}
	go func() { _, _ = io.Copy(io.Discard, in) }()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		return "", 0, fmt.Errorf("%s says %q", name, line)
	}
	return url, one.Process.Pid, nil
}

// startAll starts the upstream and what is measured, the upstream first.
func (p *processes) startAll(toolpost string) ([]target, error) {
	up, pid, err := p.start(self, "-role", "upstream")
	if err != nil {
		return nil, err
	}
	targets := []target{{name: "direct", url: up, pid: pid}}
	for _, proxy := range []struct{ name, role string }{{"plain proxy", "plain"}, {"re-encoding proxy", "reencode"}} {
		url, pid, err := p.start(self, "-role", proxy.role, "-to", up)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target{name: proxy.name, url: url, pid: pid})
	}
	if p.dir, err = os.MkdirTemp("", "bench-gateway"); err != nil {
		return nil, err
	}
	config := filepath.Join(p.dir, "gateway.yml")
	text := "providers:\n  up: {base_url: '" + up + "/v1', wire: chat}\ngateway:\n  routes:\n    - {model: bench, to: [{model: up/bench, tools: native}]}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	url, pid, err := p.start(toolpost, "serve", "--addr", "127.0.0.1:0", "--config", config)
	if err != nil {
		return nil, err
	}
	return append(targets, target{name: "toolpost", url: url, pid: pid}, target{name: "toolpost, translating", url: url, pid: pid, messages: true}), nil
}
