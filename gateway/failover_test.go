package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// moody is an upstream with configurable failures and a configurable list of models.
type moody struct {
	down, asked, list atomic.Int64
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet:
		w.WriteHeader(int(max(m.list.Load(), 200)))
	case m.asked.Add(1) > 0 && m.down.Load() > 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`)
	}
}

// moodies starts two upstreams and a gateway for them, whose client sends up to three requests.
func moodies(t *testing.T, health time.Duration) (a, b *moody, url string) {
	t.Helper()
	a, b = new(moody), new(moody)
	client := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.RetryPolicy{Attempts: 3, Initial: time.Millisecond, Max: time.Millisecond}, Route: provider.Native}
	route := gateway.ModelRoute{Model: "two"}
	for name, m := range map[string]*moody{"upa": a, "upb": b} {
		server := httptest.NewServer(m)
		t.Cleanup(server.Close)
		client.Vendors[name] = provider.Vendor{BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}
		route.Upstreams = append(route.Upstreams, gateway.Upstream{Model: name + "/m", Health: health})
	}
	_, url = live(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route, {Model: "falls", Upstreams: []gateway.Upstream{{Model: "upa/m"}}, Fallback: []string{"two"}}}})
	return a, b, url
}

// askTwo sends a request and returns its status.
func askTwo(t *testing.T, url, model string) int {
	t.Helper()
	resp, _ := send(t, "POST", url+"/v1/chat/completions", "application/json", strings.Replace(hello, `"chat"`, `"`+model+`"`, 1))
	return resp.StatusCode
}

// opensBreaker opens the breaker of an upstream with requests that another upstream answers.
func opensBreaker(t *testing.T, m *moody, url string) {
	t.Helper()
	m.down.Store(1)
	for range 20 {
		if status := askTwo(t, url, "two"); status != 200 {
			t.Fatal(status)
		}
	}
	if n := m.asked.Load(); n != 3 {
		t.Fatalf("it was asked %d times", n)
	}
}

// TestSkippedUpstreamIsLastResort checks that an upstream with an open breaker is asked if all others fail, before one of
// those is asked again. Once it has answered, it is a normal candidate again. A dead one must not prevent the retry of
// the other.
func TestSkippedUpstreamIsLastResort(t *testing.T) {
	a, b, url := moodies(t, 0)
	opensBreaker(t, b, url)
	b.down.Store(0)
	a.down.Store(1)
	a.asked.Store(0)
	b.asked.Store(0)
	if status := askTwo(t, url, "two"); status != 200 || a.asked.Load() != 1 || b.asked.Load() != 1 {
		t.Errorf("status %d, asked %d and %d times", status, a.asked.Load(), b.asked.Load())
	}
	if _, text := get(t, url+"/metrics"); !strings.Contains(text, `toolpost_upstream_breaker{route="two",upstream="upb/m"} 0`) {
		t.Error("the breaker of one that answers is open")
	}
	a, b, url = moodies(t, 0)
	opensBreaker(t, b, url)
	a.down.Store(1)
	a.asked.Store(0)
	b.asked.Store(0)
	if status := askTwo(t, url, "two"); status != 503 || a.asked.Load() != 4 || b.asked.Load() != 1 {
		t.Errorf("status %d, asked %d and %d times", status, a.asked.Load(), b.asked.Load())
	}
}

// TestHealthCheckClosesBreaker checks that an upstream with an open breaker is asked again once its health check succeeds,
// before the cooldown ends.
func TestHealthCheckClosesBreaker(t *testing.T) {
	t.Parallel()
	_, b, url := moodies(t, time.Second)
	b.list.Store(404) // a server without a model list
	b.down.Store(1)
	for range 20 {
		if status := askTwo(t, url, "two"); status != 200 {
			t.Fatal(status)
		}
	}
	b.down.Store(0)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		askTwo(t, url, "two")
		if _, text := get(t, url+"/metrics"); strings.Contains(text, `toolpost_upstream_breaker{route="two",upstream="upb/m"} 0`) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it is left alone although it is well")
		}
	}
}

// TestHealthCheckResponses checks which responses to a health check count as healthy.
func TestHealthCheckResponses(t *testing.T) {
	for status, healthy := range map[int]string{200: "1", 404: "1", 405: "1", 429: "1", 501: "1", 401: "0", 500: "0", 502: "0", 503: "0", 529: "0"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			a, b, url := moodies(t, time.Second)
			a.list.Store(int64(status))
			b.list.Store(map[bool]int64{true: 503, false: 200}[healthy == "1"]) // its state changes, regardless of the other
			want := fmt.Sprintf("toolpost_upstream_healthy{route=\"two\",upstream=\"upa/m\"} %s\n", healthy)
			other := fmt.Sprintf("toolpost_upstream_healthy{route=\"two\",upstream=\"upb/m\"} %d\n", map[bool]int{true: 0, false: 1}[healthy == "1"])
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
				_, text := get(t, url+"/metrics")
				if strings.Contains(text, want) && strings.Contains(text, other) {
					return
				}
				if time.Now().After(end) {
					t.Fatal(text)
				}
			}
		})
	}
}

// TestFailuresCountForRequestedRoute checks that failures are counted under the requested route, like requests.
func TestFailuresCountForRequestedRoute(t *testing.T) {
	a, b, url := moodies(t, 0)
	a.down.Store(1)
	b.down.Store(1)
	askTwo(t, url, "falls")
	_, text := get(t, url+"/metrics")
	for _, want := range []string{`toolpost_upstream_failures_total{route="falls",upstream="upb/m",kind="overloaded"} 1`, `toolpost_requests_total{route="falls",`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, `toolpost_upstream_failures_total{route="two"`) {
		t.Error("a failure is counted under a route that nobody asked for")
	}
}

// TestRefusedRequestKeepsRateLimits checks that a request refused because of a budget does not change the rate limit headers.
func TestRefusedRequestKeepsRateLimits(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{Limits: quotas(t, "requests/minute=10", "tokens/minute=90000", "tokens/day=1")})
	left := func() (status int, requests, tokens string) {
		resp, _ := send(t, "POST", g.url+"/v1/chat/completions", "application/json", strings.Replace(hello, "{", `{"max_tokens":100,`, 1), "Authorization", "Bearer "+key)
		return resp.StatusCode, resp.Header.Get("X-Ratelimit-Remaining-Requests"), resp.Header.Get("X-Ratelimit-Remaining-Tokens")
	}
	if status, n, _ := left(); status != 200 || n != "9" {
		t.Fatal(status, n)
	}
	used, err := g.book.Log(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if status, n, tokens := left(); status != 429 || n != "9" || tokens != fmt.Sprint(90000-used[0].Input-used[0].Output) {
			t.Error(status, n, tokens)
		}
	}
}

// TestFallbackAfterKeepAlives checks an upstream that sends keep-alives and then an error. It has not answered, so the
// header names the upstream that did. If the header had to be sent because of a long silence, the warning is a comment.
func TestFallbackAfterKeepAlives(t *testing.T) {
	const begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: ping\ndata: {\"type\":\"ping\"}\n\n"
	const end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	for name, silence := range map[string]time.Duration{"at once": 0, "after silence": 300 * time.Millisecond} {
		for _, c := range clients[:3] {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, begin)
					w.(http.Flusher).Flush()
					time.Sleep(silence)
					_, _ = io.WriteString(w, end)
				}))
				t.Cleanup(refuses.Close)
				answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				}))
				t.Cleanup(answers.Close)
				known := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
					"no": {BaseURL: refuses.URL + "/v1", Wires: []string{wire.Messages}}, "yes": {BaseURL: answers.URL + "/v1", Wires: []string{wire.Chat}}}}
				route := to("m", "no/m")
				route.Fallback = []string{"next"}
				url := serve(t, gateway.Setup{Open: opening(known), Routes: []gateway.ModelRoute{route, to("next", "yes/m")}, KeepAlive: 100 * time.Millisecond})
				got := c.ask(t, url, greeting("m"), true)
				if got.err != nil || got.Message.Text() != "Hello" {
					t.Fatalf("%v %q", got.err, got.Message.Text())
				}
				if !strings.Contains(got.warnings, "so yes/m was asked") || silence == 0 && got.header.Get(exchange.UpstreamHeader) != "yes/m" {
					t.Errorf("answered by %q, told %q", got.header.Get(exchange.UpstreamHeader), got.warnings)
				}
			})
		}
	}
}

// safeLog is a log for concurrent writers.
type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *safeLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// wait waits for a line that has all of these texts.
func (l *safeLog) wait(t *testing.T, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(l.text()) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("no line has %q:\n%s", texts, l.text())
			return
		}
	}
}

// TestHTMLPageInsteadOfAnswer checks an upstream that returns 200 with a web page. Neither the client nor the log
// is told that it cannot be reached. The client learns nothing about its address or the page, which only the log shows.
// A fallback answers.
func TestHTMLPageInsteadOfAnswer(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>Sign in at " + r.Host + "</html>"))
	}))
	defer page.Close()
	good := httptest.NewServer(new(sim.Server))
	defer good.Close()
	for _, format := range []string{wire.Chat, wire.Messages} {
		log := new(safeLog)
		c := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
			"page": {BaseURL: page.URL, Wires: []string{format}}, "good": {BaseURL: good.URL + "/v1", Wires: []string{wire.Chat}}}}
		alone, backed := to("alone", "page/m"), to("backed", "page/m")
		backed.Fallback = []string{"good"}
		url := serve(t, gateway.Setup{Open: opening(c), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{alone, backed, to("good", "good/sim/native")}})
		for _, stream := range []string{"false", "true"} {
			ask := func(model string) (*http.Response, string) {
				return send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"`+model+`","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`)
			}
			resp, body := ask("alone")
			const says = "the server answered 200 without an answer of a model (text/html); the address"
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, says) || strings.Contains(body, "reached") || strings.Contains(body, "Sign in") || strings.Contains(body, strings.TrimPrefix(page.URL, "http://")) {
				t.Errorf("%s %s: %s %s", format, stream, resp.Status, body)
			}
			if resp, body := ask("backed"); resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %s %s", format, stream, resp.Status, body)
			}
		}
		log.mu.Lock()
		if text := log.b.String(); !strings.Contains(text, "without an answer of a model (text/html), which begins") || !strings.Contains(text, "Sign in") || !strings.Contains(text, "kind=malformed") {
			t.Error(text)
		}
		log.mu.Unlock()
	}
}

