package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// roots are the simulator's paths for each format.
var roots = map[string]string{
	wire.Chat: "/v1", wire.Responses: "/v1", wire.Messages: "/v1", wire.Gemini: "/v1beta", wire.Ollama: "/api", wire.Converse: "",
}

// upstreams returns a client whose vendors up-chat, up-messages and so on are the simulator, each in one format.
func upstreams(t *testing.T) *provider.Client {
	t.Helper()
	server := httptest.NewServer(new(sim.Server))
	t.Cleanup(server.Close)
	vendors := map[string]provider.Vendor{}
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
	}
	return &provider.Client{Vendors: vendors, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
}

// toolless returns a client whose vendor up-text is a model without native tools that writes calls as taught.
func toolless(t *testing.T) *provider.Client {
	t.Helper()
	says := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		text := "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
		if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "sunny") {
			text = "It is sunny."
		}
		return func(yield func(llm.Event, error) bool) {
			if yield(llm.TextDelta{Text: text}, nil) {
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		}
	})
	server := httptest.NewServer(&sim.Server{Model: says})
	t.Cleanup(server.Close)
	return &provider.Client{Vendors: map[string]provider.Vendor{"up-text": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}, Style: "hermes"}
}

// opening opens models like a client.
func opening(c *provider.Client) func(string, gateway.Way) (llm.Model, error) {
	return func(id string, _ gateway.Way) (llm.Model, error) { return c.Open(id) }
}

// serve starts a gateway with routes.
func serve(t *testing.T, c gateway.Setup) string {
	t.Helper()
	if c.Open == nil {
		c.Open = opening(upstreams(t))
	}
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return server.URL
}

// to returns a route to one upstream.
func to(name, id string) gateway.ModelRoute {
	return gateway.ModelRoute{Model: name, Upstreams: []gateway.Upstream{{Model: id}}}
}

// reply is the response that a client got.
type reply struct {
	*llm.Response
	status int
	header http.Header
	err    error
}

