package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestFailedAttemptsAreLogged checks that the log has one line for each failed attempt, the status of the request, and
// each warning once for a route.
func TestFailedAttemptsAreLogged(t *testing.T) {
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"error":{"message":"no capacity here"}}`)
	}))
	t.Cleanup(first.Close)
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chatAnswer(w, r, "Hello") }))
	t.Cleanup(second.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
		"first": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}}
	log := new(safeLog)
	url := serve(t, gateway.Setup{Open: opening(client), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{
		{Model: "m", Upstreams: []gateway.Upstream{{Model: "first/m"}, {Model: "second/m", Priority: 1}}}}})
	for range 2 {
		if resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`); resp.StatusCode != 200 {
			t.Fatal(body)
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	text := log.b.String()
	for want, n := range map[string]int{
		`msg="upstream attempt failed" id=req_`:                      2,
		"route=m upstream=first/m kind=overloaded status=503 error=": 2,
		"no capacity here": 2,
		"first/m did not answer (overloaded), so second/m was asked": 1,
		"status=200": 2,
	} {
		if strings.Count(text, want) != n {
			t.Errorf("%q is %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
}

// TestTimeoutReportsHowFarTheRequestCame checks that the log tells an upstream that cannot be connected to from one that has
// the request, and from one that has begun its response.
func TestTimeoutReportsHowFarTheRequestCame(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // no TLS handshake
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	stop := make(chan struct{})
	silent := func(begin func(http.ResponseWriter)) string {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			begin(w)
			select {
			case <-r.Context().Done():
			case <-stop:
			}
		}))
		t.Cleanup(up.Close)
		return up.URL
	}
	t.Cleanup(func() { close(stop) })
	for want, base := range map[string]string{
		"; there was no connection to the upstream yet":   "https://" + mute.Addr().String(),
		"; the upstream got the request and sent nothing": silent(func(http.ResponseWriter) {}),
		"; the upstream sent its status and then nothing": silent(func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
		}),
	} {
		client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: base + "/v1", Wires: []string{wire.Chat}}}}
		log := new(safeLog)
		url := serve(t, gateway.Setup{Open: opening(client), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{{Model: "m", Timing: gateway.Timing{FirstByte: 500 * time.Millisecond}, Upstreams: []gateway.Upstream{{Model: "up/m"}}}}})
		resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		log.mu.Lock()
		if text := log.b.String(); resp.StatusCode != 504 || !strings.Contains(text, "did not begin within 500ms"+want) {
			t.Errorf("%s: %d %s\n%s", want, resp.StatusCode, body, text)
		}
		log.mu.Unlock()
	}
}

// TestMissingServersAreReported checks that a route whose MCP server is not available tells it the client, the log and the
// metrics.
func TestMissingServersAreReported(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chatAnswer(w, r, "Hello") }))
	t.Cleanup(up.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	route := to("m", "up/m")
	route.Tools = served(reading("clock", "noon", new(counter)))
	route.Tools.Missing = func() []string { return []string{"tickets"} }
	log := new(safeLog)
	_, url := live(t, gateway.Setup{Open: opening(client), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{route}})
	for range 2 {
		resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		if resp.StatusCode != 200 || !strings.Contains(strings.Join(resp.Header.Values(exchange.WarningHeader), "\n"), "degraded; mcp; the MCP server tickets is not available") {
			t.Error(resp.Header, body)
		}
	}
	if _, text := get(t, url+"/metrics"); !strings.Contains(text, `toolpost_missing_servers_total{route="m",server="tickets"} 2`) {
		t.Error(text)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if n := strings.Count(log.b.String(), "the MCP server tickets is not available"); n != 1 {
		t.Errorf("%d times in the log:\n%s", n, log.b.String())
	}
}

// TestUpstreamTrailerAfterKeepAlive checks that a stream whose header had to be sent before an upstream answered names the
// upstream that answered in a trailer, and none in the header.
func TestUpstreamTrailerAfterKeepAlive(t *testing.T) {
	gone := make(chan struct{})
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	}))
	t.Cleanup(first.Close)
	t.Cleanup(func() { close(gone) })
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chatAnswer(w, r, "Hello") }))
	t.Cleanup(second.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
		"first": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}}
	url := serve(t, gateway.Setup{Open: opening(client), KeepAlive: 20 * time.Millisecond, Routes: []gateway.ModelRoute{
		{Model: "m", Timing: gateway.Timing{FirstByte: 300 * time.Millisecond}, Upstreams: []gateway.Upstream{{Model: "first/m"}, {Model: "second/m", Priority: 1}}}}})
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), "Hello") {
		t.Fatal(err, string(body))
	}
	if h, trailer := resp.Header.Get(exchange.UpstreamHeader), resp.Trailer.Get(exchange.UpstreamHeader); h != "" || trailer != "second/m" {
		t.Errorf("header %q, trailer %q", h, trailer)
	}
}

