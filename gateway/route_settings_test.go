package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// settingsPair serves a route whose upstreams are first, which answers as the test says, and second, which always answers.
func settingsPair(t *testing.T, route gateway.ModelRoute, first http.HandlerFunc) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	a := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		first(w, r)
	}))
	t.Cleanup(a.Close)
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chatAnswer(w, r, "from the second") }))
	t.Cleanup(b.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
		"first": {BaseURL: a.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: b.URL + "/v1", Wires: []string{wire.Chat}}}}
	route.Model = "m"
	if route.Upstreams == nil {
		route.Upstreams = []gateway.Upstream{{Model: "first/m"}, {Model: "second/m", Priority: 1}}
	}
	return serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}}), asked
}

func askRoute(t *testing.T, url string, stream bool) (int, string) {
	t.Helper()
	resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream))
	return resp.StatusCode, body
}

func untilGone(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// TestTimeoutOfRoute checks that an answer that takes longer than timeout is given up: for the next upstream if it has not
// begun, and otherwise with an error in the stream. The setting of an upstream overrides that of its route.
func TestTimeoutOfRoute(t *testing.T) {
	t.Parallel()
	for name, route := range map[string]gateway.ModelRoute{
		"timeout of the route":        {Timing: gateway.Timing{Timeout: 300 * time.Millisecond}},
		"timeout of the upstream":     {Timing: gateway.Timing{Timeout: time.Hour}, Upstreams: []gateway.Upstream{{Model: "first/m", Timing: gateway.Timing{Timeout: 300 * time.Millisecond}}, {Model: "second/m", Priority: 1}}},
		"first byte of the upstream":  {Timing: gateway.Timing{FirstByte: time.Hour}, Upstreams: []gateway.Upstream{{Model: "first/m", Timing: gateway.Timing{FirstByte: 300 * time.Millisecond}}, {Model: "second/m", Priority: 1}}},
		"first byte over the timeout": {Timing: gateway.Timing{FirstByte: time.Hour, Timeout: 300 * time.Millisecond}},
	} {
		for _, stream := range []bool{false, true} {
			url, _ := settingsPair(t, route, func(_ http.ResponseWriter, r *http.Request) { untilGone(r) })
			if status, body := askRoute(t, url, stream); status != 200 || !strings.Contains(body, "from the second") {
				t.Errorf("%s, stream=%t: %d %s", name, stream, status, body)
			}
		}
	}
	const piece = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n"
	url, _ := settingsPair(t, gateway.ModelRoute{Timing: gateway.Timing{Timeout: 500 * time.Millisecond}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	if status, body := askRoute(t, url, true); status != 200 || !strings.Contains(body, "Hi") || !strings.Contains(body, "longer than 500ms") || strings.Contains(body, "[DONE]") {
		t.Errorf("a begun answer: %d %s", status, body)
	}
}

// TestIdleOfRoute checks that a begun answer that stops arriving is given up after idle.
func TestIdleOfRoute(t *testing.T) {
	url, _ := settingsPair(t, gateway.ModelRoute{Timing: gateway.Timing{Idle: 300 * time.Millisecond}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n")
		w.(http.Flusher).Flush()
		untilGone(r)
	})
	begun := time.Now()
	if status, body := askRoute(t, url, true); status != 200 || !strings.Contains(body, "Hi") || !strings.Contains(body, `"error"`) || time.Since(begun) > time.Minute {
		t.Errorf("%d after %v: %s", status, time.Since(begun), body)
	}
}

// TestRetriesOfRoute checks how often an upstream is asked again: as often as retries allows, which counts also where another
// upstream can be asked.
func TestRetriesOfRoute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		retries *int
		alone   bool
		asked   int64
		answer  string
	}{
		{nil, false, 1, "from the second"},
		{new(1), false, 2, "from the first"},
		{new(0), true, 1, "no capacity"},
		{new(1), true, 2, "from the first"},
	} {
		route := gateway.ModelRoute{Timing: gateway.Timing{Retries: c.retries}}
		if c.alone {
			route.Upstreams = []gateway.Upstream{{Model: "first/m"}}
		}
		var n atomic.Int64
		url, asked := settingsPair(t, route, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 1 {
				w.WriteHeader(503)
				_, _ = io.WriteString(w, `{"error":{"message":"no capacity"}}`)
				return
			}
			chatAnswer(w, r, "from the first")
		})
		if _, body := askRoute(t, url, false); asked.Load() != c.asked || !strings.Contains(body, c.answer) {
			t.Errorf("%+v: asked %d times, %s", c, asked.Load(), body)
		}
	}
}

// TestCooldownOfRoute checks that an upstream that failed three times is skipped for cooldown, and asked again after it.
func TestCooldownOfRoute(t *testing.T) {
	t.Parallel()
	for cooldown, again := range map[time.Duration]bool{500 * time.Millisecond: true, time.Hour: false} {
		url, asked := settingsPair(t, gateway.ModelRoute{Timing: gateway.Timing{Cooldown: cooldown}}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		for asked.Load() < 3 {
			askRoute(t, url, false)
		}
		time.Sleep(600 * time.Millisecond)
		askRoute(t, url, false)
		if n := asked.Load(); (n == 4) != again {
			t.Errorf("cooldown %v: asked %d times", cooldown, n)
		}
	}
}

// TestCheapestUpstreamIsAskedFirst checks the order of the strategy cheapest.
func TestCheapestUpstreamIsAskedFirst(t *testing.T) {
	var asked []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, strings.Split(r.URL.Path, "/")[1])
		chatAnswer(w, r, "Hello")
	}))
	t.Cleanup(up.Close)
	known, err := catalog.Default().Load("models.yaml", []byte("rules:\n  - {match: {family: dear}, set: {price: {input: 5, output: 10}}}\n  - {match: {family: cheap}, set: {price: {input: 1, output: 2}}}\n  - {match: {family: middle}, set: {price: {input: 2, output: 3}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: known, Route: provider.Native, Vendors: map[string]provider.Vendor{}}
	route := gateway.ModelRoute{Model: "m", Strategy: gateway.Cheapest}
	for _, name := range []string{"dear", "cheap", "middle"} {
		client.Vendors[name] = provider.Vendor{BaseURL: up.URL + "/" + name + "/v1", Wires: []string{wire.Chat}}
		route.Upstreams = append(route.Upstreams, gateway.Upstream{Model: name + "/" + name})
	}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}})
	for range 3 {
		askRoute(t, url, false)
	}
	if got := strings.Join(asked, " "); got != "cheap cheap cheap" {
		t.Error(got)
	}
}
