package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// vendor is a server that records requests and answers with a document.
type vendor struct {
	mu   sync.Mutex
	last *http.Request
	body []byte
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	v.mu.Lock()
	v.last, v.body = r, b
	v.mu.Unlock()
	w.Header().Set("Set-Cookie", "secret=1")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Openai-Organization", "ours")
	io.WriteString(w, `{"object":"list","data":[1],"usage":{"prompt_tokens":5,"total_tokens":5}}`)
}

// asked returns the last request and forgets it.
func (v *vendor) asked() (*http.Request, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.last
	v.last = nil
	return r, string(v.body)
}

// passing starts a gateway whose route embed* forwards everything to a vendor.
func passing(t *testing.T) (string, *vendor) {
	t.Helper()
	v := new(vendor)
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{
		"up":  {BaseURL: server.URL + "/base", Wires: []string{wire.Chat}, KeyEnv: "UP_KEY", KeyOptional: true},
		"gem": {BaseURL: server.URL + "/gem", Wires: []string{wire.Gemini}},
	}, Key: func(string) (string, error) { return "vendor-key", nil }}
	_, url := live(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, MaxBody: 1 << 16, Routes: []gateway.ModelRoute{
		{Model: "embed*", Upstreams: []gateway.Upstream{{Model: "up/text-embed*"}}, Pass: passthrough.Kinds()},
		{Model: "gem", Upstreams: []gateway.Upstream{{Model: "gem/gem-1"}}, Pass: []string{"embeddings"}},
		to("chat", "up/chat"),
	}})
	return url, v
}

func send(t *testing.T, method, url, mediaType, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestOtherEndpoints checks that requests to other endpoints reach the vendor of their route with its key and its model
// name, and that no other data of the client or the vendor passes.
func TestOtherEndpoints(t *testing.T) {
	url, v := passing(t)
	for _, test := range []struct{ method, path, body, at, says string }{
		{"POST", "/v1/embeddings", `{"input":"a","model":"embed-3"}`, "/base/embeddings", `{"input":"a","model":"text-embed-3"}`},
		{"POST", "/v1/images/generations", `{"model":"embed-3","n":1}`, "/base/images/generations", `"text-embed-3"`},
		{"POST", "/v1/moderations", `{"input":"a"}`, "/base/moderations", `{"input":"a"}`},
		{"POST", "/v1/rerank", `{"model":"embed-3"}`, "/base/rerank", `"text-embed-3"`},
		{"GET", "/v1/files?limit=2", "", "/base/files?limit=2", ""},
		{"DELETE", "/v1/files/file-1", "", "/base/files/file-1", ""},
		{"GET", "/v1/batches/b1", "", "/base/batches/b1", ""},
		{"POST", "/v1beta/models/gem:embedContent", `{"content":{}}`, "/gem/models/gem-1:embedContent", `{"content":{}}`},
	} {
		resp, body := send(t, test.method, url+test.path, "application/json", test.body,
			"Authorization", "Bearer client-key", "Cookie", "a=b", "X-Forwarded-For", "1.2.3.4", "Openai-Beta", "x=1", "Openai-Organization", "theirs")
		r, got := v.asked()
		if resp.StatusCode != 200 || r == nil || r.URL.String() != test.at || r.Method != test.method || !strings.Contains(got, test.says) {
			t.Errorf("%s %s: %d %s; asked %v %s", test.method, test.path, resp.StatusCode, body, r, got)
			continue
		}
		if r.Header.Get("Authorization") != "Bearer vendor-key" || r.Header.Get("Openai-Beta") != "x=1" {
			t.Errorf("%s: header %v", test.path, r.Header)
		}
		for _, name := range []string{"Cookie", "X-Forwarded-For", "Openai-Organization"} {
			if r.Header.Get(name) != "" || resp.Header.Get(name) != "" {
				t.Errorf("%s: %s went through", test.path, name)
			}
		}
		if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get(exchange.UpstreamHeader) == "" {
			t.Errorf("%s: answer's header %v", test.path, resp.Header)
		}
	}
	quiet(t, url)
	if _, text := get(t, url+"/metrics"); !strings.Contains(text, `toolpost_passed_total{route="embed*",endpoint="embeddings",status="200"} 1`) ||
		!strings.Contains(text, `toolpost_tokens_total{route="embed*",upstream="up/text-embed*",kind="input",team=`) {
		t.Error(text)
	}
}

// TestForms checks that a form has the vendor's model name and is otherwise unchanged, also if a file looks like the
// field.
func TestForms(t *testing.T) {
	url, v := passing(t)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	f, _ := w.CreateFormFile("file", "a.wav")
	f.Write([]byte("Content-Disposition: form-data; name=\"model\"\r\n\r\nembed-9\x00\xff"))
	w.WriteField("model", "embed-1")
	w.WriteField("language", "en")
	w.Close()
	resp, body := send(t, "POST", url+"/v1/audio/transcriptions", w.FormDataContentType(), b.String())
	r, got := v.asked()
	if resp.StatusCode != 200 || r == nil {
		t.Fatal(resp.StatusCode, body)
	}
	if want := strings.Replace(b.String(), "\r\n\r\nembed-1\r\n", "\r\n\r\ntext-embed-1\r\n", 1); sameBoundary(got, w.Boundary()) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestOtherEndpointsRefused checks that other requests are refused with errors in the vendor's format.
func TestOtherEndpointsRefused(t *testing.T) {
	url, v := passing(t)
	twice := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nembed-2\r\n--b--\r\n"
	for name, test := range map[string]struct {
		method, path, mediaType, body string
		header                        []string
		status                        int
		says                          string
	}{
		"not passed on":       {"POST", "/v1/embeddings", "application/json", `{"model":"chat"}`, nil, 404, "does not pass embeddings on"},
		"no route":            {"POST", "/v1/embeddings", "application/json", `{"model":"nobody"}`, nil, 404, `unknown model \"`},
		"another kind":        {"POST", "/v1/images/generations", "application/json", `{"model":"gem"}`, nil, 404, "does not pass images on"},
		"another format":      {"POST", "/v1/embeddings", "application/json", `{"model":"gem"}`, nil, 404, "no upstream of the route gem"},
		"model twice":         {"POST", "/v1/embeddings", "application/json", `{"model":"embed-1","Model":"chat"}`, nil, 400, "more than once"},
		"model twice, form":   {"POST", "/v1/audio/transcriptions", "multipart/form-data; boundary=b", twice, nil, 400, "more than once"},
		"no JSON":             {"POST", "/v1/embeddings", "application/json", `model=embed-1`, nil, 400, "not a JSON object"},
		"out of the folder":   {"GET", "/v1/files/..%2fmodels", "", "", nil, 404, "Invalid URL"},
		"too large":           {"POST", "/v1/embeddings", "application/json", `{"model":"embed-1","input":"` + strings.Repeat("x", 1<<16) + `"}`, nil, 413, "more than 65536 bytes"},
		"name of an address":  {"POST", "/v1/embeddings", "application/json", `{"model":"embed://evil.example.org#x"}`, nil, 404, `unknown model \"`},
		"realtime":            {"GET", "/v1/realtime?model=chat", "", "", nil, 501, "does not serve realtime"},
		"realtime session":    {"POST", "/v1/realtime/sessions", "application/json", "{}", nil, 501, "does not serve realtime"},
		"WebSocket":           {"GET", "/v1/responses", "", "", []string{"Upgrade", "websocket", "Connection", "Upgrade"}, 501, `{"error":`},
		"WebSocket, messages": {"GET", "/v1/messages", "", "", []string{"Upgrade", "websocket", "Connection", "Upgrade"}, 501, `"type":"error"`},
	} {
		resp, body := send(t, test.method, url+test.path, test.mediaType, test.body, test.header...)
		if resp.StatusCode != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
		if r, _ := v.asked(); r != nil {
			t.Errorf("%s: the vendor was asked for %s", name, r.URL)
		}
	}
}

// TestBetas checks that a relayed request keeps the client's beta headers, and no other headers.
func TestBetas(t *testing.T) {
	v := new(vendor)
	server := httptest.NewServer(v)
	defer server.Close()
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Messages}}}, Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}}
	_, url := live(t, gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	send(t, "POST", url+"/v1/messages", "application/json", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		"Anthropic-Beta", "context-management-2025-06-27", "X-Api-Key", "theirs", "Cookie", "a=b")
	r, _ := v.asked()
	if r == nil || r.Header.Get("Anthropic-Beta") != "context-management-2025-06-27" || r.Header.Get("X-Api-Key") != "" || r.Header.Get("Cookie") != "" {
		t.Errorf("%+v", r)
	}
}

