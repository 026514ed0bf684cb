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
	if !bytes.Contains(body, []byte(`"stream":true`)) {
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
	list []*exec.Cmd
	dir  string
}

func (p *processes) stop() {
	for _, c := range p.list {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// start starts a server and reads its address from its first line.
func (p *processes) start(name string, args ...string) (url string, pid int, err error) {
	c := exec.Command(name, args...)
	out, err := c.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := c.Start(); err != nil {
		return "", 0, err
	}
	p.list = append(p.list, c)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return "", 0, errors.New(name + " says nothing")
	}
	url, ok := strings.CutPrefix(lines.Text(), "listening on ")
	if !ok {
		return "", 0, fmt.Errorf("%s says %q", name, lines.Text())
	}
	return url, c.Process.Pid, nil
}

// startAll starts the upstream and what is measured.
func startAll(toolpost string) (*processes, []target, error) {
	p := &processes{}
	up, upPID, err := p.start(self, "-role", "upstream")
	if err != nil {
		return p, nil, err
	}
	targets := []target{{name: "direct", url: up, pid: upPID}}
	for _, t := range []target{{name: "plain proxy"}, {name: "re-encoding proxy"}} {
		role, _, _ := strings.Cut(strings.ReplaceAll(t.name, "-", ""), "ing")
		role, _, _ = strings.Cut(strings.Replace(role, "reencod", "reencode", 1), " ")
		if t.url, t.pid, err = p.start(self, "-role", role, "-to", up); err != nil {
			return p, nil, err
		}
		targets = append(targets, t)
	}
	if p.dir, err = os.MkdirTemp("", "bench-gateway"); err != nil {
		return p, nil, err
	}
	config := filepath.Join(p.dir, "gateway.yml")
	text := "providers:\n  up: {base_url: '" + up + "/v1', wire: chat}\ngateway:\n  routes:\n    - {model: bench, to: [{model: up/bench, tools: native}]}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return p, nil, err
	}
	url, pid, err := p.start(toolpost, "serve", "--addr", "127.0.0.1:0", "--config", config)
	if err != nil {
		return p, nil, err
	}
	return p, append(targets, target{name: "toolpost", url: url, pid: pid}, target{name: "toolpost, translating", url: url, pid: pid, messages: true}), nil
}
