package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// live starts a replaceable gateway, with the operators' endpoints in addition to those of vendors.
func live(t *testing.T, c gateway.Setup) (*gateway.Live, string) {
	t.Helper()
	if c.Open == nil {
		c.Open = opening(upstreams(t))
	}
	l, err := gateway.NewLive(c)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", l.Health())
	mux.Handle("/readyz", l.Health())
	mux.Handle("/metrics", l.Metrics())
	mux.Handle("/", l)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(l.Close)
	return l, server.URL
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestMetrics checks that each metric is present with the labels of its route.
func TestMetrics(t *testing.T) {
	_, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{
		to("native", "up-chat/sim/native"), to("text", "up-chat/sim/hermes_json"), to("busy", "up-chat/sim/native+503"),
	}})
	ask(t, url, wire.Chat, question("native"), true)
	ask(t, url, wire.Messages, question("text"), true)
	ask(t, url, wire.Messages, question("busy"), false)
	ask(t, url, wire.Gemini, question("nobody"), false)
	quiet(t, url)
	status, text := get(t, url+"/metrics")
	if status != 200 {
		t.Fatal(status, text)
	}
	for _, line := range []string{
		`toolpost_requests_total{route="native",upstream="up-chat/sim/native",format="chat",status="200"} 1`,
		`toolpost_requests_total{route="busy",upstream="up-chat/sim/native+503",format="messages",status="529"} 1`,
		`toolpost_requests_total{route="none",upstream="none",format="gemini",status="404"} 1`,
		`toolpost_calls_total{route="native",dialect="native"} 1`,
		`toolpost_calls_total{route="text",dialect="hermes`,
		`toolpost_tokens_total{route="text",upstream="up-chat/sim/hermes_json",kind="output",team=""} `,
		`toolpost_outcomes_total{route="native",team="",outcome="ok"} 1`,
		`toolpost_outcomes_total{route="busy",team="",outcome="upstream_error"} 1`,
		`toolpost_outcomes_total{route="none",team="",outcome="client_error"} 1`,
		`toolpost_first_token_seconds_count{route="native",upstream="up-chat/sim/native"} 1`,
		`toolpost_upstream_failures_total{route="busy",upstream="up-chat/sim/native+503",kind="overloaded"} 1`,
		`toolpost_upstream_breaker{route="native",upstream="up-chat/sim/native"} 0`,
		`toolpost_first_byte_seconds_count{route="native",format="chat"} 1`,
		`toolpost_added_seconds_bucket{route="native",format="chat",le="+Inf"} 1`,
		`toolpost_open_streams 0`,
		`toolpost_requests_in_flight 0`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line %s", line)
		}
	}
	checkExposition(t, text)
	if t.Failed() {
		t.Log(text)
	}
}

// checkExposition checks that a text is in the Prometheus format: each sample belongs to a declared family, and bucket
// counts do not decrease.
func checkExposition(t *testing.T, text string) {
	t.Helper()
	kind, last := map[string]string{}, 0.0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if f := strings.Fields(line); f[0] == "#" {
			if f[1] == "TYPE" {
				if kind[f[2]] != "" {
					t.Errorf("%s is declared twice", f[2])
				}
				kind[f[2]] = f[3]
			}
			continue
		}
		name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
		family := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && kind[base] == "histogram" {
				family = base
			}
		}
		if kind[family] == "" {
			t.Errorf("%s is not declared: %s", family, line)
		}
		var v float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if strings.HasSuffix(name, "_bucket") && kind[family] == "histogram" {
			if v < last {
				t.Errorf("%s: less than the bucket before it", line)
			}
			last = v
		} else {
			last = 0
		}
	}
}