// TestCache checks which answers are cached, and for whom.
func TestCache(t *testing.T) {
	var n int
	open := opening(upstreams(t))
	cached := func(name, id string, tools bool) gateway.ModelRoute {
		r := to(name, id)
		r.Cache = gateway.Cache{For: time.Hour, Tools: tools}
		return r
	}
	l, url := live(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{
		cached("plain", "up-chat/sim/native", false), cached("tools", "up-chat/sim/native", true), to("never", "up-chat/sim/native"),
	}})
	hello := func(model string) *llm.Request {
		n++
		return &llm.Request{Model: model, MaxTokens: 99, Messages: []llm.Message{llm.User(fmt.Sprintf("Hello %d", n))}}
	}
	for format := range roots {
		for _, stream := range []bool{false, true} {
			req := hello("plain")
			first := ask(t, url, format, req, stream)
			quiet(t, url)
			second := ask(t, url, format, req, stream)
			want := [2]string{"miss", "hit"}
			if format == wire.Responses { // stored answers may be continued
				want = [2]string{"off", "off"}
			}
			if got := [2]string{first.header.Get("Toolpost-Cache"), second.header.Get("Toolpost-Cache")}; got != want {
				t.Errorf("%s, stream=%t: %v", format, stream, got)
			}
			if first.err != nil || second.err != nil || first.Message.Text() != second.Message.Text() || second.header.Get(exchange.UpstreamHeader) == "" {
				t.Errorf("%s, stream=%t: %v, %v", format, stream, first.err, second.err)
			}
			if other := ask(t, url, format, req, !stream); other.header.Get("Toolpost-Cache") == "hit" {
				t.Errorf("%s: an answer of another kind", format)
			}
		}
	}
	for model, want := range map[string]string{"plain": "off", "tools": "hit", "never": ""} {
		ask(t, url, wire.Chat, question(model), true)
		quiet(t, url)
		if got := ask(t, url, wire.Chat, question(model), true); got.header.Get("Toolpost-Cache") != want || len(got.Message.Calls()) != 1 {
			t.Errorf("with tools, %s: %q", model, got.header.Get("Toolpost-Cache"))
		}
	}
	body := `{"model":"plain","messages":[{"role":"user","content":"again"}]}`
	for _, step := range []struct{ control, want string }{{"", "miss"}, {"no-cache", "miss"}, {"", "hit"}, {"max-age=0, no-store", "off"}} {
		resp, _ := send(t, "POST", url+"/v1/chat/completions", "application/json", body, "Cache-Control", step.control)
		quiet(t, url)
		if got := resp.Header.Get("Toolpost-Cache"); got != step.want {
			t.Errorf("Cache-Control %q: %q", step.control, got)
		}
	}
	for _, step := range []struct{ member, header, value, want string }{
		{`"user":"a"`, "Anthropic-Beta", "context-1m-2025-08-07", "miss"},
		{`"user":"a"`, "Anthropic-Beta", "context-1m-2025-08-07", "hit"},
		{`"user":"a"`, "Anthropic-Beta", "other-2025", "miss"},
		{`"user":"a"`, "Openai-Beta", "other-2025", "miss"},
		{`"user":"a"`, "X-Other", "1", "miss"},
		{`"user":"a"`, "X-Other", "2", "hit"},
		{`"functions":[{"name":"f","parameters":{}}]`, "X-Other", "1", "off"},
		{`"extra_body":{"tools":[{"type":"function","function":{"name":"f"}}]}`, "X-Other", "1", "off"},
	} {
		resp, got := send(t, "POST", url+"/v1/chat/completions", "application/json", strings.Replace(body, "{", "{"+step.member+",", 1), step.header, step.value)
		quiet(t, url)
		if resp.Header.Get("Toolpost-Cache") != step.want {
			t.Errorf("%s, %s %q: %q %s", step.member, step.header, step.value, resp.Header.Get("Toolpost-Cache"), got)
		}
	}
	if err := l.Replace(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{cached("plain", "up-messages/sim/native", false)}}); err != nil {
		t.Fatal(err)
	}
	if resp, _ := send(t, "POST", url+"/v1/chat/completions", "application/json", body); resp.Header.Get("Toolpost-Cache") != "miss" {
		t.Error("the answer of another upstream was given")
	}
}

