package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestStatusesWithoutAKind checks that clients of every format are told the status of an upstream that refuses a request with one that
// no vendor has a meaning for, as an error of the request: as a failure of the gateway it would be tried again.
func TestStatusesWithoutAKind(t *testing.T) {
	words := row("invalid_request_error/invalid_request", "invalid_request_error", "INVALID_ARGUMENT", "ValidationException", "")
	conflict := row("invalid_request_error/invalid_request", "conflict_error", "ABORTED", "ConflictException", "")
	for _, upstream := range []struct{ format, body string }{
		{wire.Chat, `{"error":{"message":"not so","type":"odd","code":"odd"}}`},
		{wire.Chat, `{"error":{"message":"not so","type":"invalid_request_error"}}`},
		{wire.Messages, `{"type":"error","error":{"type":"odd_error","message":"not so"}}`},
		{wire.Gemini, `<html>not so`},
	} {
		for _, status := range []int{409, 410, 416, 418, 424, 425, 431, 451} {
			send := over(t, failing(t, upstream.format, status, "", upstream.body))
			for _, a := range queries {
				if a.kind != "answer" {
					continue
				}
				h := send(t, a)
				want := words[a.format]
				if status == http.StatusConflict {
					want = conflict[a.format]
				}
				if word, err := h.word(a.format); err != nil || h.status != status || word != want {
					t.Errorf("%s says %d, %s %s: %v, %d %q, want %q: %s", upstream.format, status, a.format, a.path, err, h.status, word, want, h.body)
				}
			}
		}
	}
}

// TestProxyOfAnUpstreamWantsAKey checks that the client is not asked for the credentials of a proxy that stands before an upstream.
func TestProxyOfAnUpstreamWantsAKey(t *testing.T) {
	h := over(t, failing(t, wire.Chat, http.StatusProxyAuthRequired, "", "who are you?"))(t, queries[0])
	if h.status != http.StatusBadGateway || h.header.Get("X-Should-Retry") != "false" {
		t.Error(h.status, h.header, h.body)
	}
}

// TestStatusesWithoutAKindFallBack checks that another upstream is still asked: nothing is known about why the first refused.
func TestStatusesWithoutAKindFallBack(t *testing.T) {
	var asked atomic.Int32
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnavailableForLegalReasons)
	}))
	defer first.Close()
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
	}))
	defer second.Close()
	open := opening(&provider.Client{Retry: once, Route: provider.Native, Vendors: map[string]provider.Vendor{
		"one": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "two": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}})
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{
		{Model: "m", Upstreams: []gateway.Upstream{{Model: "one/m"}}, Fallback: []string{"n"}}, to("n", "two/m")}})
	if h := at(url, "m", "", nil)(t, queries[0]); h.status != http.StatusOK || asked.Load() == 0 {
		t.Error(h.status, h.body, asked.Load())
	}
}
