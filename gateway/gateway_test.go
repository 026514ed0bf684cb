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
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// roots are where the simulator speaks each format.
var roots = map[string]string{
	wire.Chat: "/v1", wire.Responses: "/v1", wire.Messages: "/v1", wire.Gemini: "/v1beta", wire.Ollama: "/api", wire.Converse: "",
}

// upstreams returns a client whose vendors up-chat, up-messages and so on are the
// simulator, each in one format.
func upstreams(t *testing.T) *provider.Client {
	t.Helper()
	server := httptest.NewServer(new(sim.Server))
	t.Cleanup(server.Close)
	vendors := map[string]provider.Vendor{}
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
	}
	return &provider.Client{Vendors: vendors, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
}

// toolless returns a client whose vendor up-text is a model that has no tools and writes
// what it was taught.
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

// serve starts a gateway with routes.
func serve(t *testing.T, c gateway.Config) string {
	t.Helper()
	if c.Open == nil {
		c.Open = upstreams(t).Open
	}
	g, err := gateway.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return server.URL
}

// to is a route that leads to one upstream.
func to(name, id string) gateway.Route {
	return gateway.Route{Model: name, Upstreams: []gateway.Upstream{{Model: id}}}
}

// reply is what a client got.
type reply struct {
	*llm.Response
	status int
	header http.Header
	err    error
}

// ask asks the gateway as a client of the format does.
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

// TestEveryClientOverEveryUpstream asks for a call and goes on with its result, in each
// format over each format and over a model that has no tools.
func TestEveryClientOverEveryUpstream(t *testing.T) {
	native, text := upstreams(t), toolless(t)
	open := func(id string) (llm.Model, error) {
		if strings.HasPrefix(id, "up-text/") {
			return text.Open(id)
		}
		return native.Open(id)
	}
	var routes []gateway.Route
	for format := range roots {
		routes = append(routes, to("native-"+format, "up-"+format+"/sim/native"), to("text-"+format, "up-"+format+"/sim/hermes_json"))
	}
	routes = append(routes, to("toolless", "up-text/sim/native+no-tools"))
	url := serve(t, gateway.Config{Open: open, Routes: routes})
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

// walk asks for a call, gives its result and reads the answer.
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
	if first.header.Get(gateway.RequestHeader) == "" || !strings.HasPrefix(first.header.Get(gateway.UpstreamHeader), "up-") {
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

// TestErrorsAreTheClients checks that what goes wrong before an answer begins has its status
// and the words of the client's format.
func TestErrorsAreTheClients(t *testing.T) {
	url := serve(t, gateway.Config{Routes: []gateway.Route{
		to("busy", "up-chat/sim/native+503"), to("limited", "up-messages/sim/native+429=7s"), to("locked", "up-gemini/sim/native+401"),
	}})
	for _, test := range []struct {
		model  string
		status int
		kind   llm.Kind
	}{
		{"busy", 503, llm.Overloaded}, {"limited", 429, llm.RateLimited}, {"locked", 401, llm.Auth}, {"nobody", 404, llm.NotFound},
	} {
		for format := range roots {
			for _, stream := range []bool{false, true} {
				got := ask(t, url, format, question(test.model), stream)
				if got.status != test.status || llm.KindOf(got.err) != test.kind {
					t.Errorf("%s, %s, stream=%t: status %d, %v", test.model, format, stream, got.status, got.err)
				}
				if wait := got.header.Get("Retry-After"); test.model == "limited" && wait != "7" {
					t.Errorf("%s, %s: Retry-After = %q", test.model, format, wait)
				}
			}
		}
	}
}

// TestMidStream checks that an answer that breaks off ends the client's stream with an error,
// never with a finish.
func TestMidStream(t *testing.T) {
	var routes []gateway.Route
	for format := range roots {
		routes = append(routes, to("fails-"+format, "up-"+format+"/sim/native+fail=3"), to("cut-"+format, "up-"+format+"/sim/native+cut=400"))
	}
	url := serve(t, gateway.Config{Routes: routes})
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

// TestCancelled checks that the upstream is given up when the client goes.
func TestCancelled(t *testing.T) {
	gone := make(chan struct{})
	open := func(string) (llm.Model, error) {
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
	url := serve(t, gateway.Config{Open: open, Routes: []gateway.Route{to("m", "m")}})
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

// TestKeepAlive checks that a client is told that a silent stream is alive, before its first
// event and between two.
func TestKeepAlive(t *testing.T) {
	next := make(chan struct{})
	open := func(string) (llm.Model, error) {
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
	url := serve(t, gateway.Config{Open: open, KeepAlive: time.Millisecond, Routes: []gateway.Route{to("m", "m")}})
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
