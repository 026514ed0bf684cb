package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// guarded is a gateway that requires keys, in front of the simulator.
type guarded struct {
	url  string
	book *access.Book
	mu   sync.Mutex
	seen strings.Builder // everything sent to upstreams
	log  strings.Builder
}

// Write receives a line of the log.
func (g *guarded) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.Write(b)
}

// record keeps the request to an upstream.
func (g *guarded) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, true)
		g.mu.Lock()
		g.seen.Write(dump)
		g.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// told returns everything sent to upstreams and the log.
func (g *guarded) told() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen.String() + g.log.String()
}

// prices has the price of the model priced: one dollar and two dollars per million tokens.
const prices = "rules:\n  - match: {family: priced}\n    set: {price: {input: 1, output: 2}}\n  - match: {family: lengthy}\n    set: {max_output_tokens: 60000}\n"

// guard starts a gateway that requires keys. It has a route for each upstream format, with the same name, and others.
func guard(t *testing.T, upstream http.Handler, reserve ...int) *guarded {
	t.Helper()
	if upstream == nil {
		upstream = new(sim.Server)
	}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	up := httptest.NewServer(g.record(upstream))
	t.Cleanup(up.Close)
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: known, Vendors: map[string]provider.Vendor{}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		client.Vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
		routes = append(routes, to(format, "up-"+format+"/sim/native"))
	}
	routes = append(routes, to("costly", "up-chat/priced"), to("long", "up-chat/lengthy"), to("free-*", "up-chat/*"),
		gateway.ModelRoute{Model: "falls", Upstreams: []gateway.Upstream{{Model: "up-chat/sim/native+status=500"}}, Fallback: []string{"chat"}})
	g.url = serve(t, gateway.Setup{Open: opening(client), Routes: routes, Access: g.book, Reserve: cmp.Or(reserve...), MaxBody: 1 << 20, Log: slog.New(slog.NewTextHandler(g, nil))})
	return g
}

