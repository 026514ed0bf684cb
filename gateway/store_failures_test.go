package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// flaky is a store that fails on demand and counts its operations.
type flaky struct {
	state.Memory
	broken atomic.Bool
	asked  atomic.Int64
}

var errBroken = errors.New("dial db.internal: refused")

func (f *flaky) fails() error {
	f.asked.Add(1)
	if f.broken.Load() {
		return errBroken
	}
	return nil
}

// Empty hides the method of the memory, because a database cannot know.
func (f *flaky) Empty(state.Kind) bool { return false }

func (f *flaky) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.Memory.Get(ctx, kind, owner, hashes...)
}

func (f *flaky) Put(ctx context.Context, entries ...state.Kept) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Memory.Put(ctx, entries...)
}

func (f *flaky) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.Memory.Claim(ctx, e, mine)
}

// writer returns a tool that may change things.
func writer(n *counter) *gateway.ServedTools {
	write := reading("write", "written", n)
	write.Effects = 0
	tools := served(write)
	tools.Runner = &invoke.Runner{Policy: invoke.AllowAll}
	return tools
}

// TestStoreFails checks that a gateway without its store still answers and warns about the missing data. It refuses
// only requests that might run twice. Clients do not see the store's error.
func TestStoreFails(t *testing.T) {
	var n counter
	store := new(flaky)
	store.broken.Store(true)
	setup, _ := stagedSetup(t, script(t, `call write {"what":"x"}`, "text Done."), wire.Chat, writer(&n))
	var log strings.Builder
	var mu sync.Mutex
	setup.State, setup.Log = store, slog.New(slog.NewTextHandler(locked{&mu, &log}, nil))
	setup.Open = both(setup.Open, opening(upstreams(t)))
	setup.Routes = append(setup.Routes, to("signing", "up-gemini/sim/native+strict"))
	live, err := gateway.NewLive(setup)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	server := httptest.NewServer(live)
	defer server.Close()

	for _, name := range []string{"", "mine"} {
		status, _, body, err := posted(t.Context(), server.URL, "a", name, false)
		if err != nil || status != http.StatusServiceUnavailable || n.n() != 0 || strings.Contains(body, "db.internal") {
			t.Errorf("%q: %v %d %s, %d runs", name, err, status, body, n.n())
		}
	}
	for _, stream := range []bool{false, true} {
		req := question("signing")
		first := ask(t, server.URL, wire.Chat, req, stream)
		if first.err != nil || len(first.Message.Calls()) != 1 {
			t.Fatalf("%+v", first)
		}
		if got := first.header.Get(exchange.WarningHeader); !stream && !strings.Contains(got, "state") {
			t.Errorf("the client is told %q", got)
		}
		calls := first.Message.Calls()
		req.Messages = append(req.Messages, first.Message, llm.Results(llm.Result{CallID: calls[0].ID, Name: calls[0].Name, Parts: []llm.Part{llm.Text{Text: "sunny"}}}))
		if second := ask(t, server.URL, wire.Chat, req, stream); !strings.Contains(second.header.Get(exchange.WarningHeader), "state") {
			t.Errorf("stream=%t: the client is told %q", stream, second.header)
		}
	}
	first := ask(t, server.URL, wire.Responses, question("signing"), false)
	if got := fmt.Sprint(first.header.Values(exchange.WarningHeader)); first.err != nil || !strings.Contains(got, "may continue by its id") {
		t.Errorf("%v %q", first.err, got)
	}
	status, body := sent(t, "POST", server.URL+"/v1/responses", `{"model":"signing","input":"Hi","previous_response_id":"resp_1"}`)
	if status != http.StatusServiceUnavailable || strings.Contains(body, "db.internal") {
		t.Errorf("previous_response_id: %d %s", status, body)
	}
	recorder := httptest.NewRecorder()
	live.Metrics().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(recorder.Body.String(), `toolpost_state_failures_total{kind="signature",op="read"}`) {
		t.Error("failures are not counted")
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "db.internal") {
		t.Error("the log does not say what is wrong")
	}
}

// both opens a model with the first of two functions that knows it.
func both(a, b func(string, gateway.Way) (llm.Model, error)) func(string, gateway.Way) (llm.Model, error) {
	return func(id string, way gateway.Way) (llm.Model, error) {
		if strings.HasPrefix(id, "up-gemini/") {
			return b(id, way)
		}
		return a(id, way)
	}
}