// quiet waits until no request is running, because a client may see the end of an answer before it is stored.
func quiet(t *testing.T, url string) {
	t.Helper()
	for {
		if _, text := get(t, url+"/metrics"); strings.Contains(text, "\ntoolpost_requests_in_flight 0\n") {
			return
		}
	}
}

// TestCacheKeepsNoFailures checks that failed answers are not cached.
func TestCacheKeepsNoFailures(t *testing.T) {
	for name, id := range map[string]string{"busy": "up-chat/sim/native+503", "cut": "up-chat/sim/native+cut=400", "fails": "up-chat/sim/native+fail=3"} {
		r := to("m", id)
		r.Cache = gateway.Cache{For: time.Hour}
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{r}})
		for range 2 {
			got := ask(t, url, wire.Chat, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Hello there")}}, true)
			if got.err == nil || got.header.Get("Toolpost-Cache") == "hit" {
				t.Errorf("%s: %v %v", name, got.err, got.header)
			}
		}
	}
}

// TestOverrides checks that a route replaces choices of its clients.
func TestOverrides(t *testing.T) {
	v := new(vendor)
	server := httptest.NewServer(v)
	defer server.Close()
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}}
	r := to("m", "up/m")
	r.Override = gateway.Override{Thinking: "high", Choice: "required"}
	url := serve(t, gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{r}})
	ask(t, url, wire.Chat, question("m"), false)
	if _, body := v.asked(); !strings.Contains(body, `"reasoning_effort":"high"`) || !strings.Contains(body, `"tool_choice":"required"`) {
		t.Error(body)
	}
	text := to("m", "up-chat/sim/hermes_json")
	text.Override = gateway.Override{TextCalls: llm.PromoteOff}
	url = serve(t, gateway.Setup{Routes: []gateway.ModelRoute{text}})
	if got := ask(t, url, wire.Messages, question("m"), true); len(got.Message.Calls()) != 0 {
		t.Errorf("text became a call: %+v", got.Message)
	}
	for _, bad := range []gateway.Override{{Choice: "sometimes"}, {TextCalls: "some"}, {Thinking: "a lot"}, {Dialect: "klingon"}} {
		r.Override = bad
		if _, err := gateway.New(gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{r}}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestNamedRequests checks that a request with a name is answered once, also on a route without gateway tools, and that
// invalid names are refused there.
func TestNamedRequests(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	for _, test := range []struct {
		path, body, name string
		status           int
		asked            bool
	}{
		{"/v1/chat/completions", hello, "one", http.StatusOK, true},
		{"/v1/chat/completions", hello, "one", http.StatusOK, false},
		{"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1), "one", http.StatusOK, false},
		{"/v1/chat/completions", hello, "two", http.StatusOK, true},
		{"/v1/chat/completions", strings.Replace(hello, "{", `{"max_tokens":7,`, 1), "two", http.StatusUnprocessableEntity, false},
		{"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1), "three", http.StatusOK, true},
		{"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1), "three", http.StatusOK, false},
		{"/v1/messages", strings.Replace(hello, "{", `{"max_tokens":7,`, 1), "four", http.StatusOK, true},
		{"/v1/messages", strings.Replace(hello, "{", `{"max_tokens":7,`, 1), "four", http.StatusOK, false},
		{"/v1/chat/completions", hello, " ", http.StatusBadRequest, false},
		{"/v1/chat/completions", hello, strings.Repeat("x", 256), http.StatusBadRequest, false},
		{"/v1/responses", `{"model":"chat","input":"hi","store":"false"}`, "five", http.StatusBadRequest, false},
		{"/v1/responses", `{"model":"chat","input":"hi","store":0}`, "five", http.StatusBadRequest, false},
		{"/v1/responses", `{"model":"chat","input":"hi","store":false}`, "five", http.StatusOK, true},
		{"/v1/responses", `{"model":"chat","input":"hi","store":null}`, "six", http.StatusOK, true},
	} {
		before := g.sent()
		resp, got := send(t, "POST", g.url+test.path, "application/json", test.body, "Authorization", "Bearer "+key, "Idempotency-Key", test.name)
		time.Sleep(50 * time.Millisecond) // a client may see the end of an answer before it is stored
		if asked := g.sent() != before; resp.StatusCode != test.status || asked != test.asked {
			t.Errorf("%s %s %.20q: %d asked=%t %s", test.path, test.body, test.name, resp.StatusCode, asked, got)
		}
		if again := test.status == http.StatusOK && !test.asked; (resp.Header.Get(conversation.ReplayHeader) != "") != again {
			t.Errorf("%s %.20q: %s %q", test.body, test.name, conversation.ReplayHeader, resp.Header.Get(conversation.ReplayHeader))
		}
	}
}

// logText is a log.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// wait returns the log once it has a line with these words.
func (l *logText) wait(words string) string {
	for range 300 {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, words) {
			return text
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

// TestForwardedAnswersThatBreakOff checks that a forwarded answer that breaks off closes the client's connection, and is
// in the log, the store and the metrics like any other failed request.
func TestForwardedAnswersThatBreakOff(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/embeddings"):
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, `{"data":[`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{wire.Chat}}}, Key: func(string) (string, error) { return "vendor-key", nil }}
	for _, keys := range []bool{false, true} {
		for path, body := range map[string]string{"/v1/embeddings": `{"model":"m","input":"a"}`, "/v1/completions": `{"model":"m","prompt":"a","stream":true}`} {
			log := new(logText)
			setup := gateway.Setup{Open: opening(client), Forward: client.Forwarder, Log: slog.New(slog.NewTextHandler(log, nil)),
				Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: passthrough.Kinds()}}}
			g := &guarded{}
			if keys {
				g.book = &access.Book{Store: new(access.Memory)}
				setup.Access = g.book
			}
			_, url := live(t, setup)
			post, err := http.NewRequest("POST", url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			post.Header.Set("Content-Type", "application/json")
			if keys {
				post.Header.Set("Authorization", "Bearer "+g.key(t, access.Key{}))
			}
			resp, err := http.DefaultClient.Do(post)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s, keys %t: half an answer looks whole: %s", path, keys, got)
			}
			resp.Body.Close()
			text := log.wait("request failed")
			for _, words := range []string{"path=" + path, "upstream=up/m", "kind=incomplete", "the answer of the upstream broke off"} {
				if !strings.Contains(text, words) {
					t.Errorf("%s, keys %t: the log does not say %s: %s", path, keys, words, text)
				}
			}
			if keys {
				if l := newest(t, g.book, path); l.Status != "incomplete" {
					t.Errorf("%s: %+v", path, l)
				}
			}
			counted := false
			for i := 0; i < 300 && !counted; i++ {
				_, text = get(t, url+"/metrics")
				counted = strings.Contains(text, `toolpost_requests_total{route="m",upstream="up/m",format="chat",status="200"} 1`)
			}
			if !counted {
				t.Errorf("%s, keys %t: it is not counted:\n%s", path, keys, text)
			}
		}
	}
}

// TestForwardingWithKeys checks that files and batches belong to the team that their route names, and that other endpoints
// do not let a key bypass its limits: not by a request without a model, a model in a form, or a model inside the body.
func TestForwardingWithKeys(t *testing.T) {
	v := new(vendor)
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{
		"up":  {BaseURL: server.URL + "/base", Wires: []string{wire.Chat, wire.Messages}},
		"gem": {BaseURL: server.URL + "/gem", Wires: []string{wire.Gemini}},
	}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	routes := []gateway.ModelRoute{
		{Model: "a-*", Upstreams: []gateway.Upstream{{Model: "up/x-*"}}, Pass: passthrough.Kinds()},
		{Model: "red", Upstreams: []gateway.Upstream{{Model: "up/red-1"}}, Pass: []string{"files", "batches"}, PassTeam: "red"},
		{Model: "gem", Upstreams: []gateway.Upstream{{Model: "gem/gem-1"}}, Pass: []string{"embeddings"}},
	}
	setup := gateway.Setup{Open: opening(c), Forward: c.Forwarder, Routes: routes, Access: g.book}
	g.url = serve(t, setup)
	keys := map[string]string{
		"red":    g.key(t, access.Key{Team: "red"}),
		"blue":   g.key(t, access.Key{Team: "blue"}),
		"models": g.key(t, access.Key{Team: "red", Models: []string{"a-small", "gem"}}),
		"tools":  g.key(t, access.Key{Team: "red", Tools: []string{"none"}}),
		"routes": g.key(t, access.Key{Team: "red", Routes: []string{"a-*", "gem"}}),
		"tokens": g.key(t, access.Key{Team: "red", Limits: quotas(t, "tokens/day=1000000")}),
	}
	form := func(model string) (string, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("model", model)
		_ = w.WriteField("models[]", "other")
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	formSmall, formType := form("a-small")
	for _, test := range []struct{ method, path, body, mediaType, passes, says string }{ // passes: the keys whose request is forwarded
		{"GET", "/v1/files", "", "", "red", ""},
		{"GET", "/v1/files/file-1/content", "", "", "red", ""},
		{"DELETE", "/v1/files/file-1", "", "", "red", ""},
		{"POST", "/v1/uploads", "{}", "", "red", ""},
		{"POST", "/v1/batches", `{"input_file_id":"file-1"}`, "", "red", ""},
		{"GET", "/v1/messages/batches/b/results", "", "", "red", ""},
		{"POST", "/v1/moderations", `{"input":"x"}`, "", "red blue tools routes tokens", ""},
		{"POST", "/v1/embeddings", `{"model":"a-small","input":"x"}`, "", "red blue models tools routes tokens", `"x-small"`},
		{"POST", "/v1/embeddings", `{"model":"a-large","input":"x"}`, "", "red blue tools routes tokens", `"x-large"`},
		{"POST", "/v1/embeddings", `{"model":"a-small","models":["a-large"],"input":"x"}`, "", "red blue tools tokens routes", ""},
		{"POST", "/v1/audio/transcriptions", formSmall, formType, "red blue tools tokens", "small"},
		{"POST", "/v1beta/models/gem:embedContent", `{"content":{},"model":"models/gem"}`, "", "red blue models tools routes tokens", `{"content":{},"model":"models/gem-1"}`},
		{"POST", "/v1beta/models/gem:batchEmbedContents", `{"requests":[{"model":"models/gem","content":{}},{"model":"gem"}]}`, "", "red blue models tools routes tokens", `[{"model":"models/gem-1","content":{}},{"model":"models/gem-1"}]`},
		{"POST", "/v1beta/models/gem:embedContent", `{"model":"models/dear"}`, "", "", ""},
		{"POST", "/v1beta/models/gem:batchEmbedContents", `{"requests":[{"model":"models/gem"},{"mod\u0065l":"models/dear"}]}`, "", "", ""},
		{"POST", "/v1beta/models/gem:batchEmbedContents", `{"requests":[{"Model":"models/dear"}]}`, "", "", ""},
	} {
		for name, key := range keys {
			mediaType := test.mediaType
			if mediaType == "" {
				mediaType = "application/json"
			}
			resp, body := send(t, test.method, g.url+test.path, mediaType, test.body, "Authorization", "Bearer "+key)
			passes := strings.Contains(" "+test.passes+" ", " "+name+" ")
			asked, got := v.asked()
			switch {
			case passes && (resp.StatusCode != 200 || asked == nil || !strings.Contains(got, test.says)):
				t.Errorf("%s %s %s with the key %s: %d %s; asked %s", test.method, test.path, test.body, name, resp.StatusCode, body, got)
			case !passes && (resp.StatusCode != 403 && resp.StatusCode != 400 || asked != nil):
				t.Errorf("%s %s %s with the key %s was passed on: %d %s", test.method, test.path, test.body, name, resp.StatusCode, body)
			}
		}
	}
	setup.Routes = append(routes, gateway.ModelRoute{Model: "blue", Upstreams: []gateway.Upstream{{Model: "up/blue-1"}}, Pass: []string{"files"}, PassTeam: "blue"})
	if _, err := gateway.New(setup); err == nil || !strings.Contains(err.Error(), `those of the team "red"`) {
		t.Errorf("two teams share an account: %v", err)
	}
	setup.Routes = []gateway.ModelRoute{{Model: "a", Upstreams: []gateway.Upstream{{Model: "up/a"}}, PassTeam: "red"}, {Model: "b", Upstreams: []gateway.Upstream{{Model: "up/b"}}, PassTeam: "blue"}}
	if _, err := gateway.New(setup); err == nil || !strings.Contains(err.Error(), `those of the team "red"`) {
		t.Errorf("two teams share an account whose routes pass nothing on: %v", err)
	}
}

// completing starts a gateway that requires keys and forwards completions to an upstream.
func completing(t *testing.T, up http.HandlerFunc) *guarded {
	t.Helper()
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	c := &provider.Client{Catalog: known, Key: func(string) (string, error) { return "vendor-key", nil }, Vendors: map[string]provider.Vendor{
		"up":   {BaseURL: server.URL + "/base", Wires: []string{wire.Chat}},
		"else": {BaseURL: server.URL + "/else", Wires: []string{wire.Messages}},
	}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	pass := []string{"completions"}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book, Log: slog.New(slog.NewTextHandler(g, nil)), Routes: []gateway.ModelRoute{
		{Model: "fim", Upstreams: []gateway.Upstream{{Model: "up/priced"}}, Pass: pass},
		{Model: "else", Upstreams: []gateway.Upstream{{Model: "else/m"}}, Pass: pass},
		to("chat", "up/priced"),
	}})
	return g
}

const (
	fimDone  = `{"id":"cmpl-1","object":"text_completion","created":1,"model":"priced","choices":[{"index":0,"text":"return a + b","logprobs":null,"finish_reason":"stop"}]%s}`
	fimUsage = `,"usage":{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47}`
)

// fimAnswer is an upstream's answer, as a document or a stream.
func fimAnswer(stream bool, usage string) string {
	if !stream {
		return fmt.Sprintf(fimDone, usage)
	}
	answer := `data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":"return a"}]}` + "\r\n\r\n: alive\n\n" + `data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" + b","finish_reason":"stop"}],"usage":null}` + "\n\n"
	if usage != "" {
		answer += `data: {"id":"cmpl-1","object":"text_completion","choices":[]` + usage + "}\n\n"
	}
	return answer + "data: [DONE]\n\n"
}

// TestCompletions checks that text completions and their answers are forwarded unchanged, as a document and a stream,
// and that their usage is recorded as the upstream reports it, or estimated from the text.
func TestCompletions(t *testing.T) {
	for _, usage := range []string{fimUsage, ""} {
		for _, stream := range []bool{false, true} {
			var asked, says string
			answer := fimAnswer(stream, usage)
			g := completing(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				asked, says = r.URL.Path+" "+r.Header.Get("Authorization"), string(b)
				w.Header().Set("Content-Type", map[bool]string{false: "application/json", true: "text/event-stream; charset=utf-8"}[stream])
				for part := range strings.SplitAfterSeq(answer, "a") { // in arbitrary chunks
					io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
				}
			})
			key := g.key(t, access.Key{Limits: quotas(t, "tokens/day=100000", "money/day=1")})
			body := fmt.Sprintf(`{"model":"fim","prompt":"func add(a, b int) int {\n","suffix":"\n}","max_tokens":64,"stream":%t,"stop":["\n\n"]}`, stream)
			resp, got := send(t, "POST", g.url+"/v1/completions", "application/json", body, "Authorization", "Bearer "+key)
			if resp.StatusCode != 200 || got != answer || asked != "/base/completions Bearer vendor-key" || says != strings.Replace(body, `"fim"`, `"priced"`, 1) || resp.Header.Get(exchange.UpstreamHeader) != "up/priced" {
				t.Errorf("stream=%t: %d %s; asked %s %s", stream, resp.StatusCode, got, asked, says)
			}
			l := newest(t, g.book)
			if used := fmt.Sprintln(l.Status, l.Route, l.Upstream, l.Unpriced, l.Estimated, l.Output); used != fmt.Sprintln("ok fim up/priced", false, usage == "", map[bool]int{true: 4, false: 7}[usage == ""]) || l.Money <= 0 {
				t.Errorf("stream=%t: booked %+v", stream, l)
			}
			if l.Input != 40 && usage != "" || l.Input < 5 || l.Input > 60 {
				t.Errorf("stream=%t: booked %+v", stream, l)
			}
		}
	}
}

