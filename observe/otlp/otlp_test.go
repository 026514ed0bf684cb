package otlp

import (
	"context"
	"net/http"
	"net/http/httptest"
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
