package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

type sumArgs struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

type sumTotal struct {
	Total int64 `json:"total"`
}

// ownTools are tools of this program, one for each thing that a tool may do.
// Started gets the name of a tool that waits, when it does, and ended when it has
// been cancelled.
func ownTools(started, ended chan string) *tool.Set {
	add := tool.Func("add", "Add two numbers.", func(_ context.Context, in sumArgs) (sumTotal, error) { return sumTotal{in.A + in.B}, nil })
	add.Effects = tool.ReadOnly
	add.OutputSchema = []byte(`{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}`)
	picture := tool.New("picture", "Return an image.", nil, func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{Parts: []llm.Part{llm.Text{Text: "look"}, llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte("png")}}}, nil
	})
	fail := tool.New("fail", "Fail.", nil, func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{}, errors.New("the disk is full")
	})
	steps := tool.New("steps", "Report progress.", nil, func(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
		for i := range 3 {
			tool.ReportProgress(ctx, tool.Progress{Done: float64(i + 1), Total: 3, Message: fmt.Sprint("step ", i+1)})
		}
		return tool.Text("done"), nil
	})
	wait := tool.New("wait", "Wait until the call is cancelled.", nil, func(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
		started <- "wait"
		<-ctx.Done()
		ended <- "wait"
		return tool.Output{}, ctx.Err()
	})
	name := tool.New("name", "Ask for a name.", nil, func(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
		v, err := tool.Ask(ctx, tool.Prompt{Message: "Who are you?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
		if err != nil {
			return tool.Output{}, err
		}
		return tool.Text("hello " + string(v)), nil
	})
	shout := tool.New("shout", "Do something outside.", json.RawMessage(`{"properties":{"text":{"type":"string","maxLength":9007199254740993}},"required":["text"]}`),
		func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			return tool.Text("did " + string(args)), nil
		})
	shout.Origin = tool.MCP // so that the policy asks
	return tool.MustSet(add, picture, fail, steps, wait, name, shout)
}

// serving is a Service and the record of its connections.
type serving struct {
	*serve.Service
	started, ended chan string
	store          *journal.Memory
	mu             sync.Mutex
	runs           []string
}

func serveOwn(t *testing.T, change func(*serve.ServiceOptions)) *serving {
	t.Helper()
	s := &serving{started: make(chan string, 100), ended: make(chan string, 100), store: new(journal.Memory)}
	o := serve.ServiceOptions{
		Runner: &invoke.Runner{Tools: ownTools(s.started, s.ended), Policy: invoke.AskFirst(nil)},
		Record: func(ctx context.Context) (*journal.Recorder, error) {
			run := journal.NewRun()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.runs = append(s.runs, run)
			return journal.Open(ctx, s.store, run)
		},
		Failed: func(err error) { t.Error(err) },
	}
	if change != nil {
		change(&o)
	}
	var err error
	if s.Service, err = serve.NewService(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// receipts are those of all records, which must be sealed and whole, in the order of their time: a client may use several
// connections, each of which has a record.
func (s *serving) receipts(t *testing.T) []journal.Receipt {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []journal.Entry
	for _, run := range s.runs {
		report, err := journal.Verify(s.store.Read(context.Background(), run, 0))
		if err != nil || !report.Sealed {
			t.Errorf("run %s: %+v %v", run, report, err)
		}
		for e, err := range journal.Whole(s.store.Read(context.Background(), run, 0)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == journal.KindReceipt || e.Kind == journal.KindRefusal {
				entries = append(entries, e)
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b journal.Entry) int { return a.At.Compare(b.At) })
	out := make([]journal.Receipt, len(entries))
	for i, e := range entries {
		if err := e.Decode(&out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// ways are how a client may be connected.
var ways = map[string]func(t *testing.T, s *serving) mcp.Transport{
	"stdio": func(t *testing.T, s *serving) mcp.Transport {
		toServer, fromClient := io.Pipe()
		toClient, fromServer := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- s.ServePipe(context.Background(), toServer, fromServer)
			fromServer.Close()
			toServer.Close()
		}()
		t.Cleanup(func() {
			fromClient.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return &mcp.IOTransport{Reader: toClient, Writer: fromClient}
	},
	"http": func(t *testing.T, s *serving) mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: s.address(t, serve.HTTPAccess{}), MaxRetries: -1}
	},
}

// address is where the service can be reached over HTTP.
func (s *serving) address(t *testing.T, g serve.HTTPAccess) string {
	t.Helper()
	h, err := s.Handler(g)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// dialogue is a client of the SDK and what it was told.
type dialogue struct {
	*mcp.ClientSession
	mu       sync.Mutex
	progress []string
	asked    []string
}

func connectTo(t *testing.T, transport mcp.Transport, revision string, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *dialogue {
	t.Helper()
	d := new(dialogue)
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.progress = append(d.progress, fmt.Sprint(r.Params.Progress, "/", r.Params.Total, " ", r.Params.Message))
	}}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.asked = append(d.asked, r.Params.Message)
			return answer(r.Params), nil
		}
	}
	var err error
	d.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.ClientSession.Close() })
	return d
}

func (d *dialogue) do(t *testing.T, name, args string) (string, *mcp.CallToolResult) {
	t.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)}
	p.SetProgressToken("p")
	res, err := d.CallTool(t.Context(), p)
	if err != nil {
		return "! " + err.Error(), nil
	}
	var b strings.Builder
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			b.WriteString(c.Text)
		case *mcp.ImageContent:
			fmt.Fprintf(&b, "<%s %s>", c.MIMEType, c.Data)
		default:
			fmt.Fprintf(&b, "<%T>", c)
		}
	}
	return b.String(), res
}