// ask calls the gateway like a client of the format.
func ask(t *testing.T, url, format string, req *llm.Request, stream bool) reply {
	t.Helper()
	codec, _ := wire.For(format)
	body, _, err := codec.EncodeRequest(req, stream)
	if err != nil {
		t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(t.Context(), "POST", url+roots[format]+"/"+codec.Path(req.Model, stream), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := reply{status: resp.StatusCode, header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		out.err = codec.DecodeError(resp.StatusCode, resp.Header, b)
		return out
	}
	if !stream {
		b, _ := io.ReadAll(resp.Body)
		out.Response, out.err = codec.DecodeResponse(b)
		return out
	}
	var build llm.Builder
	for ev, err := range codec.DecodeStream(resp.Body) {
		if err != nil {
			out.err = err
			break
		}
		build.Add(ev)
	}
	out.Response = build.Response()
	return out
}

var weather = llm.ToolDef{
	Name: "get_weather", Description: "Tells the weather of a city.",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"The city."}},"required":["city"]}`),
}

func question(model string) *llm.Request {
	return &llm.Request{Model: model, MaxTokens: 2048, Messages: []llm.Message{llm.User("What is the weather in Paris?")}, Tools: []llm.ToolDef{weather}}
}

// TestEveryClientOverEveryUpstream requests a call and continues with its result, in each format over each format and
// over a model without native tools.
func TestEveryClientOverEveryUpstream(t *testing.T) {
	native, text := upstreams(t), toolless(t)
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		if strings.HasPrefix(id, "up-text/") {
			return text.Open(id)
		}
		return native.Open(id)
	}
	var routes []gateway.ModelRoute
	for format := range roots {
		routes = append(routes, to("native-"+format, "up-"+format+"/sim/native"), to("text-"+format, "up-"+format+"/sim/hermes_json"))
	}
	routes = append(routes, to("toolless", "up-text/sim/native+no-tools"))
	url := serve(t, gateway.Setup{Open: open, Routes: routes})
	for format := range roots {
		for _, r := range routes {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%t", format, r.Model, stream), func(t *testing.T) {
					walk(t, url, format, r.Model, stream)
				})
			}
		}
	}
}

// walk requests a call, sends its result and reads the answer.
func walk(t *testing.T, url, format, model string, stream bool) {
	req := question(model)
	first := ask(t, url, format, req, stream)
	if first.err != nil {
		t.Fatal(first.err)
	}
	calls := first.Message.Calls()
	if len(calls) != 1 || calls[0].Name != "get_weather" || !strings.Contains(string(calls[0].Args), "Paris") {
		t.Fatalf("calls = %+v, text %q", calls, first.Message.Text())
	}
	if first.Finish.Reason != llm.ToolCalls {
		t.Errorf("finish = %q, want %q", first.Finish.Reason, llm.ToolCalls)
	}
	if first.header.Get(exchange.RequestHeader) == "" || !strings.HasPrefix(first.header.Get(exchange.UpstreamHeader), "up-") {
		t.Errorf("header = %v", first.header)
	}
	req.Messages = append(req.Messages, first.Message, llm.Results(llm.Result{CallID: calls[0].ID, Name: calls[0].Name, Parts: []llm.Part{llm.Text{Text: "sunny, 21 degrees"}}}))
	second := ask(t, url, format, req, stream)
	if second.err != nil {
		t.Fatal(second.err)
	}
	if !strings.Contains(second.Message.Text(), "sunny") {
		t.Errorf("answer = %q, want the result in it", second.Message.Text())
	}
}

// TestErrorsInClientFormat checks that errors before an answer begins have their status and the client's format. An
// upstream that refuses the gateway's key is not an error of the client.
func TestErrorsInClientFormat(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{
		to("busy", "up-chat/sim/native+503"), to("limited", "up-messages/sim/native+429=7s"), to("locked", "up-gemini/sim/native+401"),
	}})
	for _, test := range []struct {
		model  string
		status int
		kind   llm.Kind
	}{
		{"busy", 503, llm.Overloaded}, {"limited", 429, llm.RateLimited}, {"locked", 502, llm.Server}, {"nobody", 404, llm.NotFound},
	} {
		for format := range roots {
			for _, stream := range []bool{false, true} {
				got := ask(t, url, format, question(test.model), stream)
				want := test.status
				if test.model == "busy" && format == wire.Messages {
					want = 529
				}
				if got.status != want || llm.KindOf(got.err) != test.kind {
					t.Errorf("%s, %s, stream=%t: status %d, %v", test.model, format, stream, got.status, got.err)
				}
				if wait := got.header.Get("Retry-After"); test.model == "limited" && wait != "7" {
					t.Errorf("%s, %s: Retry-After = %q", test.model, format, wait)
				}
			}
		}
	}
}

// TestErrorInTheMiddleOfAStream checks that an answer that breaks off ends the client's stream with an error, never with a finish.
func TestErrorInTheMiddleOfAStream(t *testing.T) {
	var routes []gateway.ModelRoute
	for format := range roots {
		routes = append(routes, to("fails-"+format, "up-"+format+"/sim/native+fail=3"), to("cut-"+format, "up-"+format+"/sim/native+cut=400"))
	}
	url := serve(t, gateway.Setup{Routes: routes})
	for format := range roots {
		for _, r := range routes {
			req := &llm.Request{Model: r.Model, MaxTokens: 2048, Messages: []llm.Message{llm.User("Hello there")}}
			got := ask(t, url, format, req, true)
			if got.err == nil {
				t.Errorf("%s over %s: the stream ended well: %q", format, r.Model, got.Message.Text())
			}
		}
	}
}

// TestCancelledRequest checks that the request to the upstream is cancelled when the client disconnects.
func TestCancelledRequest(t *testing.T) {
	gone := make(chan struct{})
	open := func(string, gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if !yield(llm.TextDelta{Text: "one"}, nil) {
					return
				}
				<-ctx.Done()
				close(gone)
				yield(nil, ctx.Err())
			}
		}), nil
	}
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{to("m", "m")}})
	ctx, cancel := context.WithCancel(t.Context())
	post, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	<-gone
}

// TestKeepAlive checks that a silent stream sends keep-alives, before its first event and between two.
func TestKeepAlive(t *testing.T) {
	next := make(chan struct{})
	open := func(string, gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				<-next
				if !yield(llm.TextDelta{Text: "one"}, nil) {
					return
				}
				<-next
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		}), nil
	}
	url := serve(t, gateway.Setup{Open: open, KeepAlive: time.Millisecond, Routes: []gateway.ModelRoute{to("m", "m")}})
	resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got strings.Builder
	until := func(what string) {
		buf := make([]byte, 1)
		for !strings.Contains(got.String(), what) {
			if _, err := resp.Body.Read(buf); err != nil {
				t.Fatalf("before %q: %v after %q", what, err, got.String())
			}
			got.Write(buf)
		}
		got.Reset()
	}
	until(": keep-alive\n\n")
	next <- struct{}{}
	until("one")
	until("event: ping\n")
	next <- struct{}{}
	until("message_stop")
}

// TestCountTokens checks that tokens are counted by an upstream of the client's own format, and estimated with a warning
// otherwise.
func TestCountTokens(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("same", "up-messages/sim/native"), to("other", "up-chat/sim/native")}})
	count := func(model string) (string, http.Header) {
		body := `{"model":"` + model + `","messages":[{"role":"user","content":"How many tokens are these words?"}]}`
		resp, err := http.Post(url+"/v1/messages/count_tokens", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return strings.TrimSpace(string(b)), resp.Header
	}
	same, header := count("same")
	if header.Get(exchange.WarningHeader) != "" || !strings.HasPrefix(same, `{"input_tokens":`) {
		t.Errorf("counted by the upstream: %s, %v", same, header)
	}
	other, header := count("other")
	if !strings.Contains(header.Get(exchange.WarningHeader), "estimated") || !strings.HasPrefix(other, `{"input_tokens":`) {
		t.Errorf("estimated: %s, %v", other, header)
	}
	if nobody, _ := count("nobody"); !strings.Contains(nobody, "not_found_error") {
		t.Errorf("a model that is not there: %s", nobody)
	}
}

// signature matches a vendor's signature.
var signature = regexp.MustCompile(`"(?:signature|thoughtSignature|encrypted_content)":\s*"([^"]{8,})"`)