// TestHTMLPageHidesKey checks a page that repeats the gateway's key in another encoding. If the shown part of the page
// ends within the key, neither the client nor the log gets any of it.
func TestHTMLPageHidesKey(t *testing.T) {
	const key = "sk+live+0123456789abcdefABCDEF+very+secret+key+of+the+operator"
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><title>Blocked</title>Authorization: " + strings.ReplaceAll(r.Header.Get("Authorization"), "+", "&#43;") + "</html>"))
	}))
	defer page.Close()
	c := &provider.Client{
		Route: provider.Native, Key: func(string) (string, error) { return key, nil },
		Vendors: map[string]provider.Vendor{"page": {BaseURL: page.URL, Wires: []string{wire.Chat}, KeyEnv: "K"}},
	}
	log := new(safeLog)
	url := serve(t, gateway.Setup{Open: opening(c), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{to("alone", "page/m")}})
	for _, stream := range []string{"false", "true"} {
		_, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"alone","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`)
		if strings.Contains(body, "0123456789") || strings.Contains(body, "Blocked") || !strings.Contains(body, "without an answer of a model (text/html)") {
			t.Error(body)
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if text := log.b.String(); strings.Contains(text, "0123456789") || !strings.Contains(text, "Blocked") {
		t.Error(text)
	}
}

// TestStreamWithoutAnswer checks that a stream without an answer is an error, for clients of the upstream's format and
// of others.
func TestStreamWithoutAnswer(t *testing.T) {
	client := bodyOf(t, wire.Chat, "data: {\"id\":\"x\",\"choices\":[]}\n\ndata: [DONE]\n\n", `{"id":"x","object":"chat.completion","choices":[]}`)
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for format := range roots {
		for _, stream := range []bool{false, true} {
			if got := ask(t, url, format, question("m"), stream); got.err == nil {
				t.Errorf("%s, stream=%t: %+v", format, stream, got.Response)
			}
		}
	}
}