// TestReady checks when a gateway is ready for requests.
func TestReady(t *testing.T) {
	l, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{to("busy", "up-chat/sim/native+503")}})
	if status, text := get(t, url+"/readyz"); status != 200 {
		t.Error(status, text)
	}
	for range 3 {
		ask(t, url, wire.Chat, question("busy"), false)
	}
	if status, text := get(t, url+"/readyz"); status != 503 || text != "no upstream can be reached\n" {
		t.Error(status, text)
	}
	if err := l.Replace(gateway.Setup{Open: opening(upstreams(t)), Routes: []gateway.ModelRoute{to("busy", "up-chat/sim/native+503"), to("fine", "up-chat/sim/native")}}); err != nil {
		t.Fatal(err)
	}
	if status, text := get(t, url+"/readyz"); status != 200 {
		t.Error(status, text)
	}
	if status, text := get(t, url+"/metrics"); status != 200 || !strings.Contains(text, `toolpost_upstream_breaker{route="busy",upstream="up-chat/sim/native+503"} 2`) {
		t.Error("the breaker was forgotten", text)
	}
	l.Drain()
	if status, text := get(t, url+"/readyz"); status != 503 || text != "draining\n" {
		t.Error(status, text)
	}
	if status, text := get(t, url+"/healthz"); status != 200 || text != "ok\n" {
		t.Error(status, text)
	}
	for format := range roots {
		got := ask(t, url, format, question("fine"), true)
		if got.status != 503 || llm.KindOf(got.err) != llm.Overloaded || got.header.Get("Retry-After") != "1" {
			t.Errorf("%s while draining: %d %v %v", format, got.status, got.err, got.header)
		}
	}
}

// waiting returns a model that answers on a signal, and a channel that signals its requests.
func waiting() (func(string, gateway.Way) (llm.Model, error), chan string, chan struct{}) {
	asked, goOn := make(chan string, 16), make(chan struct{})
	return func(id string, _ gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				asked <- id
				if !yield(llm.TextDelta{Text: "said by " + id}, nil) {
					return
				}
				select {
				case <-goOn:
					yield(llm.Finish{Reason: llm.Stop}, nil)
				case <-ctx.Done():
					yield(nil, ctx.Err())
				}
			}
		}), nil
	}, asked, goOn
}

// TestOpenStreamsKeepTheirRoute checks that a stream continues unchanged when the setup is replaced or the gateway is
// drained, while the next request uses the new setup.
func TestOpenStreamsKeepTheirRoute(t *testing.T) {
	open, asked, goOn := waiting()
	l, url := live(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{to("m", "old")}})
	begin := func() (*http.Response, *bufio.Reader) {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp, bufio.NewReader(resp.Body)
	}
	_, first := begin()
	if id := <-asked; id != "old" {
		t.Fatal(id)
	}
	if err := l.Replace(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{{Model: "m"}}}); err == nil {
		t.Error("a setup without upstreams is taken")
	}
	if err := l.Replace(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{to("m", "new")}}); err != nil {
		t.Fatal(err)
	}
	_, second := begin()
	if id := <-asked; id != "new" {
		t.Errorf("after the change %s was asked", id)
	}
	if _, text := get(t, url+"/metrics"); !strings.Contains(text, "\ntoolpost_open_streams 2\n") ||
		!strings.Contains(text, `toolpost_config_reloads_total{result="refused"} 1`) || !strings.Contains(text, `toolpost_config_reloads_total{result="done"} 1`) {
		t.Error(text)
	}
	l.Drain()
	close(goOn)
	for want, r := range map[string]*bufio.Reader{"said by old": first, "said by new": second} {
		b, err := io.ReadAll(r)
		if err != nil || !strings.Contains(string(b), want) || !strings.Contains(string(b), "[DONE]") {
			t.Errorf("%v: %s", err, b)
		}
	}
}

// TestTooManyRequests checks the total limit and the limits per route.
func TestTooManyRequests(t *testing.T) {
	for _, test := range []struct {
		in, route int
		status    int
		kind      llm.Kind
	}{
		{1, 0, 503, llm.Overloaded}, {0, 1, 429, llm.RateLimited},
	} {
		open, asked, goOn := waiting()
		r := to("m", "up")
		r.MaxRequests = test.route
		_, url := live(t, gateway.Setup{Open: open, MaxRequests: test.in, Routes: []gateway.ModelRoute{r}})
		ended := make(chan error, 1)
		go func() {
			resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			ended <- err
		}()
		<-asked
		for format := range roots {
			got := ask(t, url, format, &llm.Request{Model: "m", MaxTokens: 99, Messages: []llm.Message{llm.User("hi")}}, false)
			if got.status != test.status || llm.KindOf(got.err) != test.kind || got.header.Get("Retry-After") != "1" {
				t.Errorf("%s: %d %v", format, got.status, got.err)
			}
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := ask(t, url, wire.Chat, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}}, false); got.err != nil {
			t.Errorf("after the first has ended: %v", got.err)
		}
	}
}

