// Package requestctx holds what the gateway tells package provider about a request, in the context of the request.
package requestctx

import (
	"context"
	"time"
)

// Patience is how long a caller is willing to wait for retries, within the limits of the client.
type Patience uint8

const (
	Patient Patience = iota // waits as the client's Retry says
	// Brief repeats requests that may succeed soon. It returns an error at once for a
	// rate limit with a stated time, and for any failure whose stated time exceeds the
	// wait of Retry. The error has the time.
	Brief
	Once // repeats nothing: there is another to ask
)

type patienceKey struct{}

// WithPatience returns a context whose questions are repeated with patience p.
func WithPatience(ctx context.Context, p Patience) context.Context {
	return context.WithValue(ctx, patienceKey{}, p)
}

// PatienceOf is that of a context, Patient if it has none.
func PatienceOf(ctx context.Context) Patience {
	p, _ := ctx.Value(patienceKey{}).(Patience)
	return p
}

// Waits replace limits of the client for the requests of a context. Zero fields keep those of the client.
type Waits struct {
	First    time.Duration // until the answer begins
	Silence  time.Duration // within the answer
	Attempts int
}

type waitsKey struct{}

// WithWaits returns a context whose requests wait as w says.
func WithWaits(ctx context.Context, w Waits) context.Context {
	return context.WithValue(ctx, waitsKey{}, w)
}

// WaitsOf returns the waits of a context.
func WaitsOf(ctx context.Context) Waits {
	w, _ := ctx.Value(waitsKey{}).(Waits)
	return w
}

type wholeKey struct{}

// WithWhole returns a context whose requests need the whole answer only, and not its pieces as they come.
func WithWhole(ctx context.Context) context.Context {
	return context.WithValue(ctx, wholeKey{}, true)
}

// Whole reports whether a context is one of WithWhole.
func Whole(ctx context.Context) bool {
	whole, _ := ctx.Value(wholeKey{}).(bool)
	return whole
}

// HopsHeader is the header in which gateways count how often a request was passed on.
const HopsHeader = "Toolpost-Hops"

type hopsKey struct{}

// WithHops returns a context whose questions say that they were passed on so often. A gateway that
// is asked by itself, directly or through others, can tell.
func WithHops(ctx context.Context, hops int) context.Context {
	return context.WithValue(ctx, hopsKey{}, hops)
}

// HopsOf returns how often a request was passed on, and false if it was not.
func HopsOf(ctx context.Context) (int, bool) {
	hops, ok := ctx.Value(hopsKey{}).(int)
	return hops, ok
}