// TestCompletionsRefused checks which keys may not use completions, and that the error has advice.
func TestCompletionsRefused(t *testing.T) {
	g := completing(t, func(w http.ResponseWriter, r *http.Request) { t.Error("the upstream was asked") })
	keys := map[string]string{"any": g.key(t, access.Key{}), "chat": g.key(t, access.Key{Models: []string{"chat"}}), "none": ""}
	for _, test := range []struct {
		key, body string
		status    int
		says      string
	}{
		{"none", `{"model":"fim","prompt":"a"}`, 401, "invalid_api_key"},
		{"chat", `{"model":"fim","prompt":"a"}`, 403, "model_not_found"},
		{"any", `{"model":"else","prompt":"a"}`, 404, "no upstream of the route else has completions of this kind; completions are asked for at /v1/chat/completions"},
		{"any", `{"model":"chat","prompt":"a"}`, 404, "does not pass completions on; completions are asked for at /v1/chat/completions"},
		{"any", `{"model":"nobody","prompt":"a"}`, 404, `unknown model \"`},
		{"any", `{"prompt":"a"}`, 400, "has no model"},
		{"any", `{"model":"fim","prompt":"a","n":0}`, 400, "n has to be"},
		{"any", `{"model":"fim","prompt":"a","prompt":"b"}`, 400, "twice"},
		{"any", `{"model":"fim","Prompt":["a","b"]}`, 400, "must be written"},
		{"any", `{"model":"fim","prompt":[` + strings.TrimSuffix(strings.Repeat(`"a",`, 2049), ",") + `]}`, 400, "more than 2048 texts"},
	} {
		header := []string{"Authorization", "Bearer " + keys[test.key]}
		if keys[test.key] == "" {
			header = nil
		}
		if resp, body := send(t, "POST", g.url+"/v1/completions", "application/json", test.body, header...); resp.StatusCode != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s %.80s: %d %s", test.key, test.body, resp.StatusCode, body)
		}
	}
}

