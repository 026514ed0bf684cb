package otlp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/observe"
)

// TestLost: a collector that is slow or refuses holds nobody up, and what it does not take is counted.
func TestLost(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	told := make(chan error, 100)
	e := New(Options{Endpoint: server.URL, Failed: func(err error) { told <- err }})
	const spans = 3 * maxQueue
	for range spans {
		step := &observe.Request{Method: "GET"}
		e.End(e.Begin(context.Background(), step), step)
	}
	if n := e.Dropped(); n < spans-maxQueue-2*maxBatch {
		t.Errorf("%d of %d were dropped while the collector was silent", n, spans)
	}
	close(release)
	e.Close()
	if e.Dropped() != spans || len(told) != 1 {
		t.Errorf("%d of %d, told %d times", e.Dropped(), spans, len(told))
	}
	step := &observe.Request{}
	e.End(e.Begin(context.Background(), step), step)
	e.Close()
}

// TestNamesOfOthers: what upstreams and models call themselves, their calls and tools is short and harmless in a span.
func TestNamesOfOthers(t *testing.T) {
	got := make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
	}))
	defer server.Close()
	e := New(Options{Endpoint: server.URL})
	long := "evil\x1b[31m\n" + strings.Repeat("x", 1<<20)
	for _, step := range []observe.Step{
		&observe.ModelCall{Name: long, Answered: long}, &observe.ToolCall{ID: long, Tool: long}, &observe.Request{Model: long, Upstream: long, Team: long},
	} {
		e.End(e.Begin(context.Background(), step), step)
	}
	e.Close()
	if body := <-got; len(body) > 8<<10 || strings.Contains(body, `\u001b`) || strings.Contains(body, `\n`) || strings.Count(body, "evil[31mx") != 9 {
		t.Errorf("%d bytes: %.600s", len(body), body)
	}
}