// eachWay runs a test for every transport in an old and a new revision.
func eachWay(t *testing.T, change func(*serve.ServiceOptions), answer func(*mcp.ElicitParams) *mcp.ElicitResult, test func(*testing.T, *serving, *dialogue)) {
	for way, transport := range ways {
		for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(way+" "+revision, func(t *testing.T) {
				s := serveOwn(t, change)
				d := connectTo(t, transport(t, s), revision, answer)
				test(t, s, d)
			})
		}
	}
}

func TestServiceRunsCallsThroughTheRuntime(t *testing.T) {
	yes := func(p *mcp.ElicitParams) *mcp.ElicitResult {
		content := map[string]any{"allow": true}
		if strings.HasPrefix(p.Message, "Who") {
			content = map[string]any{"name": "Ada"}
		}
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	eachWay(t, nil, yes, func(t *testing.T, s *serving, d *dialogue) {
		for _, c := range []struct{ tool, args, want string }{
			{"add", `{"a":2,"b":40}`, `{"total":42}`},
			{"add", `{"a":9007199254740993,"b":0}`, `{"total":9007199254740993}`},
			{"add", `{"a":"two"}`, "a"},
			{"picture", `{}`, "look<image/png png>"},
			{"fail", `{}`, "the disk is full"},
			{"steps", `{}`, "done"},
			{"name", `{}`, `hello {"name":"Ada"}`},
			{"shout", `{"text":"x"}`, `did {"text":"x"}`},
			{"nothing", `{}`, `unknown tool "nothing"`},
		} {
			got, res := d.do(t, c.tool, c.args)
			if !strings.Contains(got, c.want) {
				t.Errorf("%s %s: %s", c.tool, c.args, got)
			}
			wrong := c.tool == "fail" || c.args == `{"a":"two"}`
			if res != nil && res.IsError != wrong {
				t.Errorf("%s %s: isError is %v: %s", c.tool, c.args, res.IsError, got)
			}
			if c.tool == "add" && !wrong && res.StructuredContent == nil {
				t.Error("there is not a structured content")
			}
		}
		until(t, "all progress", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.progress) >= 3
		})
		d.mu.Lock()
		if want := []string{"1/3 step 1", "2/3 step 2", "3/3 step 3"}; !slices.Equal(d.progress, want) {
			t.Errorf("the progress is %q", d.progress)
		}
		if len(d.asked) != 2 || !strings.Contains(strings.Join(d.asked, "\n"), `Allow shout with {"text":"x"}?`) {
			t.Errorf("the client was asked %q", d.asked)
		}
		d.mu.Unlock()
		d.Close()
		s.Close()
		status := make(map[string]journal.Status)
		for _, r := range s.receipts(t) {
			status[r.Tool] = r.Status
		}
		if status["add"] != journal.Refused || status["fail"] != journal.Failed || status["shout"] != journal.OK || status["picture"] != journal.OK {
			t.Errorf("the receipts say %v", status)
		}
	})
}

func TestServiceRefusesWhatNobodyCanBeAskedAbout(t *testing.T) {
	eachWay(t, nil, nil, func(t *testing.T, _ *serving, d *dialogue) {
		got, res := d.do(t, "shout", `{"text":"x"}`)
		if res == nil || !res.IsError || !strings.Contains(got, "nobody can be asked") {
			t.Errorf("it returned %s", got)
		}
	})
}

func TestServiceTakesNoForAnAnswer(t *testing.T) {
	for _, answer := range []*mcp.ElicitResult{
		{Action: "decline"}, {Action: "cancel"}, {Action: "accept", Content: map[string]any{"allow": false}},
	} {
		eachWay(t, nil, func(*mcp.ElicitParams) *mcp.ElicitResult { return answer }, func(t *testing.T, _ *serving, d *dialogue) {
			got, res := d.do(t, "shout", `{"text":"x"}`)
			closed := strings.Contains(got, "closed the question")
			if res == nil || !res.IsError || strings.Contains(got, "did") || closed != (answer.Action == "cancel") {
				t.Errorf("%v: it returned %s", answer, got)
			}
		})
	}
}