// TestCompletionsThatEndBadly checks the recorded usage of incomplete completions: the text of a stream that breaks
// off, the whole reservation if a client leaves before a document, and nothing if the upstream refuses.
func TestCompletionsThatEndBadly(t *testing.T) {
	begun := make(chan struct{}, 1)
	const part = `data: {"choices":[{"index":0,"text":"thirty bytes of text, all told."}]}` + "\n\n"
	for _, test := range []struct {
		name   string
		body   string
		up     http.HandlerFunc
		leaves bool
		output int64
	}{
		{"a stream that breaks off", `"stream":true`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, false, 11},
		{"an answer that nobody waits for", `"n":2`, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			begun <- struct{}{}
			<-r.Context().Done()
		}, true, 0},
		{"a refusal", `"n":2`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, false, 0},
	} {
		g := completing(t, test.up)
		ctx, leave := context.WithCancel(t.Context())
		post, err := http.NewRequestWithContext(ctx, "POST", g.url+"/v1/completions", strings.NewReader(`{"model":"fim","prompt":"def f():","max_tokens":64,`+test.body+`}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Authorization", "Bearer "+g.key(t, access.Key{Limits: quotas(t, "tokens/day=100000")}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := http.DefaultClient.Do(post); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		if test.leaves {
			<-begun
			leave()
		}
		<-done
		leave()
		if l, booked := newest(t, g.book, test.name), test.name != "a refusal"; l.Output != test.output || (l.Input > 0) != booked || l.Estimated != booked || l.Status == "ok" {
			t.Errorf("%s: booked %+v", test.name, l)
		}
	}
}

// TestCompletionsReserve checks that the possible usage of completions is reserved while they run: for each answer to
// each prompt.
func TestCompletionsReserve(t *testing.T) {
	for members, all := range map[string]bool{
		`"prompt":"a","max_tokens":900`:                                   false,
		`"prompt":"a","max_tokens":1000`:                                  true,
		`"prompt":"a","max_tokens":100,"n":10`:                            true,
		`"prompt":"a","max_tokens":100,"n":1,"best_of":10`:                true,
		`"prompt":["a","b","c","d","e"],"max_tokens":100,"n":2`:           true,
		`"prompt":["a","b","c","d","e"],"max_tokens":50,"n":2`:            false,
		`"prompt":[[1,2],[3,4]],"max_tokens":500`:                         true,
		`"prompt":[1,2,3,4],"max_tokens":500`:                             false,
		`"prompt":[{"prompt_string":"a"},{"x":1}],"max_tokens":500`:       true,
		`"prompt":"","prompt_embeds":["AA","BB"],"max_tokens":500`:        true,
		`"prompt":"` + strings.Repeat("word ", 2000) + `","max_tokens":1`: true,
	} {
		begun, goOn := make(chan struct{}), make(chan struct{})
		var n atomic.Int64
		g := completing(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 1 {
				close(begun)
				<-goOn
			}
			fmt.Fprintf(w, fimDone, fimUsage)
		})
		key := "Bearer " + g.key(t, access.Key{Limits: quotas(t, "tokens/day=1000")})
		done := make(chan struct{})
		go func() {
			defer close(done)
			send(t, "POST", g.url+"/v1/completions", "application/json", `{"model":"fim",`+members+`}`, "Authorization", key)
		}()
		<-begun
		want := map[bool]int{false: 200, true: 429}[all]
		if resp, body := send(t, "POST", g.url+"/v1/completions", "application/json", `{"model":"fim","prompt":"a","max_tokens":1}`, "Authorization", key); resp.StatusCode != want {
			t.Errorf("%.60s: %d %s", members, resp.StatusCode, body)
		}
		close(goOn)
		<-done
	}
}

// TestAmbiguousForms checks that a form is refused with a reason if another program could find another
// model or another field in it than was checked.
func TestAmbiguousForms(t *testing.T) {
	url, v := passing(t)
	const model = "Content-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n"
	for part, says := range map[string]string{
		`form-data; name="mod\el"`:                                        "part 2 of the form: its name has a backslash",
		`form-data; name="mod\\el"`:                                       "a backslash",
		`form-data; name="mod\"el"`:                                       "a quote",
		`form-data; name="model\;"`:                                       "a backslash",
		`form-data; name="model"`:                                         "part 2 of the form: it names the model more than once",
		`form-data; name="Model"`:                                         "more than once",
		`form-data; name=model`:                                           "more than once",
		`form-data; name=" model"`:                                        "more than once",
		`form-data; name="model[]"`:                                       "more than once",
		`form-data; name="model[0]"`:                                      "more than once",
		`form-data; name="m%6fdel"`:                                       "more than once",
		`form-data; name="model"; filename="a"`:                           "as no plain field",
		`form-data; name="model"; filename=""`:                            "as no plain field",
		`form-data; name*=utf-8''model`:                                   "more than once",
		`form-data; name*0=mo; name*1=del`:                                "more than once",
		`form-data; name="x"; name="model"`:                               "cannot be read",
		`form-data; filename="a\"; name="model"`:                          "",
		`form-data; name="x"; name="model"; filename="a"`:                 "cannot be read",
		`attachment; name="model"`:                                        "cannot be read",
		`form-data`:                                                       "cannot be read",
		"form-data; name=\"mod\x00el\"":                                   "",
		"form-data; name=x\r\nContent-Disposition: form-data; name=model": "one header",
		"form-data; name=x\r\nContent-Transfer-Encoding: base64":          "not in the encoding",
		"form-data;\r\n name=\"model\"":                                   "more than once",
	} {
		for _, body := range []string{
			"--b\r\n" + model + "--b\r\nContent-Disposition: " + part + "\r\n\r\nembed-2\r\n--b--\r\n",
			"--b\n" + strings.ReplaceAll(model, "\r\n", "\n") + "--b\nContent-Disposition: " + strings.ReplaceAll(part, "\r\n", "\n") + "\n\nembed-2\n--b--\n",
		} {
			resp, answer := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary=b", body)
			if answer = strings.ReplaceAll(answer, `\"`, `"`); resp.StatusCode != 400 || !strings.Contains(answer, says) {
				t.Errorf("%q: %d %s", part, resp.StatusCode, answer)
			}
			if r, _ := v.asked(); r != nil {
				t.Errorf("%q: the vendor was asked", part)
			}
		}
	}
}

// TestFormsOfClients checks that the forms of real clients arrive, and that content outside of the parts does not.
func TestFormsOfClients(t *testing.T) {
	url, v := passing(t)
	for disposition, want := range map[string]string{
		`form-data; name="file"; filename="C:\a b.wav"`:                         `form-data; name="file"; filename="C:_a b.wav"`,
		`form-data; name="file"; filename="a \"b\".wav"`:                        `form-data; name="file"; filename="a _b_.wav"`,
		`form-data; name="file"; filename="a.wav"; filename*=utf-8''%C3%A4.wav`: `form-data; name="file"; filename="ä.wav"`,
		`form-data; name="file"; filename*=iso-8859-1''%E4.wav`:                 `form-data; name="file"; filename="file"`,
		`form-data; name=file; filename=a.wav`:                                  `form-data; name="file"; filename="a.wav"`,
		`form-data; filename="my name.wav"; name="file"`:                        `form-data; name="file"; filename="my name.wav"`,
		`form-data; name="timestamp_granularities[]"`:                           `form-data; name="timestamp_granularities[]"`,
		`form-data; name="model_name"`:                                          `form-data; name="model_name"`,
	} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		w.SetBoundary("b")
		f, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {"audio/wav"}})
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("word"))
		w.WriteField("model", "embed-1")
		w.Close()
		resp, body := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary=b", "a preamble\r\n"+b.String()+"and more")
		_, got := v.asked()
		want := strings.Replace(strings.Replace(b.String(), "embed-1", "text-embed-1", 1), disposition, want, 1)
		if resp.StatusCode != 200 || sameBoundary(got, "b") != want {
			t.Errorf("%s: %d %s\n%q\nwant %q", disposition, resp.StatusCode, body, got, want)
		}
	}
}

