package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// chatAnswer is an answer in the chat format, streamed or whole.
func chatAnswer(w http.ResponseWriter, r *http.Request, text string) {
	var asked struct{ Stream bool }
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if asked.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`, text)
}

// upstreamPair serves a route whose first upstream fails and whose second answers. The route has a fallback.
type upstreamPair struct {
	url           string
	first, second *atomic.Int64 // requests
}

func pairOf(t *testing.T, first *httptest.Server, timing gateway.Timing) upstreamPair {
	t.Helper()
	p := upstreamPair{first: new(atomic.Int64), second: new(atomic.Int64)}
	old := first.Config.Handler
	first.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.first.Add(1)
		old.ServeHTTP(w, r)
	})
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.second.Add(1)
		chatAnswer(w, r, "from the second")
	}))
	t.Cleanup(second.Close)
	client := &provider.Client{Route: provider.Native, Retry: provider.RetryPolicy{Attempts: 1}, Vendors: map[string]provider.Vendor{
		"first": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}}
	route := gateway.ModelRoute{Model: "pair", Timing: timing, Upstreams: []gateway.Upstream{{Model: "first/m"}, {Model: "second/m", Priority: 1}}}
	falls := gateway.ModelRoute{Model: "falls", Upstreams: []gateway.Upstream{{Model: "first/m"}}, Fallback: []string{"rest"}}
	_, p.url = live(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route, falls, {Model: "rest", Upstreams: []gateway.Upstream{{Model: "second/m"}}}}})
	return p
}

// ask asks for a model in the format, and returns the status and the body.
func (p upstreamPair) ask(t *testing.T, model string, stream bool) (int, string) {
	t.Helper()
	resp, body := send(t, "POST", p.url+"/v1/chat/completions", "application/json", fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`, model, stream))
	return resp.StatusCode, body
}

// failoverTable are answers of upstreams that did not begin to answer: whether another upstream is asked (next), and whether
// the breaker counts it (skips): after three of them, the upstream is skipped.
var failoverTable = []struct {
	name   string
	status int
	body   string
	next   bool
	skips  bool
}{
	{"wrong key", 401, `{"error":{"message":"no"}}`, true, true},
	{"no credit", 402, `{"error":{"message":"no"}}`, true, true},
	{"not allowed", 403, `{"error":{"message":"no"}}`, true, true},
	{"no such model", 404, `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`, true, true},
	{"request timeout", 408, `{"error":{"message":"slow"}}`, true, true},
	{"conflict", 409, `{"error":{"message":"locked"}}`, true, false},
	{"rate limit", 429, `{"error":{"message":"slow down"}}`, true, true},
	{"no quota", 429, `{"error":{"message":"quota","code":"insufficient_quota"}}`, true, true},
	{"given up", 499, `{"error":{"message":"gone"}}`, true, true},
	{"server", 500, `{"error":{"message":"oops"}}`, true, true},
	{"bad gateway", 502, `<html>bad gateway</html>`, true, true},
	{"overloaded", 503, ``, true, true},
	{"gateway timeout", 504, ``, true, true},
	{"vendor overloaded", 529, ``, true, true},
	{"redirect", 302, ``, true, true},
	{"unreadable", 200, `{"choices":`, true, true},
	{"page", 200, `<html>login</html>`, true, true},
	{"empty", 200, ``, true, true},
	{"context too long", 400, `{"error":{"message":"This model's maximum context length is 8 tokens","code":"context_length_exceeded"}}`, true, false},
	{"content filter", 400, `{"error":{"message":"filtered","code":"content_filter"}}`, true, false},
	{"wrong request", 400, `{"error":{"message":"bad","type":"invalid_request_error"}}`, false, false},
	{"too large", 413, `{"error":{"message":"too large"}}`, false, false},
	{"wrong field", 422, `{"error":{"message":"bad field"}}`, false, false},
}

// TestFailoverByStatus checks for every failure before the answer has begun whether the next upstream and the fallback
// are asked, and whether the breaker counts it.
func TestFailoverByStatus(t *testing.T) {
	for _, f := range failoverTable {
		for _, stream := range []bool{false, true} {
			for _, model := range []string{"pair", "falls"} {
				t.Run(fmt.Sprintf("%s/stream=%t/%s", f.name, stream, model), func(t *testing.T) {
					t.Parallel()
					first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						w.Header().Set("Content-Type", "application/json")
						if strings.HasPrefix(f.body, "<") {
							w.Header().Set("Content-Type", "text/html")
						}
						w.WriteHeader(f.status)
						_, _ = io.WriteString(w, f.body)
					}))
					t.Cleanup(first.Close)
					p := pairOf(t, first, gateway.Timing{})
					for range 6 {
						status, body := p.ask(t, model, stream)
						if f.next != strings.Contains(body, "from the second") || f.next != (status == 200) {
							t.Fatalf("%d %s", status, body)
						}
					}
					want := int64(6)
					if f.skips {
						want = 3
					}
					if n := p.first.Load(); n != want {
						t.Errorf("the failing upstream was asked %d times, want %d", n, want)
					}
				})
			}
		}
	}
}

// TestFallbackAfterTLSError checks that an upstream with an untrusted certificate is skipped in favour of the next one,
// and that the fallback is asked.
func TestFallbackAfterTLSError(t *testing.T) {
	first := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { chatAnswer(w, r, "from the first") }))
	t.Cleanup(first.Close)
	p := pairOf(t, first, gateway.Timing{})
	for _, model := range []string{"pair", "falls"} {
		for range 6 {
			if status, body := p.ask(t, model, false); status != 200 || !strings.Contains(body, "from the second") {
				t.Errorf("%s: %d %s", model, status, body)
			}
		}
	}
	_, text := get(t, p.url+"/metrics")
	if want := `toolpost_upstream_breaker{route="pair",upstream="first/m"} 2`; !strings.Contains(text, want) {
		t.Errorf("no %s in %s", want, text)
	}
}

// TestFailoverFromStalledUpstream checks that an upstream that sends nothing, or a header and nothing more, is given up
// after first_byte, and skipped after three of them. Keep-alives keep it. The other upstream has to answer in that time.
func TestFailoverFromStalledUpstream(t *testing.T) {
	stop := make(chan struct{})
	stalls := map[string]func(w http.ResponseWriter){
		"silent": func(http.ResponseWriter) {},
		"header only": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
		},
	}
	for name, begin := range stalls {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", name, stream), func(t *testing.T) {
				first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					begin(w)
					select {
					case <-r.Context().Done():
					case <-stop:
					}
				}))
				t.Cleanup(first.Close)
				p := pairOf(t, first, gateway.Timing{FirstByte: 250 * time.Millisecond})
				for range 6 {
					if status, body := p.ask(t, "pair", stream); status != 200 || !strings.Contains(body, "from the second") {
						t.Fatalf("%d %s", status, body)
					}
				}
				if n := p.first.Load(); n != 3 {
					t.Errorf("the stalled upstream was asked %d times", n)
				}
			})
		}
	}
	close(stop)
}
