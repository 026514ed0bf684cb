package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// once sends each request once.
var once = provider.RetryPolicy{Attempts: -1}

// greeting is a request without tools.
func greeting(model string) *llm.Request {
	return &llm.Request{Model: model, MaxTokens: 99, Messages: []llm.Message{llm.User("Hello there")}}
}

// TestRouteOfModelName checks the upstream of a model name for each kind of match, over HTTP and for clients of every
// format.
func TestRouteOfModelName(t *testing.T) {
	a, b := newStation(t, "a", says("a")), newStation(t, "b", says("b"))
	only := to("both", "b-chat/for-some")
	only.From = []string{wire.Chat, wire.Gemini}
	routes := []gateway.ModelRoute{
		to("*", "a-chat/default-*"), to("exact", "a-chat/one"), to("alias", "b-messages/real-name"), to("pre-*", "b-chat/short-*"),
		to("pre-fix-*", "a-gemini/long-*"), to("pre-fix-x", "b-responses/whole"), only,
	}
	url := serve(t, gateway.Setup{Open: opens(once, nil, a, b), Routes: routes})
	for _, c := range clients {
		both := "default-both"
		if slices.Contains(only.From, c.format) {
			both = "for-some"
		}
		for name, want := range map[string]string{
			"exact": "one", "alias": "real-name", "pre-1": "short-1", "pre-fix-1": "long-1", "pre-fix-x": "whole", "pre-": "", "other": "default-other", "Exact": "default-Exact",
			"both": both,
		} {
			got := c.ask(t, url, greeting(name), false)
			if asked := strings.Join(append(a.take(), b.take()...), " "); asked != want || (got.err == nil) != (want != "") {
				t.Errorf("%s asks for %s: the upstream was asked for %q, want %q: %v", c.name, name, asked, want, got.err)
			}
		}
	}
}

// TestWeightedUpstreams checks that each upstream of a route gets its share of requests by weight, with sequential and concurrent
// requests.
func TestWeightedUpstreams(t *testing.T) {
	for _, weights := range [][]int{{1, 1}, {2, 1}, {1, 3}, {5, 3, 2}, {0, 1}, {100, 1}} {
		for _, atOnce := range []int{1, 12} {
			var stations []*station
			var route gateway.ModelRoute
			sum := 0
			for i, w := range weights {
				s := newStation(t, string(rune('a'+i)), says("yes"))
				s.before = func(http.ResponseWriter, *http.Request) bool {
					time.Sleep(time.Duration(atOnce-1) * time.Millisecond)
					return false
				}
				stations = append(stations, s)
				route.Upstreams = append(route.Upstreams, gateway.Upstream{Model: s.name + "-chat/m", Weight: w})
				sum += max(w, 1)
			}
			route.Model = "m"
			const n = 240
			url := serve(t, gateway.Setup{Open: opens(once, nil, stations...), Routes: []gateway.ModelRoute{route}})
			askMany(t, url, n, atOnce)
			for i, s := range stations {
				share, got := float64(n*max(weights[i], 1))/float64(sum), float64(s.n())
				if slack := 1 + 0.15*float64(n)*float64(atOnce-1)/11; math.Abs(got-share) > slack {
					t.Errorf("weights %v, %d at once: upstream %d has %v requests, want %.0f", weights, atOnce, i+1, got, share)
				}
			}
		}
	}
}

// askMany sends n requests, some concurrently.
func askMany(t *testing.T, url string, n, atOnce int) {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for range atOnce {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if got := clients[0].ask(t, url, greeting("m"), false); got.err != nil {
					t.Error(got.err)
				}
			}
		})
	}
	all.Wait()
}