// TestLastRoundOfGatewayTools checks that a model that calls a tool of the gateway once more after the last round ends the
// answer with what there is and a warning.
func TestLastRoundOfGatewayTools(t *testing.T) {
	for _, stream := range []bool{false, true} {
		asked := 0
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				asked++
			}
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"stream":true`) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Step %d.\",\"tool_calls\":[{\"index\":0,\"id\":\"c%d\",\"type\":\"function\",\"function\":{\"name\":\"clock\",\"arguments\":\"{\\\"what\\\":\\\"time\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", asked, asked)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"Step %d.","tool_calls":[{"id":"c%d","type":"function","function":{"name":"clock","arguments":"{\"what\":\"time\"}"}}]}}]}`, asked, asked)
		}))
		t.Cleanup(up.Close)
		client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
		route := to("m", "up/m")
		route.Tools = served(reading("clock", "noon", new(counter)))
		route.Tools.Rounds = 2
		url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}})
		resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream))
		if resp.StatusCode != 200 || !strings.Contains(body, "Step 3.") || asked != 3 || !strings.Contains(body+resp.Header.Get(exchange.WarningHeader), "was refused") {
			t.Errorf("stream=%t, asked %d times: %d %v %s", stream, asked, resp.StatusCode, resp.Header, body)
		}
	}
}

// TestPausedUpstreamIsLogged checks that the log reports when the breaker of an upstream opens, and when it closes again.
func TestPausedUpstreamIsLogged(t *testing.T) {
	var n atomic.Int64
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 3 {
			w.WriteHeader(503)
			return
		}
		chatAnswer(w, r, "Hello")
	}))
	t.Cleanup(first.Close)
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chatAnswer(w, r, "Hello") }))
	t.Cleanup(second.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
		"first": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}}
	log := new(safeLog)
	url := serve(t, gateway.Setup{Open: opening(client), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{
		{Model: "m", Timing: gateway.Timing{Cooldown: 300 * time.Millisecond}, Upstreams: []gateway.Upstream{{Model: "first/m"}, {Model: "second/m", Priority: 1}}}}})
	ask := func() {
		if resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`); resp.StatusCode != 200 {
			t.Fatal(body)
		}
	}
	for range 4 {
		ask()
	}
	time.Sleep(400 * time.Millisecond)
	ask()
	log.mu.Lock()
	defer log.mu.Unlock()
	text := log.b.String()
	for _, want := range []string{
		`level=WARN msg="upstream is paused after failures in a row, while another can be asked" id=req_`, "route=m upstream=first/m for=300ms",
		`level=INFO msg="upstream answers again and is used as before" id=req_`,
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
}

// TestOutcomeOfRateLimits checks that a 429 of an upstream counts as its error, and one of the gateway as the client's.
func TestOutcomeOfRateLimits(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	book := &access.Book{Store: new(access.Memory)}
	g := &guarded{book: book}
	_, g.url = live(t, gateway.Setup{Open: opening(client), Access: book, Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, limits := range [][]access.Quota{nil, quotas(t, "requests/day=1")} {
		key := g.key(t, access.Key{Limits: limits})
		for range 1 + len(limits) {
			if resp, body := send(t, "POST", g.url+"/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "Authorization", "Bearer "+key); resp.StatusCode != 429 {
				t.Fatal(resp.StatusCode, body)
			}
		}
	}
	quiet(t, g.url)
	_, text := get(t, g.url+"/metrics")
	for want, n := range map[string]int{`outcome="upstream_error"} 2`: 1, `outcome="client_error"} 1`: 1} {
		if strings.Count(text, want) != n {
			t.Errorf("%s is %d times in %s", want, strings.Count(text, want), text)
		}
	}
}
