package agent_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// inMemory sends requests to a handler, in the clock of the test.
type inMemory struct {
	handler http.Handler
	dead    string // the host of a server that refuses connections

	mu    sync.Mutex
	asked map[string]int // requests by host
}

func (n *inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	if n.asked == nil {
		n.asked = make(map[string]int)
	}
	n.asked[r.URL.Host]++
	n.mu.Unlock()
	if r.URL.Host == n.dead {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	body, w := io.Pipe()
	out := &inMemoryResponse{header: http.Header{}, body: w, begun: make(chan int, 1)}
	go func() {
		defer func() {
			if p := recover(); p != nil { // http.ErrAbortHandler: the connection is lost
				_ = w.CloseWithError(io.ErrUnexpectedEOF)
			}
		}()
		n.handler.ServeHTTP(out, r)
		out.WriteHeader(http.StatusOK)
		_ = w.Close()
	}()
	select {
	case status := <-out.begun:
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: out.sent, Body: body, Request: r, ContentLength: -1}, nil
	case <-r.Context().Done():
		_ = body.Close()
		return nil, r.Context().Err()
	}
}

type inMemoryResponse struct {
	header, sent http.Header
	body         *io.PipeWriter
	begun        chan int
	once         sync.Once
}

func (w *inMemoryResponse) Header() http.Header { return w.header }
func (w *inMemoryResponse) Flush()              {}
func (w *inMemoryResponse) WriteHeader(status int) {
	w.once.Do(func() {
		w.sent = w.header.Clone()
		w.begun <- status
	})
}
func (w *inMemoryResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// vendorIDs are models of every format, at a host of the test.
var vendorIDs = []string{"openai+http://%s/v1#%s", "anthropic+http://%s/v1#%s", "gemini+http://%s/v1beta#%s", "ollama+http://%s/api#%s",
	"openai+responses+http://%s/v1#%s", "bedrock+http://%s#%s"}

// models opens a model with a fault and one without, both with default settings.
func models(t *testing.T, net *inMemory, id, fault string) (bad, good llm.Model) {
	t.Helper()
	c := &provider.Client{HTTP: &http.Client{Transport: net}}
	open := func(host, name string) llm.Model {
		full := fmt.Sprintf(id, host, name)
		if strings.HasPrefix(id, "bedrock") { // its unknown models are not asked natively
			yes := catalog.Answer{Support: catalog.Yes}
			c.Catalog = catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: full}, Kind: "chat", Wire: wire.Converse, NativeTools: yes, JSONSchema: yes, ContextWindow: 100_000})
		}
		m, err := c.Open(full)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	return open("bad.test", "sim/native"+fault), open("good.test", "sim/native")
}

// sane checks what holds for every stream, whatever went wrong in it.
func sane(t *testing.T, name string, m llm.Model, req *llm.Request) (*llm.Response, error) {
	t.Helper()
	var b llm.Builder
	var failed error
	begun, starts, finished := false, 0, false
	for ev, err := range m.Stream(t.Context(), req) {
		if failed != nil || finished {
			t.Errorf("%s: %T %v after the end", name, ev, err)
		}
		if err != nil {
			failed = err
			continue
		}
		switch ev.(type) {
		case llm.Start:
			if starts++; begun || starts > 1 {
				t.Errorf("%s: start %d, after the answer had begun: %v", name, starts, begun)
			}
		case llm.Retract:
			begun, starts = false, 0
		case llm.Finish:
			finished = true
		}
		begun = begun || llm.Begins(ev)
		b.Add(ev)
	}
	if finished == (failed != nil) {
		t.Errorf("%s: finished %v, error %v", name, finished, failed)
	}
	return b.Response(), failed
}

// beforeAnswer are the faults that come before an answer has begun.
var beforeAnswer = []string{"429", "500", "503", "window=1", "stall=1h", "cut=5", "refused"}

// faultNames are all faults of the simulator, with values where they need some, and a
// refused connection.
func faultNames() []string {
	values := map[string]string{"times": "+times=1", "cut": "=300", "stall": "=1h", "slow-args": "=1s", "slow": "=1s", "fail": "=3", "window": "=1", "huge": "=9000", "seed": "=7"}
	var list []string
	for _, f := range sim.Faults() {
		if f.Name == "times" {
			list = append(list, "500+times=1", "cut=300+times=1", "fail=3+times=1", "stall=1h+times=1")
			continue
		}
		list = append(list, f.Name+values[f.Name])
	}
	return append(list, "cut=5", "fail=1", "refused")
}