func TestServiceOffersSchemasAsTheyAre(t *testing.T) {
	eachWay(t, nil, nil, func(t *testing.T, _ *serving, d *dialogue) {
		list, err := d.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 7 {
			t.Fatal(list, err)
		}
		for _, one := range list.Tools {
			schema, _ := one.InputSchema.(map[string]any)
			if schema["type"] != "object" {
				t.Errorf("%s takes %v", one.Name, one.InputSchema)
			}
			if (one.OutputSchema != nil) != (one.Name == "add") || one.Annotations.ReadOnlyHint != (one.Name == "add") {
				t.Errorf("%+v", one)
			}
		}
	})
}

func TestServiceCancelsACall(t *testing.T) {
	eachWay(t, nil, nil, func(t *testing.T, s *serving, d *dialogue) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-s.started
			cancel()
		}()
		if res, err := d.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); err == nil {
			t.Errorf("it returned %v", res)
		}
		select {
		case <-s.ended:
		case <-time.After(2 * time.Minute):
			t.Error("the call goes on")
		}
	})
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func TestServiceCancelsCallsOfAClientThatIsGone(t *testing.T) {
	s := serveOwn(t, func(o *serve.ServiceOptions) { o.Drain = 1 })
	in, client := io.Pipe()
	served := make(chan error)
	go func() { served <- s.ServePipe(context.Background(), in, io.Discard) }()
	fmt.Fprintln(client, initialize)
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
	<-s.started
	client.Close()
	<-s.ended
	if err := <-served; err != nil {
		t.Error(err)
	}
	if r := s.receipts(t); len(r) != 1 || r[0].Tool != "wait" || r[0].Status == journal.OK || r[0].LatencyMS > 20_000 {
		t.Errorf("the receipts are %+v", r)
	}
}

func TestServiceAnswersWhatWasAskedBeforeTheInputEnded(t *testing.T) {
	s := serveOwn(t, nil)
	in := strings.NewReader(initialize + `
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}
`)
	var out strings.Builder
	if err := s.ServePipe(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `{\"total\":3}`) {
		t.Errorf("it wrote %s", out.String())
	}
}

func TestServiceBoundsCallsUnderWay(t *testing.T) {
	s := serveOwn(t, func(o *serve.ServiceOptions) { o.MaxCalls = 1; o.Drain = 1 })
	d := connectTo(t, ways["stdio"](t, s), "2025-06-18", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = d.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}) }()
	<-s.started
	if got, _ := d.do(t, "add", `{"a":1,"b":1}`); !strings.Contains(got, "too many calls") {
		t.Errorf("it returned %s", got)
	}
}

