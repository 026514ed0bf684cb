package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// faultValues are the tested faults of the simulator, some in several variants.
var faultValues = map[string][]string{
	"429": {"429", "429=1s"}, "500": {"500"}, "503": {"503"}, "401": {"401"}, "no-tools": {"no-tools"}, "times": {"503+times=1"},
	"cut": {"cut=1", "cut=60", "cut=300", "cut=700"}, "stall": {"stall=5ms"}, "slow-args": {"slow-args=1ms"}, "slow": {"slow=1ms"},
	"fail": {"fail=1", "fail=3", "fail=8"}, "garbage": {"garbage"}, "wrong-index": {"wrong-index"}, "wrong-finish": {"wrong-finish"},
	"think": {"think"}, "strict": {"strict"}, "window": {"window=3"}, "length": {"length"}, "ignore-choice": {"ignore-choice"},
	"think-call": {"think-call"}, "huge": {"huge=20000"}, "seed": {"seed=7"},
}

// ends are the valid ends of a stream of each format: one of these, or an error in the format.
var ends = map[string][]string{
	wire.Chat: {"data: [DONE]", `{"error":`}, wire.Responses: {"response.completed", "response.incomplete", "response.failed", `"type":"error"`},
	wire.Messages: {"message_stop", "event: error"}, wire.Gemini: {`"finishReason"`, `"error":`},
	wire.Ollama: {`"done":true`, `"error":`}, wire.Converse: {"messageStop", "exception"},
}

// TestUpstreamFaults checks that for every fault of an upstream, a client of any format gets a well-formed error or answer.
// Unreadable answers must not become internal errors of the gateway (500). No goroutine and no connection to the
// upstream may remain.
func TestUpstreamFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	up := &connections{Server: httptest.NewUnstartedServer(new(sim.Server))}
	up.Config.ConnState = up.state
	up.Start()
	transport := &http.Transport{}
	vendors := map[string]provider.Vendor{}
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
	}
	client := &provider.Client{Vendors: vendors, HTTP: &http.Client{Transport: transport}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	var routes []gateway.ModelRoute
	for format := range roots {
		routes = append(routes, gateway.ModelRoute{Model: format + "/*", Upstreams: []gateway.Upstream{{Model: "up-" + format + "/sim/*"}}})
	}
	g, err := gateway.New(gateway.Setup{Open: opening(client), Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	n := 0
	for _, fault := range sim.Faults() {
		specs := faultValues[fault.Name]
		if len(specs) == 0 {
			t.Errorf("the fault %s is not tried: it needs a row in faultValues", fault.Name)
		}
		for _, spec := range specs {
			for format := range roots {
				for _, upstream := range slices.Compact(slices.Sorted(slices.Values([]string{format, wire.Chat, wire.Messages, wire.Gemini}))) {
					for _, stream := range []bool{false, true} {
						n++
						faulty{t, server.URL, format, upstream, spec, stream}.check()
					}
				}
			}
		}
	}
	server.Close()
	transport.CloseIdleConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	up.none(t)
	up.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	t.Logf("%d answers of faulty upstreams", n)
}

// faulty is a request to an upstream with a fault.
type faulty struct {
	t                           *testing.T
	url, format, upstream, spec string
	stream                      bool
}

func (f faulty) check() {
	codec, _ := wire.For(f.format)
	req := question(f.upstream + "/native+" + f.spec)
	body, _, err := codec.EncodeRequest(req, f.stream)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.Post(f.url+roots[f.format]+"/"+codec.Path(req.Model, f.stream), "application/json", bytes.NewReader(body))
	if err != nil {
		f.t.Errorf("%+v: %v", f, err)
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if problem := f.wrong(codec, resp, b, err); problem != "" {
		f.t.Errorf("%s over %s, %s, stream=%t: %s\nstatus %d: %.600q", f.format, f.upstream, f.spec, f.stream, problem, resp.StatusCode, b)
	}
}

// wrong returns the problem of an answer, if any.
func (f faulty) wrong(codec wire.Codec, resp *http.Response, b []byte, err error) string {
	switch {
	case err != nil:
		return "the connection broke: " + err.Error()
	case resp.StatusCode == http.StatusInternalServerError && f.spec != "500" && !strings.HasPrefix(f.spec, "fail"):
		return "the error is the gateway's own"
	case resp.StatusCode != http.StatusOK:
		if failed := codec.DecodeError(resp.StatusCode, resp.Header, b); !json.Valid(b) || failed == nil || failed.Err.Error() == "" {
			return "the error is not well-formed"
		}
	case !f.stream:
		if _, err := codec.DecodeResponse(b); err != nil {
			return err.Error()
		}
	default:
		for _, end := range ends[f.format] {
			if strings.Contains(string(b), end) {
				return ""
			}
		}
		return "the stream has no end"
	}
	return ""
}

// connections tracks the connections to a server.
type connections struct {
	*httptest.Server
	mu   sync.Mutex
	open map[net.Conn]http.ConnState
}

func (c *connections) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[net.Conn]http.ConnState)
	}
	if s == http.StateClosed || s == http.StateHijacked {
		delete(c.open, conn)
		return
	}
	c.open[conn] = s
}

