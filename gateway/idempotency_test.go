package gateway_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// posted sends a model request, with a name if there is one.
func posted(ctx context.Context, url, text, name string, stream bool) (status int, header http.Header, body string, err error) {
	post, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":%q}]}`, stream, text)))
	if err != nil {
		return 0, nil, "", err
	}
	if name != "" {
		post.Header.Set(conversation.IdempotencyHeader, name)
	}
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(b), err
}

// writing serves a tool that may change things. It waits for next, unless that is nil.
func writing(t *testing.T, n *counter, next chan struct{}, begun chan struct{}) string {
	write := reading("write", "written", n)
	write.Effects = 0
	run := write.Call
	write.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		out, err := run(ctx, args)
		if next == nil {
			return out, err
		}
		begun <- struct{}{}
		select {
		case <-next:
			return out, err
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	tools := served(write)
	tools.Runner = &invoke.Runner{Policy: invoke.AllowAll}
	url, _ := staged(t, script(t, "call write {\"what\":\"x\"}", "text Done."), wire.Chat, tools)
	return url
}

// TestIdempotentRequestInProgress checks that while a request may be changing something, an equal request is refused with the id
// of the first. Different requests are not refused, and neither are equal ones with another name. After the first has
// ended, an equal request is new.
func TestIdempotentRequestInProgress(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var n counter
		next, begun := make(chan struct{}), make(chan struct{}, 9)
		url := writing(t, &n, next, begun)
		first := make(chan string, 1)
		var run string
		go func() {
			_, header, body, err := posted(t.Context(), url, "a", "", stream)
			run = header.Get(exchange.RequestHeader)
			first <- fmt.Sprint(err, body)
		}()
		<-begun
		status, header, body, err := posted(t.Context(), url, "a", "", stream)
		if err != nil || status != http.StatusConflict || header.Get("X-Should-Retry") != "false" || n.n() != 1 {
			t.Errorf("stream=%t: %v %d %s, %d runs", stream, err, status, body, n.n())
		}
		others := make(chan string, 2)
		for text, name := range map[string]string{"b": "", "a": "own"} {
			go func() {
				_, _, body, err := posted(t.Context(), url, text, name, stream)
				others <- fmt.Sprint(err, body)
			}()
			<-begun
		}
		close(next)
		for _, got := range []string{<-first, <-others, <-others} {
			if !strings.Contains(got, "Done.") {
				t.Errorf("stream=%t: %s", stream, got)
			}
		}
		if run == "" || !strings.Contains(body, run) {
			t.Errorf("stream=%t: %q does not name %s", stream, body, run)
		}
		if status, _, body, err := posted(t.Context(), url, "a", "", stream); err != nil || status != 200 || n.n() != 4 {
			t.Errorf("stream=%t: a new request: %v %d %s, %d runs", stream, err, status, body, n.n())
		}
	}
}

// TestIdempotentRequestAfterLostAnswer checks that a request whose client disconnected after a tool may have changed something does
// not run again for an equal request or the same name, only for another name.
func TestIdempotentRequestAfterLostAnswer(t *testing.T) {
	for _, name := range []string{"", "mine"} {
		var n counter
		next, begun := make(chan struct{}), make(chan struct{}, 9)
		url := writing(t, &n, next, begun)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _, _, _ = posted(ctx, url, "a", name, true)
		}()
		<-begun
		cancel()
		<-gone
		if status, _, body, err := posted(t.Context(), url, "a", name, true); err != nil || status != http.StatusConflict || n.n() != 1 {
			t.Errorf("%q: %v %d %s, %d runs", name, err, status, body, n.n())
		}
		close(next)
		if status, _, body, err := posted(t.Context(), url, "a", "another", true); err != nil || status != 200 || !strings.Contains(body, "Done.") || n.n() != 2 {
			t.Errorf("%q: with another name: %v %d %s, %d runs", name, err, status, body, n.n())
		}
	}
}