// TestLeastBusy checks that a slow upstream has no queue of requests while another is free: no more than its weight
// allows.
func TestLeastBusy(t *testing.T) {
	for _, weight := range []int{1, 3} {
		slow, fast := newStation(t, "slow", says("slow")), newStation(t, "fast", says("fast"))
		free := make(chan struct{})
		slow.before = func(http.ResponseWriter, *http.Request) bool { <-free; return false }
		route := gateway.ModelRoute{Model: "m", Upstreams: []gateway.Upstream{{Model: "slow-chat/m", Weight: weight}, {Model: "fast-chat/m"}}}
		_, url := live(t, gateway.Setup{Open: opens(once, nil, slow, fast), Routes: []gateway.ModelRoute{route}})
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() { clients[0].ask(t, url, greeting("m"), true) })
			for slow.n()+fast.n() <= n {
				time.Sleep(time.Millisecond)
			}
			for text := ""; !strings.Contains(text, `toolpost_upstream_busy{route="m",upstream="fast-chat/m"} 0`+"\n"); {
				_, text = get(t, url+"/metrics") // a request ends after its client has the answer
			}
		}
		if slow.n() != weight {
			t.Errorf("the slow one, of weight %d, had %d requests, the fast one %d", weight, slow.n(), fast.n())
		}
		close(free)
		all.Wait()
	}
}

// TestCooldown checks that an upstream is skipped for a while after three failures in a row, that one request then
// tries it again, and that it gets its share again if it answers.
func TestCooldown(t *testing.T) {
	t.Parallel()
	const wait = 300 * time.Millisecond
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			var down atomic.Bool
			down.Store(true)
			bad, good := newStation(t, "bad", says("bad")), newStation(t, "good", says("good"))
			bad.before = func(w http.ResponseWriter, r *http.Request) bool {
				if down.Load() {
					http.Error(w, `{"error":{"message":"down"}}`, http.StatusServiceUnavailable)
				}
				return down.Load()
			}
			route := gateway.ModelRoute{Model: "m", Timing: gateway.Timing{Cooldown: wait}, Upstreams: []gateway.Upstream{{Model: "bad-" + c.format + "/m", Weight: 9}, {Model: "good-" + c.format + "/m"}}}
			url := serve(t, gateway.Setup{Open: opens(once, nil, bad, good), Routes: []gateway.ModelRoute{route}})
			answered := func(n int) {
				t.Helper()
				for range n {
					if got := c.ask(t, url, greeting("m"), stream); got.err != nil {
						t.Fatalf("%s, stream=%t: %v", c.name, stream, got.err)
					}
				}
			}
			begun := time.Now()
			answered(8)
			if n := bad.n(); n != 3 && time.Since(begun) < wait {
				t.Errorf("%s, stream=%t: it was asked %d times in a row", c.name, stream, n)
			}
			bad.take()
			time.Sleep(wait)
			begun = time.Now()
			answered(8)
			if n := bad.n(); n != 1 && time.Since(begun) < wait {
				t.Errorf("%s, stream=%t: %d requests tried it", c.name, stream, n)
			}
			down.Store(false)
			bad.take()
			time.Sleep(wait)
			all := 0
			for ; all < 100 && bad.n() < 8; all++ { // a trial request ends after its client has the answer
				answered(1)
			}
			if all == 100 {
				t.Errorf("%s, stream=%t: it is back, and has %d of %d requests", c.name, stream, bad.n(), all)
			}
		}
	}
}

