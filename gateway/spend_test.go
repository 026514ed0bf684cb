package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestRoundsAreHeldToTheBudget checks that a model that is asked several times for one request is not asked again when
// the key's budget is used up: because of gateway tools, or because of invalid calls.
func TestRoundsAreHeldToTheBudget(t *testing.T) {
	for name, reask := range map[string]bool{"tools of the gateway": false, "calls that do not fit": true} {
		for _, stream := range []bool{false, true} {
			for limit, want := range map[string]int{"tokens/day=1": 1, "tokens/day=1000000": 3, "requests/day=1": 3, "tokens/minute=1": 3} {
				var n counter
				says := script(t, "call look {\"what\":\"one\"}", "call look {\"what\":\"two\"}", "text Done.")
				if reask {
					says = script(t, "call get_weather {\"city\":1}", "call get_weather {\"city\":2}", "call get_weather {\"city\":\"Rome\"}")
				}
				model := &stage{Model: says}
				up := httptest.NewServer(&sim.Server{Model: model})
				t.Cleanup(up.Close)
				client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
				route := to("m", "up/sim/native")
				if route.Check = gateway.Reask; !reask {
					route.Check, route.Tools = "", served(reading("look", "found", &n))
				}
				g := &guarded{book: &access.Book{Store: new(access.Memory)}}
				g.url = serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}, Access: g.book})
				req := question("m")
				resp, body := g.send(t, wire.Chat, req, stream, bearerOf(g.key(t, access.Key{Limits: quotas(t, limit)})))
				if len(model.asked) != want {
					t.Errorf("%s, stream=%t, %s: asked %d times: %s %s", name, stream, limit, len(model.asked), resp.Status, body)
				}
				if refused := strings.Contains(body, "the limit of the key is reached"); refused != (want == 1) {
					t.Errorf("%s, stream=%t, %s: %s %s", name, stream, limit, resp.Status, body)
				}
				log, err := g.book.Log(t.Context(), 10)
				if err != nil || len(log) != 1 || log[0].Input == 0 || (log[0].Status == "ok") != (want == 3) {
					t.Errorf("%s, stream=%t, %s: %+v %v", name, stream, limit, log, err)
				}
			}
		}
	}
}

// TestInvalidUpstreamUsage checks that usage reported by an upstream is recorded if plausible, and estimated if implausible or
// missing. The client gets its answer in any case.
func TestInvalidUpstreamUsage(t *testing.T) {
	for usage, want := range map[string]struct {
		input, output int64 // 0: estimated
		reason        string
	}{
		`{"prompt_tokens":50,"completion_tokens":7}`: {50, 7, ""},
		`{"prompt_tokens":50,"completion_tokens":0}`: {50, 0, "partly"},
		`{"prompt_tokens":0,"completion_tokens":9}`:  {0, 9, "partly"},
		`{"prompt_tokens":0,"completion_tokens":0}`:  {0, 0, "absent"},
		`{}`:   {0, 0, "absent"},
		`null`: {0, 0, "absent"},
		`{"prompt_tokens":"12","completion_tokens":"many"}`: {0, 0, "absent"},
		`{"prompt_tokens":1e99,"completion_tokens":1.5}`:    {0, 0, "absent"},
		`"lots"`: {0, 0, "absent"},
		`{"prompt_tokens":-5,"completion_tokens":7}`:                                                         {0, 0, "odd"},
		`{"prompt_tokens":5,"completion_tokens":-7000}`:                                                      {0, 0, "odd"},
		`{"prompt_tokens":900000000000000000,"completion_tokens":900000000000000000}`:                        {0, 0, "odd"},
		`{"prompt_tokens":50,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":-99999}}`:        {0, 0, "odd"},
		`{"prompt_tokens":50,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4000000000000}}`: {0, 0, "odd"},
	} {
		for _, stream := range []bool{false, true} {
			g := guard(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !stream {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello, how are you?"}}],"usage":%s}`, usage)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello, how are you?"}}]}`+"\n\n"+
					`data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
					`data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":`+usage+"}\n\ndata: [DONE]\n\n")
			}))
			for _, format := range []string{wire.Chat, wire.Messages} {
				req := question("costly")
				resp, body := g.send(t, format, req, stream, bearerOf(g.key(t, access.Key{Limits: quotas(t, "money/day=5")})))
				if resp.StatusCode != 200 || !strings.Contains(body, "how are you") {
					t.Errorf("%s, stream=%t, %s: %s %s", usage, stream, format, resp.Status, body)
				}
				log, err := g.book.Log(t.Context(), 1)
				if err != nil || len(log) != 1 {
					t.Fatal(err)
				}
				l := log[0]
				fits := func(n, want int64) bool { return n == want || want == 0 && n > 0 && n < 2000 }
				if !fits(l.Input, want.input) || !fits(l.Output, want.output) || l.Estimated != (want.reason != "") || l.Status != "ok" || l.Money <= 0 || l.Unpriced {
					t.Errorf("%s, stream=%t, %s: booked %+v", usage, stream, format, l)
				}
				if said := strings.Contains(strings.Join(resp.Header.Values(exchange.WarningHeader), " "), "usage"); !stream && said != (want.reason == "odd") && format == wire.Messages {
					t.Errorf("%s, %s: warnings %q", usage, format, resp.Header.Values(exchange.WarningHeader))
				}
			}
		}
	}
}

