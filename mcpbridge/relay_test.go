//lint:file-ignore SA1019 a relay passes on what later revisions no longer have, too

package mcpbridge_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/relay"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// relaying is a relay and its record.
type relaying struct {
	*relay.Relay
	serving
	told *notices
}

// relayOf relays a server with a policy.
func relayOf(t *testing.T, server config.ServerConfig, policy invoke.Policy) *relaying {
	t.Helper()
	return relayFrom(t, client.Options{}, server, policy)
}

// relayFrom relays a server of which something may be known.
func relayFrom(t *testing.T, o client.Options, server config.ServerConfig, policy invoke.Policy) *relaying {
	t.Helper()
	r := &relaying{serving: serving{store: new(journal.Memory)}}
	servers, told := open(t, o, server)
	r.told = told
	var err error
	r.Relay, err = servers.Relay(server.Name, serve.ServiceOptions{
		Runner: &invoke.Runner{Policy: policy}, Drain: 1,
		Record: func(ctx context.Context) (*journal.Recorder, error) {
			run := journal.NewRun()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.runs = append(r.runs, run)
			return journal.Open(ctx, r.store, run)
		},
		Failed: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Relay.Close() })
	return r
}

// client returns a transport to the relay.
func (r *relaying) client(t *testing.T, way string) mcp.Transport {
	t.Helper()
	if way == "http" {
		return &mcp.StreamableClientTransport{Endpoint: r.url(t, serve.HTTPAccess{}), MaxRetries: -1}
	}
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- r.Relay.ServePipe(context.Background(), toServer, fromServer)
		fromServer.Close()
		toServer.Close() // like the pipes of a program that has ended: nobody waits for a reader
	}()
	t.Cleanup(func() {
		fromClient.Close()
		toClient.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}
}

func (r *relaying) url(t *testing.T, a serve.HTTPAccess) string {
	t.Helper()
	h, err := r.Relay.Handler(a)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		r.Relay.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// wholeServer is the server of a test, by way and revision.
func wholeServer(t *testing.T, way, revision string) config.ServerConfig {
	if way == "stdio" {
		return stdio("whole", "whole")
	}
	path := "/mcp"
	if revision >= "2026" {
		path = "/stateless"
	}
	return config.ServerConfig{Name: "whole", URL: mcptest.HTTP(t, mcptest.Whole(), nil) + path}
}

// guest is a client that can do all that a client may do.
type guest struct {
	*mcp.ClientSession
	mu   sync.Mutex
	told []string
}

func (g *guest) hear(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, text)
}

func (g *guest) heard(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.told, func(s string) bool { return strings.Contains(s, text) })
}

func connectGuest(t *testing.T, transport mcp.Transport, revision string, forms bool) *guest {
	t.Helper()
	g := new(guest)
	o := &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			g.hear("progress " + r.Params.Message)
		},
		LoggingMessageHandler:  func(_ context.Context, r *mcp.LoggingMessageRequest) { g.hear(fmt.Sprint("log ", r.Params.Data)) },
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { g.hear("tools changed") },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { g.hear("updated " + r.Params.URI) },
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "good day"}, Model: "m", Role: "assistant"}, nil
		},
	}
	if forms {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			g.hear("asked " + r.Params.Message)
			if strings.HasPrefix(r.Params.Message, "Allow") {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "guest", Version: "1"}, o)
	client.AddRoots(&mcp.Root{URI: "file:///home/ada", Name: "home"})
	var err error
	if g.ClientSession, err = client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.ClientSession.Close() })
	return g
}

func (g *guest) do(t *testing.T, name, args string) (string, *mcp.CallToolResult) {
	t.Helper()
	d := &dialogue{ClientSession: g.ClientSession}
	return d.do(t, name, args)
}

// eachRelay runs a test for every way to the relay and from it on, in each revision.
func eachRelay(t *testing.T, policy invoke.Policy, forms bool, test func(t *testing.T, r *relaying, g *guest, revision string)) {
	for _, down := range []string{"stdio", "http"} {
		for _, up := range []string{"stdio", "http"} {
			for _, revision := range []string{"2025-06-18", "2026-07-28"} { // with sessions and without
				t.Run(down+" to "+up+" "+revision, func(t *testing.T) {
					r := relayOf(t, wholeServer(t, up, revision), policy)
					g := connectGuest(t, r.client(t, down), revision, forms)
					if got := g.InitializeResult().ProtocolVersion; got != revision {
						t.Fatalf("they speak %s", got)
					}
					test(t, r, g, revision)
				})
			}
		}
	}
}