// TestSignaturesComeBackToTheirUpstream checks that an upstream's signatures come back to it, also from clients whose format cannot
// carry them.
func TestSignaturesComeBackToTheirUpstream(t *testing.T) {
	var mu sync.Mutex
	var asked, answered []string // the last request and response bodies
	server := new(sim.Server)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, r)
		mu.Lock()
		asked, answered = append(asked, string(body)), append(answered, rec.Body.String())
		mu.Unlock()
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}))
	defer up.Close()
	vendors, routes := map[string]provider.Vendor{}, []gateway.ModelRoute{}
	for _, format := range []string{wire.Messages, wire.Gemini} {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + roots[format], Wires: []string{format}}
		routes = append(routes, to("signing-"+format, "up-"+format+"/sim/native+strict+think"))
	}
	url := serve(t, gateway.Setup{Open: opening(&provider.Client{Vendors: vendors, Route: provider.Native}), Routes: routes})
	for format := range roots {
		for _, r := range routes {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%t", format, r.Model, stream), func(t *testing.T) {
					asked, answered = nil, nil
					walk(t, url, format, r.Model, stream)
					signed := signature.FindAllStringSubmatch(answered[0], -1)
					if len(signed) == 0 {
						t.Fatalf("nothing is signed in %s", answered[0])
					}
					for _, s := range signed {
						if !strings.Contains(asked[1], s[1]) {
							t.Errorf("the signature %s did not come back in %s", s[1], asked[1])
						}
					}
				})
			}
		}
	}
}

// TestFallback checks that another upstream is asked when one fails before its answer begins, and that an upstream that
// keeps failing is skipped while there is another.
func TestFallback(t *testing.T) {
	asked := map[string]int{}
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				asked[id]++
				if id == "broken" {
					yield(nil, &llm.Error{Op: id, Kind: llm.Server, Status: 500})
					return
				}
				if yield(llm.TextDelta{Text: "from " + id}, nil) {
					yield(llm.Finish{Reason: llm.Stop}, nil)
				}
			}
		}), nil
	}
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{
		{Model: "m", Upstreams: []gateway.Upstream{{Model: "broken", Weight: 9}, {Model: "good"}}},
		{Model: "last", Upstreams: []gateway.Upstream{{Model: "broken"}}, Fallback: []string{"other"}},
		to("other", "other"), to("only", "broken"),
	}})
	for range 10 {
		if got := ask(t, url, wire.Chat, question("m"), true); got.err != nil || got.Message.Text() != "from good" {
			t.Fatalf("%+v", got)
		}
	}
	if asked["broken"] >= 10 {
		t.Errorf("the broken one was asked %d times", asked["broken"])
	}
	got := ask(t, url, wire.Messages, question("last"), false)
	if got.err != nil || got.Message.Text() != "from other" || !strings.Contains(got.header.Get(exchange.WarningHeader), "broken did not answer (server), so other was asked") {
		t.Errorf("%+v", got)
	}
	for range 5 {
		if got := ask(t, url, wire.Chat, question("only"), false); got.status != 500 {
			t.Errorf("the only upstream: %+v", got)
		}
	}
}

