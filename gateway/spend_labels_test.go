package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// pricedPair serves the route m with two upstreams, of which the first always fails. Both have a price.
func pricedPair(t *testing.T, keys bool) (g *guarded, secret string, header func() http.Header) {
	t.Helper()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"error":{"message":"no capacity here"}}`)
	}))
	t.Cleanup(first.Close)
	var sent http.Header
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Clone()
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":500}}\n\ndata: [DONE]\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],"usage":{"prompt_tokens":1000,"completion_tokens":500}}`)
	}))
	t.Cleanup(second.Close)
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: known, Route: provider.Native, Vendors: map[string]provider.Vendor{
		"first": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}}
	g = &guarded{book: &access.Book{Store: new(access.Memory)}}
	setup := gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{
		{Model: "m", Upstreams: []gateway.Upstream{{Model: "first/priced"}, {Model: "second/priced", Priority: 1}}}}}
	if keys {
		setup.Access = g.book
		secret = g.key(t, access.Key{})
	}
	_, g.url = live(t, setup)
	return g, secret, func() http.Header { return sent }
}

// post sends a request to a pair with the given body and headers, and reads the answer.
func (g *guarded) post(t *testing.T, path, secret, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(err, resp.Status, string(text))
	}
	return resp
}

// TestCostInHeaderAndTrailer checks that the client learns what a request cost: in a header, or in the trailer of a
// stream, relayed and translated, with and without keys.
func TestCostInHeaderAndTrailer(t *testing.T) {
	for _, keys := range []bool{false, true} {
		g, secret, _ := pricedPair(t, keys)
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`,
			"/v1/messages":         `{"model":"m","max_tokens":100,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`,
		} {
			for _, stream := range []bool{false, true} {
				resp := g.post(t, path, secret, fmt.Sprintf(body, stream))
				got, other := resp.Header.Get("Toolpost-Cost"), resp.Trailer.Get("Toolpost-Cost")
				if stream {
					got, other = other, got
				}
				if got != "0.002" || other != "" {
					t.Errorf("keys=%t %s stream=%t: header %v, trailer %v", keys, path, stream, resp.Header, resp.Trailer)
				}
			}
		}
		_, text := get(t, g.url+"/metrics")
		team := ""
		if keys {
			team = "red"
		}
		for _, line := range []string{
			`toolpost_dollars_total{route="m",upstream="second/priced",team="` + team + `"} 0.008`,
			`toolpost_tokens_total{route="m",upstream="second/priced",kind="input",team="` + team + `"} 4000`,
			`toolpost_outcomes_total{route="m",team="` + team + `",outcome="ok"} 4`,
			`toolpost_upstream_breaker{route="m",upstream="first/priced"} 2`,
		} {
			if !strings.Contains(text, "\n"+line) {
				t.Errorf("no line %s in\n%s", line, text)
			}
		}
	}
}

// TestAttemptsAreStoredWithTheRequest checks that the log in the database names every upstream that was asked, and why it
// did not answer.
func TestAttemptsAreStoredWithTheRequest(t *testing.T) {
	g, secret, _ := pricedPair(t, true)
	g.post(t, "/v1/chat/completions", secret, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	log, err := g.book.Log(t.Context(), 1)
	if err != nil || len(log) != 1 || len(log[0].Attempts) != 2 {
		t.Fatal(err, log)
	}
	a := log[0].Attempts
	if a[0].Upstream != "first/priced" || a[0].Kind != "overloaded" || a[0].Status != 503 || !strings.Contains(a[0].Error, "no capacity here") || a[1].Upstream != "second/priced" || a[1].Kind != "ok" {
		t.Errorf("%+v", a)
	}
	if text := log[0].AttemptsText(); !strings.HasPrefix(text, "first/priced overloaded 503 ") {
		t.Error(text)
	}
}

// TestSpendByEndUserAndTag checks that spend is summed up by the end user whom the client names, in its format's own
// field or in a header, and by a tag. Neither reaches the upstream as a header.
func TestSpendByEndUserAndTag(t *testing.T) {
	g, secret, sent := pricedPair(t, true)
	g.post(t, "/v1/chat/completions", secret, `{"model":"m","user":"ada","messages":[{"role":"user","content":"hi"}]}`, "Toolpost-Tag", "search")
	g.post(t, "/v1/messages", secret, `{"model":"m","max_tokens":9,"metadata":{"user_id":"ada"},"messages":[{"role":"user","content":"hi"}]}`)
	g.post(t, "/v1/responses", secret, `{"model":"m","user":"somebody","safety_identifier":"bob","input":"hi","stream":true}`, "Toolpost-Tag", "search")
	g.post(t, "/v1/chat/completions", secret, `{"model":"m","user":"ada","messages":[{"role":"user","content":"hi"}]}`, "Toolpost-User", "bob\tx")
	if h := sent(); h.Get("Toolpost-User") != "" {
		t.Error(h)
	}
	for by, want := range map[access.Grouping]string{access.ByUser: "ada:2 bob:1 bob?x:1 ", access.ByTag: ":2 search:2 "} {
		list, err := g.book.Usage(t.Context(), time.Time{}, by)
		got := ""
		for _, s := range list {
			got += fmt.Sprintf("%s:%d ", s.Of(by), s.Requests)
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", by, got, err)
		}
	}
	log, err := g.book.LogOf(t.Context(), access.Filter{access.ByUser: "bob"}, 9)
	if err != nil || len(log) != 1 || log[0].Tag != "search" {
		t.Error(err, log)
	}
}

// TestForwardedSpendByEndUserAndTag checks that a forwarded request and a count of tokens have the end user and the tag of
// their headers.
func TestForwardedSpendByEndUserAndTag(t *testing.T) {
	up := httptest.NewServer(new(vendor))
	t.Cleanup(up.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: []string{"embeddings"}}}})
	key := g.key(t, access.Key{})
	for path, body := range map[string]string{
		"/v1/embeddings":            `{"model":"m","input":"hi"}`,
		"/v1/messages/count_tokens": `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	} {
		g.post(t, path, key, body, "Toolpost-User", "ada", "Toolpost-Tag", path)
		if log, err := g.book.Log(t.Context(), 1); err != nil || len(log) != 1 || log[0].User != "ada" || log[0].Tag != path {
			t.Errorf("%s: %v, %+v", path, err, log)
		}
	}
}

// TestTraceparentIsPassedUpstream checks that the upstream gets the trace of the client, also without a collector.
func TestTraceparentIsPassedUpstream(t *testing.T) {
	g, _, sent := pricedPair(t, false)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	g.post(t, "/v1/chat/completions", "", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01", "Tracestate", "a=b")
	if h := sent(); !strings.Contains(h.Get("Traceparent"), trace) || h.Get("Tracestate") != "a=b" {
		t.Error(h)
	}
}