// TestFormsAreRewritten checks forms with file names that look like field names, encoded fields, and boundaries
// that Go would not write. They are accepted, and rewritten so the vendor can read them in only one way.
func TestFormsAreRewritten(t *testing.T) {
	url, v := passing(t)
	const bound = "*****"
	for part, want := range map[string]string{
		"form-data; name=\"file\"; filename=\"download?name=foo.mp3\"\r\n\r\nsound":              "form-data; name=\"file\"; filename=\"download?name_foo.mp3\"\r\n\r\nsound",
		"form-data; filename=\"song name = x.mp3\"; name=\"file\"\r\n\r\nsound":                  "form-data; name=\"file\"; filename=\"song name _ x.mp3\"\r\n\r\nsound",
		"form-data; name=\"x\"; filename=\"a\\\"; name=\\\"model\"\r\n\r\nsound":                 "form-data; name=\"x\"; filename=\"a_; name__model\"\r\n\r\nsound",
		"form-data; name=\"prompt\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na=3Db": "form-data; name=\"prompt\"\r\n\r\na=b",
		"form-data; name=\"prompt\"\r\nContent-Transfer-Encoding: BASE64\r\n\r\nYT1i":            "form-data; name=\"prompt\"\r\n\r\na=b",
		"form-data; name=\"x\"; name*=utf-8''y\r\n\r\na":                                         "form-data; name=\"y\"\r\n\r\na",
		"form-data; name=x; kind=\"; name=model\"\r\n\r\na":                                      "form-data; name=\"x\"\r\n\r\na",
		"form-data; name=model; name*0=mode\r\n\r\na":                                            "form-data; name=\"mode\"\r\n\r\na",
		"form-data; name=\"mo\"; name*1=\"del\"\r\n\r\na":                                        "form-data; name=\"mo\"\r\n\r\na",
		"form-data; name=x\r\nContent-Transfer-Encoding: x-foo\r\nX-Other: y\r\n\r\na":           "form-data; name=\"x\"\r\n\r\na",
		"form-data; name=\"file\"; filename=\"Müller straße.wav\"\r\n\r\nsound":                  "form-data; name=\"file\"; filename=\"Müller straße.wav\"\r\n\r\nsound",
	} {
		whole := func(part, model string) string {
			return "--" + bound + "\r\nContent-Disposition: " + part + "\r\n--" + bound + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model + "\r\n--" + bound + "--\r\n"
		}
		resp, body := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary="+bound, whole(part, "embed-1"))
		if _, got := v.asked(); resp.StatusCode != 200 || sameBoundary(got, bound) != whole(want, "text-embed-1") {
			t.Errorf("%s: %d %s\n%q\nwant %q", part, resp.StatusCode, body, got, whole(want, "text-embed-1"))
		}
	}
}

