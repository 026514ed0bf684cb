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

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestHedgedRequests checks that a second upstream is asked when the first does not begin in time, that the first to begin
// is heard and the other cancelled, that both are booked, and that requests with effects are not sent twice.
func TestHedgedRequests(t *testing.T) {
	const plain = `{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`
	const messages = `{"model":"m","max_tokens":99,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`
	for name, test := range map[string]struct {
		path, body, first string
		asked             [2]int64 // requests to the first and the second upstream
		attempts          string   // of the log
	}{
		"slow":                  {"/v1/chat/completions", plain, "hang", [2]int64{1, 1}, "first/m canceled, second/m ok"},
		"slow, translated":      {"/v1/messages", messages, "hang", [2]int64{1, 1}, "first/m canceled, second/m ok"},
		"quick":                 {"/v1/chat/completions", plain, "answer", [2]int64{1, 0}, ""},
		"fails at once":         {"/v1/chat/completions", plain, "fail", [2]int64{1, 1}, "first/m overloaded 503, second/m ok"},
		"fails late":            {"/v1/chat/completions", plain, "late", [2]int64{1, 1}, "first/m canceled, second/m ok|first/m overloaded 503, second/m ok"},
		"a stored answer":       {"/v1/responses", `{"model":"m","stream":%t,"input":"hi"}`, "fail", [2]int64{1, 1}, "first/m overloaded 503, second/m ok"},
		"an answer not to keep": {"/v1/responses", `{"model":"m","store":false,"stream":%t,"input":"hi"}`, "hang", [2]int64{1, 1}, "first/m canceled, second/m ok"},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream=%t", name, stream), func(t *testing.T) {
				var asked [2]atomic.Int64
				over, secondAsked := make(chan struct{}, 1), make(chan struct{}, 9)
				first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked[0].Add(1)
					switch test.first {
					case "answer":
						chatAnswer(w, r, "First")
						return
					case "hang":
						_, _ = io.Copy(io.Discard, r.Body)
						<-r.Context().Done()
						over <- struct{}{}
						return
					case "late":
						_, _ = io.Copy(io.Discard, r.Body)
						<-secondAsked
					}
					http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
				}))
				t.Cleanup(first.Close)
				second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked[1].Add(1)
					secondAsked <- struct{}{}
					chatAnswer(w, r, "Second")
				}))
				t.Cleanup(second.Close)
				client := &provider.Client{Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}, Vendors: map[string]provider.Vendor{
					"first": {BaseURL: first.URL + "/v1", Wires: []string{wire.Chat}}, "second": {BaseURL: second.URL + "/v1", Wires: []string{wire.Chat}}}}
				g := &guarded{book: &access.Book{Store: new(access.Memory)}}
				after := 100 * time.Millisecond
				if test.first == "answer" || test.first == "fail" && test.path != "/v1/responses" {
					after = time.Minute
				}
				g.url = serve(t, gateway.Setup{Open: opening(client), Access: g.book, Routes: []gateway.ModelRoute{
					{Model: "m", HedgeAfter: after, Upstreams: []gateway.Upstream{{Model: "first/m"}, {Model: "second/m", Priority: 1}}}}})
				resp, body := send(t, "POST", g.url+test.path, "application/json", fmt.Sprintf(test.body, stream), "Authorization", "Bearer "+g.key(t, access.Key{}))
				want, up := "Second", "second/m"
				if test.first == "answer" {
					want, up = "First", "first/m"
				}
				if resp.StatusCode != 200 || !strings.Contains(body, want) || resp.Header.Get(exchange.UpstreamHeader) != up {
					t.Fatal(resp.Status, resp.Header, body)
				}
				if asked[0].Load() == 0 {
					return // the machine is too slow: the request had not arrived when the second was asked
				}
				if asked[0].Load() != test.asked[0] || asked[1].Load() != test.asked[1] {
					t.Errorf("asked %d and %d times", asked[0].Load(), asked[1].Load())
				}
				log, err := g.book.Log(t.Context(), 1)
				if err != nil || len(log) != 1 || log[0].Upstream != up || log[0].Output == 0 {
					t.Fatal(err, log)
				}
				var got []string
				for _, a := range log[0].Attempts {
					text := a.Upstream + " " + a.Kind
					if a.Status != 0 {
						text += fmt.Sprint(" ", a.Status)
					}
					got = append(got, text)
				}
				if text := strings.Join(got, ", "); text != test.attempts && (text == "" || !strings.Contains(test.attempts, text)) {
					t.Errorf("attempts %q", text)
				}
				if test.first != "hang" {
					return
				}
				<-over // it was cancelled
				sums, err := g.book.Usage(t.Context(), time.Time{}, access.ByUpstream)
				if err != nil || len(sums) != 2 || sums[0].Upstream != "first/m" || sums[0].Input == 0 || sums[0].Estimated != 1 || sums[1].Requests != 1 {
					t.Errorf("%+v %v", sums, err)
				}
			})
		}
	}
}
