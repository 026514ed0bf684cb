package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// moody is an upstream that can be told to fail, and how its list of models is answered.
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

// moodies starts two upstreams and a gateway before them, whose client asks up to three times.
func moodies(t *testing.T, health time.Duration) (a, b *moody, url string) {
	t.Helper()
	a, b = new(moody), new(moody)
	client := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.Retry{Attempts: 3, Base: time.Millisecond, Cap: time.Millisecond}, Route: provider.Native}
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

// opensBreaker has the breaker of an upstream open by requests that another answers.
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

// TestLeftAloneIsTheLastResort checks that an upstream whose breaker is open is asked if all others fail, before one of those is asked again, and that it
// is one as the others when it has answered. One that is down for good does not keep the other from being asked again.
func TestLeftAloneIsTheLastResort(t *testing.T) {
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

// TestHealthAllowsATrial checks that an upstream whose breaker is open is asked again once it is well, without waiting for the end of its rest.
func TestHealthAllowsATrial(t *testing.T) {
	_, b, url := moodies(t, time.Second)
	b.list.Store(404) // a server without a list
	b.down.Store(1)
	for range 20 {
		if status := askTwo(t, url, "two"); status != 200 {
			t.Fatal(status)
		}
	}
	b.down.Store(0)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		askTwo(t, url, "two")
		if _, text := get(t, url+"/metrics"); strings.Contains(text, `toolpost_upstream_breaker{route="two",upstream="upb/m"} 0`) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it is left alone although it is well")
		}
	}
}

// TestBrokenIsNotHealthy checks which answers to a question for models say that an upstream is well.
func TestBrokenIsNotHealthy(t *testing.T) {
	for status, healthy := range map[int]string{200: "1", 404: "1", 405: "1", 429: "1", 501: "1", 401: "0", 500: "0", 502: "0", 503: "0", 529: "0"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			a, b, url := moodies(t, time.Second)
			a.list.Store(int64(status))
			b.list.Store(map[bool]int64{true: 503, false: 200}[healthy == "1"]) // its state changes, whatever the other's does
			want := fmt.Sprintf("toolpost_upstream_healthy{route=\"two\",upstream=\"upa/m\"} %s\n", healthy)
			other := fmt.Sprintf("toolpost_upstream_healthy{route=\"two\",upstream=\"upb/m\"} %d\n", map[bool]int{true: 0, false: 1}[healthy == "1"])
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
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

// TestFailuresOfFallbacks checks that failures are counted under the route that was asked for, as requests are.
func TestFailuresOfFallbacks(t *testing.T) {
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

// TestRefusedTakesNothing checks that a request that is refused for a budget leaves what the headers say of limits per minute as it was.
func TestRefusedTakesNothing(t *testing.T) {
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