// sameBoundary returns a form with another boundary.
func sameBoundary(form, boundary string) string {
	own, _, _ := strings.Cut(form, "\r\n")
	return strings.ReplaceAll(form, own, "--"+boundary)
}

// TestNestedForms checks that a form inside a field is not parsed: the boundary for the vendor differs from the
// client's, and occurs once.
func TestNestedForms(t *testing.T) {
	url, v := passing(t)
	for _, kinds := range [][]string{
		{"multipart/form-data; boundary=A; boundary*=utf-8''B"}, {"multipart/form-data; boundary=A; boundary*0=B"}, {"multipart/form-data; boundary=B"},
		{"multipart/form-data; boundary=B", "multipart/form-data; boundary=A"},
	} {
		for _, inner := range []string{"--A\r\n", "--A \r\n", "--Bx\r\n", "--B.\r\n"} {
			req, err := http.NewRequest("POST", url+"/v1/audio/transcriptions", strings.NewReader("--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n"+
				"--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nx\r\n"+inner+"Content-Disposition: form-data; name=\"model\"\r\n\r\nexpensive\r\n--A--\r\n\r\n--B--\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Content-Type"] = kinds
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			r, got := v.asked()
			if r == nil && resp.StatusCode == 400 {
				continue
			}
			own, is := strings.CutPrefix(r.Header.Get("Content-Type"), "multipart/form-data; boundary=")
			if !is || len(r.Header["Content-Type"]) > 1 || len(own) < 40 || strings.Count(got, own) != 3 {
				t.Errorf("%q: the vendor gets %q and %q", kinds, r.Header["Content-Type"], got)
			}
		}
	}
}

// TestFilesWithoutNamesAreFields checks that a file with an empty name is checked like a field, because some programs
// treat it as one.
func TestFilesWithoutNamesAreFields(t *testing.T) {
	url, v := passing(t)
	resp, body := send(t, "POST", url+"/v1/images/edits", "multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n"+
		"--B\r\nContent-Disposition: form-data; name=\"n\"; filename=\"\"\r\n\r\n9999\r\n--B--\r\n")
	if r, _ := v.asked(); resp.StatusCode != 400 || r != nil {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