func TestRelayPassesEverythingOn(t *testing.T) {
	t.Parallel()
	eachRelay(t, invoke.AllowAll, true, func(t *testing.T, r *relaying, g *guest, revision string) {
		ctx := t.Context()
		if res := g.InitializeResult(); res.ServerInfo.Name != "whole" || res.Instructions != "Use me well." {
			t.Errorf("the server is %+v", res)
		}
		if res, err := g.ListTools(ctx, nil); err != nil || !slices.ContainsFunc(res.Tools, func(o *mcp.Tool) bool { return o.Name == "show.all" }) {
			t.Errorf("the tools are %v %v", res, err)
		}
		if res, err := g.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Bob"}}); err != nil || res.Messages[0].Content.(*mcp.TextContent).Text != "Greet Bob" {
			t.Errorf("the prompt is %v %v", res, err)
		}
		if res, err := g.ListPrompts(ctx, nil); err != nil || len(res.Prompts) != 1 {
			t.Errorf("the prompts are %v %v", res, err)
		}
		if res, err := g.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://items/5"}); err != nil || res.Contents[0].Text != "content of test://items/5" {
			t.Errorf("the resource is %v %v", res, err)
		}
		if res, err := g.ListResourceTemplates(ctx, nil); err != nil || len(res.ResourceTemplates) != 1 {
			t.Errorf("the templates are %v %v", res, err)
		}
		if res, err := g.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "Ad"}}); err != nil || res.Completion.Values[0] != "Ad-completed" {
			t.Errorf("the completion is %v %v", res, err)
		}
		for _, c := range []struct{ tool, args, want string }{
			{"echo", `{"text":"hello"}`, "hello"},
			{"fail", `{"text":"no luck"}`, "no luck"},
			{"progress", `{}`, "done"},
			{"ask", `{}`, "accept Ada"},
			{"sample", `{}`, "the model said good day"},
			{"roots", `{}`, "1 root: file:///home/ada"},
			{"long", `{}`, mcptest.LongText},
			{"show.all", `{}`, "here it is<image/png "},
			{"exact", `{"alpha":9007199254740993}`, `{"alpha":9007199254740993}`},
			{"nothing", `{}`, `unknown tool "nothing"`},
			{"echo", `{"text":{"no":"text"}}`, "text"},
		} {
			got, res := g.do(t, c.tool, c.args)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: %.300s", c.tool, got)
			}
			if wrong := c.tool == "fail" || strings.Contains(c.args, "no"); res != nil && res.IsError != wrong {
				t.Errorf("%s: isError is %v", c.tool, res.IsError)
			}
			if c.tool == "exact" && res.Meta["example.org/own"] != "kept" {
				t.Errorf("the meta is %v", res.Meta)
			}
		}
		until(t, "progress", func() bool { return g.heard("progress step 3") })
		if revision < "2026" { // later revisions subscribe and set levels otherwise
			if err := g.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
				t.Error(err)
			}
			g.do(t, "log", `{}`)
			until(t, "a log", func() bool { return g.heard("log something happened") })
		}
		if err := g.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://notes"}); err != nil {
			t.Error(err)
		}
		until(t, "an update", func() bool { // Subscribe may return before the subscription has begun
			g.do(t, "touch", `{}`)
			return g.heard("updated test://notes")
		})
		g.Close()
		r.Relay.Close()
		status := make(map[string][]journal.Status)
		for _, one := range r.receipts(t) {
			status[one.Tool] = append(status[one.Tool], one.Status)
			if one.Server == nil && one.Tool != "nothing" || one.Server != nil && one.Server.Name != "whole" {
				t.Errorf("the receipt of %s names %v", one.Tool, one.Server)
			}
		}
		for name, want := range map[string]journal.Status{"echo": journal.Refused, "fail": journal.Failed, "long": journal.OK, "sample": journal.OK, "nothing": journal.Refused} {
			if got := status[name]; len(got) == 0 || got[len(got)-1] != want {
				t.Errorf("the receipts of %s say %v: %+v", name, got, r.receipts(t))
			}
		}
	})
}

func TestRelayRefusesWhatThePolicyDoesNotAllow(t *testing.T) {
	t.Parallel()
	eachRelay(t, nil, false, func(t *testing.T, r *relaying, g *guest, _ string) {
		got, res := g.do(t, "echo", `{"text":"hello"}`)
		if res == nil || !res.IsError || strings.Contains(got, "hello") {
			t.Errorf("it returned %s", got)
		}
	})
}

func TestRelayAsksTheClient(t *testing.T) {
	t.Parallel()
	eachRelay(t, invoke.AskFirst(nil), true, func(t *testing.T, r *relaying, g *guest, revision string) {
		for _, c := range [][2]string{{"echo", "hello"}, {"ask", "accept Ada"}} {
			got, res := g.do(t, c[0], `{"text":"hello"}`)
			if c[0] == "ask" {
				got, res = g.do(t, c[0], `{}`)
			}
			if res == nil || res.IsError || !strings.Contains(got, c[1]) {
				t.Errorf("%s returned %s", c[0], got)
			}
		}
		if !g.heard(`asked Allow echo with {"text":"hello"}?`) || !g.heard("asked Allow ask") {
			t.Errorf("the client heard %q", g.told)
		}
	})
}