// TestWrappersOverFaults puts each wrapper around a model of each format that has a
// fault, with default settings. No stream breaks its promises, and whatever fails
// before an answer has begun is answered by the next model.
func TestWrappersOverFaults(t *testing.T) {
	for _, id := range vendorIDs {
		for _, fault := range faultNames() {
			name := id + " " + fault
			synctest.Test(t, func(t *testing.T) {
				net := &inMemory{handler: &sim.Server{}}
				suffix := "+" + fault
				if fault == "refused" {
					net.dead, suffix = "bad.test", ""
				}
				bad, good := models(t, net, id, suffix)
				req := func() *llm.Request {
					return &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{{Name: "get_weather", Description: "Weather in a city.",
						Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}, MaxTokens: 1000}
				}
				_, alone := sane(t, name+" alone", bad, req())
				for wrapper, m := range map[string]llm.Model{
					"retry":   refine.Retry(bad, 0),
					"again":   &refine.Retrier{Model: bad, Retract: true},
					"breaker": &refine.Breaker{Model: bad},
					"best":    refine.BestOf(bad, 2, nil),
				} {
					_, err := sane(t, name+" "+wrapper, m, req())
					if alone == nil && err != nil && !strings.Contains(fault, "times") {
						t.Errorf("%s %s: %v", name, wrapper, err)
					}
				}
				resp, err := sane(t, name+" fallback", refine.Fallback(bad, good), req())
				before := slices.ContainsFunc(beforeAnswer, func(f string) bool { return strings.HasPrefix(fault, f) })
				switch {
				case before && (err != nil || len(resp.Message.Calls()) != 1):
					t.Errorf("%s: the fallback gave %d calls, error %v", name, len(resp.Message.Calls()), err)
				case before && alone != nil && net.asked["good.test"] == 0:
					t.Errorf("%s: the second model was not asked", name)
				}
				value := req()
				value.Tools, value.Messages = nil, []llm.Message{llm.User("city: Rome")}
				type place struct {
					City string `json:"city"`
				}
				got, err := refine.Into[place](t.Context(), refine.Fallback(bad, good), value, 0)
				if before && (err != nil || got.City == "") {
					t.Errorf("%s: into gave %+v, error %v", name, got, err)
				}
			})
		}
	}
}

// TestErrorsInsideAStream: an error that may pass is a cut once the answer has begun.
func TestErrorsInsideAStream(t *testing.T) {
	for _, id := range vendorIDs {
		cut := "cut=900+times=1"
		if strings.Contains(id, "responses") { // its events are longer
			cut = "cut=3000+times=1"
		}
		for _, fault := range []string{"fail=3+times=1", cut} {
			synctest.Test(t, func(t *testing.T) {
				net := &inMemory{handler: &sim.Server{}}
				bad, _ := models(t, net, id, "+"+fault)
				retracted := 0
				counting := llm.ModelFunc((&refine.Retrier{Model: bad, Retract: true}).Stream)
				req := &llm.Request{Messages: []llm.Message{llm.User("Say something long about the history of tools, please.")}}
				var b llm.Builder
				for ev, err := range counting.Stream(context.WithoutCancel(t.Context()), req) {
					if err != nil {
						t.Errorf("%s %s: %v", id, fault, err)
						break
					}
					if _, ok := ev.(llm.Retract); ok {
						retracted++
					}
					b.Add(ev)
				}
				if text := b.Response().Message.Text(); retracted != 1 || strings.Count(text, "offline stand-in") != 1 || net.asked["bad.test"] != 2 {
					t.Errorf("%s %s: retracted %d times, asked %d times, %q", id, fault, retracted, net.asked["bad.test"], text)
				}
				// An answer that is held back is asked for again as well.
				net = &inMemory{handler: &sim.Server{}}
				bad, _ = models(t, net, id, "+"+fault)
				resp, err := llm.Generate(context.WithoutCancel(t.Context()), refine.Retry(refine.Whole(bad), 3), req)
				if err != nil || !strings.Contains(resp.Message.Text(), "offline stand-in") || net.asked["bad.test"] != 2 {
					t.Errorf("%s %s, held back: asked %d times, %v", id, fault, net.asked["bad.test"], err)
				}
			})
		}
	}
}

// TestARunSurvivesAnErrorInsideAStream: the vendor is overloaded in the middle of an
// answer, and the run goes on.
func TestARunSurvivesAnErrorInsideAStream(t *testing.T) {
	for _, id := range vendorIDs {
		synctest.Test(t, func(t *testing.T) {
			bad, _ := models(t, &inMemory{handler: &sim.Server{}}, id, "+fail=3+times=1")
			a := &agent.Agent{Model: bad}
			done, err := a.Ask(t.Context(), llm.User("Hello!"))
			if err != nil || strings.Count(done.Text, "offline stand-in") != 1 {
				t.Errorf("%s: %q, %v", id, done.Text, err)
			}
		})
	}
}
