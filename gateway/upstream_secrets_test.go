package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestOperatorErrorsHideDetails checks the errors that clients see if an upstream does not answer. Kinds that clients can act
// on are unchanged. Faults that only the operator can fix have status 502, without an address or part of a key; these
// are in the log.
func TestOperatorErrorsHideDetails(t *testing.T) {
	const key = "sk-very-secret-key-of-the-operator"
	const piece = "sk-very-"
	const gone = "http://127.0.0.1:1" // a free port may be in use by the time it is called
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	answers := func(status int, retry, says string) string {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if retry != "" {
				w.Header().Set("Retry-After", retry)
			}
			if status/100 == 3 {
				w.Header().Set("Location", "http://inner.example.org/")
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":"%s (asked at %s)","type":"some_error","code":null}}`, says, r.Host)
		}))
		t.Cleanup(up.Close)
		return up.URL
	}
	for _, test := range []struct {
		name, url string
		key       string
		status    int
		says      string
	}{
		{"wrong key", answers(401, "", "Incorrect API key provided: "+piece+"..."), key, 502, "refused the credentials of this gateway"},
		{"forbidden", answers(403, "", "your key "+piece+" may not"), key, 502, "refused the credentials of this gateway"},
		{"unpaid", answers(402, "", "pay first"), key, 502, "refused the credentials of this gateway"},
		{"no key", answers(200, "", ""), "", 502, "this gateway has no key for the upstream, which was not asked"},
		{"elsewhere", answers(307, "", ""), key, 502, "the address of the upstream is wrong"},
		{"untrusted", untrusted.URL, key, 502, "does not prove who it is"},
		{"not there", gone, key, 502, "cannot be reached"},
		{"too many", answers(429, "7", "slow down"), key, 429, "slow down"},
		{"bad request", answers(400, "", "temperature is too high"), key, 400, "temperature is too high"},
		{"no such model", answers(404, "", "no such model"), key, 404, "no such model"},
		{"busy", answers(503, "3", "busy"), key, 503, "busy"},
	} {
		for _, format := range []string{wire.Chat, wire.Messages} { // the upstream's format, and another
			for _, stream := range []bool{false, true} {
				var log bytes.Buffer
				client := &provider.Client{Key: func(string) (string, error) {
					if test.key == "" {
						return "", fmt.Errorf("VENDOR_KEY is not set")
					}
					return test.key, nil
				}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native,
					Vendors: map[string]provider.Vendor{"up": {BaseURL: test.url + "/v1", Wires: []string{wire.Chat}, KeyEnv: "VENDOR_KEY"}}}
				url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}, Log: slog.New(slog.NewTextHandler(&log, nil))})
				got := ask(t, url, format, &llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User("Hello")}}, stream)
				text := fmt.Sprint(got.err)
				want := test.status
				if test.name == "busy" && format == wire.Messages {
					want = 529
				}
				if got.status != want || !strings.Contains(text, test.says) {
					t.Errorf("%s, %s: %d %s", test.name, format, got.status, text)
				}
				host := strings.TrimPrefix(strings.TrimPrefix(test.url, "http://"), "https://")
				for _, hidden := range []string{host, "127.0.0.1", "inner.example.org", piece, "VENDOR_KEY"} {
					if strings.Contains(text, hidden) {
						t.Errorf("%s, %s: the client is told %q: %s", test.name, format, hidden, text)
					}
				}
				if retry := got.header.Get("Retry-After"); (test.status == 429 || test.status == 503) && retry == "" {
					t.Errorf("%s, %s: Retry-After is lost", test.name, format)
				}
				if !strings.Contains(log.String(), "request failed") {
					t.Errorf("%s: the log says nothing: %s", test.name, log.String())
				}
			}
		}
	}
}

// TestUpstreamAddressesAreHidden checks that headers, errors and broken streams do not reveal the addresses of
// upstreams.
func TestUpstreamAddressesAreHidden(t *testing.T) {
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"one"},"finish_reason":null}]}`+"\n\n")
		w.(http.Flusher).Flush()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.(*net.TCPConn).SetLinger(0) // the other side sees a reset
		conn.Close()
	}))
	defer cut.Close()
	client := upstreams(t)
	whole := client.Vendors["up-chat"].BaseURL
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{
		to("whole", whole+"#sim/native"), to("cut", cut.URL+"/v1#m"),
		{Model: "both", Upstreams: []gateway.Upstream{{Model: "http://127.0.0.1:1/v1#m"}}, Fallback: []string{"whole"}},
	}})
	for _, format := range []string{wire.Chat, wire.Messages} {
		for _, model := range []string{"whole", "cut", "both"} {
			codec, _ := wire.For(format)
			body, _, _ := codec.EncodeRequest(&llm.Request{Model: model, MaxTokens: 9, Messages: []llm.Message{llm.User("Hello")}}, true)
			resp, err := http.Post(url+roots[format]+"/"+codec.Path(model, true), "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Error(err)
			}
			if all := fmt.Sprint(resp.Header, string(b)); strings.Contains(all, "127.0.0.1") {
				t.Errorf("%s, %s: %s", format, model, all)
			}
			if model == "cut" && !strings.Contains(string(b), "error") {
				t.Errorf("%s: a broken stream looks whole: %s", format, b)
			}
		}
	}
}