func TestRelayCancels(t *testing.T) {
	t.Parallel()
	eachRelay(t, invoke.AllowAll, false, func(t *testing.T, r *relaying, g *guest, _ string) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p := &mcp.CallToolParams{Name: "wait"}
			p.SetProgressToken("w")
			_, _ = g.CallTool(ctx, p)
		}()
		until(t, "a call under way", func() bool { return g.heard("progress waiting") })
		if got, _ := g.do(t, "echo", `{"text":"meanwhile"}`); got != "meanwhile" {
			t.Errorf("beside it: %s", got)
		}
		cancel()
		<-done
		r.Relay.Close() // ends only when nothing is under way
	})
}

func TestRelayKeepsToTheToolsOfTheConfiguration(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		server := wholeServer(t, way, "2025-11-25")
		server.Tools = []string{"echo"}
		r := relayOf(t, server, invoke.AllowAll)
		g := connectGuest(t, r.client(t, "http"), "2025-11-25", false)
		if res, err := g.ListTools(t.Context(), nil); err != nil || len(res.Tools) != 1 || res.Tools[0].Name != "echo" {
			t.Errorf("the tools are %v %v", res, err)
		}
		if got, _ := g.do(t, "add", `{"a":1,"b":1}`); !strings.Contains(got, "unknown tool") {
			t.Errorf("another tool returned %s", got)
		}
		if got, _ := g.do(t, "echo", `{"text":"yes"}`); got != "yes" {
			t.Errorf("it returned %s", got)
		}
	}
}

// exchangeRaw posts a message to an address and returns the data of its answer.
func exchangeRaw(t *testing.T, address, session, body string) (status int, header http.Header, data string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(text)
}

func TestRelayLosesNoNumbers(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		address := relayOf(t, wholeServer(t, way, "2025-06-18"), invoke.AllowAll).url(t, serve.HTTPAccess{})
		_, h, _ := exchangeRaw(t, address, "", initialize)
		session := h.Get("Mcp-Session-Id")
		exchangeRaw(t, address, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		_, _, list := exchangeRaw(t, address, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if !strings.Contains(list, `{"type":"object","properties":{"zeta":{"type":"integer","maximum":9007199254740993},"alpha":{"type":"integer"}}}`) {
			t.Errorf("%s: the list is %s", way, list)
		}
		_, _, got := exchangeRaw(t, address, session, `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"exact","arguments":{"zeta":9007199254740993}}}`)
		for _, want := range []string{`"structuredContent":{"n":9007199254740993,"b":1.0,"a":2}`, `{\"zeta\":9007199254740993}`, `"example.org/own":"kept"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: there is no %s in %s", way, want, got)
			}
		}
		if way == "stdio" && !strings.Contains(got, `"id":9007199254740993`) { // the SDK's own HTTP server reads ids as floating point
			t.Errorf("the id is another one in %s", got)
		}
	}
}

// TestRelayUsesTheLogin: the token that 'mcp login' has got goes to the server with the
// requests of all clients, and is renewed; without it clients are told what is missing, and
// the person who runs the relay what to do.
func TestRelayUsesTheLogin(t *testing.T) {
	a, s, o := protected(t, "")
	ask := func(r *relaying) (int, string) {
		status, _, data := exchangeRaw(t, r.url(t, serve.HTTPAccess{}), "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		return status, data
	}
	without := relayFrom(t, client.Options{Dir: o.Dir}, s, invoke.AllowAll)
	if status, data := ask(without); status != http.StatusBadGateway || !strings.Contains(data, "the server mine wants a login that this relay does not have") {
		t.Errorf("%d %s", status, data)
	}
	without.told.wait(t, "'toolpost mcp login mine' logs you in")
	if err := client.Login(t.Context(), s, pasting(t, o)); err != nil {
		t.Fatal(err)
	}
	with := relayFrom(t, client.Options{Dir: o.Dir}, s, invoke.AllowAll)
	g := connectGuest(t, with.client(t, "http"), "2025-06-18", false)
	for _, text := range []string{"hello", "hello again"} {
		if got, _ := g.do(t, "echo", `{"text":"`+text+`"}`); got != text {
			t.Errorf("the answer is %q, %s", got, with.told)
		}
		a.Revoke()
	}
	if strings.Contains(with.told.String(), "access-") {
		t.Errorf("a token is told: %s", with.told)
	}
}