// TestIdempotencyKey checks that a request with the same name gets the same answer, byte for byte, and runs nothing. A
// name that another request has is refused.
func TestIdempotencyKey(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var n counter
		url := writing(t, &n, nil, nil)
		_, first, body, err := posted(t.Context(), url, "a", "mine", stream)
		if err != nil || n.n() != 1 {
			t.Fatal(err, body)
		}
		status, header, again, err := posted(t.Context(), url, "a", "mine", stream)
		if err != nil || status != 200 || again != body || n.n() != 1 || header.Get(conversation.ReplayHeader) != first.Get(exchange.RequestHeader) || header.Get("Content-Type") != first.Get("Content-Type") {
			t.Errorf("stream=%t: %v %d %q, %d runs; first %q; %v", stream, err, status, again, n.n(), body, header)
		}
		if status, _, body, err := posted(t.Context(), url, "b", "mine", stream); err != nil || status != http.StatusUnprocessableEntity || n.n() != 1 {
			t.Errorf("stream=%t: other words: %v %d %s", stream, err, status, body)
		}
		if status, _, body, err := posted(t.Context(), url, "a", strings.Repeat("x", 256), stream); err != nil || status != 400 || n.n() != 1 {
			t.Errorf("stream=%t: a long name: %v %d %s", stream, err, status, body)
		}
	}
}

// TestInvalidIdempotencyKeys checks that a request with an empty name or two names is refused with a clear error and runs
// nothing. Repeating the same name is allowed.
func TestInvalidIdempotencyKeys(t *testing.T) {
	for _, test := range []struct {
		names  []string
		status int
		says   string
	}{
		{[]string{""}, 400, "Idempotency-Key is empty"}, {[]string{"  \t"}, 400, "Idempotency-Key is empty"}, {[]string{"a", ""}, 400, "is empty"},
		{[]string{"a", "b"}, 400, "more than once, with different names"}, {[]string{"a", "A"}, 400, "different names"}, {[]string{strings.Repeat("x", 256)}, 400, "longer than 255 bytes"},
		{[]string{"a", "a"}, 200, "Done."}, {[]string{"a"}, 200, "Done."}, {nil, 200, "Done."},
	} {
		var n counter
		url := writing(t, &n, nil, nil)
		post, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Write."}]}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Header[conversation.IdempotencyHeader] = test.names
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(b), test.says) || n.n() != map[int]int{200: 1}[test.status] {
			t.Errorf("%q: %d %s, %d runs", test.names, resp.StatusCode, b, n.n())
		}
	}
}

// TestReadOnlyToolsNeedNoIdempotency checks that requests with read-only tools may be repeated.
func TestReadOnlyToolsNeedNoIdempotency(t *testing.T) {
	var n counter
	begun, next := make(chan struct{}, 9), make(chan struct{})
	look := reading("look", "found", &n)
	look.Call = func(context.Context, json.RawMessage) (tool.Output, error) {
		begun <- struct{}{}
		<-next
		return tool.Text("found"), nil
	}
	url, _ := staged(t, script(t, "call look {\"what\":\"x\"}", "text Done."), wire.Chat, served(look))
	done := make(chan int, 2)
	for range 2 {
		go func() {
			status, _, _, _ := posted(t.Context(), url, "a", "", true)
			done <- status
		}()
		<-begun
	}
	close(next)
	if a, b := <-done, <-done; a != 200 || b != 200 {
		t.Errorf("%d and %d", a, b)
	}
}

// TestDuplicateJSONMembers checks that no request with a repeated field reaches an upstream, at the top level or deeper, and
// none with another spelling of a weighed field. The upstream might read another value than was checked. It covers each
// format over an upstream of the same format, which gets the client's own bytes, and of another.
func TestDuplicateJSONMembers(t *testing.T) {
	var asked atomic.Int64
	server := new(sim.Server)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		server.ServeHTTP(w, r)
	}))
	defer up.Close()
	vendors := map[string]provider.Vendor{}
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
	}
	client := &provider.Client{Vendors: vendors, Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}}
	for format := range roots {
		other := wire.Chat
		if format == other {
			other = wire.Messages
		}
		url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("same", "up-"+format+"/sim/native"), to("other", "up-"+other+"/sim/native")}})
		for _, model := range []string{"same", "other"} {
			codec, _ := wire.For(format)
			body, _, err := codec.EncodeRequest(question(model), false)
			if err != nil {
				t.Fatal(err)
			}
			post := func(b []byte) (int, error) {
				resp, err := http.Post(url+roots[format]+"/"+codec.Path(model, false), "application/json", bytes.NewReader(b))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				answer, _ := io.ReadAll(resp.Body)
				if resp.StatusCode == http.StatusOK {
					return resp.StatusCode, nil
				}
				return resp.StatusCode, codec.DecodeError(resp.StatusCode, resp.Header, answer)
			}
			if status, err := post(body); status != 200 {
				t.Fatalf("%s over %s: %d %v", format, model, status, err)
			}
			asked.Store(0)
			for what, b := range repeated(t, body) {
				status, err := post(b)
				if status != 400 || llm.KindOf(err) != llm.Invalid || !strings.Contains(fmt.Sprint(err), "of the request must be written") && !strings.Contains(fmt.Sprint(err), "twice") && !strings.Contains(what, "only") {
					t.Errorf("%s over %s: %s: %d %v", format, model, what, status, err)
				}
			}
			if n := asked.Load(); n > 0 {
				t.Errorf("%s over %s: the upstream was asked %d times", format, model, n)
			}
		}
	}
}

