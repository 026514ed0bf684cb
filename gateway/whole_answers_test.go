package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// documentRoute serves the route "m" whose upstreams, up/m and other/m, answer in the format chat. It returns the values
// of "stream" in the requests that they got.
func documentRoute(t *testing.T, route gateway.ModelRoute, style provider.RouteKind, answer func(w http.ResponseWriter, r *http.Request, stream bool)) (url string, streams func() []bool) {
	t.Helper()
	var mu sync.Mutex
	var seen []bool
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var asked struct{ Stream bool }
		_ = json.Unmarshal(body, &asked)
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") { // about the server
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		seen = append(seen, asked.Stream)
		mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		answer(w, r, asked.Stream)
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Route: style, Vendors: map[string]provider.Vendor{
		"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}, "other": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	route.Model = "m"
	if route.Upstreams == nil {
		route.Upstreams = []gateway.Upstream{{Model: "up/m"}}
	}
	return serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}}), func() []bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// askMessages asks for a document in another format than the one of the upstream.
func askMessages(t *testing.T, url, members string) (int, string) {
	t.Helper()
	resp, body := send(t, "POST", url+"/v1/messages", "application/json", `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]`+members+`}`)
	return resp.StatusCode, body
}

// TestUpstreamIsAskedForDocuments checks that a translated request for a document asks the upstream for a document, unless
// a stream is needed: to see whether the upstream is alive, or to give up the answer after a call in text.
func TestUpstreamIsAskedForDocuments(t *testing.T) {
	const tools = `,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	two := []gateway.Upstream{{Model: "up/m"}, {Model: "other/m", Priority: 1}}
	for _, test := range []struct {
		name, members string
		route         gateway.ModelRoute
		style         provider.RouteKind
		stream        bool
	}{
		{name: "one upstream"},
		{name: "tools", members: tools, style: provider.Native},
		{name: "timeout", route: gateway.ModelRoute{Timing: gateway.Timing{Timeout: time.Minute}}},
		{name: "the client wants a stream", members: `,"stream":true`, stream: true},
		{name: "another upstream can be asked", route: gateway.ModelRoute{Upstreams: two}, stream: true},
		{name: "hedging", route: gateway.ModelRoute{Upstreams: two, HedgeAfter: time.Minute}, stream: true},
		{name: "first_byte", route: gateway.ModelRoute{Timing: gateway.Timing{FirstByte: time.Minute}}, stream: true},
		{name: "idle", route: gateway.ModelRoute{Timing: gateway.Timing{Idle: time.Minute}}, stream: true},
		{name: "tools are taught", members: tools, style: provider.Prompted, stream: true},
	} {
		url, streams := documentRoute(t, test.route, test.style, func(w http.ResponseWriter, r *http.Request, _ bool) { chatAnswer(w, r, "Hello") })
		status, body := askMessages(t, url, test.members)
		if got := streams(); status != 200 || !strings.Contains(body, "Hello") || !slices.Equal(got, []bool{test.stream}) {
			t.Errorf("%s: %d, streams asked for: %v, want %v: %s", test.name, status, got, test.stream, body)
		}
	}
}

// TestUpstreamThatOnlyStreams checks that an upstream that refuses to answer with a document is asked for a stream, from
// then on at once, and that a stream is read that comes instead of a document.
func TestUpstreamThatOnlyStreams(t *testing.T) {
	url, streams := documentRoute(t, gateway.ModelRoute{}, "", func(w http.ResponseWriter, r *http.Request, stream bool) {
		if stream {
			chatAnswer(w, r, "Hello")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"This model only support stream mode, please enable the stream parameter.","type":"invalid_request_error"}}`)
	})
	for range 2 {
		if status, body := askMessages(t, url, ""); status != 200 || !strings.Contains(body, "Hello") {
			t.Errorf("%d %s", status, body)
		}
	}
	if got := streams(); !slices.Equal(got, []bool{false, true, true}) {
		t.Errorf("streams asked for: %v", got)
	}

	url, streams = documentRoute(t, gateway.ModelRoute{}, "", func(w http.ResponseWriter, r *http.Request, _ bool) {
		r.Body = io.NopCloser(strings.NewReader(`{"stream":true}`))
		chatAnswer(w, r, "Hello")
	})
	if status, body := askMessages(t, url, ""); status != 200 || !strings.Contains(body, "Hello") || !slices.Equal(streams(), []bool{false}) {
		t.Errorf("a stream instead of a document: %d %s", status, body)
	}

	url, streams = documentRoute(t, gateway.ModelRoute{}, "", func(w http.ResponseWriter, _ *http.Request, _ bool) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"temperature is too high","type":"invalid_request_error"}}`)
	})
	if status, body := askMessages(t, url, ""); status != 400 || !strings.Contains(body, "temperature") || !slices.Equal(streams(), []bool{false}) {
		t.Errorf("another refusal: %d, streams asked for: %v: %s", status, streams(), body)
	}
}