// none waits until no connection is left.
func (c *connections) none(t *testing.T) {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		left := fmt.Sprint(c.open)
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d connections to the upstream are left: %s", n, left)
			return
		}
	}
}

// Servers with answers that cannot be relayed unchanged: a client does not get the gateway's key, in any spelling, and
// a correction that the header reports was really made.
func TestRelayRepairsErrors(t *testing.T) {
	t.Parallel()
	const key = "sk-upstream-SECRET-0123456789abcdef"
	const base64 = "c2stdXBzdHJlYW0tU0VDUkVULTAxMjM0NTY3ODlhYmNkZWY"
	chunk := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	call := func(index int, id, args string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":%q}}]}`, index, id, args), "null")
	}
	end := chunk("{}", `"tool_calls"`) + "data: [DONE]\n\n"
	for _, c := range []struct {
		name, stream string
		not, has     string
	}{
		{"an error that repeats the key", chunk(`{"content":"The weather is fine today. And "}`, "null") + `data: {"error":{"message":"boom ` + key + `","code":500}}` + "\n\n", key, "boom [stripped:value]"},
		{"in base64", chunk(`{"content":"The weather is fine today. And "}`, "null") + `data: {"error":{"message":"boom ` + base64 + `","code":500}}` + "\n\n", base64, "boom"},
		{"an error without it is as it was", chunk(`{"content":"The weather is fine today. And "}`, "null") + `data: {"error":{"message":"boom","code":500, "own":1}}` + "\n\n", key, `"own":1`},
		{"two calls with one id", call(0, "x", `{"a":1}`) + call(1, "x", `{"a":2}`) + end, `"index":1,"id":"x"`, `"id":"x"`},
		{"arguments after their end", call(0, "x", `{"a":1}`) + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"b\":2}"}}]}`, "null") + end, "[DONE]", `"code":"malformed"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				first, rest, _ := strings.Cut(c.stream, "\n\n")
				fmt.Fprint(w, first+"\n\n")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(100 * time.Millisecond) // gives the gateway time to relay it
				fmt.Fprint(w, rest)
			}))
			defer up.Close()
			client := &provider.Client{Route: provider.Native, Key: func(string) (string, error) { return key, nil },
				Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{"chat"}, KeyEnv: "UP_KEY"}}}
			url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
			body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]}`
			resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			all, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := string(all)
			if strings.Contains(got, c.not) || !strings.Contains(got, c.has) {
				t.Errorf("the client got\n%s", got)
			}
		})
	}
}

// query is a client's request: for an answer, a token count, the list of models, or one model.
type query struct {
	kind, format string
	method, path string // MODEL is replaced by the model name
	body         string
	header       string // a header that selects the format if the path does not
}

const (
	hiTurn  = `"messages":[{"role":"user","content":"hi"}]`
	hiBlock = `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	hiAWS   = `"messages":[{"role":"user","content":[{"text":"hi"}]}]`
)

