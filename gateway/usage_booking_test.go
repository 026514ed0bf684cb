package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestUsageIsBooked checks that cached answers, replays, token counts and refusals are recorded as such. They count in
// request limits, but not in budgets.
func TestUsageIsBooked(t *testing.T) {
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	up := httptest.NewServer(new(sim.Server))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	cached, tools := to("cached-*", "up/sim/*"), to("tools", "up/sim/native")
	cached.Cache.For = time.Hour
	var n counter
	tools.Tools = served(reading("look", "found", &n))
	g.url = serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{cached, tools, to("m", "up/sim/native")}, Access: g.book, Log: slog.New(slog.NewTextHandler(g, nil))})
	ask := func(key, path, body string, header ...string) int {
		t.Helper()
		resp, _ := send(t, "POST", g.url+path, "application/json", body, append(header, "Authorization", "Bearer "+key)...)
		return resp.StatusCode
	}
	const chat = "/v1/chat/completions"
	asking := func(model string) string { return strings.Replace(hello, `"chat"`, `"`+model+`"`, 1) }
	for _, test := range []struct {
		name   string
		limit  string
		models []string
		ask    func(key string) []int
		status string
		want   access.Spend // totals of the team: number of requests of each kind
		tokens bool         // tokens were used
	}{
		{"the cache", "requests/day=2", nil, func(k string) []int {
			return []int{ask(k, chat, asking("cached-native")), ask(k, chat, asking("cached-native")), ask(k, chat, asking("cached-native"))}
		}, "[200 200 429]", access.Spend{Requests: 2, Cached: 1, Refused: 1}, true},
		{"the cache, and a budget that is used up", "tokens/day=1", nil, func(k string) []int {
			return []int{ask(k, chat, asking("cached-native")), ask(k, chat, asking("cached-native")), ask(k, chat, asking("m"))}
		}, "[200 200 429]", access.Spend{Requests: 2, Cached: 1, Refused: 1}, true},
		{"an answer that is given again", "requests/day=2", nil, func(k string) []int {
			return []int{ask(k, chat, asking("tools"), "Idempotency-Key", k), ask(k, chat, asking("tools"), "Idempotency-Key", k), ask(k, chat, asking("tools"), "Idempotency-Key", k)}
		}, "[200 200 429]", access.Spend{Requests: 2, Cached: 1, Refused: 1}, true},
		{"counts of tokens", "requests/minute=3", nil, func(k string) []int {
			return []int{ask(k, "/v1/messages/count_tokens", asking("m")), ask(k, "/v1beta/models/m:countTokens", helloBlock), ask(k, "/v1/responses/input_tokens", `{"model":"m","input":"hi"}`), ask(k, "/v1/messages/count_tokens", asking("m"))}
		}, "[200 200 200 429]", access.Spend{Requests: 3, Refused: 1}, false},
		{"models, members and places that are not the key's", "requests/day=9", []string{"m"}, func(k string) []int {
			return []int{ask(k, chat, asking("tools")), ask(k, chat, asking("nobody")), ask(k, chat, strings.Replace(asking("m"), "{", `{"preset":"x",`, 1)), ask(k, "/v1/responses", `{"model":"m","input":"hi","conversation":"c"}`)}
		}, "[403 403 403 403]", access.Spend{Refused: 4}, false},
		{"mistakes are no refusals", "requests/day=9", nil, func(k string) []int {
			return []int{ask(k, chat, `{`), ask(k, chat, asking("nobody")), ask(k, chat, strings.Replace(asking("m"), "{", `{"n":-1,`, 1))}
		}, "[400 404 400]", access.Spend{}, false},
	} {
		team := strings.Map(func(r rune) rune {
			if r == ',' || r == '\'' {
				return -1
			}
			return r
		}, test.name)
		key := g.key(t, access.Key{Team: team, Models: test.models, Limits: quotas(t, test.limit)})
		if got := fmt.Sprint(test.ask(key)); got != test.status {
			t.Errorf("%s: %s, not %s", test.name, got, test.status)
		}
		sums, err := g.book.Usage(t.Context(), time.Time{}, access.ByTeam, access.ByKey)
		if err != nil {
			t.Fatal(err)
		}
		var got access.Spend
		for _, s := range sums {
			if s.Team == team {
				got = s
			}
		}
		if (got.Input > 0) != test.tokens {
			t.Errorf("%s: %+v", test.name, got)
		}
		got = access.Spend{Requests: got.Requests, Failed: got.Failed, Cached: got.Cached, Refused: got.Refused, Unpriced: 0, Estimated: got.Estimated}
		if got != test.want {
			t.Errorf("%s: %+v, not %+v", test.name, got, test.want)
		}
	}
	byName, err := g.book.Usage(t.Context(), time.Time{}, access.ByRoute, access.ByModel, access.ByUpstream)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range byName {
		seen[s.Route+" "+s.Model+" "+s.Upstream] = true
		if s.Refused > 0 && s.Model != "" {
			t.Errorf("a client makes up names: %+v", s)
		}
	}
	for _, want := range []string{"cached-* cached-native up/sim/native", "tools tools up/sim/native", "m m up/sim/native", "cached-*  ", "  "} {
		if !seen[want] {
			t.Errorf("nothing is booked as %q: %v", want, seen)
		}
	}
	if !strings.Contains(g.told(), "route=cached-* model=cached-native upstream=up/sim/native cached=true") {
		t.Error("the log does not have the names of the cached answer")
	}
}