// failures are the ways in which an upstream fails before its answer begins.
var failures = map[string]func(http.ResponseWriter, *http.Request){
	"busy":    func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "busy") },
	"limited": func(w http.ResponseWriter, _ *http.Request) { refuse(w, 429, "slow down") },
	"broken":  func(w http.ResponseWriter, _ *http.Request) { refuse(w, 500, "oh") },
	"locked":  func(w http.ResponseWriter, _ *http.Request) { refuse(w, 401, "no key") },
	"hang up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"headers alone": func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	"an empty answer": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
	"no JSON":         func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>It works!</html>") },
	"too long": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(400)
		// The words and codes of all vendors together.
		fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","status":"INVALID_ARGUMENT","code":"context_length_exceeded","message":"prompt is too long: the input token count exceeds the maximum number of tokens, Input is too long for requested model"},"message":"Input is too long for requested model."}`)
	},
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q},"message":%q}`, why, why)
}

// TestOneUpstreamAnswers checks that another upstream is asked as long as nothing has reached the client, and never after that:
// for every client, with and without streams, for every kind of failure.
func TestOneUpstreamAnswers(t *testing.T) {
	defer gateway.SetCooldown(time.Nanosecond)()
	const words = "These are the first words of an answer that is never said to its end, however long one waits for it."
	var alone atomic.Bool
	begins := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if alone.Load() {
				yield(llm.Start{ID: "x", Model: "m", Created: time.Now()}, nil)
				panic(http.ErrAbortHandler)
			}
			_ = yield(llm.TextDelta{Text: words}, nil) && yield(llm.TextDelta{Text: " More."}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
		}
	})
	first, second := newStation(t, "first", begins), newStation(t, "second", says("second"))
	var fault atomic.Value // of type func(http.ResponseWriter, *http.Request)
	first.before = func(w http.ResponseWriter, r *http.Request) bool {
		if f, _ := fault.Load().(func(http.ResponseWriter, *http.Request)); f != nil {
			f(w, r)
		} else {
			first.sim.ServeHTTP(&cutting{ResponseWriter: w, after: "however"}, r)
		}
		return true
	}
	var routes []gateway.ModelRoute
	for _, c := range clients {
		for _, path := range paths {
			r := gateway.ModelRoute{Model: c.name + "-" + path, Upstreams: []gateway.Upstream{{Model: c.via(path, "first"), Weight: 1000}, {Model: c.via(path, "second")}}}
			f := gateway.ModelRoute{Model: c.name + "-" + path + "-f", Upstreams: []gateway.Upstream{{Model: c.via(path, "first")}}, Fallback: []string{"spare-" + c.name + "-" + path}}
			routes = append(routes, r, f, to("spare-"+c.name+"-"+path, c.via(path, "second")))
		}
	}
	open := opens(provider.RetryPolicy{Attempts: 3, Initial: time.Hour, Max: time.Hour}, nil, first, second)
	kinds := map[string]func(http.ResponseWriter, *http.Request){"cut off": nil}
	for name, f := range failures {
		kinds[name] = f
	}
	kinds["start alone"] = func(w http.ResponseWriter, r *http.Request) { first.sim.ServeHTTP(w, r) }
	for name, f := range kinds {
		fault.Store(f)
		alone.Store(name == "start alone")
		url := serve(t, gateway.Setup{Open: open, Routes: routes}) // a new gateway with closed breakers
		for _, c := range clients {
			for _, path := range paths {
				for _, stream := range []bool{false, true} {
					for _, suffix := range []string{"", "-f"} {
						first.take()
						second.take()
						req := question(c.name + "-" + path + suffix)
						got := c.ask(t, url, req, stream)
						asked, again := first.n(), second.n()
						where := fmt.Sprintf("%s, %s %s, stream=%t: asked %d and %d times", name, c.name, path+suffix, stream, asked, again)
						switch said := f == nil && stream; {
						case asked != 1, said && again != 0, !said && again != 1:
							t.Errorf("%s: %v", where, got.err)
						case said && (got.err == nil || !strings.Contains(got.Message.Text(), "first words")):
							t.Errorf("%s: the client has %+v, %v", where, got.Response, got.err)
						case !said && (got.err != nil || got.Message.Text() != "second"):
							t.Errorf("%s: the client has %+v, %v", where, got.Response, got.err)
						}
					}
				}
			}
		}
	}
}

// TestRateLimitAtOnce checks that a client immediately gets the vendor's retry time if no other upstream is left. Each
// upstream is asked once, and not before that time.
func TestRateLimitAtOnce(t *testing.T) {
	defer gateway.SetCooldown(time.Nanosecond)()
	first, second := newStation(t, "first", says("first")), newStation(t, "second", says("second"))
	for _, s := range []*station{first, second} {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if asks(r) {
				w.Header().Set("Retry-After", "120")
				refuse(w, 429, "slow down")
			}
			return asks(r)
		}
	}
	var routes []gateway.ModelRoute
	for _, c := range clients {
		for _, path := range paths {
			one, other := c.via(path, "first"), c.via(path, "second")
			both := gateway.ModelRoute{Model: c.name + "-" + path + "-2", Upstreams: []gateway.Upstream{{Model: one}, {Model: other}}}
			routes = append(routes, to(c.name+"-"+path+"-1", one), both)
		}
	}
	url := serve(t, gateway.Setup{Open: opens(provider.RetryPolicy{Attempts: 3, Initial: time.Hour, Max: time.Hour}, nil, first, second), Routes: routes})
	for _, c := range clients {
		for _, path := range paths {
			for _, stream := range []bool{false, true} {
				for upstreams := 1; upstreams <= 2; upstreams++ {
					first.take()
					second.take()
					got := c.ask(t, url, question(fmt.Sprintf("%s-%s-%d", c.name, path, upstreams)), stream)
					asked := first.n() + second.n()
					if after := got.header.Get("Retry-After"); asked != upstreams || got.status != 429 || after != "120" || llm.KindOf(got.err) != llm.RateLimited {
						t.Errorf("%s, %s, stream=%t, %d upstreams: status %d, Retry-After %q, asked %d times, %v", c.name, path, stream, upstreams, got.status, after, asked, got.err)
					}
				}
			}
		}
	}
}

// cutting is a connection that breaks after some bytes.
type cutting struct {
	http.ResponseWriter
	after string
	said  bool
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutting) Write(b []byte) (int, error) {
	if c.said {
		panic(http.ErrAbortHandler)
	}
	if at := strings.Index(string(b), c.after); at >= 0 && c.Header().Get("Content-Type") == "application/json" {
		_, _ = c.ResponseWriter.Write(b[:at])
		panic(http.ErrAbortHandler) // in the middle of a document
	} else if at >= 0 {
		c.said = true
	}
	n, err := c.ResponseWriter.Write(b)
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	return n, err
}

// TestLastUpstreamIsAskedAgain checks that a single upstream is retried while nothing has reached the client, and never after that.
func TestLastUpstreamIsAskedAgain(t *testing.T) {
	defer gateway.SetCooldown(time.Nanosecond)()
	only := newStation(t, "only", says("These are the first words, and however long they are, they come once."))
	var times atomic.Int64
	var late atomic.Bool
	only.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case !asks(r):
			return false
		case late.Load():
			only.sim.ServeHTTP(&cutting{ResponseWriter: w, after: "however"}, r)
		case times.Add(-1) >= 0:
			refuse(w, 503, "busy")
		default:
			return false
		}
		return true
	}
	var routes []gateway.ModelRoute
	for _, c := range clients {
		for _, path := range paths {
			routes = append(routes, to(c.name+"-"+path, c.via(path, "only")))
		}
	}
	url := serve(t, gateway.Setup{Open: opens(provider.RetryPolicy{Initial: time.Millisecond}, nil, only), Routes: routes})
	for _, c := range clients {
		for _, path := range paths {
			for _, stream := range []bool{false, true} {
				for _, cut := range []bool{false, true} {
					late.Store(cut)
					times.Store(2)
					only.take()
					got := c.ask(t, url, question(c.name+"-"+path), stream)
					switch n := only.n(); {
					case !cut && (n != 3 || got.err != nil):
						t.Errorf("%s, %s, stream=%t: asked %d times, %v", c.name, path, stream, n, got.err)
					case cut && stream && (n != 1 || got.err == nil):
						t.Errorf("%s, %s: asked %d times after the first words, %v", c.name, path, n, got.err)
					case cut && got.err == nil:
						t.Errorf("%s, %s, stream=%t: half of an answer is a whole one: %+v", c.name, path, stream, got.Response)
					}
				}
			}
		}
	}
}

// TestFilteredFallsBack checks that another upstream is asked if the vendor's filter blocked an answer, for every
// upstream format. Without another upstream, the client gets the blocked answer.
func TestFilteredFallsBack(t *testing.T) {
	filter := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if yield(llm.Start{ID: "x", Model: "m", Created: time.Now()}, nil) {
				time.Sleep(2 * time.Millisecond) // the start has arrived
				yield(llm.Finish{Reason: llm.ContentFilter}, nil)
			}
		}
	})
	first, second := newStation(t, "first", filter), newStation(t, "second", says("second"))
	var routes []gateway.ModelRoute
	for _, c := range clients {
		for _, path := range paths {
			r := to(c.name+"-"+path, c.via(path, "first"))
			r.Fallback = []string{"spare"}
			routes = append(routes, r, to("only-"+c.name+"-"+path, c.via(path, "first")))
		}
	}
	routes = append(routes, to("spare", "second-chat/m"))
	url := serve(t, gateway.Setup{Open: opens(once, nil, first, second), Routes: routes})
	for _, c := range clients {
		for _, path := range paths {
			if c.format == wire.Ollama && path == "relay" {
				continue // its API does not report filters
			}
			for _, stream := range []bool{false, true} {
				first.take()
				if got := c.ask(t, url, question(c.name+"-"+path), stream); got.err != nil || got.Message.Text() != "second" || first.n() != 1 {
					t.Errorf("%s, %s, stream=%t: asked %d times: %v, %+v", c.name, path, stream, first.n(), got.err, got.Response)
				}
				if got := c.ask(t, url, question("only-"+c.name+"-"+path), stream); got.err == nil && got.Message.Text() != "" {
					t.Errorf("%s, %s, stream=%t, alone: %+v", c.name, path, stream, got.Response)
				}
			}
		}
	}
}

// TestHealthOverHTTP checks that health checks use free requests, and that an unhealthy upstream is skipped, and asked
// again when it is healthy.
func TestHealthOverHTTP(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	watched, spare := newStation(t, "watched", says("watched")), newStation(t, "spare", says("spare"))
	var looked atomic.Int64
	watched.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			looked.Add(1)
		}
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	route := gateway.ModelRoute{Model: "m", Upstreams: []gateway.Upstream{{Model: "watched-chat/sim/native", Weight: 100, Health: time.Second}, {Model: "spare-chat/sim/native"}}}
	_, url := live(t, gateway.Setup{Open: opens(once, nil, watched, spare), Routes: []gateway.ModelRoute{route}})
	until := func(healthy string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if _, text := get(t, url+"/metrics"); strings.Contains(text, `toolpost_upstream_healthy{route="m",upstream="watched-chat/sim/native"} `+healthy+"\n") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("it is never healthy=%s; asked %d times", healthy, looked.Load())
			}
		}
	}
	until("0")
	for _, c := range clients {
		if got := c.ask(t, url, greeting("m"), true); got.err != nil || got.Message.Text() != "spare" || watched.n() != 0 {
			t.Errorf("%s: %v %+v, asked %d times", c.name, got.err, got.Response, watched.n())
		}
	}
	down.Store(false)
	until("1")
	for _, c := range clients {
		if got := c.ask(t, url, greeting("m"), true); got.err != nil || got.Message.Text() != "watched" {
			t.Errorf("%s: %v %+v", c.name, got.err, got.Response)
		}
	}
}

// TestLoop checks that a gateway whose route leads back to it returns an error and does not loop.
func TestLoop(t *testing.T) {
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}}
	g, err := gateway.New(gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	if err != nil {
		t.Fatal(err)
	}
	handler = g
	got := ask(t, server.URL, wire.Chat, question("m"), false)
	if got.err == nil || !strings.Contains(got.err.Error(), "leads back") {
		t.Errorf("status %d, %v", got.status, got.err)
	}
}

// TestDisabledUpstreams checks that an upstream that is off is never asked, even if the others fail.
func TestDisabledUpstreams(t *testing.T) {
	var asked []string
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				asked = append(asked, id)
				yield(nil, &llm.Error{Kind: llm.Overloaded, Err: errors.New("busy")})
			}
		}), nil
	}
	url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "out", Off: true}, {Model: "a"}, {Model: "b"}}}}})
	for range 3 {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if slices.Contains(asked, "out") || !slices.Contains(asked, "a") || !slices.Contains(asked, "b") {
		t.Errorf("asked: %v", asked)
	}
	_, err := gateway.New(gateway.Setup{Open: open, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "out", Off: true}}}}})
	var wrong *gateway.RouteError
	if !errors.As(err, &wrong) || wrong.Setting != "to" {
		t.Errorf("a route that asks nobody: %v", err)
	}
}

// TestModelListsByFormat checks that a list of models has exactly the names that a client of its format may use.
func TestModelListsByFormat(t *testing.T) {
	var routes []gateway.ModelRoute
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Ollama, wire.Converse} {
		r := to("only-"+format, "up-chat/sim/native")
		r.From = []string{format}
		routes = append(routes, r)
	}
	url := serve(t, gateway.Setup{Routes: append(routes, to("for-all", "up-chat/sim/native"))})
	for _, c := range []struct {
		list  []string // its path and headers
		one   string   // the path of one model
		names []string
	}{
		{[]string{"/v1/models"}, "/v1/models/", []string{"only-chat", "only-responses"}},
		{[]string{"/models"}, "/models/", []string{"only-chat", "only-responses"}},
		{[]string{"/openai/v1/models"}, "", []string{"only-chat", "only-responses"}},
		{[]string{"/v1/models", "Anthropic-Version", "2023-06-01"}, "/v1/models/", []string{"only-messages"}},
		{[]string{"/v1beta/models"}, "/v1beta/models/", []string{"only-gemini"}},
		{[]string{"/v1/models", "X-Goog-Api-Key", "x"}, "/v1/models/", []string{"only-gemini"}},
		{[]string{"/api/tags"}, "", []string{"only-ollama"}},
	} {
		_, body := send(t, "GET", url+c.list[0], "", "", c.list[1:]...)
		mine := " for-all " + strings.Join(c.names, " ") + " "
		for _, r := range append(routes, to("for-all", "")) {
			want := strings.Contains(mine, " "+r.Model+" ")
			if strings.Contains(body, r.Model) != want {
				t.Errorf("%v: %s is listed is not %t: %s", c.list, r.Model, want, body)
			}
			if c.one == "" {
				continue
			}
			if resp, got := send(t, "GET", url+c.one+r.Model, "", "", c.list[1:]...); (resp.StatusCode == 200) != want {
				t.Errorf("%s%s %v: %d %s", c.one, r.Model, c.list[1:], resp.StatusCode, got)
			}
		}
	}
}

// TestHiddenRoutes checks that the name of a hidden route is in no list of models, in any format, and that clients that
// know it can use it.
func TestHiddenRoutes(t *testing.T) {
	secret := to("backstage", "up-chat/sim/native")
	secret.Hidden = true
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("onstage", "up-chat/sim/native"), secret}})
	for _, list := range [][]string{
		{"/v1/models"}, {"/v1/models", "Anthropic-Version", "2023-06-01"}, {"/models"}, {"/openai/v1/models"},
		{"/v1beta/models"}, {"/v1/models", "X-Goog-Api-Key", "x"}, {"/api/tags"},
	} {
		resp, body := send(t, "GET", url+list[0], "", "", list[1:]...)
		if resp.StatusCode != 200 || !strings.Contains(body, "onstage") || strings.Contains(body, "backstage") {
			t.Errorf("%v: %d %s", list, resp.StatusCode, body)
		}
	}
	for path, body := range map[string]string{
		"/v1/chat/completions": hello, "/v1/responses": `{"model":"chat","input":"hi"}`, "/v1/messages": `{"model":"chat","max_tokens":900,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1beta/models/backstage:generateContent": `{"contents":[{"parts":[{"text":"hi"}]}]}`, "/model/backstage/converse": `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
		"/api/chat": hello, "/api/show": `{"model":"chat"}`,
	} {
		if resp, got := send(t, "POST", url+path, "application/json", strings.Replace(body, `"chat"`, `"backstage"`, 1)); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, got)
		}
	}
	for _, path := range []string{"/v1/models/backstage", "/v1beta/models/backstage"} {
		if resp, got := send(t, "GET", url+path, "", ""); resp.StatusCode != 200 || !strings.Contains(got, "backstage") {
			t.Error(fmt.Sprint(path, ": ", resp.StatusCode, " ", got))
		}
	}
}
