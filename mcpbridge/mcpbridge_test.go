package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/contain"
	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

func TestMain(m *testing.M) {
	contain.Supervise()
	mcptest.Main()
	testkit.MostlyWait()
	leaks.VerifyTestMain(m)
}

// stdio returns a server that is this test program.
func stdio(name, kind string) config.ServerConfig {
	command, env := mcptest.Command(kind)
	return config.ServerConfig{Name: name, Command: command, Env: env}
}

// notices collects what a person is told.
type notices struct {
	mu  sync.Mutex
	all []config.Notice
}

func (n *notices) add(one config.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, one)
}

func (n *notices) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []string
	for _, one := range n.all {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

func (n *notices) wait(t *testing.T, text string) {
	t.Helper()
	until(t, "a notice with "+text, func() bool { return strings.Contains(n.String(), text) })
}

// until waits for a condition; how long that takes says nothing.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is still not %s", what)
		}
	}
}

func open(t *testing.T, o client.Options, servers ...config.ServerConfig) (*client.Servers, *notices) {
	t.Helper()
	told := new(notices)
	o.Notify, o.Supervised = told.add, true
	if o.Wait == 0 {
		o.Wait = time.Minute
	}
	s, err := client.Open(o, servers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, told
}

func toolsOf(t *testing.T, s *client.Servers) *tool.Set {
	t.Helper()
	set, err := s.Tools(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func call(t *testing.T, set *tool.Set, name, args string) (tool.Output, error) {
	t.Helper()
	one, ok := set.Lookup(name)
	if !ok {
		t.Fatalf("there is no %s among %s", name, set.Names())
	}
	return one.Run(context.Background(), json.RawMessage(args))
}

func textOf(out tool.Output) string {
	var b strings.Builder
	for _, p := range out.Parts {
		if text, ok := p.(llm.Text); ok {
			b.WriteString(text.Text)
		} else {
			fmt.Fprintf(&b, "<%T>", p)
		}
	}
	return b.String()
}

// TestEveryTransport lists and calls the tools of one server in each way that it
// can be reached.
func TestEveryTransport(t *testing.T) {
	var seen []string
	var mu sync.Mutex
	address := mcptest.HTTP(t, mcptest.Ordinary(), func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
	})
	headers := map[string]string{"Authorization": "Bearer ${KEY}"}
	for _, server := range []config.ServerConfig{
		stdio("one", "ordinary"),
		{Name: "one", URL: address + "/mcp", Headers: headers},
		{Name: "one", Transport: config.SSE, URL: address + "/sse", Headers: headers},
	} {
		t.Run(string(server.Transport)+server.URL, func(t *testing.T) {
			s, _ := open(t, client.Options{Lookup: func(name string) (string, bool) { return "secret-" + name, true }}, server)
			if st := s.Status()[0]; st.State != client.Configured {
				t.Errorf("at first the state is %s", st.State)
			}
			set := toolsOf(t, s)
			if want := "one__echo"; !slices.Contains(set.Names(), want) {
				t.Fatalf("%s is not among %s", want, set.Names())
			}
			if st := s.Status()[0]; st.State != client.Started || st.Revision == "" || st.ListHash == "" || st.Tools != set.Len() {
				t.Errorf("after listing: %+v", st)
			}
			out, err := call(t, set, "one__echo", `{"text":"hello"}`)
			if err != nil || textOf(out) != "hello" {
				t.Errorf("echo returned %q, %v", textOf(out), err)
			}
			if st := s.Status()[0]; st.State != client.Used {
				t.Errorf("after a call the state is %s", st.State)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for _, header := range seen {
		if header != "Bearer secret-KEY" {
			t.Fatalf("a request came with %q", header)
		}
	}
	if len(seen) == 0 {
		t.Error("no request was seen")
	}
}

// TestResults has a server return every kind of content.
func TestResults(t *testing.T) {
	s, _ := open(t, client.Options{}, stdio("one", "ordinary"))
	set := toolsOf(t, s)
	out, err := call(t, set, tool.SafeName("one__show.all"), "{}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range out.Parts {
		switch p := p.(type) {
		case llm.Text:
			got = append(got, p.Text)
		case llm.Media:
			got = append(got, fmt.Sprintf("%s %s %d", p.Kind, p.MIME, len(p.Data)))
		}
	}
	want := []string{"here it is", fmt.Sprint("image image/png ", len(mcptest.Pixel)), "audio audio/wav 4",
		"[resource file:///notes.txt: notes some notes]", "[resource file:///a.txt]\ninside", "document application/pdf 4"}
	if !slices.Equal(got, want) {
		t.Errorf("the parts are\n%q, want\n%q", got, want)
	}
	if server, name, ok := s.Original(tool.SafeName("one__show.all")); server != "one" || name != "show.all" || !ok {
		t.Errorf("Original returned %q, %q, %v", server, name, ok)
	}

	out, err = call(t, set, "one__add", `{"a":4,"b":38}`)
	if err != nil || string(out.Structured) != `{"total":42}` {
		t.Errorf("add returned %s, %v", out.Structured, err)
	}
	if set.OutputSchema("one__add") == nil {
		t.Error("the schema of the output is lost")
	}

	out, err = call(t, set, "one__fail", `{"text":"file not found: x"}`)
	var failed *tool.Error
	if e := tool.FromError(err); e == nil || e.Code != tool.NotFound || !strings.Contains(e.Message, "file not found: x") {
		t.Errorf("fail returned %v, %v", out, err)
	} else {
		failed = e
	}
	if failed != nil && len(out.Parts) != 0 {
		t.Errorf("the text of the error stands in the output, too: %v", out.Parts)
	}
}

// scripted returns a server that answers as the script says.
func scripted(t *testing.T, name string, script mcptest.Script) config.ServerConfig {
	t.Helper()
	kind, err := script.Write(filepath.Join(t.TempDir(), "script.json"))
	if err != nil {
		t.Fatal(err)
	}
	return stdio(name, kind)
}

// oneTool is the answer to tools/list of a server with a tool that is called f.
const oneTool = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"f","inputSchema":{"type":"object"}}]}}`

// TestExactNumbers: integers that no float64 holds come as they were sent, if the
// server repeats them as text, as it should.
func TestExactNumbers(t *testing.T) {
	s, _ := open(t, client.Options{}, scripted(t, "one", mcptest.Script{List: oneTool, Call: `{"jsonrpc":"2.0","id":ID,"result":{` +
		`"content":[{"type":"text","text":"{\"total\":9007199254740993}"}],"structuredContent":{"total":9007199254740993}}}`}))
	out, err := call(t, toolsOf(t, s), "one__f", "{}")
	if err != nil || string(out.Structured) != `{"total":9007199254740993}` {
		t.Errorf("it returned %s, %v", out.Structured, err)
	}
}

// watcher is a runtime that keeps what a tool reports.
type watcher struct {
	mu  sync.Mutex
	got []tool.Progress
	ask func(tool.Prompt) (json.RawMessage, error)
}

func (*watcher) Info() tool.Info                 { return tool.Info{} }
func (*watcher) Emit(context.Context, llm.Event) {}
func (w *watcher) Report(p tool.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, p)
}
func (w *watcher) Ask(_ context.Context, p tool.Prompt) (json.RawMessage, error) { return w.ask(p) }

// All progress of a call is reported before its result, by every transport.
func TestProgressReachesTheCall(t *testing.T) {
	address := mcptest.HTTP(t, mcptest.Ordinary(), nil)
	for way, server := range map[string]config.ServerConfig{
		"stdio": stdio("one", "ordinary"), "http": {Name: "one", URL: address + "/mcp"}, "stateless": {Name: "one", URL: address + "/stateless"},
		"sse": {Name: "one", URL: address + "/sse", Transport: config.SSE},
	} {
		s, _ := open(t, client.Options{}, server)
		one, _ := toolsOf(t, s).Lookup("one__progress")
		for range 20 {
			w := new(watcher)
			if out, err := one.Run(tool.WithRuntime(context.Background(), w), nil); err != nil || textOf(out) != "done" {
				t.Fatalf("%s: it returned %q, %v", way, textOf(out), err)
			}
			if got, want := fmt.Sprint(w.got), "[{step 1 1 3} {step 2 2 3} {step 3 3 3}]"; got != want {
				t.Errorf("%s: the progress is %s", way, got)
			}
		}
	}
}

// TestEnvironment checks that a server sees what it was given and not our keys.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-ours")
	server := stdio("one", "ordinary")
	server.Env["TOKEN"], server.Env["PLACE"] = "${GIVEN}", "${NOWHERE:-here}"
	s, _ := open(t, client.Options{Lookup: func(name string) (string, bool) { return "given-value", name == "GIVEN" }}, server)
	out, err := call(t, toolsOf(t, s), "one__environment", "")
	if err != nil {
		t.Fatal(err)
	}
	got := textOf(out)
	if strings.Contains(got, "sk-ours") || strings.Contains(got, "OPENAI") {
		t.Error("the server sees our key")
	}
	for _, want := range []string{"TOKEN=given-value", "PLACE=here", "PATH="} {
		if !strings.Contains(got, want) {
			t.Errorf("the server does not see %s", want)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tools []string
		want  string
	}{
		{[]string{}, ""},
		{[]string{"echo", "add"}, "one__add one__echo"},
	} {
		server := stdio("one", "ordinary")
		server.Tools = c.tools
		s, _ := open(t, client.Options{}, server)
		names := toolsOf(t, s).Names()
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("of %q there are %q, want %q", c.tools, got, c.want)
		}
	}
	server := stdio("one", "ordinary")
	server.Tools = []string{"echo", "ehco"}
	s, told := open(t, client.Options{}, server)
	toolsOf(t, s)
	if !strings.Contains(told.String(), "tool ehco of MCP server one is chosen in the configuration") {
		t.Errorf("a name that is not there was passed over: %s", told)
	}
}

// TestEffects: what a server promises counts only if it is trusted.
func TestEffects(t *testing.T) {
	t.Parallel()
	for trust, want := range map[config.Trust][3]tool.Effects{
		"":                      {},
		config.TrustNone:        {},
		config.TrustAnnotations: {tool.ReadOnly | tool.Local, tool.Idempotent, 0},
	} {
		server := stdio("one", "ordinary")
		server.Trust = trust
		s, _ := open(t, client.Options{}, server)
		set := toolsOf(t, s)
		for i, name := range []string{"one__echo", "one__add", "one__fail"} {
			one, _ := set.Lookup(name)
			if one.Effects != want[i] || one.Origin != tool.MCP || one.Source != "one" || one.SourceHash == "" {
				t.Errorf("with trust %q %s has %+v", trust, name, one)
			}
		}
	}
}

// TestOthersAreNotHeldUp: servers that are silent, gone or not to be found do not
// take the tools of the others away.
func TestOthersAreNotHeldUp(t *testing.T) {
	t.Parallel()
	silent := stdio("silent", "silent")
	silent.Connect = 400 * time.Millisecond
	missing := config.ServerConfig{Name: "missing", Command: "no-such-program-anywhere"}
	refused := config.ServerConfig{Name: "refused", URL: "http://127.0.0.1:1/mcp"}
	s, told := open(t, client.Options{}, silent, missing, refused, stdio("exit", "exit:4"), stdio("good", "ordinary"))
	set := toolsOf(t, s)
	if out, err := call(t, set, "good__echo", `{"text":"still here"}`); err != nil || textOf(out) != "still here" {
		t.Errorf("the good server returned %q, %v", textOf(out), err)
	}
	for _, want := range []string{
		"MCP server silent is not there: the server did not answer in time",
		"MCP server missing is not there: no-such-program-anywhere cannot be started",
		"MCP server refused is not there: ",
		"MCP server exit is not there: the program ended with exit status 4; it said: no licence key",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("nobody was told %q, but\n%s", want, told)
		}
	}
	for _, st := range s.Status()[:4] {
		if st.Err == nil || st.State != client.Configured {
			t.Errorf("%s: %+v", st.Name, st)
		}
	}
}

// TestALateServerComesLater: a server that is not ready in time does not hold the
// beginning up.
func TestALateServerComesLater(t *testing.T) {
	s, told := open(t, client.Options{Wait: time.Nanosecond}, stdio("one", "ordinary"))
	toolsOf(t, s)
	told.wait(t, "its tools are used as soon as it has")
	until(t, "a started server", func() bool { return s.Status()[0].State == client.Started })
	if set := toolsOf(t, s); set.Len() == 0 {
		t.Error("its tools are still not there")
	}
}

// TestAServerThatDied is started again by the next call, and the call that it died
// of is in doubt.
func TestAServerThatDied(t *testing.T) {
	s, told := open(t, client.Options{}, stdio("one", "ordinary"))
	set := toolsOf(t, s)
	_, err := call(t, set, "one__die", "{}")
	if e := tool.FromError(err); e == nil || e.Code != tool.Uncertain || !strings.Contains(e.Message, "out of memory") {
		t.Fatalf("the call returned %v", err)
	}
	told.wait(t, "MCP server one ended: the program ended with exit status 3; it said: out of memory")
	if out, err := call(t, set, "one__echo", `{"text":"again"}`); err != nil || textOf(out) != "again" {
		t.Errorf("the next call returned %q, %v", textOf(out), err)
	}
}

// TestBackoff: a server that cannot be started is not tried with each call.
func TestBackoff(t *testing.T) {
	t.Parallel()
	s, told := open(t, client.Options{}, stdio("one", "exit:1"))
	toolsOf(t, s)
	first := strings.Count(told.String(), "is not there")
	for range 3 {
		err := s.Connect(context.Background(), "one")
		if err == nil || !strings.Contains(err.Error(), "the next attempt is in") {
			t.Fatalf("it was tried again at once: %v", err)
		}
	}
	if n := strings.Count(told.String(), "is not there"); n != first {
		t.Errorf("it was tried %d times", n)
	}
}

// TestCancel tells the server that nobody waits any more.
func TestCancel(t *testing.T) {
	s, _ := open(t, client.Options{}, stdio("one", "ordinary"))
	one, _ := toolsOf(t, s).Lookup("one__wait")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := one.Run(ctx, nil); err != context.Canceled {
		t.Errorf("it returned %v", err)
	}
	until(t, "a cancelled call", func() bool { return strings.Contains(s.Status()[0].Stderr, "the call was cancelled") })
}

func TestCallTimeout(t *testing.T) {
	server := stdio("one", "ordinary")
	server.Call = 50 * time.Millisecond
	s, _ := open(t, client.Options{}, server)
	_, err := call(t, toolsOf(t, s), "one__wait", "{}")
	if e := tool.FromError(err); e == nil || e.Code != tool.Uncertain {
		t.Errorf("it returned %v", err)
	}
}

// TestCloseLeavesNothing ends a server with the processes that it started.
func TestCloseLeavesNothing(t *testing.T) {
	s, _ := open(t, client.Options{}, stdio("one", "child"))
	toolsOf(t, s)
	var pid int
	until(t, "the number of the child", func() bool {
		_, err := fmt.Sscanf(s.Status()[0].Stderr, "child %d", &pid)
		return err == nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Errorf("process %d goes on", pid)
	}
	if err := s.Connect(context.Background(), "one"); err == nil {
		t.Error("a closed server was started")
	}
}

// TestLazyStart offers tools from memory and starts the server with the first call.
func TestLazyStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mcp")
	s, _ := open(t, client.Options{Dir: dir}, stdio("one", "ordinary"))
	before := toolsOf(t, s)
	s.Close()
	files, _ := filepath.Glob(filepath.Join(dir, "one-*.json"))
	if len(files) != 1 {
		t.Fatalf("what is remembered stands in %s", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("what is remembered: %v, %v", info, err)
	}

	s, _ = open(t, client.Options{Dir: dir}, stdio("one", "ordinary"))
	set := toolsOf(t, s)
	if st := s.Status()[0]; st.State != client.Listed {
		t.Errorf("the state is %s", st.State)
	}
	if !slices.Equal(set.Names(), before.Names()) {
		t.Errorf("the tools are %s, before %s", set.Names(), before.Names())
	}
	if out, err := call(t, set, "one__echo", `{"text":"x"}`); err != nil || textOf(out) != "x" {
		t.Errorf("the call returned %q, %v", textOf(out), err)
	}
	if st := s.Status()[0]; st.State != client.Used {
		t.Errorf("after the call the state is %s", st.State)
	}

	// Another program under the same name is not known.
	other := stdio("one", "ordinary")
	other.Args = []string{"other"}
	s, _ = open(t, client.Options{Dir: dir}, other)
	if st := s.Status()[0]; st.State != client.Configured {
		t.Errorf("the state of another server is %s", st.State)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		server config.ServerConfig
		want   string
	}{
		{config.ServerConfig{Name: "a b", Command: "x"}, "is not a name for a server"},
		{config.ServerConfig{Name: "a__b", Command: "x"}, "without __"},
		{config.ServerConfig{Name: "a"}, "needs a command"},
		{config.ServerConfig{Name: "a", Transport: "http"}, "needs a url"},
		{config.ServerConfig{Name: "a", Transport: "carrier-pigeon", Command: "x"}, "stdio, http and sse"},
		{config.ServerConfig{Name: "a", Command: "x", URL: "http://h/"}, "has no url"},
		{config.ServerConfig{Name: "a", URL: "http://h/", Transport: "http", Env: map[string]string{"A": "b"}}, "has no command"},
		{config.ServerConfig{Name: "a", URL: "file:///etc/passwd"}, "http or https"},
		{config.ServerConfig{Name: "a", URL: "http://u:p@h/"}, "password"},
		{config.ServerConfig{Name: "a", Command: "x", Trust: "all"}, "there are none and annotations"},
		{config.ServerConfig{Name: "a", Command: "x", Connect: -1}, "negative"},
		{config.ServerConfig{Name: "a", Command: "x", Env: map[string]string{"A=B": "c"}}, "not a name of a variable"},
	} {
		if _, err := client.Open(client.Options{}, c.server); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.server, err, c.want)
		}
	}
	if _, err := client.Open(client.Options{}, stdio("a", ""), stdio("a", "")); err == nil {
		t.Error("two servers have one name")
	}
}

// TestVariables: a variable that is missing is an error that names it, and its value
// is not shown.
func TestVariables(t *testing.T) {
	server := stdio("one", "exit:1")
	server.Args = []string{"${MISSING}"}
	s, _ := open(t, client.Options{}, server)
	if err := s.Connect(context.Background(), "one"); err == nil || !strings.Contains(err.Error(), "the variable MISSING is not set") {
		t.Errorf("the error is %v", err)
	}
	server = config.ServerConfig{Name: "one", Command: "/no/such/${SECRET}"}
	s, _ = open(t, client.Options{Lookup: func(string) (string, bool) { return "hunter2", true }}, server)
	if err := s.Connect(context.Background(), "one"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

// TestArgumentsAsHeaders: a server of the newest revision gets the arguments that it
// wants as headers, too.
func TestArgumentsAsHeaders(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "headed", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil
		})
	var headers sync.Map
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := r.Header.Get("Mcp-Param-Region"); v != "" {
			headers.Store(v, true)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	s, told := open(t, client.Options{}, config.ServerConfig{Name: "headed", URL: listener.URL})
	if out, err := call(t, toolsOf(t, s), "headed__look", `{"region":"south"}`); err != nil || textOf(out) != "seen" {
		t.Fatalf("%q, %v; %s", textOf(out), err, told)
	}
	if revision := s.Status()[0].Revision; revision < "2026" {
		t.Fatalf("they speak %s", revision)
	}
	if _, sent := headers.Load("south"); !sent {
		t.Error("the header was not sent")
	}
}