// TestForwardedRequestsArePriced checks the recorded usage of other endpoints. It has the catalogue price if the answer reports
// tokens or the endpoint charges for tokens, and is unpriced otherwise. A key with a budget may use endpoints whose
// cost is known before.
func TestForwardedRequestsArePriced(t *testing.T) {
	var says string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, says)
	}))
	t.Cleanup(server.Close)
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	c := &provider.Client{Catalog: known, Vendors: map[string]provider.Vendor{
		"up": {BaseURL: server.URL + "/base", Wires: []string{wire.Chat, wire.Ollama, wire.Gemini}},
	}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book, Routes: []gateway.ModelRoute{
		{Model: "priced", Upstreams: []gateway.Upstream{{Model: "up/priced"}}, Pass: passthrough.Kinds()},
		{Model: "other", Upstreams: []gateway.Upstream{{Model: "up/other"}}, Pass: passthrough.Kinds()},
	}})
	free, bound := g.key(t, access.Key{}), g.key(t, access.Key{Limits: quotas(t, "money/month=5")})
	const dollar = catalog.Money(1_000_000_000_000)
	for _, test := range []struct {
		path, body, says string
		input, output    int64
		money            catalog.Money
		unpriced, guess  bool
		bound            bool // allowed for a key with a budget
	}{
		{"/v1/embeddings", `{"model":"priced","input":"x"}`, `{"usage":{"prompt_tokens":1000000,"total_tokens":1000000}}`, 1_000_000, 0, dollar, false, false, true},
		{"/v1/embeddings", `{"model":"other","input":"x"}`, `{"usage":{"prompt_tokens":1000,"total_tokens":1000}}`, 1000, 0, 0, true, false, false},
		{"/v1/embeddings", `{"model":"priced","input":"x"}`, `{"data":[]}`, 10, 0, dollar / 100_000, false, true, true},
		{"/v1/embeddings", `{"model":"priced","input":"x"}`, `{"usage":{"prompt_tokens":-5}}`, 10, 0, dollar / 100_000, false, true, true},
		{"/v1/embeddings", `{"model":"priced","input":"x"}`, `{"usage":{"prompt_tokens":9000000000000}}`, 10, 0, dollar / 100_000, false, true, true},
		{"/api/embed", `{"model":"priced","input":"x"}`, `{"prompt_eval_count":3}`, 3, 0, 3 * dollar / 1_000_000, false, false, true},
		{"/v1beta/models/priced:embedContent", `{"content":{}}`, `{"usageMetadata":{"promptTokenCount":4}}`, 4, 0, 4 * dollar / 1_000_000, false, false, true},
		{"/v1/images/generations", `{"model":"priced","prompt":"x"}`, `{"data":[]}`, 0, 0, 0, true, false, false},
		{"/v1/images/generations", `{"model":"priced","prompt":"x"}`, `{"data":[],"usage":{"input_tokens":10,"output_tokens":100}}`, 10, 100, 210 * dollar / 1_000_000, false, false, false},
		{"/v1/audio/speech", `{"model":"priced","input":"x"}`, `ID3...`, 0, 0, 0, true, false, false},
		{"/v1/moderations", `{"model":"other","input":"x"}`, `{"results":[]}`, 0, 0, 0, false, false, true},
		{"/v1/rerank", `{"model":"priced","query":"x"}`, `{"results":[],"meta":{"billed_units":{"search_units":1}}}`, 0, 0, 0, true, false, false},
	} {
		says = test.says
		if resp, body := send(t, "POST", g.url+test.path, "application/json", test.body, "Authorization", "Bearer "+free); resp.StatusCode != 200 {
			t.Fatalf("%s: %d %s", test.path, resp.StatusCode, body)
		}
		log, err := g.book.Log(t.Context(), 1)
		if err != nil || len(log) != 1 {
			t.Fatal(err)
		}
		l := log[0]
		if l.Input != test.input || l.Output != test.output || l.Money != test.money || l.Unpriced != test.unpriced || l.Estimated != test.guess || l.Status != "ok" || !strings.HasPrefix(l.Upstream, "up/") || l.Route == "" {
			t.Errorf("%s %s: booked %+v", test.path, test.says, l)
		}
		resp, body := send(t, "POST", g.url+test.path, "application/json", test.body, "Authorization", "Bearer "+bound)
		if (resp.StatusCode == 200) != test.bound || !test.bound && resp.StatusCode != 403 {
			t.Errorf("%s with a key that is bounded in money: %d %s", test.path, resp.StatusCode, body)
		}
	}
}