// repeated are bodies with a field that occurs twice, or in another case.
func repeated(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	rest := string(bytes.TrimSpace(body)[1:])
	for name, value := range members {
		out[name+" twice"] = fmt.Appendf(nil, `{%q:%s,%s`, name, value, rest)
		out[name+" in another case"] = fmt.Appendf(nil, `{%q:%s,%s`, strings.ToUpper(name), value, rest)
		out[name+" escaped"] = fmt.Appendf(nil, `{"\u%04x%s":%s,%s`, name[0], name[1:], value, rest)
		switch name {
		case "model", "messages", "input", "contents", "tools":
			out[name+" only in another case"] = bytes.Replace(body, fmt.Appendf(nil, "%q:", name), fmt.Appendf(nil, "%q:", strings.ToUpper(name)), 1)
		}
	}
	for what, change := range map[string][2]string{
		"role of a message": {`"role":"user"`, `"role":"user","role":"user"`},
		"name of a tool":    {`"name":"get_weather"`, `"name":"harmless","name":"get_weather"`},
	} {
		if b := strings.Replace(string(body), change[0], change[1], 1); b != string(body) {
			out[what] = []byte(b)
		} else {
			t.Errorf("there is no %s in %s", change[0], body)
		}
	}
	return out
}

// TestReplaysOfDeletedAnswers checks that a deleted answer is not replayed by the name of its request, and that the
// request does not run again.
func TestReplaysOfDeletedAnswers(t *testing.T) {
	g := guard(t, nil)
	mine, theirs := g.key(t, access.Key{}), g.key(t, access.Key{Team: "blue"})
	for _, format := range []string{wire.Responses, wire.Chat} {
		for _, stream := range []bool{false, true} {
			name := fmt.Sprint(format, stream)
			ask := func(key string) (int, string) {
				resp, body := send(t, "POST", g.url+"/v1/responses", "application/json", fmt.Sprintf(`{"model":%q,"stream":%t,"input":"What is the weather in Paris?"}`, format, stream), "Authorization", "Bearer "+key, "Idempotency-Key", name)
				return resp.StatusCode, body
			}
			status, first := ask(mine)
			id := outputOf(t, first).ID
			if status != 200 || id == "" {
				t.Fatalf("%s: %d %s", name, status, first)
			}
			if status, again := ask(mine); status != 200 || again != first {
				t.Errorf("%s: %d %s", name, status, again)
			}
			if status, body := g.respond(t, "DELETE", "/v1/responses/"+id, theirs, ""); status != 404 {
				t.Errorf("%s: another team deleted it: %d %s", name, status, body)
			}
			if status, body := g.respond(t, "DELETE", "/v1/responses/"+id, mine, ""); status != 200 {
				t.Fatalf("%s: %d %s", name, status, body)
			}
			for range 2 {
				status, body := ask(mine)
				if code := js.Text(js.Get(js.Get([]byte(body), "error"), "code")); status != 404 || code != "response_not_found" || !strings.Contains(body, id) {
					t.Errorf("%s: after it was deleted: %d %s", name, status, body)
				}
			}
		}
	}
}

