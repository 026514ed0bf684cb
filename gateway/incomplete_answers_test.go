package gateway_test

import (
	"bufio"
	"context"
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
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// bounded is a live gateway that requires keys, with one upstream in the Chat format and one in the Messages format,
// both at one address.
type bounded struct {
	guarded
	*gateway.Live
}

// bound starts a bounded gateway, which sends up to two requests to each upstream.
func bound(t *testing.T, address string, limits llm.Limits, pass ...string) *bounded {
	t.Helper()
	b := &bounded{guarded: guarded{book: &access.Book{Store: new(access.Memory)}}}
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: known, Retry: provider.RetryPolicy{Attempts: 2, Initial: time.Millisecond, Max: time.Millisecond}, Route: provider.Native, Limits: limits, Vendors: map[string]provider.Vendor{
		"up": {BaseURL: address + "/v1", Wires: []string{wire.Chat}}, "ant": {BaseURL: address + "/v1", Wires: []string{wire.Messages}}}}
	route := to("chat", "up/priced")
	route.Pass = pass
	b.Live, err = gateway.NewLive(gateway.Setup{Open: opening(client), Forward: client.Forwarder, Routes: []gateway.ModelRoute{route, to("claude", "ant/priced")}, Access: b.book, Log: slog.New(slog.NewTextHandler(b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(b.Live)
	server.Config.BaseContext = b.BaseContext
	server.Start()
	t.Cleanup(b.Close)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// hang closes the connection of a request without a response.
func hang(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// never reads a request and sends only the given header.
func never(head ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		for _, text := range head {
			w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[strings.Contains(text, "data:")])
			io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

const (
	chatPiece     = `data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}]}` + "\n\n"
	messagesPiece = "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}` + "\n\n"
)

// TestIncompleteAnswersAreBooked checks incomplete answers, for every reason except the client's. If the upstream worked on the
// request, the usage is estimated as if the client had disconnected. A refused or lost request costs nothing. The log
// and the metrics agree with the recorded usage.
func TestIncompleteAnswersAreBooked(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Length", "5000")
		io.WriteString(w, `{"id":"x","choices":[{"message":{"content":"word `)
		_ = http.NewResponseController(w).Flush()
		hang(w)
	}
	asked := 0
	for _, test := range []struct {
		name        string
		up          http.HandlerFunc
		limits      llm.Limits
		end         bool // the gateway ends
		path, body  string
		least, most int64 // output
		input       int64 // 0: estimated
		status      string
	}{
		{"time", never(), llm.Limits{Time: 300 * time.Millisecond}, false, "chat", ``, 0, 0, 0, "time_limit"},
		{"time, after the head", never(" "), llm.Limits{Time: 300 * time.Millisecond}, false, "chat", ``, 0, 0, 0, "time_limit"},
		{"time, another format", never(), llm.Limits{Time: 300 * time.Millisecond}, false, "claude", ``, 0, 0, 0, "time_limit"},
		{"idle", never(), llm.Limits{Idle: 300 * time.Millisecond}, false, "chat", ``, 0, 0, 0, "stalled"},
		{"the gateway ends", never(), llm.Limits{}, true, "chat", ``, 0, 0, 0, "overloaded"},
		{"a body that is cut", cut, llm.Limits{}, false, "chat", ``, 0, 0, 0, "network"},
		{"a body that is cut, then a refusal", func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 1 {
				cut(w, r)
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}, llm.Limits{}, false, "chat", ``, 0, 0, 0, "overloaded"},
		{"a stream, time", never(chatPiece), llm.Limits{Time: 300 * time.Millisecond}, false, "chat", `"stream":true,`, 1, 20, 0, "time_limit"},
		{"a stream, idle", never(chatPiece), llm.Limits{Idle: 300 * time.Millisecond}, false, "chat", `"stream":true,`, 1, 20, 0, "stalled"},
		{"a stream, the gateway ends", never(chatPiece), llm.Limits{}, true, "chat", `"stream":true,`, 1, 20, 0, "canceled"},
		{"a stream that says its input", never(messagesPiece), llm.Limits{Time: 300 * time.Millisecond}, false, "claude", `"stream":true,`, 1, 20, 100, "time_limit"},
		{"refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, llm.Limits{}, false, "chat", ``, 0, 0, -1, "overloaded"},
		{"a request that is wrong", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, llm.Limits{}, false, "chat", ``, 0, 0, -1, "invalid"},
		{"a connection without a word", func(w http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); hang(w) }, llm.Limits{}, false, "chat", ``, 0, 0, -1, "network"},
		{"nobody is there", nil, llm.Limits{}, false, "chat", ``, 0, 0, -1, "network"},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := httptest.NewServer(test.up)
			defer up.Close()
			if test.up == nil {
				up.Close()
			}
			g := bound(t, up.URL, test.limits)
			if test.end {
				time.AfterFunc(200*time.Millisecond, g.End)
			}
			send(t, "POST", g.url+"/v1/chat/completions", "application/json", `{"model":"`+test.path+`",`+test.body+`"max_tokens":500,"messages":[{"role":"user","content":"hi"}]}`,
				"Authorization", "Bearer "+g.key(t, access.Key{Limits: quotas(t, "money/total=5")}))
			l := newest(t, g.book, test.name)
			free := test.input < 0
			if l.Output < test.least || l.Output > test.most || l.Estimated == free || (l.Input == 0) != free || (l.Money == 0) != free || l.Status != test.status || test.input > 0 && l.Input != test.input {
				t.Errorf("booked %+v", l)
			}
			g.saysTheSame(t, l)
		})
	}
}

// saysTheSame checks that the log and the metrics have the recorded tokens of the only request.
func (b *bounded) saysTheSame(t *testing.T, l access.LogLine) {
	t.Helper()
	log := ""
	for range 500 { // written after the end of the answer
		if log = b.told(); strings.Contains(log, "input_tokens=") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !strings.Contains(log, fmt.Sprintf("input_tokens=%d output_tokens=%d ", l.Input, l.Output)) {
		t.Errorf("booked %+v, and the log says %s", l, log)
	}
	w := httptest.NewRecorder()
	b.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for kind, n := range map[string]int64{"input": l.Input, "output": l.Output} {
		said := int64(0)
		for _, line := range strings.Split(w.Body.String(), "\n") {
			if name, value, _ := strings.Cut(line, "} "); strings.HasPrefix(name, "toolpost_tokens_total{") && strings.Contains(name, `kind="`+kind+`"`) {
				_, _ = fmt.Sscan(value, &said)
			}
		}
		if said != n {
			t.Errorf("booked %d of %s, and the metrics say %d", n, kind, said)
		}
	}
}

// TestGoneClientBooksReceivedOutput checks a client that leaves a stream whose upstream has reported its input tokens: these
// are recorded and logged.
func TestGoneClientBooksReceivedOutput(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
		up := httptest.NewServer(never(messagesPiece))
		g := bound(t, up.URL, llm.Limits{})
		ctx, leave := context.WithCancel(t.Context())
		post, err := http.NewRequestWithContext(ctx, "POST", g.url+path, strings.NewReader(`{"model":"claude","stream":true,"max_tokens":500,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		bearerOf(g.key(t, access.Key{Limits: quotas(t, "money/total=5")}))(post)
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), "Hello"); {
		}
		leave()
		resp.Body.Close()
		l := newest(t, g.book, path)
		if l.Input != 100 || l.Output < 2 || l.Output > 300 || !l.Estimated {
			t.Errorf("%s: booked %+v", path, l)
		}
		g.saysTheSame(t, l)
		up.Close()
	}
}

// TestIncompleteEmbeddingsAreBooked checks forwarded answers that break off: the input is recorded if the upstream worked on the
// request.
func TestIncompleteEmbeddingsAreBooked(t *testing.T) {
	for status, free := range map[int]bool{http.StatusOK: false, http.StatusServiceUnavailable: true} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Length", "5000")
			w.WriteHeader(status)
			_ = http.NewResponseController(w).Flush()
			hang(w)
		}))
		g := bound(t, up.URL, llm.Limits{}, "embeddings")
		post, err := http.NewRequest("POST", g.url+"/v1/embeddings", strings.NewReader(`{"model":"chat","input":"some words that are many tokens"}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Content-Type", "application/json")
		bearerOf(g.key(t, access.Key{Limits: quotas(t, "money/total=5")}))(post)
		if resp, err := http.DefaultClient.Do(post); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if l := newest(t, g.book, status); (l.Input == 0) != free || l.Estimated == free {
			t.Errorf("%d: booked %+v", status, l)
		}
		up.Close()
	}
}
