package provider

import (
	"context"
	"net/http"
	"strconv"

	"github.com/toolpost/toolpost/observe"
)

// HopsHeader is the header in which gateways count how often a request was passed on.
const HopsHeader = "Toolpost-Hops"

type hopsKey struct{}

// WithHops returns a context whose questions say that they were passed on so often. A gateway that
// is asked by itself, directly or through others, can tell.
func WithHops(ctx context.Context, hops int) context.Context {
	return context.WithValue(ctx, hopsKey{}, hops)
}

// setHops writes the header of a request that was passed on.
func setHops(req *http.Request) {
	if hops, ok := req.Context().Value(hopsKey{}).(int); ok {
		req.Header.Set(HopsHeader, strconv.Itoa(hops))
	}
}

// setTrace adds the headers of the trace that a request belongs to.
func setTrace(req *http.Request) {
	t, ok := observe.TraceOf(req.Context())
	if !ok {
		return
	}
	req.Header.Set("Traceparent", t.Parent())
	if t.State != "" {
		req.Header.Set("Tracestate", t.State)
	}
}