// TestIdempotencyKeyOfOtherRequest checks which differences make a request with the same name another request.
func TestIdempotencyKeyOfOtherRequest(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	const body = `{"model":"messages","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	for i, test := range []struct {
		name          string
		first, second []string // the body, then headers
		status        int
	}{
		{"another beta", []string{body, "Anthropic-Beta", "a-2025-01-01"}, []string{body, "Anthropic-Beta", "b-2025-01-01"}, 422},
		{"a beta more", []string{body}, []string{body, "Anthropic-Beta", "b-2025-01-01"}, 422},
		{"a beta less", []string{body, "Openai-Beta", "b"}, []string{body}, 422},
		{"the same beta", []string{body, "Anthropic-Beta", "a-2025-01-01"}, []string{body, "Anthropic-Beta", "a-2025-01-01"}, 200},
		{"a member that is null", []string{body}, []string{strings.Replace(body, `{`, `{"stop_sequences":null,`, 1)}, 200},
		{"a member that was null", []string{strings.Replace(body, `{`, `{"metadata":null,`, 1)}, []string{body}, 200},
		{"one of a message", []string{body}, []string{strings.Replace(body, `"role"`, `"cache_control":null,"role"`, 1)}, 200},
		{"one that is not null", []string{body}, []string{strings.Replace(body, `{`, `{"stop_sequences":[],`, 1)}, 422},
		{"null in a schema", []string{strings.Replace(body, `{`, `{"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"default":null}}}}],`, 1)},
			[]string{strings.Replace(body, `{`, `{"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{}}}}],`, 1)}, 422},
	} {
		ask := func(said []string) (int, string, string) {
			resp, got := send(t, "POST", g.url+"/v1/messages", "application/json", said[0], append([]string{"Authorization", "Bearer " + key, "Idempotency-Key", fmt.Sprint(i)}, said[1:]...)...)
			return resp.StatusCode, got, resp.Header.Get(conversation.ReplayHeader)
		}
		if status, got, _ := ask(test.first); status != 200 {
			t.Fatalf("%s: %d %s", test.name, status, got)
		}
		if status, got, replay := ask(test.second); status != test.status || (replay != "") != (status == 200) {
			t.Errorf("%s: %d %q %s", test.name, status, replay, got)
		}
	}
}

// TestReplayedAnswersAreBooked checks that a replay is recorded and logged under the upstream of the first answer.
func TestReplayedAnswersAreBooked(t *testing.T) {
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	up := httptest.NewServer(new(sim.Server))
	t.Cleanup(up.Close)
	upstream := "ollama+" + up.URL + "/api#sim/native"
	client := &provider.Client{Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	g.url = serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("chat", upstream)}, Access: g.book, Log: slog.New(slog.NewTextHandler(g, nil))})
	key := g.key(t, access.Key{})
	for range 2 {
		if resp, body := send(t, "POST", g.url+"/v1/chat/completions", "application/json", hello, "Authorization", "Bearer "+key, "Idempotency-Key", "a"); resp.StatusCode != 200 {
			t.Fatal(body)
		}
	}
	lines, err := g.book.Log(t.Context(), 9)
	if err != nil || len(lines) != 2 || lines[0].Upstream != upstream || lines[1].Upstream != upstream || !lines[0].Cached {
		t.Errorf("%v %+v", err, lines)
	}
	if n := strings.Count(g.told(), `upstream=`+upstream) + strings.Count(g.told(), `upstream="`+upstream); n != 2 {
		t.Errorf("the log names it %d times: %s", n, g.told())
	}
}

// methodOf is the context key for the method of the request that calls the store.
type methodOf struct{}

// meeting is a store that makes a request and the deletion of its answer meet at chosen steps. The deletion begins
// before the step of the request with number first, counted from when its answer can be found. Before its own step with
// number second, the deletion waits for the end of the request.
type meeting struct {
	state.Store
	first, second int
	remove        func(id string)

	mu           sync.Mutex
	id           string // of the answer, once it can be found
	steps, later int    // steps of the request and of the deletion
	met          bool   // the deletion began
	waited       bool   // the deletion waited
	reached      chan struct{}
	ended        chan struct{}
	removed      chan struct{}
}

// step is called before each store operation.
func (m *meeting) step(ctx context.Context) {
	m.mu.Lock()
	switch method := ctx.Value(methodOf{}); {
	case method == http.MethodPost && m.id != "" && !m.met:
		if m.met = m.steps == m.first; m.met {
			go func() { m.remove(m.id); close(m.removed) }()
			m.mu.Unlock()
			select {
			case <-m.reached:
			case <-m.removed:
			}
			return
		}
		m.steps++
	case method == http.MethodDelete && !m.waited:
		if m.waited = m.later == m.second; m.waited {
			close(m.reached)
			m.mu.Unlock()
			<-m.ended
			return
		}
		m.later++
	}
	m.mu.Unlock()
}

func (m *meeting) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	m.step(ctx)
	return m.Store.Get(ctx, kind, owner, hashes...)
}

func (m *meeting) Put(ctx context.Context, entries ...state.Kept) error {
	m.step(ctx)
	err := m.Store.Put(ctx, entries...)
	for _, e := range entries {
		if e.Kind == state.Answer {
			m.mu.Lock()
			m.id = js.Text(js.Get(js.Get(e.Value, "answer"), "id"))
			m.mu.Unlock()
		}
	}
	return err
}

func (m *meeting) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	m.step(ctx)
	return m.Store.Claim(ctx, e, mine)
}

func (m *meeting) Delete(ctx context.Context, k state.Place, mine []byte) (bool, error) {
	m.step(ctx)
	return m.Store.Delete(ctx, k, mine)
}

// TestAnswersDeletedWhileTheyEnd checks that an answer deleted while it ends is not replayed, whichever steps come
// first.
func TestAnswersDeletedWhileTheyEnd(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() state.Store{
		"memory": func() state.Store { return new(state.Memory) },
		"sqlite": func() state.Store {
			db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			db.SetMaxOpenConns(1)
			s, err := state.OpenSQL(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		for _, stream := range []bool{false, true} {
			met := 0
			for first, more := 0, true; more; first++ {
				for second, again := 0, true; again; second++ {
					more, again = deletedAtItsEnd(t, &meeting{Store: open(), first: first, second: second}, stream)
					if more {
						met++
					}
				}
			}
			if met < 9 {
				t.Errorf("%s, stream=%t: they met in %d ways only", name, stream, met)
			}
		}
	}
}

// deletedAtItsEnd makes a request and the deletion of its answer meet, and repeats the request. It reports whether the
// request and the deletion had these steps.
func deletedAtItsEnd(t *testing.T, m *meeting, stream bool) (met, waited bool) {
	t.Helper()
	m.reached, m.ended, m.removed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	g, err := gateway.New(gateway.Setup{Open: opening(upstreams(t)), Routes: []gateway.ModelRoute{to("m", "up-responses/sim/native")}, State: m})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), methodOf{}, r.Method)))
	}))
	defer server.Close()
	m.remove = func(id string) {
		if resp, body := send(t, "DELETE", server.URL+"/v1/responses/"+id, "", ""); resp.StatusCode != 200 {
			t.Errorf("it cannot be deleted: %d %s", resp.StatusCode, body)
		}
	}
	ask := func() (int, string) {
		resp, body := send(t, "POST", server.URL+"/v1/responses", "application/json", fmt.Sprintf(`{"model":"m","stream":%t,"input":"What is the weather in Paris?"}`, stream), "Idempotency-Key", "a")
		return resp.StatusCode, body
	}
	if status, body := ask(); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	close(m.ended)
	if !m.met {
		return false, false
	}
	<-m.removed
	if status, body := ask(); status != 404 {
		t.Errorf("steps %d and %d, stream=%t: after it was deleted: %d %s", m.first, m.second, stream, status, body)
	}
	return true, m.waited
}