// TestOutputLimitOfEveryFormat checks that the output limit is read in every format, and that the larger of two counts, because
// a host may read either.
func TestOutputLimitOfEveryFormat(t *testing.T) {
	for _, test := range []struct{ format, members string }{
		{wire.Chat, `"max_tokens":77`}, {wire.Chat, `"max_completion_tokens":77`}, {wire.Chat, `"max_tokens":77,"max_completion_tokens":5`}, {wire.Chat, `"max_completion_tokens":5,"max_tokens":77`},
		{wire.Chat, `"max_completion_tokens":77,"max_tokens":5`}, {wire.Responses, `"max_output_tokens":77`}, {wire.Messages, `"max_tokens":77`},
		{wire.Gemini, `"generationConfig":{"maxOutputTokens":77}`}, {wire.Converse, `"inferenceConfig":{"maxTokens":77}`}, {wire.Ollama, `"options":{"num_predict":77}`},
	} {
		codec, _ := wire.For(test.format)
		req, _, err := codec.DecodeRequest([]byte(`{` + test.members + `}`))
		if err != nil || req.MaxTokens != 77 {
			t.Errorf("%s %s: %+v, %v", test.format, test.members, req, err)
		}
	}
}

// TestDisconnectIsBooked checks clients that disconnect before the answer: the input is booked, and what came of the answer.
func TestDisconnectIsBooked(t *testing.T) {
	begun := make(chan struct{}, 99)
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // reading shows the end of the connection
		begun <- struct{}{}
		<-r.Context().Done()
	})
	g := guard(t, silent)
	for _, test := range []struct {
		name, limit, members string
		least, most, asked   int64
	}{
		{"in one piece", "tokens/day=1000", `"max_tokens":900`, 0, 0, 3},
		{"in one piece, a thinking budget", "tokens/day=1000", `"max_tokens":5,"reasoning":{"max_tokens":900}`, 0, 0, 3},
		{"a stream", "tokens/day=1000", `"max_tokens":900,"stream":true`, 0, 0, 3},
		{"no limit of tokens", "requests/day=1000", `"max_tokens":900`, 0, 0, 3},
	} {
		key := g.key(t, access.Key{Team: test.name, Limits: quotas(t, test.limit)})
		asked := int64(0)
		for range 3 {
			ctx, leave := context.WithCancel(t.Context())
			post, err := http.NewRequestWithContext(ctx, "POST", g.url+"/v1/chat/completions", strings.NewReader(strings.Replace(hello, "{", "{"+test.members+",", 1)))
			if err != nil {
				t.Fatal(err)
			}
			post.Header.Set("Authorization", "Bearer "+key)
			post.Header.Set("Content-Type", "application/json")
			done := make(chan struct{})
			go func() {
				defer close(done)
				if resp, err := http.DefaultClient.Do(post); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body) // until the client leaves or is refused
					resp.Body.Close()
				}
			}()
			select {
			case <-begun:
				asked++
			case <-done: // refused
			}
			leave()
			<-done
			for range 500 { // usage is recorded when the gateway notices that the client is gone
				if sums, _ := g.book.Usage(t.Context(), time.Time{}, access.ByTeam); slices.ContainsFunc(sums, func(s access.Spend) bool { return s.Team == test.name && s.Requests == asked }) {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		sums, err := g.book.Usage(t.Context(), time.Time{}, access.ByTeam)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(sums, func(s access.Spend) bool { return s.Team == test.name })
		if got := sums[i]; got.Output < test.least || got.Output > test.most || got.Estimated != asked || asked != test.asked {
			t.Errorf("%s: the upstream was asked %d times: %+v", test.name, asked, got)
		}
	}
}