// TestRoutes checks the route of a name, and that meaningless routes are refused.
func TestRoutes(t *testing.T) {
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if yield(llm.TextDelta{Text: id}, nil) {
					yield(llm.Finish{Reason: llm.Stop}, nil)
				}
			}
		}), nil
	}
	only := func(r gateway.ModelRoute, formats ...string) gateway.ModelRoute {
		r.From = formats
		return r
	}
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{
		to("*", "rest/*"), to("gpt-*", "openai/gpt-*"), to("gpt-5", "azure/five"), only(to("gpt-6", "six"), wire.Messages),
	}})
	for name, want := range map[string]string{"gpt-5": "azure/five", "gpt-5-mini": "openai/gpt-5-mini", "llama": "rest/llama", "gpt-6": "openai/gpt-6"} {
		if got := ask(t, url, wire.Chat, &llm.Request{Model: name, Messages: []llm.Message{llm.User("hi")}}, false); got.err != nil || got.Message.Text() != want {
			t.Errorf("%s: %v, want %s", name, got.Response, want)
		}
	}
	for _, name := range []string{"http://evil.example/v1#m", "../secret", "a b", "x\ny", strings.Repeat("x", 300)} {
		if got := ask(t, url, wire.Chat, &llm.Request{Model: name, Messages: []llm.Message{llm.User("hi")}}, false); got.status != 404 {
			t.Errorf("%q: status %d", name, got.status)
		}
	}
	for why, routes := range map[string][]gateway.ModelRoute{
		"there are no routes":                nil,
		"it names no model":                  {to("", "x")},
		"a * may only stand at the end":      {to("a*b", "x")},
		"the * of x/* matches nothing":       {to("a", "x/*")},
		"it has no upstream":                 {{Model: "a"}},
		"both for a":                         {to("a", "x"), to("a", "y")},
		"no other route is for its fallback": {{Model: "a", Upstreams: []gateway.Upstream{{Model: "x"}}, Fallback: []string{"b"}}},
		"unknown format":                     {only(to("a", "x"), "soap")},
		"there is no check":                  {{Model: "a", Upstreams: []gateway.Upstream{{Model: "x"}}, Check: "maybe"}},
		"the weight of x is -1":              {{Model: "a", Upstreams: []gateway.Upstream{{Model: "x", Weight: -1}}}},
		"in the way \"magic\"":               {{Model: "a", Upstreams: []gateway.Upstream{{Model: "x", Way: gateway.Way{Tools: "magic"}}}}},
	} {
		if _, err := gateway.New(gateway.Setup{Open: open, Routes: routes}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestInvalidCallsAreReported checks that the client is warned of a call that does not match its schema.
func TestInvalidCallsAreReported(t *testing.T) {
	open := func(string, gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			call := llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"town":"Paris"}`)}
			return func(yield func(llm.Event, error) bool) {
				for _, ev := range []llm.Event{llm.CallStart{ID: "call_1", Name: "get_weather"}, llm.CallDelta{ID: "call_1", Args: string(call.Args)}, call, llm.Finish{Reason: llm.ToolCalls}} {
					if !yield(ev, nil) {
						return
					}
				}
			}
		}), nil
	}
	off := to("off", "m")
	off.Check = gateway.CheckOff
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{to("m", "m"), off}})
	const says = "compatibility; get_weather; the call call_1 does not fit the schema of its tool"
	if got := ask(t, url, wire.Chat, question("m"), false); !strings.Contains(got.header.Get(exchange.WarningHeader), says) {
		t.Errorf("whole: %v", got.header)
	}
	if got := ask(t, url, wire.Chat, question("off"), false); got.header.Get(exchange.WarningHeader) != "" {
		t.Errorf("off: %v", got.header)
	}
	codec, _ := wire.For(wire.Messages)
	body, _, _ := codec.EncodeRequest(question("m"), true)
	if got := string(raw(t, url, wire.Messages, "m", body, true)); !strings.Contains(got, "\n: "+says) {
		t.Errorf("stream: %s", got)
	}
}