// key creates a key.
func (g *guarded) key(t *testing.T, k access.Key) string {
	t.Helper()
	if k.Team == "" {
		k.Team = "red"
	}
	_, secret, err := g.book.Create(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// quotas parses limits.
func quotas(t *testing.T, list ...string) (out []access.Quota) {
	t.Helper()
	for _, s := range list {
		q, err := access.ParseQuota(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// send sends a request in a format, modified by change.
func (g *guarded) send(t *testing.T, format string, req *llm.Request, stream bool, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	codec, _ := wire.For(format)
	body, _, err := codec.EncodeRequest(req, stream)
	if err != nil {
		t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(t.Context(), "POST", g.url+roots[format]+"/"+codec.Path(req.Model, stream), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/json")
	change(post)
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

func bearerOf(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}

// places are where clients put their keys.
var places = map[string]func(r *http.Request, key string){
	"bearer":    func(r *http.Request, key string) { r.Header.Set("Authorization", "Bearer "+key) },
	"small":     func(r *http.Request, key string) { r.Header.Set("Authorization", "bearer  "+key) },
	"x-api-key": func(r *http.Request, key string) { r.Header.Set("X-Api-Key", key) },
	"google":    func(r *http.Request, key string) { r.Header.Set("X-Goog-Api-Key", key) },
	"azure":     func(r *http.Request, key string) { r.Header.Set("Api-Key", key) },
	"twice": func(r *http.Request, key string) {
		r.Header.Set("X-Api-Key", key)
		r.Header.Set("Authorization", "Bearer "+key)
	},
	"gemini-only": func(r *http.Request, key string) { r.URL.RawQuery = "key=" + key + "&" + r.URL.RawQuery },
}

// TestKeyPlacesOfEveryFormat checks that a key is found where clients of each format put it, and that it reaches nothing
// else.
func TestKeyPlacesOfEveryFormat(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	for format := range roots {
		for place, put := range places {
			for _, stream := range []bool{false, true} {
				resp, body := g.send(t, format, question("chat"), stream, func(r *http.Request) { put(r, key) })
				want := 200
				if place == "gemini-only" && format != wire.Gemini {
					want = refusedStatus(format, "")
				}
				if resp.StatusCode != want {
					t.Errorf("%s, %s: %d %s", format, place, resp.StatusCode, body)
				}
				if resp.Header.Get(exchange.RequestHeader) == "" {
					t.Errorf("%s, %s: no id", format, place)
				}
			}
		}
	}
	for _, secret := range []string{key, key[len(key)-26:], "Authorization: Bearer"} {
		if strings.Contains(g.told(), secret) {
			t.Errorf("%q went to an upstream or to the log", secret)
		}
	}
}

// refusedStatus returns the status for a missing or invalid key.
func refusedStatus(format, key string) int {
	switch {
	case format == wire.Gemini && key != "":
		return http.StatusBadRequest
	case format == wire.Gemini, format == wire.Converse:
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

// TestRefusalsInVendorFormat checks status, code and headers of each refusal in each format.
func TestRefusalsInVendorFormat(t *testing.T) {
	g := guard(t, nil)
	expired := g.key(t, access.Key{Expires: time.Now().Add(time.Hour)})
	tomorrow := time.Now().UTC().Truncate(24 * time.Hour).Add(36*time.Hour + 10*time.Second) // no period of a limit ends soon
	g.book.Now = func() time.Time { return tomorrow }
	revoked := g.key(t, access.Key{})
	if _, err := g.book.Revoke(t.Context(), revoked[:13]); err != nil {
		t.Fatal(err)
	}
	only := g.key(t, access.Key{Models: []string{"other"}, Tools: []string{"none"}})
	used := func(limit string) string {
		key := g.key(t, access.Key{Limits: quotas(t, limit)})
		g.send(t, wire.Chat, question("chat"), false, bearerOf(key))
		return key
	}
	for name, test := range map[string]struct {
		key    string
		model  string
		status int            // in most formats
		codes  map[string]any // by format: a status, or text of the body
	}{
		"no key":      {"", "chat", 401, map[string]any{wire.Chat: `"invalid_api_key"`, wire.Responses: `"invalid_api_key"`, wire.Messages: `"authentication_error"`, wire.Gemini: `"PERMISSION_DENIED"`, wire.Converse: "MissingAuthenticationTokenException", wire.Ollama: "has no key"}},
		"wrong key":   {"tp-aaaaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAA", "chat", 401, map[string]any{wire.Chat: `"invalid_api_key"`, wire.Messages: `"authentication_error"`, wire.Gemini: `"reason":"API_KEY_INVALID"`, wire.Converse: "UnrecognizedClientException"}},
		"expired":     {expired, "chat", 401, map[string]any{wire.Chat: "expired at", wire.Gemini: `"reason":"API_KEY_INVALID"`, wire.Converse: "ExpiredTokenException"}},
		"revoked":     {revoked, "chat", 401, map[string]any{wire.Chat: "is revoked", wire.Gemini: `"reason":"API_KEY_INVALID"`, wire.Converse: "UnrecognizedClientException"}},
		"model":       {only, "chat", 403, map[string]any{wire.Chat: `"model_not_found"`, wire.Responses: `"model_not_found"`, wire.Messages: `"permission_error"`, wire.Gemini: `"PERMISSION_DENIED"`, wire.Converse: "AccessDeniedException"}},
		"not there":   {only, "nobody", 403, map[string]any{wire.Chat: `"model_not_found"`}},
		"rate":        {used("requests/minute=1"), "chat", 429, map[string]any{wire.Chat: `"rate_limit_exceeded"`, wire.Messages: `"rate_limit_error"`, wire.Gemini: `"RESOURCE_EXHAUSTED"`, wire.Converse: "ThrottlingException"}},
		"budget":      {used("tokens/day=1"), "chat", 429, map[string]any{wire.Chat: `"insufficient_quota"`, wire.Messages: `"rate_limit_error"`, wire.Gemini: `"RESOURCE_EXHAUSTED"`, wire.Converse: "ServiceQuotaExceededException"}},
		"no price":    {g.key(t, access.Key{Limits: quotas(t, "money/day=1")}), "free-x", 403, map[string]any{wire.Chat: "price", wire.Messages: `"permission_error"`, wire.Gemini: `"PERMISSION_DENIED"`, wire.Converse: "AccessDeniedException"}},
		"not a route": {g.key(t, access.Key{Routes: []string{"claude-*"}}), "chat", 403, map[string]any{wire.Chat: "route", wire.Messages: `"permission_error"`}},
	} {
		for format := range roots {
			resp, body := g.send(t, format, question(test.model), true, func(r *http.Request) {
				if test.key != "" {
					bearerOf(test.key)(r)
				}
			})
			want := test.status
			if want == 401 {
				want = refusedStatus(format, test.key)
			}
			words, _ := test.codes[format].(string)
			if resp.StatusCode != want || !strings.Contains(body, words) || !json.Valid([]byte(body)) {
				t.Errorf("%s, %s: %d %s", name, format, resp.StatusCode, body)
			}
			wait, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			if (wait > 0) != (test.status == 429) || name == "rate" && wait > 60 || (resp.Header.Get("X-Should-Retry") == "false") != (name == "budget") {
				t.Errorf("%s, %s: %v", name, format, resp.Header)
			}
			if resp.Header.Get(exchange.RequestHeader) == "" {
				t.Errorf("%s, %s: no id", name, format)
			}
			if test.key != "" && strings.Contains(body, test.key) {
				t.Errorf("%s, %s: the key is in the answer", name, format)
			}
		}
	}
}

// TestRateLimitHeadersOfKeys checks that clients see the rest of a limit in the headers of their vendor.
func TestRateLimitHeadersOfKeys(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{Limits: quotas(t, "requests/minute=2")})
	g.send(t, wire.Chat, question("chat"), false, bearerOf(key))
	for _, format := range []string{wire.Chat, wire.Responses} {
		resp, _ := g.send(t, format, question("chat"), false, bearerOf(key))
		if resp.Header.Get("X-Ratelimit-Limit-Requests") != "2" || resp.Header.Get("X-Ratelimit-Remaining-Requests") != "0" || resp.Header.Get("X-Ratelimit-Reset-Requests") == "" {
			t.Errorf("%s: %v", format, resp.Header)
		}
	}
	resp, _ := g.send(t, wire.Messages, question("chat"), false, bearerOf(key))
	if resp.Header.Get("Anthropic-Ratelimit-Requests-Remaining") != "0" || resp.Header.Get("Anthropic-Ratelimit-Requests-Reset") == "" || resp.Header.Get("Request-Id") == "" {
		t.Errorf("%v", resp.Header)
	}
}

// TestTeamsAreSeparate checks that no team can continue, read or delete an answer of another.
func TestTeamsAreSeparate(t *testing.T) {
	g := guard(t, nil)
	mine, ours, theirs := g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "blue"})
	resp, body := g.send(t, wire.Responses, question("chat"), false, bearerOf(mine))
	var answer struct{ ID string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.ID == "" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	follow := question("chat")
	follow.Extra = llm.Extra{wire.Responses: {"previous_response_id": json.RawMessage(strconv.Quote(answer.ID))}}
	get := func(method, key string) int {
		r, _ := http.NewRequestWithContext(t.Context(), method, g.url+"/v1/responses/"+answer.ID, nil)
		bearerOf(key)(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for key, want := range map[string][2]int{mine: {200, 200}, ours: {200, 200}, theirs: {400, 404}, "": {401, 401}} {
		if resp, body := g.send(t, wire.Responses, follow, false, bearerOf(key)); resp.StatusCode != want[0] {
			t.Errorf("go on: %d %s", resp.StatusCode, body)
		}
		if status := get("GET", key); status != want[1] {
			t.Errorf("get: %d", status)
		}
	}
	if status := get("DELETE", theirs); status != 404 {
		t.Errorf("delete: %d", status)
	}
	if status := get("DELETE", ours); status != 200 {
		t.Errorf("delete: %d", status)
	}
}

// TestModelsOfAKey checks that clients see only the models that they may use.
func TestModelsOfAKey(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{Models: []string{"c*"}, Routes: []string{"chat", "falls"}})
	for path, want := range map[string]string{"/v1/models": `"id":"chat"`, "/v1/models/chat": `"id":"chat"`, "/api/tags": `"name":"chat"`, "/v1beta/models": `"name":"models/chat"`, "/v1/models/gemini": "model_not_found", "/v1/models/costly": "model_not_found"} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", g.url+path, nil)
		bearerOf(key)(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), want) || strings.Contains(string(body), `"costly"`) && want != "model_not_found" || strings.Contains(string(body), "ollama") {
			t.Errorf("%s: %s", path, body)
		}
	}
	if resp, body := g.send(t, wire.Chat, question("costly"), false, bearerOf(key)); resp.StatusCode != 403 {
		t.Errorf("a model of a route that is not allowed: %d %s", resp.StatusCode, body)
	}
}

// counting answers like a Chat server that reports tokens or does not.
func counting(usage string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello there\"},\"finish_reason\":null}]}\n\n")
			fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]%s}\n\ndata: [DONE]\n\n", usage)
			return
		}
		fmt.Fprintf(w, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there"},"finish_reason":"stop"}]%s}`, usage)
	})
}

// TestSpendIsCounted checks the recorded usage of a request: as the upstream reports it, or estimated.
func TestSpendIsCounted(t *testing.T) {
	const usage = `,"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}`
	for name, test := range map[string]struct {
		usage     string
		model     string
		input     int64
		money     catalog.Money
		estimated bool
		unpriced  bool
	}{
		"counted":            {usage, "costly", 1000, catalog.Dollar / 1000 * 2, false, false},
		"without a price":    {usage, "free-x", 1000, 0, false, true},
		"not counted":        {"", "costly", 0, 0, true, false},
		"neither of the two": {"", "free-x", 0, 0, true, true},
	} {
		g := guard(t, counting(test.usage))
		key := g.key(t, access.Key{Team: name})
		for _, format := range []string{wire.Chat, wire.Messages} {
			for _, stream := range []bool{false, true} {
				resp, body := g.send(t, format, question(test.model), stream, bearerOf(key))
				if resp.StatusCode != 200 {
					t.Fatalf("%s: %d %s", name, resp.StatusCode, body)
				}
				log, err := g.book.Log(t.Context(), 1)
				if err != nil || len(log) != 1 {
					t.Fatal(log, err)
				}
				l := log[0]
				if whose := (access.LogLine{ID: resp.Header.Get(exchange.RequestHeader), Status: "ok", Team: name, Model: test.model, Format: format, Key: key[:13]}); !reflect.DeepEqual(access.LogLine{ID: l.ID, Status: l.Status, Team: l.Team, Model: l.Model, Format: l.Format, Key: l.Key}, whose) {
					t.Errorf("%s: %+v", name, l)
				}
				if l.Estimated != test.estimated || l.Unpriced != test.unpriced || l.Input < test.input || l.Input == 0 || l.Output == 0 || !test.estimated && l.Money != test.money || (l.Money == 0) != test.unpriced {
					t.Errorf("%s: %+v", name, l)
				}
			}
		}
	}
}

// TestEarlyDisconnectIsBooked checks that usage is recorded if the client disconnects during the answer.
func TestEarlyDisconnectIsBooked(t *testing.T) {
	left := make(chan struct{})
	g := guard(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q},\"finish_reason\":null}]}\n\n", strings.Repeat("word ", 60))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	}))
	store := &telling{g.book.Store, make(chan access.LogLine, 1)}
	g.book.Store = store
	key := g.key(t, access.Key{Limits: quotas(t, "tokens/day=100")})
	ctx, cancel := context.WithCancel(t.Context())
	post, _ := http.NewRequestWithContext(ctx, "POST", g.url+"/v1/chat/completions", strings.NewReader(`{"model":"costly","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	bearerOf(key)(post)
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	<-left
	if l := <-store.settled; !l.Estimated || l.Output < 75 || l.Input == 0 || l.Money == 0 || l.Status == "ok" {
		t.Errorf("%+v", l)
	}
}

// telling is a store that signals finished requests.
type telling struct {
	access.Store
	settled chan access.LogLine
}

func (s *telling) Settle(ctx context.Context, l access.LogLine, windows []access.Window) (map[access.Window]access.Count, error) {
	used, err := s.Store.Settle(ctx, l, windows)
	s.settled <- l
	return used, err
}

// TestBudgetRefusesConcurrentRequests checks that concurrent requests do not spend more than the budget.
func TestBudgetRefusesConcurrentRequests(t *testing.T) {
	const usage = `,"usage":{"prompt_tokens":10,"completion_tokens":1000,"total_tokens":1010}`
	g := guard(t, counting(usage))
	key := g.key(t, access.Key{Limits: quotas(t, "money/total=0.0101")}) // the cost of five answers
	req := &llm.Request{Model: "costly", MaxTokens: 1000, Messages: []llm.Message{llm.User("hi")}}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() { g.send(t, []string{wire.Chat, wire.Messages}[i%2], req, i%3 == 0, bearerOf(key)) })
	}
	wg.Wait()
	spend, err := g.book.Usage(t.Context(), time.Time{})
	if err != nil || len(spend) != 1 {
		t.Fatal(spend, err)
	}
	if m := spend[0].Money; m < catalog.Dollar/1000*8 || m > catalog.Dollar/10000*121 {
		t.Errorf("%s was spent in %d requests", m, spend[0].Requests)
	}
}

// broken is a store whose database fails.
type broken struct{ access.Store }

func (broken) Get(context.Context, string, string) (access.Row, error) {
	return access.Row{}, &access.StoreError{Err: errors.New("dial tcp 10.0.0.7:5432: password of gateway is wrong")}
}

// TestKeyStoreUnavailable checks that no request is admitted while keys cannot be checked, and that the client gets no details.
func TestKeyStoreUnavailable(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	g.book.Store = broken{g.book.Store}
	for format := range roots {
		resp, body := g.send(t, format, question("chat"), false, bearerOf(key))
		if resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "10.0.0.7") || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", format, resp.StatusCode, body)
		}
	}
	if g.sent() > 0 || !strings.Contains(g.told(), "10.0.0.7") {
		t.Error("an upstream was asked, or the log does not say why none was")
	}
}

// TestReservationOfLargestUpstream checks that a request with the largest output limit reserves the rest of the budget, and
// that a request for many answers reserves for all of them.
func TestReservationOfLargestUpstream(t *testing.T) {
	for name, body := range map[string]string{
		"largest": `{"model":"costly","max_tokens":9223372036854775807,"messages":[{"role":"user","content":"hi"}]}`,
		"large":   `{"model":"costly","max_tokens":4611686018427387904,"messages":[{"role":"user","content":"hi"}]}`,
		"many":    `{"model":"costly","max_tokens":2000,"n":10,"messages":[{"role":"user","content":"hi"}]}`,
	} {
		asked, done := make(chan struct{}, 2), make(chan struct{})
		var requests atomic.Int64
		g := guard(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			if requests.Add(1) == 1 {
				<-done
			}
			counting("").ServeHTTP(w, r)
		}))
		key := g.key(t, access.Key{Limits: quotas(t, "money/day=0.03", "tokens/day=15000")})
		f := &fort{guarded: g}
		first := make(chan int)
		go func() {
			status, _ := f.try(t, attack{path: "/v1/chat/completions", header: bearing(key), body: body})
			first <- status
		}()
		select {
		case <-asked:
			if status, answer := f.try(t, attack{path: "/v1/chat/completions", header: bearing(key), body: body}); status != 429 {
				t.Errorf("%s: the second: %d %s", name, status, answer)
			}
			close(done)
			<-first
		case status := <-first:
			if status != 400 { // an impossible number of tokens may be refused
				t.Errorf("%s: the first: %d", name, status)
			}
		}
	}
}

// TestUsageIsRequestedFromUpstream checks that the gateway asks the upstream for the usage of a stream if the key has limits, even
// if the client does not: thinking is not in the text.
func TestUsageIsRequestedFromUpstream(t *testing.T) {
	g := guard(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		usage := ""
		if strings.Contains(string(body), `"include_usage":true`) {
			usage = `,"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}`
		}
		counting(usage).ServeHTTP(w, r)
	}))
	key := g.key(t, access.Key{})
	for _, options := range []string{"", `"stream_options":{"include_usage":true},`, `"stream_options":{"include_usage":false},`} {
		f := &fort{guarded: g}
		status, body := f.try(t, attack{path: "/v1/chat/completions", header: bearing(key), body: `{"model":"costly","stream":true,` + options + `"messages":[{"role":"user","content":"hi"}]}`})
		if status != 200 {
			t.Errorf("%s: %d %s", options, status, body)
		}
		if log, err := g.book.Log(t.Context(), 1); err != nil || log[0].Estimated || log[0].Output != 500 {
			t.Errorf("%s: %+v, %v", options, log, err)
		}
	}
}