// answering is a server that always sends the same answers.
func answering(t *testing.T, status int, body string) (*provider.Client, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(body, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native,
		Retry: provider.RetryPolicy{Initial: time.Hour, Max: time.Hour}}, &asked
}

// TestFallbackWithoutRetry checks that a failing upstream is asked only once if there is another, also if the conversation is
// too long for it or its filter blocks the answer, and that the client sees one answer.
func TestFallbackWithoutRetry(t *testing.T) {
	filtered := `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\ndata: [DONE]\n\n"
	for name, test := range map[string]struct {
		status int
		body   string
		stream bool
	}{
		"busy":                {503, `{"error":{"message":"busy"}}`, true},
		"too long":            {400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, true},
		"too long, whole":     {400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, false},
		"filtered":            {200, filtered, true},
		"filtered by status":  {400, `{"error":{"message":"no","code":"content_filter"}}`, true},
		"filtered, one piece": {200, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}]}`, false},
	} {
		bad, asked := answering(t, test.status, test.body)
		good := upstreams(t)
		open := func(id string, _ gateway.Way) (llm.Model, error) {
			if strings.HasPrefix(id, "up/") {
				return bad.Open(id)
			}
			return good.Open(id)
		}
		first := to("m", "up/m")
		first.Fallback = []string{"spare"}
		url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{first, to("spare", "up-chat/sim/native")}})
		for _, format := range []string{wire.Chat, wire.Messages} {
			asked.Store(0)
			got := ask(t, url, format, question("m"), test.stream)
			if got.err != nil || len(got.Message.Calls()) != 1 || asked.Load() != 1 || got.header.Get(exchange.UpstreamHeader) != "up-chat/sim/native" {
				t.Errorf("%s, %s: asked %d times, %v, %+v", name, format, asked.Load(), got.err, got.header)
			}
		}
	}
}

// TestHealth checks that an unhealthy upstream is skipped while there is another, and asked again when it is healthy.
func TestHealth(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	looked := make(chan bool)
	sick := &checked{check: func(ctx context.Context) error {
		select {
		case looked <- true:
		case <-ctx.Done():
		}
		if down.Load() {
			return &llm.Error{Kind: llm.Network}
		}
		return nil
	}}
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		if id == "watched" {
			return sick, nil
		}
		return says("spare"), nil
	}
	r := gateway.ModelRoute{Model: "m", Upstreams: []gateway.Upstream{{Model: "watched", Weight: 100, Health: time.Second}, {Model: "spare"}}}
	_, url := live(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{r}})
	answers := func() string {
		got := ask(t, url, wire.Chat, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}}, false)
		return got.header.Get(exchange.UpstreamHeader)
	}
	<-looked
	<-looked // the first check is over
	if got := answers(); got != "spare" {
		t.Errorf("%s answers while the other is down", got)
	}
	down.Store(false)
	<-looked
	<-looked
	if got := answers(); got != "watched" {
		t.Errorf("%s answers although the other is back", got)
	}
}

// checked is a model with a health check.
type checked struct{ check func(context.Context) error }

func (c *checked) Check(ctx context.Context) ([]llm.Warning, error) { return nil, c.check(ctx) }

func (c *checked) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return says("watched").Stream(ctx, req)
}

// says is a model with a fixed answer.
func says(text string) llm.Model {
	return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if yield(llm.TextDelta{Text: text}, nil) {
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		}
	})
}