// TestReplayedAnswersReportUsage checks that a replay reports usage only if the request asks for it, whichever form the first
// answer had.
func TestReplayedAnswersReportUsage(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	const whole, silent, telling = `"stream":false`, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`
	n := 0
	for _, first := range []string{whole, silent, telling} {
		for _, second := range []string{whole, silent, telling} {
			n++
			ask := func(how string, again bool) string {
				resp, body := send(t, "POST", g.url+"/v1/chat/completions", "application/json", fmt.Sprintf(`{"model":"chat",%s,"messages":[{"role":"user","content":"hi"}]}`, how),
					"Authorization", "Bearer "+key, "Idempotency-Key", fmt.Sprint(n))
				if resp.StatusCode != 200 || (resp.Header.Get(conversation.ReplayHeader) != "") != again {
					t.Fatalf("%s: %d %s", how, resp.StatusCode, body)
				}
				return body
			}
			was := ask(first, false)
			got := ask(second, true)
			told := strings.Contains(got, `"prompt_tokens"`)
			known := strings.Contains(was, `"prompt_tokens"`)
			if want := known && second != silent; told != want {
				t.Errorf("%s, then %s: usage is told: %t, want %t:\n%s", first, second, told, want, got)
			}
			if first == second && got != was {
				t.Errorf("%s: got\n%s\nwant\n%s", first, got, was)
			}
			if second == silent && strings.Contains(got, `"choices":[]`) {
				t.Errorf("%s, then %s: a chunk without a choice:\n%s", first, second, got)
			}
		}
	}
}
