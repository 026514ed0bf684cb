package serve_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
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
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	b, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(b)
}

// TestUnreadHTTP2Connections: an HTTP/2 client with an unlimited window that does not read its connection is
// disconnected after write_timeout, and its upstream request is cancelled.
func TestUnreadHTTP2Connections(t *testing.T) {
	left := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		defer close(left)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for err := error(nil); err == nil && r.Context().Err() == nil; {
			_, err = fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", strings.Repeat("x", 16<<10))
		}
	}))
	t.Cleanup(upstream.Close)
	url, _, _ := servedAt(t, "providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}\ngateway:\n  addr: 127.0.0.1:0\n  write_timeout: 1s\n  drain: 1s\n  routes:\n    - {model: m, to: [{model: up/m, tools: native}]}\n")
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const most = 1<<31 - 1
	_, err = io.WriteString(conn, http2.ClientPreface)
	var head bytes.Buffer
	enc, f := hpack.NewEncoder(&head), http2.NewFramer(conn, conn)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/v1/chat/completions"}, {":authority", host}, {"content-type", "application/json"}} {
		err = errors.Join(err, enc.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	if err = errors.Join(err, f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: most}), f.WriteWindowUpdate(0, most-1<<16),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}),
		f.WriteData(1, true, []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Talk."}]}`))); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(2 * time.Minute):
		t.Error("the upstream still answers")
	}
}

