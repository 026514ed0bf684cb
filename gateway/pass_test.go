package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// vendor is a server that remembers what it was asked, and answers with a document.
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

// asked returns what was asked last, and forgets it.
func (v *vendor) asked() (*http.Request, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.last
	v.last = nil
	return r, string(v.body)
}

// passing starts a gateway whose route embed* passes everything on to a vendor.
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
		{Model: "embed*", Upstreams: []gateway.Upstream{{Model: "up/text-embed*"}}, Pass: gateway.Kinds()},
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

// TestOtherEndpoints checks that requests to other endpoints reach the vendor of their route with
// its key and its name for the model, and nothing else of the client's or of the vendor's own.
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
		if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get(gateway.UpstreamHeader) == "" {
			t.Errorf("%s: answer's header %v", test.path, resp.Header)
		}
	}
	quiet(t, url)
	if _, text := get(t, url+"/metrics"); !strings.Contains(text, `toolpost_passed_total{route="embed*",endpoint="embeddings",status="200"} 1`) ||
		!strings.Contains(text, `toolpost_tokens_total{route="embed*",upstream="up/text-embed*",kind="input"}`) {
		t.Error(text)
	}
}

// TestForms checks that a form names the vendor's model and is otherwise as it was, also where a
// file looks like the field.
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

// TestOtherEndpointsRefused checks what is not passed on, and that the vendor's own form of errors
// says so.
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
		"no route":            {"POST", "/v1/embeddings", "application/json", `{"model":"nobody"}`, nil, 404, "no route leads to"},
		"another kind":        {"POST", "/v1/images/generations", "application/json", `{"model":"gem"}`, nil, 404, "does not pass images on"},
		"another format":      {"POST", "/v1/embeddings", "application/json", `{"model":"gem"}`, nil, 404, "no upstream of the route gem"},
		"model twice":         {"POST", "/v1/embeddings", "application/json", `{"model":"embed-1","Model":"chat"}`, nil, 400, "more than once"},
		"model twice, form":   {"POST", "/v1/audio/transcriptions", "multipart/form-data; boundary=b", twice, nil, 400, "more than once"},
		"no JSON":             {"POST", "/v1/embeddings", "application/json", `model=embed-1`, nil, 400, "no JSON object"},
		"out of the folder":   {"GET", "/v1/files/..%2fmodels", "", "", nil, 404, "Invalid URL"},
		"too large":           {"POST", "/v1/embeddings", "application/json", `{"model":"embed-1","input":"` + strings.Repeat("x", 1<<16) + `"}`, nil, 413, "more than 65536 bytes"},
		"name of an address":  {"POST", "/v1/embeddings", "application/json", `{"model":"embed://evil.example.org#x"}`, nil, 404, "no route leads to"},
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

// TestBetas checks that what a client says about betas goes with a request that is relayed, and
// nothing else does.
func TestBetas(t *testing.T) {
	v := new(vendor)
	server := httptest.NewServer(v)
	defer server.Close()
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Messages}}}, Route: provider.Native, Retry: provider.Retry{Attempts: -1}}
	_, url := live(t, gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	send(t, "POST", url+"/v1/messages", "application/json", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		"Anthropic-Beta", "context-management-2025-06-27", "X-Api-Key", "theirs", "Cookie", "a=b")
	r, _ := v.asked()
	if r == nil || r.Header.Get("Anthropic-Beta") != "context-management-2025-06-27" || r.Header.Get("X-Api-Key") != "" || r.Header.Get("Cookie") != "" {
		t.Errorf("%+v", r)
	}
}