// TestForwardedKeyRefusedUpstream checks the case that an upstream refuses the gateway's key and repeats it in the error. The
// client learns that the gateway is at fault, and sees neither the key nor the upstream's text. Other refusals reach
// the client unchanged.
func TestForwardedKeyRefusedUpstream(t *testing.T) {
	status := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Www-Authenticate", "Bearer")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s. You can find yours at https://vendor.example"}}`, r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{
		"up": {BaseURL: server.URL + "/base", Wires: []string{wire.Chat, wire.Ollama, wire.Gemini, wire.Messages}, KeyEnv: "UP_KEY", KeyOptional: true},
	}, Key: func(string) (string, error) { return "sk-the-key-of-the-gateway", nil }}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	setup := gateway.Setup{Open: opening(c), Forward: c.Forwarder, Log: slog.New(slog.NewTextHandler(g, nil)), Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: passthrough.Kinds(), PassTeam: "red"}}}
	open := serve(t, setup)
	setup.Access = g.book
	g.url = serve(t, setup)
	key := g.key(t, access.Key{Team: "red"})
	for _, url := range []string{open, g.url} {
		for _, at := range []struct{ method, path, body string }{
			{"POST", "/v1/embeddings", `{"model":"m","input":"x"}`}, {"POST", "/v1/images/generations", `{"model":"m"}`}, {"POST", "/v1/audio/speech", `{"model":"m"}`}, {"POST", "/api/embed", `{"model":"m"}`},
			{"POST", "/v1beta/models/m:embedContent", `{}`}, {"GET", "/v1/files", ""}, {"GET", "/v1/messages/batches/b1", ""}, {"POST", "/v1/batches", "{}"},
		} {
			for _, status = range []int{401, 402, 403} {
				resp, body := send(t, at.method, url+at.path, "application/json", at.body, "Authorization", "Bearer "+key)
				if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, "credentials of this gateway") || resp.Header.Get("X-Should-Retry") != "false" || resp.Header.Get("Www-Authenticate") != "" {
					t.Errorf("%s %s, %d: %d %v %s", at.method, at.path, status, resp.StatusCode, resp.Header, body)
				}
				for _, secret := range []string{"sk-the-key", "Incorrect", "vendor.example"} {
					if strings.Contains(body+fmt.Sprint(resp.Header), secret) {
						t.Errorf("%s %s, %d: shows %q: %s", at.method, at.path, status, secret, body)
					}
				}
			}
		}
	}
	if strings.Contains(g.told(), "sk-the-key") || !strings.Contains(g.told(), "refused the key of the gateway for embeddings") {
		t.Error("the log shows the key, or does not say what is wrong")
	}
	log, err := g.book.Log(t.Context(), 100)
	if err != nil || len(log) == 0 || log[0].Status != "auth" {
		t.Errorf("booked %+v, %v", log, err)
	}
}