// locked is a log for concurrent writers.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// sent sends a request.
func sent(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestStoreIsNotQueriedWithoutNeed checks that a request without anything to continue does not use the store.
func TestStoreIsNotQueriedWithoutNeed(t *testing.T) {
	store := new(flaky)
	url := serve(t, gateway.Setup{State: store, Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native"), to("other", "up-gemini/sim/native")}})
	for _, model := range []string{"m", "other"} {
		for _, format := range []string{wire.Chat, wire.Messages} {
			for _, stream := range []bool{false, true} {
				req := &llm.Request{Model: model, MaxTokens: 2048, Messages: []llm.Message{llm.User("Hello")}}
				if got := ask(t, url, format, req, stream); got.err != nil || store.asked.Load() != 0 {
					t.Errorf("%s over %s, stream=%t: %v, asked %d times", format, model, stream, got.err, store.asked.Load())
				}
			}
		}
	}
}

// TestOpenRunEnds checks that requests of a dead gateway stay refused, for an hour if something may have been changed.
// Then the same request runs.
func TestOpenRunEnds(t *testing.T) {
	for _, name := range []string{"", "mine"} {
		var late atomic.Int64
		store := &state.Memory{Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) }}
		var n counter
		begun := make(chan struct{})
		tools := writer(&n)
		set, _ := tools.Tools(t.Context())
		write, _ := set.Lookup("write")
		run := write.Call
		var calls atomic.Int64
		write.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
			if calls.Add(1) == 1 { // as if its gateway had died
				close(begun)
				<-ctx.Done()
			}
			return run(ctx, args)
		}
		blocking := served(write)
		blocking.Runner = tools.Runner
		setup, _ := stagedSetup(t, script(t, `call write {"what":"x"}`, "text Done."), wire.Chat, blocking)
		setup.State = store
		one, two := serve(t, setup), serve(t, setup)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _, _, _, _ = posted(ctx, one, "a", name, true) }()
		<-begun
		for _, minutes := range []int{0, 59, 61} {
			late.Store(int64(time.Duration(minutes) * time.Minute))
			want := http.StatusConflict
			if minutes > 60 {
				want = http.StatusOK
			}
			if status, _, body, err := posted(t.Context(), two, "a", name, false); err != nil || status != want {
				t.Errorf("%q after %d minutes: %v %d %s", name, minutes, err, status, body)
			}
		}
	}
}

// TestIdempotencyIgnoresSpelling checks that requests are equal regardless of JSON formatting and streaming. The replay has
// the requested form.
func TestIdempotencyIgnoresSpelling(t *testing.T) {
	ways := []struct{ body, form string }{
		{`{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":1}`, "application/json"},
		{`{ "temperature": 1.0, "messages": [ {"content": "\u0061", "role": "user"} ], "model": "m", "stream": false }`, "application/json"},
		{`{"stream_options":{"include_usage":true},"stream":true,"model":"m","messages":[{"role":"user","content":"a"}],"temperature":1}`, "text/event-stream"},
	}
	for first := range ways {
		for second := range ways {
			var n counter
			setup, _ := stagedSetup(t, script(t, `call write {"what":"x"}`, "text Done."), wire.Chat, writer(&n))
			url := serve(t, setup)
			for i, w := range []int{first, second} {
				r, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(ways[w].body))
				r.Header.Set(conversation.IdempotencyHeader, "mine")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 || n.n() != 1 || !strings.Contains(string(b), "Done.") || !strings.HasPrefix(resp.Header.Get("Content-Type"), ways[w].form) ||
					(resp.Header.Get(conversation.ReplayHeader) != "") != (i == 1) {
					t.Errorf("%d after %d: %d runs, %s %v\n%s", second, first, n.n(), resp.Status, resp.Header, b)
				}
				if ways[w].form == "text/event-stream" && !strings.HasSuffix(string(b), "data: [DONE]\n\n") {
					t.Errorf("%d after %d: the stream does not end: %s", second, first, b)
				}
			}
		}
	}
}

// TestIdempotencyAcrossForms checks that an answer is replayed in each form of each format.
func TestIdempotencyAcrossForms(t *testing.T) {
	for format := range roots {
		codec, _ := wire.For(format)
		var n counter
		setup, _ := stagedSetup(t, script(t, `call write {"what":"x"}`, "text Done."), wire.Chat, writer(&n))
		url := serve(t, setup)
		texts := map[string]bool{}
		for i, stream := range []bool{true, false, true} {
			req := &llm.Request{Model: "m", MaxTokens: 100, Messages: []llm.Message{llm.User("a")}}
			body, _, err := codec.EncodeRequest(req, stream)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := http.NewRequestWithContext(t.Context(), "POST", url+roots[format]+"/"+codec.Path(req.Model, stream), strings.NewReader(string(body)))
			r.Header.Set(conversation.IdempotencyHeader, "mine")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var b llm.Builder
			all, _ := io.ReadAll(resp.Body) // read to the end, which is when the request is over
			if stream {
				for ev, failed := range codec.DecodeStream(bytes.NewReader(all)) {
					if err = errors.Join(err, failed); failed == nil {
						b.Add(ev)
					}
				}
			} else {
				var got *llm.Response
				if got, err = codec.DecodeResponse(all); err == nil {
					for _, ev := range got.Events() {
						b.Add(ev)
					}
				}
			}
			resp.Body.Close()
			texts[b.Response().Message.Text()+string(b.Response().Finish.Reason)] = true
			if err != nil || resp.StatusCode != 200 || n.n() != 1 || (resp.Header.Get(conversation.ReplayHeader) != "") != (i > 0) {
				t.Errorf("%s, stream=%t: %v %d, %d runs", format, stream, err, resp.StatusCode, n.n())
			}
		}
		if len(texts) != 1 {
			t.Errorf("%s: %s", format, fmt.Sprint(texts))
		}
	}
}