func TestServiceRefusesToolsThatNoClientCanCall(t *testing.T) {
	for _, schema := range []string{`{"type":"array"}`, `{"type":["object","null"]}`, `[]`, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"bad name"}}}`} {
		one := tool.New("odd", "Odd.", json.RawMessage(schema), func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil })
		set, err := tool.NewSet(one)
		if err != nil {
			continue // which is refused earlier
		}
		if _, err := serve.NewService(serve.ServiceOptions{Runner: &invoke.Runner{Tools: set}}); err == nil {
			t.Errorf("%s is offered", schema)
		}
	}
}

func TestHTTPAccess(t *testing.T) {
	key := "0123456789abcdef"
	access := serve.HTTPAccess{Keys: []string{key, "another-key-of-it"}, Hosts: []string{"tools.example.org"}, Origins: []string{"https://app.example.org"}, MaxBody: 4096}
	address := serveOwn(t, nil).address(t, access)
	for name, c := range map[string]struct {
		host, origin, key, body string
		want                    int
	}{
		"all is well":                  {key: key, want: 200},
		"the other key":                {key: "another-key-of-it", want: 200},
		"a name that is known":         {host: "tools.example.org:8080", key: key, want: 200},
		"a page that may":              {origin: "https://app.example.org", key: key, want: 200},
		"a page of this host":          {host: "localhost:1234", origin: "http://localhost:1234", key: key, want: 200},
		"no key":                       {want: 401},
		"a wrong key":                  {key: "0123456789abcdeg", want: 401},
		"part of a key":                {key: key[:15], want: 401},
		"two keys":                     {key: key + " another-key-of-it", want: 401},
		"another name":                 {host: "evil.example.org", key: key, want: 403},
		"a name that begins like ours": {host: "localhost.evil.example.org", key: key, want: 403},
		"another address":              {host: "192.0.2.1", key: key, want: 403},
		"a page that may not":          {origin: "https://evil.example.org", key: key, want: 403},
		"a page without name":          {origin: "null", key: key, want: 403},
		"another port":                 {host: "localhost:1234", origin: "http://localhost:99", key: key, want: 403},
		"a file":                       {origin: "file://", key: key, want: 403},
		"too much":                     {key: key, body: strings.Repeat(" ", 5000), want: 413},
		"a long batch":                 {key: key, body: "[" + strings.Repeat(`{},`, 64) + "{}]", want: 400},
		"no JSON":                      {key: key, body: "hello", want: 400},
	} {
		t.Run(name, func(t *testing.T) {
			body := initialize
			if c.body != "" {
				body = c.body
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if c.host != "" {
				req.Host = c.host
			}
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			if c.key != "" {
				req.Header.Set("Authorization", "Bearer "+c.key)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != c.want || strings.Contains(string(text), key) {
				t.Errorf("%d: %s", resp.StatusCode, text)
			}
		})
	}
}

func TestHTTPAccessKeepsSessionsToTheirKeys(t *testing.T) {
	one, two := "key-number-one-xx", "key-number-two-xx"
	address := serveOwn(t, nil).address(t, serve.HTTPAccess{Keys: []string{one, two}})
	send := func(key, session, body string) *http.Response {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+key)
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	session := send(one, "", initialize).Header.Get("Mcp-Session-Id")
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if mine, other, none := send(one, session, list), send(two, session, list), send(one, "x"+session, list); session == "" || mine.StatusCode != 200 || other.StatusCode != 403 || none.StatusCode != 404 {
		t.Errorf("session %q: %d with its key, %d with another, %d for one that is not there", session, mine.StatusCode, other.StatusCode, none.StatusCode)
	}
}

// TestServiceAnnouncesOtherTools: clients are told when other tools are offered, and have
// them then; what has not changed is no news.
func TestServiceAnnouncesOtherTools(t *testing.T) {
	news := make(chan struct{}, 10)
	servers, told := open(t, client.Options{Changed: func() { news <- struct{}{} }}, stdio("one", "ordinary"))
	first := toolsOf(t, servers)
	<-news
	s := serveOwn(t, func(o *serve.ServiceOptions) { o.Runner = &invoke.Runner{Tools: first, Policy: invoke.AllowAll} })
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			client, server := mcp.NewInMemoryTransports()
			ended := make(chan error, 1)
			go func() { ended <- s.Connect(context.Background(), server) }()
			g := connectGuest(t, client, revision, false)
			list := func() string {
				res, err := g.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, one := range res.Tools {
					names = append(names, one.Name+": "+one.Description)
				}
				return strings.Join(names, "\n")
			}
			before := list()
			if got, res := g.do(t, "one__change", "{}"); res == nil || res.IsError {
				t.Fatalf("%s, %s", got, told)
			}
			<-news
			tools, err := servers.Refresh(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Offer(tools); err != nil {
				t.Fatal(err)
			}
			until(t, "the news", func() bool { return g.heard("tools changed") })
			if after := list(); after == before || strings.Contains(after, "one__echo") || !strings.Contains(after, "one__new") {
				t.Errorf("the tools are\n%s", after)
			}
			if got, _ := g.do(t, "one__new1", "{}"); got != "new here" {
				t.Errorf("the new tool says %q", got)
			}
			if err := s.Offer(tools); err != nil {
				t.Error(err)
			}
			g.ClientSession.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	bad := tool.MustSet(tool.New("bad", "Bad.", json.RawMessage(`{"type":"array"}`), nothing))
	if err := s.Offer(bad); err == nil {
		t.Error("a tool that takes no object is offered")
	}
}

// Without a policy, a service runs tools that only read. A changing function of the program runs only if the client's user
// allows it: the model that calls is not the program's own.
func TestServiceWithoutAPolicyAsks(t *testing.T) {
	for _, change := range []bool{false, true} {
		for _, allow := range []string{"cannot ask", "declines", "allows"} {
			ran := 0
			forget := tool.Func("forget", "Forget a city.", func(context.Context, struct{ City string }) (string, error) {
				ran++
				return "forgotten", nil
			})
			if !change {
				forget.Effects = tool.ReadOnly
			}
			s := serveOwn(t, func(o *serve.ServiceOptions) { o.Runner = &invoke.Runner{Tools: tool.MustSet(forget)} })
			var answer func(*mcp.ElicitParams) *mcp.ElicitResult
			switch allow {
			case "declines":
				answer = func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }
			case "allows":
				answer = func(*mcp.ElicitParams) *mcp.ElicitResult {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}
				}
			}
			text, _ := connectTo(t, ways["stdio"](t, s), "2025-11-25", answer).do(t, "forget", `{"City":"Rome"}`)
			want := 0
			if !change || allow == "allows" {
				want = 1
			}
			if ran != want {
				t.Errorf("changes=%v, the client %s: ran %d times: %s", change, allow, ran, text)
			}
		}
	}
}