// queries are all queries, in each format that has them.
var queries = []query{
	{"answer", wire.Chat, "POST", "/v1/chat/completions", `{"model":"MODEL",` + hiTurn + `}`, ""},
	{"answer", wire.Chat, "POST", "/v1/chat/completions", `{"model":"MODEL","stream":true,` + hiTurn + `}`, ""},
	{"answer", wire.Responses, "POST", "/v1/responses", `{"model":"MODEL","input":"hi"}`, ""},
	{"answer", wire.Responses, "POST", "/v1/responses", `{"model":"MODEL","stream":true,"input":"hi"}`, ""},
	{"answer", wire.Messages, "POST", "/v1/messages", `{"model":"MODEL","max_tokens":9,` + hiTurn + `}`, ""},
	{"answer", wire.Messages, "POST", "/v1/messages", `{"model":"MODEL","max_tokens":9,"stream":true,` + hiTurn + `}`, ""},
	{"answer", wire.Gemini, "POST", "/v1beta/models/MODEL:generateContent", `{` + hiBlock + `}`, ""},
	{"answer", wire.Gemini, "POST", "/v1beta/models/MODEL:streamGenerateContent?alt=sse", `{` + hiBlock + `}`, ""},
	{"answer", wire.Gemini, "POST", "/v1beta/models/MODEL:streamGenerateContent", `{` + hiBlock + `}`, ""},
	{"answer", wire.Converse, "POST", "/model/MODEL/converse", `{` + hiAWS + `}`, ""},
	{"answer", wire.Converse, "POST", "/model/MODEL/converse-stream", `{` + hiAWS + `}`, ""},
	{"answer", wire.Converse, "POST", "/model/MODEL/invoke", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,` + hiTurn + `}`, ""},
	{"answer", wire.Ollama, "POST", "/api/chat", `{"model":"MODEL","stream":false,` + hiTurn + `}`, ""},
	{"answer", wire.Ollama, "POST", "/api/chat", `{"model":"MODEL",` + hiTurn + `}`, ""},
	{"answer", wire.Ollama, "POST", "/api/generate", `{"model":"MODEL","stream":false,"prompt":"hi"}`, ""},
	{"answer", wire.Ollama, "POST", "/api/generate", `{"model":"MODEL","prompt":"hi"}`, ""},
	{"count", wire.Messages, "POST", "/v1/messages/count_tokens", `{"model":"MODEL",` + hiTurn + `}`, ""},
	{"count", wire.Responses, "POST", "/v1/responses/input_tokens", `{"model":"MODEL","input":"hi"}`, ""},
	{"count", wire.Gemini, "POST", "/v1beta/models/MODEL:countTokens", `{` + hiBlock + `}`, ""},
	{"count", wire.Converse, "POST", "/model/MODEL/count-tokens", `{"input":{"converse":{` + hiAWS + `}}}`, ""},
	{"list", wire.Chat, "GET", "/v1/models", "", ""},
	{"list", wire.Messages, "GET", "/v1/models", "", "Anthropic-Version: 2023-06-01"},
	{"list", wire.Gemini, "GET", "/v1beta/models", "", ""},
	{"list", wire.Ollama, "GET", "/api/tags", "", ""},
	{"model", wire.Chat, "GET", "/v1/models/MODEL", "", ""},
	{"model", wire.Messages, "GET", "/v1/models/MODEL", "", "Anthropic-Version: 2023-06-01"},
	{"model", wire.Gemini, "GET", "/v1beta/models/MODEL", "", ""},
	{"model", wire.Ollama, "POST", "/api/show", `{"model":"MODEL"}`, ""},
}

// heard is a client's response.
type heard struct {
	status int
	header http.Header
	body   string
}

// send sends a query to an address, modified for a case.
func (a query) send(ctx context.Context, url, model, key string, change func(*query, *http.Request)) (heard, error) {
	if a.body = strings.ReplaceAll(a.body, "MODEL", model); change == nil {
		change = func(*query, *http.Request) {}
	}
	change(&a, nil)
	r, err := http.NewRequestWithContext(ctx, a.method, url+strings.ReplaceAll(a.path, "MODEL", model), strings.NewReader(a.body))
	if err != nil {
		return heard{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(a.header, ": "); ok {
		r.Header.Set(name, value)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	change(&a, r)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return heard{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return heard{resp.StatusCode, resp.Header, string(b)}, err
}

// word returns the error code in the body, in the vendor's form.
func (h heard) word(format string) (string, error) {
	var body struct {
		Type  string          `json:"type"`
		AWS   string          `json:"__type"`
		Says  string          `json:"message"`
		Error json.RawMessage `json:"error"`
	}
	var inner struct {
		Message, Type, Status string
		Code                  any
	}
	if err := json.Unmarshal([]byte(h.body), &body); err != nil {
		return "", err
	}
	err := errors.New("the form is not the vendor's")
	if format == wire.Converse {
		if h.header.Get("X-Amzn-Errortype") == body.AWS && body.Says != "" {
			err = nil
		}
		return body.AWS, err
	}
	if format == wire.Ollama {
		var text string
		return "", json.Unmarshal(body.Error, &text)
	}
	if json.Unmarshal(body.Error, &inner) != nil || inner.Message == "" {
		return "", err
	}
	switch {
	case format == wire.Messages && body.Type == "error":
		return inner.Type, nil
	case format == wire.Gemini && inner.Code == float64(h.status):
		return inner.Status, nil
	case format == wire.Chat || format == wire.Responses:
		return fmt.Sprintf("%s/%v", inner.Type, inner.Code), nil
	}
	return "", err
}

// trouble is a failure, and its response for clients of each format. Responses has the same as Chat.
type trouble struct {
	name, kinds string // the queries that it affects
	send        func(t *testing.T, a query) heard
	after       string // Retry-After
	final       bool   // clients must not retry automatically
	want        map[string]string
}

// row is a row of the table, in the order Chat, Messages, Gemini, Converse, Ollama.
func row(chat, messages, gemini, converse, ollama string) map[string]string {
	return map[string]string{wire.Chat: chat, wire.Responses: chat, wire.Messages: messages, wire.Gemini: gemini, wire.Converse: converse, wire.Ollama: ollama}
}

// line returns a row in the form of the operations page.
func (r trouble) line() string {
	cells := []string{"", r.name}
	for _, format := range []string{wire.Chat, wire.Messages, wire.Gemini, wire.Converse, wire.Ollama} {
		status, word, _ := strings.Cut(r.want[format], " ")
		word, _, _ = strings.Cut(word, " ")
		if _, code, ok := strings.Cut(word, "/"); ok {
			word = code
		}
		if format == wire.Ollama || word == "" {
			cells = append(cells, status)
		} else {
			cells = append(cells, status+" `"+word+"`")
		}
	}
	again := map[bool]string{false: "", true: "`x-should-retry: false`"}[r.final]
	if r.after != "" {
		again = "`Retry-After`"
	}
	return strings.TrimSpace(strings.Join(append(cells, again, ""), " | "))
}

// failing is an upstream with one response to all requests.
func failing(t *testing.T, format string, status int, after, body string) func(string, gateway.Way) (llm.Model, error) {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(up.Close)
	return opening(&provider.Client{Retry: once, Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{format}}}})
}

// over sends a query to a gateway with such an upstream.
func over(t *testing.T, open func(string, gateway.Way) (llm.Model, error)) func(*testing.T, query) heard {
	url := serve(t, gateway.Setup{Open: open, MaxBody: 1 << 10, Routes: []gateway.ModelRoute{to("m", "up/m")}})
	return at(url, "m", "", nil)
}

// at sends to an address.
func at(url, model, key string, change func(*query, *http.Request)) func(*testing.T, query) heard {
	return func(t *testing.T, a query) heard {
		t.Helper()
		h, err := a.send(t.Context(), url, model, key, change)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
}

// openaiFails returns an error of a Chat server.
func openaiFails(says, typ, code string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, says, typ, code)
}

// again sends the same request twice while the first may be changing something.
func again(t *testing.T, a query) heard {
	t.Helper()
	var n counter
	next, begun, ended := make(chan struct{}), make(chan struct{}, 9), make(chan error, 1)
	url := writing(t, &n, next, begun)
	go func() {
		h, err := a.send(t.Context(), url, "m", "", nil)
		if err == nil && h.status != http.StatusOK {
			err = errors.New(h.body)
		}
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(a.path, err)
	}
	h := at(url, "m", "", nil)(t, a)
	close(next)
	if err := <-ended; err != nil {
		t.Error(a.path, err)
	}
	return h
}

// full is a gateway at its request limit, in total or for a route.
func full(t *testing.T, in, route int) string {
	open, asked, goOn := waiting()
	r := to("m", "up")
	r.MaxRequests = route
	_, url := live(t, gateway.Setup{Open: open, MaxRequests: in, Routes: []gateway.ModelRoute{r}})
	ended := make(chan error, 1)
	go func() {
		_, err := queries[0].send(context.Background(), url, "m", "", nil)
		ended <- err
	}()
	<-asked
	t.Cleanup(func() {
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return url
}

// late is a model that takes too long.
func late(string, gateway.Way) (llm.Model, error) {
	return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			yield(nil, &llm.Error{Op: "test", Kind: llm.Timeout, Err: context.DeadlineExceeded})
		}
	}), nil
}

// troubles are the rows of the table. Sources: the vendors' pages about errors.
func troubles(t *testing.T) []trouble {
	g := guard(t, new(sim.Server))
	now := time.Now().Truncate(time.Minute)
	g.book.Now = func() time.Time { return now }
	narrow := g.key(t, access.Key{Models: []string{"other"}})
	fast := g.key(t, access.Key{Limits: quotas(t, "requests/minute=1")})
	spent := g.key(t, access.Key{Limits: quotas(t, "requests/total=1")})
	for _, key := range []string{fast, spent} {
		at(g.url, "chat", key, nil)(t, queries[0])
	}
	drained, url := live(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}})
	drained.Drain()
	const gone = "http://127.0.0.1:1" // a free port may be in use by the time it is called
	nowhere := opening(&provider.Client{Retry: once, Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: gone + "/v1", Wires: []string{wire.Chat}}}})
	plain := serve(t, gateway.Setup{MaxBody: 1 << 10, Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native")}})
	return []trouble{
		{"no JSON", "answer count", at(plain, "m", "", func(a *query, _ *http.Request) { a.body = "{" }), "", false,
			row("400 invalid_request_error/invalid_request", "400 invalid_request_error", "400 INVALID_ARGUMENT", "400 ValidationException", "400")},
		{"no key", "answer count list model", at(g.url, "chat", "", nil), "", false,
			row("401 invalid_request_error/invalid_api_key", "401 authentication_error", "403 PERMISSION_DENIED", "403 MissingAuthenticationTokenException", "401")},
		{"wrong key", "answer count list model", at(g.url, "chat", "tp-wrong", nil), "", false,
			row("401 invalid_request_error/invalid_api_key", "401 authentication_error", "400 INVALID_ARGUMENT API_KEY_INVALID", "403 UnrecognizedClientException", "401")},
		{"not allowed", "answer count", at(g.url, "chat", narrow, nil), "", false,
			row("403 invalid_request_error/model_not_found", "403 permission_error", "403 PERMISSION_DENIED", "403 AccessDeniedException", "403")},
		{"no such model", "answer count model", at(plain, "nobody", "", nil), "", false,
			row("404 invalid_request_error/model_not_found", "404 not_found_error", "404 NOT_FOUND", "404 ResourceNotFoundException", "404")},
		{"too large", "answer count", at(plain, "m", "", func(a *query, _ *http.Request) { a.body += strings.Repeat(" ", 2<<10) }), "", false,
			row("413 invalid_request_error/context_length_exceeded", "413 request_too_large", "400 INVALID_ARGUMENT", "413 RequestEntityTooLargeException", "413")},
		{"too fast", "answer count", at(g.url, "chat", fast, nil), "60", false,
			row("429 rate_limit_error/rate_limit_exceeded", "429 rate_limit_error", "429 RESOURCE_EXHAUSTED", "429 ThrottlingException", "429")},
		{"spent", "answer count", at(g.url, "chat", spent, nil), "", true,
			row("429 insufficient_quota/insufficient_quota", "429 rate_limit_error", "429 RESOURCE_EXHAUSTED", "429 ServiceQuotaExceededException", "429")},
		{"too long", "answer", over(t, failing(t, wire.Chat, 400, "", openaiFails("This model has room for 8192 tokens", "invalid_request_error", "context_length_exceeded"))), "", false,
			row("400 invalid_request_error/context_length_exceeded", "400 invalid_request_error prompt is too long", "400 INVALID_ARGUMENT input token count",
				"400 ValidationException Input is too long", "400 the input length exceeds the context length")},
		{"content filter", "answer", over(t, failing(t, wire.Chat, 400, "", openaiFails("blocked", "invalid_request_error", "content_filter"))), "", false,
			row("400 invalid_request_error/content_filter", "400 invalid_request_error", "400 FAILED_PRECONDITION", "400 ValidationException", "400")},
		{"upstream refuses a value", "answer", over(t, failing(t, wire.Chat, 422, "", openaiFails("temperature is too high", "invalid_request_error", ""))), "", false,
			row("400 invalid_request_error/invalid_request", "400 invalid_request_error", "400 INVALID_ARGUMENT", "400 ValidationException", "400")},
		{"upstream cannot do it", "answer", over(t, failing(t, wire.Chat, 400, "", openaiFails("m does not support tools", "invalid_request_error", ""))), "", false,
			row("400 invalid_request_error/unsupported_value", "400 invalid_request_error", "400 INVALID_ARGUMENT", "400 ValidationException", "400")},
		{"upstream limits us", "answer", over(t, failing(t, wire.Chat, 429, "7", openaiFails("slow down", "requests", "rate_limit_exceeded"))), "7", false,
			row("429 rate_limit_error/rate_limit_exceeded", "429 rate_limit_error", "429 RESOURCE_EXHAUSTED", "429 ThrottlingException", "429")},
		{"upstream overloaded", "answer", over(t, failing(t, wire.Chat, 503, "3", openaiFails("busy", "service_unavailable_error", "server_is_overloaded"))), "3", false,
			row("503 service_unavailable_error/server_is_overloaded", "529 overloaded_error", "503 UNAVAILABLE", "503 ServiceUnavailableException", "503")},
		{"upstream overloaded, as Anthropic says it", "answer", over(t, failing(t, wire.Messages, 529, "3", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), "3", false,
			row("503 service_unavailable_error/server_is_overloaded", "529 overloaded_error", "503 UNAVAILABLE", "503 ServiceUnavailableException", "503")},
		{"upstream fails", "answer", over(t, failing(t, wire.Chat, 500, "", openaiFails("oops", "server_error", ""))), "", false,
			row("500 server_error/server_error", "500 api_error", "500 INTERNAL", "500 InternalServerException", "500")},
		{"upstream's proxy fails", "answer", over(t, failing(t, wire.Chat, 521, "", "<html>")), "", false,
			row("500 server_error/server_error", "500 api_error", "500 INTERNAL", "500 InternalServerException", "500")},
		{"upstream refuses our key", "answer", over(t, failing(t, wire.Chat, 401, "", openaiFails("no", "invalid_request_error", "invalid_api_key"))), "", true,
			row("502 server_error/server_error", "502 api_error", "502 INTERNAL", "502 InternalServerException", "502")},
		{"upstream unreachable", "answer", over(t, nowhere), "", false,
			row("502 server_error/network_error", "502 api_error", "502 INTERNAL", "502 InternalServerException", "502")},
		{"upstream sends no JSON", "answer", over(t, failing(t, wire.Chat, 200, "", `{"choices":`)), "", false,
			row("502 server_error/malformed", "502 api_error", "502 INTERNAL", "424 ModelErrorException", "502")},
		{"upstream too late", "answer", over(t, late), "", false,
			row("504 server_error/timeout", "504 timeout_error", "504 DEADLINE_EXCEEDED", "408 ModelTimeoutException", "504")},
		{"upstream's own timeout", "answer", over(t, failing(t, wire.Chat, 408, "", openaiFails("slow", "server_error", "timeout"))), "", false,
			row("504 server_error/timeout", "504 timeout_error", "504 DEADLINE_EXCEEDED", "408 ModelTimeoutException", "504")},
		{"draining", "answer count list model", at(url, "m", "", nil), "1", false,
			row("503 service_unavailable_error/server_is_overloaded", "503 overloaded_error", "503 UNAVAILABLE", "503 ServiceUnavailableException", "503")},
		{"gateway full", "answer count list model", at(full(t, 1, 0), "m", "", nil), "1", false,
			row("503 service_unavailable_error/server_is_overloaded", "503 overloaded_error", "503 UNAVAILABLE", "503 ServiceUnavailableException", "503")},
		{"route full", "answer", at(full(t, 0, 1), "m", "", nil), "1", false,
			row("429 rate_limit_error/rate_limit_exceeded", "429 rate_limit_error", "429 RESOURCE_EXHAUSTED", "429 ThrottlingException", "429")},
		{"being answered", "answer", again, "", true,
			row("409 invalid_request_error/invalid_request", "409 conflict_error", "409 ABORTED", "409 ConflictException", "409")},
		{"WebSocket", "answer", at(plain, "m", "", func(a *query, r *http.Request) {
			if a.method, a.body = "GET", ""; r != nil {
				r.Header.Set("Connection", "Upgrade")
				r.Header.Set("Upgrade", "websocket")
			}
		}), "", true,
			row("501 invalid_request_error/unsupported_value", "501 api_error", "501 UNIMPLEMENTED", "501 UnknownOperationException", "501")},
	}
}

const errorsPageHead = `# Errors that clients of the gateway get

Look up which error a client gets: the status, form and code of its vendor. Coding agents that match the words of an error find the
words of the vendor. This page is generated.

- A status 4xx of an upstream without a vendor meaning (418, 425, 451, …) stays an error of the request.
- 407 of a proxy counts as a refused key.
- ` + "`x-should-retry: false`" + ` goes to clients of OpenAI and Anthropic. Ollama has only status and text.

| cause | Chat, Responses | Messages | Gemini | Converse | Ollama | header |
|---|---|---|---|---|---|---|
`

// TestUpstreamStatuses checks the response to every failure for clients of every format: the status, the vendor's code in the
// vendor's form, the retry time, and whether to retry. The page of errors is generated from the table.
func TestUpstreamStatuses(t *testing.T) {
	var page strings.Builder
	page.WriteString(errorsPageHead)
	defer func() { testkit.Page(t, "../docs/gateway/errors.md", page.String()) }()
	for _, row := range troubles(t) {
		page.WriteString(row.line() + "\n")
		for _, a := range queries {
			if !slices.Contains(strings.Fields(row.kinds), a.kind) {
				continue
			}
			h := row.send(t, a)
			where := fmt.Sprintf("%s, %s %s %s", row.name, a.format, a.kind, a.path)
			word, err := h.word(a.format)
			status, want, _ := strings.Cut(row.want[a.format], " ")
			want, says, _ := strings.Cut(want, " ")
			if a.format == wire.Ollama {
				want, says = "", want+" "+says
			}
			if err != nil || fmt.Sprint(h.status) != status || !strings.HasPrefix(word, want) || want == "" && word != "" || !strings.Contains(h.body, strings.TrimSpace(says)) {
				t.Errorf("%s: %v, %d %s, want %s: %s", where, err, h.status, word, row.want[a.format], h.body)
			}
			if after := h.header.Get("Retry-After"); after != row.after {
				t.Errorf("%s: Retry-After is %q, want %q", where, after, row.after)
			}
			if final := h.header.Get("X-Should-Retry") == "false"; final != row.final {
				t.Errorf("%s: to be tried again: %t", where, !final)
			}
		}
	}
}

// TestErrorsOfVendors checks the error fields that clients read.
func TestErrorsOfVendors(t *testing.T) {
	url := serve(t, gateway.Setup{MaxBody: 400, Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native+503")}})
	for _, test := range []struct {
		format, size string
		status       int
		says         string
	}{
		{wire.Messages, "hi", 529, `"type":"overloaded_error"`},
		{wire.Messages, strings.Repeat("x", 500), 413, `"type":"request_too_large"`},
		{wire.Gemini, "hi", 503, `"status":"UNAVAILABLE"`},
		{wire.Chat, strings.Repeat("x", 500), 413, `"type":"invalid_request_error"`},
	} {
		codec, _ := wire.For(test.format)
		body, _, _ := codec.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User(test.size)}}, false)
		resp, err := http.Post(url+roots[test.format]+"/"+codec.Path("m", false), "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(strings.ReplaceAll(string(b), ": ", ":"), test.says) {
			t.Errorf("%s: status %d, want %d and %s: %s", test.format, resp.StatusCode, test.status, test.says, b)
		}
	}
}