// TestDrainingOverHTTP2 checks that HTTP/2 clients receive the whole refusal of a draining gateway, even while they are
// still sending, and that the log has it under the same request id.
func TestDrainingOverHTTP2(t *testing.T) {
	log := make(logged, 64)
	l, err := gateway.NewLive(gateway.Setup{Open: opening(upstreams(t)), Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := httptest.NewUnstartedServer(l)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	l.Drain()
	for _, size := range []int{10, 300_000} {
		body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", size) + `"}]}`
		resp, err := server.Client().Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		id := resp.Header.Get(exchange.RequestHeader)
		if err != nil || resp.ProtoMajor != 2 || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "about to end") || id == "" {
			t.Fatalf("%s %d, %v, %s: %v", resp.Proto, resp.StatusCode, resp.Header, text, err)
		}
		if line := <-log; !strings.Contains(line, id) || !strings.Contains(line, "about to end") {
			t.Errorf("the log says %s", line)
		}
	}
}

// logged has the lines of a log.
type logged chan string

func (l logged) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// steps has the finished observed steps.
type steps chan observe.Step

func (s steps) Begin(ctx context.Context, _ observe.Step) context.Context { return ctx }
func (s steps) End(_ context.Context, step observe.Step)                  { s <- step }

// TestObservedRequest checks that a trace has the endpoint and route of a request, the hosts that were asked, and why
// one of them did not answer, for relayed and translated answers.
func TestObservedRequest(t *testing.T) {
	for _, format := range []string{wire.Chat, wire.Gemini} {
		seen := make(steps, 8)
		route := to("team-*", "up-chat/sim/native+503")
		route.Fallback = []string{"spare"}
		_, url := live(t, gateway.Setup{Observer: seen, Routes: []gateway.ModelRoute{route, to("spare", "up-chat/sim/native")}})
		if got := ask(t, url, format, greeting("team-a"), true); got.err != nil {
			t.Fatal(got.err)
		}
		endpoint := map[string]string{wire.Chat: "/v1/chat/completions", wire.Gemini: "/v1beta/models/*:streamGenerateContent"}[format]
		for i, failed := range []string{"overloaded", ""} {
			c := (<-seen).(*observe.ModelCall)
			if c.Vendor != "up-chat" || !strings.HasPrefix(c.Host, "127.0.0.1:") || c.Wire != wire.Chat || failed == "" && c.Err != nil || failed != "" && llm.KindOf(c.Err).String() != failed {
				t.Errorf("%s: question %d is %+v", format, i, c)
			}
		}
		r := (<-seen).(*observe.Request)
		if r.Endpoint != endpoint || r.Name() != "POST "+endpoint || r.Route != "team-*" || r.Model != "team-a" || r.Upstream != "up-chat/sim/native" {
			t.Errorf("%s: the request is %+v", format, r)
		}
	}
}

// TestObserver checks that model requests are observed, for relayed and translated answers.
func TestObserver(t *testing.T) {
	seen := make(observed, 4)
	_, url := live(t, gateway.Setup{Observer: seen, Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}})
	for _, format := range []string{wire.Chat, wire.Messages} {
		ask(t, url, format, question("m"), true)
		if c := <-seen; c.Model != "up-chat/sim/native" || c.Wire != wire.Chat || c.Finish != llm.ToolCalls {
			t.Errorf("%s: %+v", format, c)
		}
	}
}

// observed has the observed model requests.
type observed chan *observe.ModelCall

func (o observed) Begin(ctx context.Context, _ observe.Step) context.Context { return ctx }

func (o observed) End(_ context.Context, s observe.Step) {
	if c, ok := s.(*observe.ModelCall); ok {
		o <- c
	}
}

// TestSlowReaders checks that a client that does not read its answer is disconnected, and its upstream request
// cancelled.
func TestSlowReaders(t *testing.T) {
	gone := make(chan struct{})
	open := func(string, gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				defer close(gone)
				for yield(llm.TextDelta{Text: strings.Repeat("x", 64<<10)}, nil) {
				}
			}
		}), nil
	}
	url := serve(t, gateway.Setup{Open: open, WriteTime: 100 * time.Millisecond, Routes: []gateway.ModelRoute{to("m", "m")}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-gone
}

// A gateway that cannot check keys answers no request, and reports this on its health endpoint.
func TestNotReadyWithoutKeys(t *testing.T) {
	store := &failingStore{Store: new(access.Memory)}
	live, err := gateway.NewLive(gateway.Setup{Open: opening(upstreams(t)), Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}, Access: &access.Book{Store: store}})
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Ready(); err != nil {
		t.Fatal(err)
	}
	store.down.Store(true)
	if err := live.Ready(); err == nil || !strings.Contains(err.Error(), "keys") {
		t.Errorf("ready without keys: %v", err)
	}
	store.down.Store(false)
	if err := live.Ready(); err != nil {
		t.Error(err)
	}
}

// failingStore is a store that can fail.
type failingStore struct {
	access.Store
	down atomic.Bool
}

func (s *failingStore) Get(ctx context.Context, kind, id string) (access.Row, error) {
	if s.down.Load() {
		return access.Row{}, errors.New("down")
	}
	return s.Store.Get(ctx, kind, id)
}
