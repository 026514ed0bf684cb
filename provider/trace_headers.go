package provider

import (
	"net/http"
	"strconv"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/requestctx"
)

// setHops writes the header of a request that was passed on.
func setHops(req *http.Request) {
	if hops, ok := requestctx.HopsOf(req.Context()); ok {
		req.Header.Set(requestctx.HopsHeader, strconv.Itoa(hops))
	}
}

// setTrace adds the headers of the trace that a request belongs to.
func setTrace(req *http.Request) {
	t, ok := observing.TraceOf(req.Context())
	if !ok {
		return
	}
	req.Header.Set("Traceparent", t.Parent())
	if t.State != "" {
		req.Header.Set("Tracestate", t.State)
	}
}