// servedAt starts serve with a configuration file, and returns its address, the file and its log.
func servedAt(t *testing.T, config string) (url, file string, log *lines) {
	t.Helper()
	t.Setenv("TOOLPOST_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	file = filepath.Join(t.TempDir(), "gateway.yaml")
	programtest.WriteFile(t, file, config)
	log = newLines()
	url, _ = programtest.StartServing(t, log, "--config", file)
	return url, file, log
}

// lines is a log with a way to wait for text.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

// until waits for text in the log, and drops the log up to there.
func (l *lines) until(t *testing.T, what string) {
	t.Helper()
	for {
		l.mu.Lock()
		all := l.text.String()
		if i := strings.Index(all, what); i >= 0 {
			l.text.Reset()
			l.text.WriteString(all[i+len(what):])
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		select {
		case <-l.more:
		case <-time.After(2 * time.Minute):
			t.Fatalf("the log does not say %q: %s", what, all)
		}
	}
}

func fetched(t *testing.T, client *http.Client, url, body string) (int, string) {
	t.Helper()
	resp, err := client.Get(url)
	if body != "" {
		if err == nil {
			resp.Body.Close()
		}
		resp, err = client.Post(url, "application/json", strings.NewReader(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

const routeTo = "gateway:\n  addr: 127.0.0.1:0\n  reload: 5ms\n  routes:\n    - {model: %s, to: [{model: sim/offline}]}\n"

// TestServeReloads: the configuration is reloaded when the file changes and on SIGHUP. An invalid file is reported and
// changes nothing.
func TestServeReloads(t *testing.T) {
	t.Setenv(serve.AdminKeyEnv, "an-admin-key-of-more-than-24-bytes")
	url, file, log := servedAt(t, fmt.Sprintf(routeTo, "first"))
	asks := func(model string) int {
		status, _ := fetched(t, http.DefaultClient, url+"/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"Hello"}]}`)
		return status
	}
	if got := asks("first"); got != 200 {
		t.Fatal(got)
	}
	exchangeFile(t, file, fmt.Sprintf(routeTo, "second"))
	log.until(t, "the configuration was read again")
	if first, second := asks("first"), asks("second"); first != 404 || second != 200 {
		t.Errorf("after the change: first %d, second %d", first, second)
	}
	for _, bad := range []string{"", "# only a comment\n\n", "model: x\n", "gateway:\n  routs: 5\n", "gateway:\n  routes: [{model: x, to: [{model: nobody/x}]}]\n", "gateway:\n  max_body: -1\n", "{",
		fmt.Sprintf(routeTo, "x") + "  keys: mysql://x\n", fmt.Sprintf(routeTo, "x") + "  keys: sqlite:/no/such/folder/k.db\n",
		fmt.Sprintf(routeTo, "x") + "  state: postgres://u@127.0.0.1:notaport/x\n", fmt.Sprintf(routeTo, "x") + "  admin_addr: 127.0.0.1:0\n"} {
		exchangeFile(t, file, bad)
		log.until(t, "the configuration is not used")
		if got := asks("second"); got != 200 {
			t.Errorf("after %q: %d", bad, got)
		}
	}
	if _, text := fetched(t, http.DefaultClient, url+"/metrics", ""); !strings.Contains(text, `toolpost_config_reloads_total{result="refused"} 11`) {
		t.Error(text)
	}
	exchangeFile(t, file, "gateway:\n  drain: 9\n  routes:\n    - {model: x, tols: [a], to: [{model: sim/offline}]}\n    - {model: x, to: [{model: sim/offline}], tools: [rm_rf]}\n")
	for _, says := range []string{`line=2 setting=gateway.drain problem="\"9\" is not a duration`, "line=4 setting=gateway.routes[0].tols", "line=5 setting=gateway.routes[1].tools[0]", "line=5 setting=gateway.routes[1].model", "mistakes=4"} {
		log.until(t, says)
	}
	exchangeFile(t, file, fmt.Sprintf(routeTo, "third"))
	log.until(t, "the configuration was read again")
	exchangeFile(t, file, strings.Replace(fmt.Sprintf(routeTo, "third"), "127.0.0.1:0", "127.0.0.1:1", 1)+"  ops_addr: 127.0.0.1:0\n  keys: sqlite:k.db\n  admin_addr: 127.0.0.1:0\n")
	for _, key := range []string{"gateway.addr", "gateway.ops_addr", "gateway.keys", "gateway.admin_addr"} {
		log.until(t, "needs a restart; until then the old value is used\" setting="+key)
	}
	log.until(t, "the configuration was read again")
	if hangUp(t) {
		log.until(t, "the configuration was read again")
	}
	if got := asks("third"); got != 200 {
		t.Error(got)
	}
}

// exchangeFile replaces a file atomically. A file that is rewritten in place may be read while it is empty.
func exchangeFile(t *testing.T, file, text string) {
	t.Helper()
	programtest.WriteFile(t, file+".new", text)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// TestServeOps checks the addresses of health and metrics.
func TestServeOps(t *testing.T) {
	url, _, _ := servedAt(t, fmt.Sprintf(routeTo, "m"))
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": "toolpost_requests_in_flight 0"} {
		if status, text := fetched(t, http.DefaultClient, url+path, ""); status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	req, _ := http.NewRequest("GET", url+"/metrics", nil)
	req.Host = "evil.example.org"
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("metrics for another host: %d", resp.StatusCode)
	}
	req.URL.Path = "/readyz" // a probe uses the address of the container
	if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != 200 {
		t.Errorf("readiness for another host: %v %v", resp.StatusCode, err)
	}
	resp.Body.Close()
	port := freePort(t)
	url, _, _ = servedAt(t, fmt.Sprintf("gateway:\n  addr: 127.0.0.1:0\n  ops_addr: 127.0.0.1:%d\n", port))
	if status, _ := fetched(t, http.DefaultClient, url+"/metrics", ""); status != 404 {
		t.Errorf("metrics on the address of clients: %d", status)
	}
	if status, text := fetched(t, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), ""); status != 200 || !strings.Contains(text, "go_goroutines") {
		t.Errorf("metrics on their own address: %d %s", status, text)
	}
}

// TestOpsAddressRefusesBrowsers: health and metrics on a separate address are available by IP address, by a name in the local
// network and by a configured name, but not to a page in a browser.
func TestOpsAddressRefusesBrowsers(t *testing.T) {
	port := freePort(t)
	servedAt(t, fmt.Sprintf("gateway:\n  addr: 127.0.0.1:0\n  ops_addr: 127.0.0.1:%d\n  ops_hosts: [\"gw.example.org:9464\"]\n", port))
	for _, test := range []struct {
		host, header string
		status       int
	}{
		{"10.1.2.3:9464", "", 200}, {"[fd00::1]:9464", "", 200}, {"toolpost:9464", "", 200}, {"gw.example.org:9464", "", 200},
		{"evil.example.org", "", 421}, {"evil.example.org:9464", "", 421}, {"127.0.0.1", "Origin", 403}, {"127.0.0.1", "Sec-Fetch-Site", 403}, {"localhost", "Cookie", 403},
	} {
		for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
			req, _ := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
			req.Host = test.host
			if test.header != "" {
				req.Header.Set(test.header, "null")
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != test.status {
				t.Errorf("%+v %s: %d", test, path, resp.StatusCode)
			}
		}
	}
}

// TestIPv4Only: 0.0.0.0 listens on all IPv4 addresses and on no IPv6 address.
func TestIPv4Only(t *testing.T) {
	l, err := listen.On("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().(*net.TCPAddr)
	if at.IP.To4() == nil {
		t.Errorf("it listens on %v", at)
	}
	if conn, err := net.Dial("tcp6", fmt.Sprintf("[::1]:%d", at.Port)); err == nil {
		conn.Close()
		t.Error("it is reached over IPv6")
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// certificate writes a self-signed certificate for loopback.
func certificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "gateway"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	programtest.WriteFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	programtest.WriteFile(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return cert, key
}

// TestServeTLS: clients see the configured certificate, and its replacement.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, 1)
	url, _, log := servedAt(t, fmt.Sprintf("gateway:\n  addr: 127.0.0.1:0\n  reload: 5ms\n  tls: {cert: %s, key: %s}\n", cert, key))
	if !strings.HasPrefix(url, "https://") {
		t.Fatal(url)
	}
	serial := func() int64 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Error(got)
	}
	programtest.WriteFile(t, cert, "no certificate")
	log.until(t, "the configuration is not used")
	if got := serial(); got != 1 {
		t.Error("a file that is none was taken:", got)
	}
	certificate(t, dir, 2)
	log.until(t, "the configuration was read again")
	if got := serial(); got != 2 {
		t.Error(got)
	}
}

// TestServeLimits checks the limits on the size and the duration of a request's header and body.
func TestServeLimits(t *testing.T) {
	url, _, _ := servedAt(t, "gateway:\n  addr: 127.0.0.1:0\n  max_header: 1000\n  header_timeout: 50ms\n  body_timeout: 50ms\n")
	req, _ := http.NewRequest("GET", url+"/v1/models", nil)
	req.Header.Set("X-Long", strings.Repeat("x", 10_000))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long header: %d", resp.StatusCode)
	}
	for name, half := range map[string]string{
		"head": "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n",
		"body": "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, half)
		if b, err := io.ReadAll(conn); err != nil || name == "body" && (!strings.Contains(string(b), " 408 ") || !strings.Contains(string(b), "did not come in time")) {
			t.Errorf("half a %s: %v %s", name, err, b) // the connection ends
		}
	}
}

// TestServeDrains: an open stream can finish after the gateway was told to stop. If it takes too long, it ends with an
// error in its format, both for translated and for passed-on streams.
func TestServeDrains(t *testing.T) {
	for _, test := range []struct {
		limit, path, end string
		whole            bool
	}{
		{"1m", "/v1/chat/completions", "[DONE]", true}, {"10ms", "/v1/chat/completions", `data: {"error":{"message":"the gateway had to end before this answer did`, false},
		{"10ms", "/v1/messages", "event: error\ndata: ", false}, {"10ms", "/api/chat", `{"error":"the gateway had to end before this answer did`, false},
	} {
		limit, whole := test.limit, test.whole
		goOn := make(chan struct{})
		upstream := slowChat(t, goOn)
		t.Setenv("XDG_CONFIG_HOME", t.TempDir())
		file := filepath.Join(t.TempDir(), "gateway.yaml")
		programtest.WriteFile(t, file, fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  addr: 127.0.0.1:0\n  drain: %s\n  routes: [{model: m, to: [{model: up/m}]}]\n", upstream, limit))
		log := newLines()
		url, stop := programtest.StartServing(t, log, "--config", file)
		resp, err := http.Post(url+test.path, "application/json", strings.NewReader(`{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		stop()
		log.until(t, "no more requests are taken")
		if whole {
			close(goOn)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(b), test.end) {
			t.Errorf("drain %s, %s: %v\n%s", limit, test.path, err, b)
		}
		if !whole {
			log.until(t, "answers that had not ended are ended with an error")
			log.until(t, "kind=overloaded error=\"gateway: overloaded (HTTP 503): the gateway had to end before this answer did")
			close(goOn)
		}
		log.until(t, "the gateway has ended")
	}
}

// slowChat is a server with the chat format that sends one word and finishes on a signal.
func slowChat(t *testing.T, goOn <-chan struct{}) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	chunk := `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}` + "\n\n"
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, chunk, `"role":"assistant","content":"one"`, "null")
		w.(http.Flusher).Flush()
		<-goOn
		fmt.Fprintf(w, chunk, "", `"stop"`)
		io.WriteString(w, "data: [DONE]\n\n")
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// TestAdminAPIIsLocal: the administration API is served on loopback, or for configured host names, with a key.
// No error repeats a part of a key or a password.
func TestAdminAPIIsLocal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	const good = "an-admin-key-of-more-than-24-bytes"
	for _, test := range []struct{ config, key, says string }{
		{"admin_addr: 0.0.0.0:8232", good, "admin_addr: 0.0.0.0:8232 is reachable from other machines"},
		{"admin_addr: \":8232\"", good, "is reachable from other machines"},
		{"admin_addr: 192.0.2.1:8232", good, "is reachable from other machines"},
		{"admin_addr: 127.0.0.1:8232", "", "needs a key for administrators in TOOLPOST_ADMIN_KEY"},
		{"admin_addr: 127.0.0.1:8232", "s3cr3t-short", "is too short; it needs at least 24 bytes"},
		{"admin_addr: 127.0.0.1:8232", good, ""},
		{"admin_addr: 0.0.0.0:8232\n  admin_hosts: [\"gw.example.org:8232\"]", good, ""},
	} {
		t.Setenv(serve.AdminKeyEnv, test.key)
		programtest.WriteFile(t, file, "gateway:\n  keys: sqlite:"+filepath.Join(t.TempDir(), "k.db")+"\n  "+test.config+"\n")
		for _, args := range [][]string{{"--check"}, nil} {
			if test.says == "" && args == nil {
				continue // serve would start
			}
			got := programtest.Run(t, "", append([]string{"serve", "--addr", "127.0.0.1:0", "--config", file}, args...)...)
			code := min(len(test.says), 1)
			if test.key == "" && args != nil {
				code = 0 // a check also runs without keys
			}
			if got.Code != code || !strings.Contains(got.ErrOut, test.says) || strings.Contains(got.ErrOut, "s3cr3t") {
				t.Errorf("%+v %v: %d %s", test, args, got.Code, got.ErrOut)
			}
		}
	}
	programtest.WriteFile(t, file, "gateway:\n  keys: mysql://u:s3cr3t@db.example.org/x\n")
	if got := programtest.Run(t, "", "serve", "--addr", "127.0.0.1:0", "--config", file); got.Code != 1 || strings.Contains(got.ErrOut, "s3cr3t") {
		t.Errorf("%d %s", got.Code, got.ErrOut)
	}
}

// TestServeCheck: all mistakes are reported, without Go terms.
func TestServeCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	for config, says := range map[string][]string{
		"gateway:\n  addr: nowhere\n":            {`:2: gateway.addr: "nowhere" is not an address`},
		"gateway:\n  addr: 127.0.0.1:99999\n":    {`"99999" is not a port`},
		"gateway:\n  addr: example.org:80\n":     {`"example.org" is not an address of this machine`},
		"gateway:\n  keep_alive: soon\n":         {`"soon" is not a duration like 90s`},
		"gateway:\n  drain: 15\n":                {`"15" is not a duration like 90s`},
		"gateway:\n  max_body: 5MB\n":            {`:2: gateway.max_body: "5MB" is not a whole number`},
		"gateway:\n  routes: 5\n":                {"expected a list"},
		"gateway:\n  tls: {cert: nothing.pem}\n": {":2: gateway.tls: it needs both cert and key"},
		"gateway:\n  addr: 127.0.0.1:8230\n  routes: [{model: a, to: [{model: vllm+http://localhost:8230/v1#x}]}]\n": {"the route a leads to the gateway itself"},
		"gateway:\n  max_body: -1\n  max_requests: -2\n  idle_timeout: -3s\n  ops_addr: x\n  routes:\n    - {model: a, to: [{model: nobody/x}]}\n    - {model: b, to: []}\n": {
			":2: gateway.max_body: -1 is too small; the minimum is 1024", ":3: gateway.max_requests: -2 is too small; the minimum is 1", ":4: gateway.idle_timeout: -3s is too small; the minimum is 1ms", ":5: gateway.ops_addr:",
			":7: gateway.routes[0].to[0].model: route 1 (a)", ":8: gateway.routes[1].to: route 2 (b)",
		},
		"gateway:\n  adr: x\n  max_body: 5MB\n  drain: 15\n  routes:\n    - model: a\n      chek: off\n      to:\n        - {modl: x, weight: heavy}\n": {
			`:2: gateway.adr: unknown field "adr"`, ":3: gateway.max_body:", ":4: gateway.drain:", ":7: gateway.routes[0].chek:", ":9: gateway.routes[0].to[0].modl:", ":9: gateway.routes[0].to[0].weight:",
		},
		"gateway:\n  adr: x\n  max_body: -1\n": {":2: gateway.adr:", ":3: gateway.max_body: -1 is too small; the minimum is 1024"},
		"gateway:\n  routes:\n    - {model: a*b, check: never, from: [tea], pass: [coffee], to: [{model: sim/offline, weight: -1}]}\n": {
			"a * may only stand at the end", "no check \"never\"", "unknown format \"tea\"", "no endpoints are called \"coffee\"", "weight of sim/offline is -1",
		},
		"providers: {up: {base_url: \"https://up.example.org/v1\", key_env: sk-abc123abc123abc123abc123}}\n": {"key_env of up is not a name of a variable"},
		"gateway:\n  routes: [{model: a, to: [{model: sim/offline, health: 5ms}]}]\n":                        {"cannot be asked every 5ms"},
	} {
		programtest.WriteFile(t, file, config)
		got := programtest.Run(t, "", "serve", "--check", "--config", file)
		for _, text := range says {
			programtest.Must(t, got, 1, text)
		}
		for _, word := range []string{"sk-abc", "unmarshal", "Go struct", "time.Duration", "int64", "interface {}"} {
			if strings.Contains(got.ErrOut, word) {
				t.Errorf("%s: %s", config, got.ErrOut)
			}
		}
	}
}

// TestServeCheckFindsMissingKeys: upstreams without a key are reported with their variable, and programs can read the
// mistakes.
func TestServeCheckFindsMissingKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	t.Setenv("ANTHROPIC_API_KEY", "")
	programtest.WriteFile(t, file, "gateway:\n  routes:\n    - model: local\n      to: [{model: sim/offline}]\n    - model: claude-*\n      to:\n        - {model: anthropic/claude-*}\n")
	got := programtest.Run(t, "", "serve", "--check", "--config", file)
	programtest.Must(t, got, 0, "the routes are in order: local, claude-*")
	if want := file + ":7: warning: gateway.routes[1].to[0].model: clients of claude-* get no answer: anthropic: auth: no key: set ANTHROPIC_API_KEY"; !strings.Contains(got.ErrOut, want) {
		t.Errorf("it does not say %q: %s", want, got.ErrOut)
	}
	var said struct {
		OK       bool
		Mistakes []configcheck.Mistake
	}
	got = programtest.Run(t, "", "serve", "--check", "--json", "--config", file)
	if err := json.Unmarshal([]byte(got.Out), &said); err != nil || !said.OK || len(said.Mistakes) != 1 || said.Mistakes[0].Line != 7 || !said.Mistakes[0].Warning {
		t.Errorf("%v %s", err, got.Out)
	}
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-abcdefghijklmnop")
	if got := programtest.Run(t, "", "serve", "--check", "--config", file); got.ErrOut != "" {
		t.Error(got.ErrOut)
	}
	programtest.WriteFile(t, file, "gateway:\n  drain: 1\n  rout: 2\n")
	got = programtest.Run(t, "", "serve", "--check", "--json", "--config", file)
	if err := json.Unmarshal([]byte(got.Out), &said); err != nil || got.Code != 1 || said.OK || len(said.Mistakes) != 2 || said.Mistakes[1].Path != "gateway.rout" || said.Mistakes[1].File != file {
		t.Errorf("%v %d %s", err, got.Code, got.Out)
	}
	programtest.Must(t, programtest.Run(t, "", "serve", "--json"), 2, "--json is for --check")
}