// TestCache checks which answers are given again, and to whom.
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
			if format == wire.Responses { // what is stored may be gone on from
				want = [2]string{"off", "off"}
			}
			if got := [2]string{first.header.Get(gateway.CacheHeader), second.header.Get(gateway.CacheHeader)}; got != want {
				t.Errorf("%s, stream=%t: %v", format, stream, got)
			}
			if first.err != nil || second.err != nil || first.Message.Text() != second.Message.Text() || second.header.Get(gateway.UpstreamHeader) == "" {
				t.Errorf("%s, stream=%t: %v, %v", format, stream, first.err, second.err)
			}
			if other := ask(t, url, format, req, !stream); other.header.Get(gateway.CacheHeader) == "hit" {
				t.Errorf("%s: an answer of another kind", format)
			}
		}
	}
	for model, want := range map[string]string{"plain": "off", "tools": "hit", "never": ""} {
		ask(t, url, wire.Chat, question(model), true)
		quiet(t, url)
		if got := ask(t, url, wire.Chat, question(model), true); got.header.Get(gateway.CacheHeader) != want || len(got.Message.Calls()) != 1 {
			t.Errorf("with tools, %s: %q", model, got.header.Get(gateway.CacheHeader))
		}
	}
	body := `{"model":"plain","messages":[{"role":"user","content":"again"}]}`
	for _, step := range []struct{ control, want string }{{"", "miss"}, {"no-cache", "miss"}, {"", "hit"}, {"max-age=0, no-store", "off"}} {
		resp, _ := send(t, "POST", url+"/v1/chat/completions", "application/json", body, "Cache-Control", step.control)
		quiet(t, url)
		if got := resp.Header.Get(gateway.CacheHeader); got != step.want {
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
		if resp.Header.Get(gateway.CacheHeader) != step.want {
			t.Errorf("%s, %s %q: %q %s", step.member, step.header, step.value, resp.Header.Get(gateway.CacheHeader), got)
		}
	}
	if err := l.Replace(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{cached("plain", "up-messages/sim/native", false)}}); err != nil {
		t.Fatal(err)
	}
	if resp, _ := send(t, "POST", url+"/v1/chat/completions", "application/json", body); resp.Header.Get(gateway.CacheHeader) != "miss" {
		t.Error("the answer of another upstream was given")
	}
}

// quiet waits until no request is being answered: a client may see the end of an answer before it
// is kept.
func quiet(t *testing.T, url string) {
	t.Helper()
	for {
		if _, text := get(t, url+"/metrics"); strings.Contains(text, "\ntoolpost_requests_in_flight 0\n") {
			return
		}
	}
}

// TestCacheKeepsNoFailures checks that an answer that ended badly is not given again.
func TestCacheKeepsNoFailures(t *testing.T) {
	for name, id := range map[string]string{"busy": "up-chat/sim/native+503", "cut": "up-chat/sim/native+cut=400", "fails": "up-chat/sim/native+fail=3"} {
		r := to("m", id)
		r.Cache = gateway.Cache{For: time.Hour}
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{r}})
		for range 2 {
			got := ask(t, url, wire.Chat, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Hello there")}}, true)
			if got.err == nil || got.header.Get(gateway.CacheHeader) == "hit" {
				t.Errorf("%s: %v %v", name, got.err, got.header)
			}
		}
	}
}

// TestOverrides checks that a route decides in the place of its clients.
func TestOverrides(t *testing.T) {
	v := new(vendor)
	server := httptest.NewServer(v)
	defer server.Close()
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native, Retry: provider.Retry{Attempts: -1}}
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

// TestNamedRequests checks that a request with a name is answered once, also on a route without tools of the gateway, and that names which cannot be meant are refused there.
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
		time.Sleep(50 * time.Millisecond) // a client may see the end of an answer before it is kept
		if asked := g.sent() != before; resp.StatusCode != test.status || asked != test.asked {
			t.Errorf("%s %s %.20q: %d asked=%t %s", test.path, test.body, test.name, resp.StatusCode, asked, got)
		}
		if again := test.status == http.StatusOK && !test.asked; (resp.Header.Get(gateway.ReplayHeader) != "") != again {
			t.Errorf("%s %.20q: %s %q", test.body, test.name, gateway.ReplayHeader, resp.Header.Get(gateway.ReplayHeader))
		}
	}
}
