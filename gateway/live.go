package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
)

// Live is a gateway for production: its setup can be replaced while it serves, it reports health, and it can be
// drained. Use [NewLive] to create one. It is safe for concurrent use.
type Live struct {
	now atomic.Pointer[Gateway]

	requests context.Context // parent of all request contexts
	end      context.CancelCauseFunc

	trouble atomic.Pointer[string] // operator's reason not to send requests here

	mu     sync.Mutex // guards the following fields
	stop   context.CancelFunc
	probes sync.WaitGroup
	closed bool
}

// NewLive returns a gateway that serves a setup and runs the health checks that the setup asks for. Close stops the
// checks.
func NewLive(c Setup) (*Live, error) {
	g, err := New(c)
	if err != nil {
		return nil, err
	}
	l := new(Live)
	l.requests, l.end = context.WithCancelCause(context.Background())
	l.use(g)
	return l, nil
}

// Replace uses another setup from the next request on. Running requests keep the old setup. Stored client data is kept,
// and so are the breakers of upstreams in both setups. If the setup has errors, nothing changes.
func (l *Live) Replace(c Setup) error {
	before := l.now.Load()
	g, err := build(c, before)
	if err != nil {
		before.meters.Reloads.Add(1, "refused")
		return err
	}
	l.use(g)
	g.meters.Reloads.Add(1, "done")
	return nil
}

// Refused counts a configuration that could not be read.
func (l *Live) Refused() { l.now.Load().meters.Reloads.Add(1, "refused") }

func (l *Live) use(g *Gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
	}
	l.now.Store(g)
	if l.closed {
		return
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	g.table.Watch(ctx, &l.probes, g.settings.Log)
	g.sweep(ctx, &l.probes)
}

// Close stops the health checks. Requests are still served.
func (l *Live) Close() {
	l.mu.Lock()
	l.closed = true
	l.stop()
	l.mu.Unlock()
	l.probes.Wait()
}

// ServeHTTP answers one request.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.now.Load().ServeHTTP(w, r) }

// Leave makes [Live.Ready] report that the gateway is about to end, so that load balancers send no more requests. Requests
// are still served. Each closes its connection, because load balancers reuse connections.
func (l *Live) Leave() { l.now.Load().leaving.Store(true) }

// Drain refuses new requests with status 503 in each client's format and lets running requests finish; see [Live.Idle].
// Keep the listener open, because clients and load balancers must see the refusals.
func (l *Live) Drain() { l.now.Load().draining.Store(true) }

// idleEvery is the interval at which Idle checks for running requests.
const idleEvery = 20 * time.Millisecond

// Idle waits until no request is running. If ctx is done first, it returns the error of ctx.
func (l *Live) Idle(ctx context.Context) error {
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	for l.now.Load().inFlight.Load() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// BaseContext is for http.Server: [Live.End] can end the requests of servers that use it.
func (l *Live) BaseContext(net.Listener) context.Context { return l.requests }

// End ends the open answers. Each ends with an error in its client's format, not with a broken connection. Running tool
// calls are cancelled.
func (l *Live) End() { l.end(exchange.ErrShutdown) }

// Trouble makes [Live.Ready] return a reason why no requests should be sent here, such as a problem known to the
// operator. An empty reason clears it. The reason is public.
func (l *Live) Trouble(why string) { l.trouble.Store(&why) }

// Ready returns why no requests should be sent here, or nil. The reasons are: the gateway is draining, [Live.Trouble]
// is set, keys cannot be read or usage not written, or the breakers of all upstreams are open.
func (l *Live) Ready() error {
	g := l.now.Load()
	if g.draining.Load() || g.leaving.Load() {
		return errors.New("draining")
	}
	if why := l.trouble.Load(); why != nil && *why != "" {
		return errors.New(*why)
	}
	if !g.hasKeys() {
		return errors.New("keys and limits cannot be checked")
	}
	if g.table.Reachable() {
		return nil
	}
	return errors.New("no upstream can be reached")
}

// readyTime limits the check of the key store.
const readyTime = 2 * time.Second

// hasKeys reports whether the key store can be read and written. It reports true without a key store.
func (g *Gateway) hasKeys() bool {
	book := g.settings.Access
	if book == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	return book.Ready(ctx) == nil
}

// Health serves /healthz and /readyz. It reveals nothing about the setup and may be public.
func (l *Live) Health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := l.Ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	return mux
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	clientio.LimitReading(w, opsTime)
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the client may be gone
}

// Metrics serves all metrics in the Prometheus text format. They include the names of routes and upstreams.
func (l *Live) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		clientio.LimitReading(w, opsTime)
		g := l.now.Load()
		_, _ = w.Write(g.meters.Text(append(g.gauges(), metrics.Process()...))) // the client may be gone
	})
}

// opsTime is how long a client may take to read metrics or health.
const opsTime = 30 * time.Second

// gauges returns the current values for metrics.
func (g *Gateway) gauges() []metrics.Gauge {
	breakers, busy, healthy, agreement := map[metrics.Labels]float64{}, map[metrics.Labels]float64{}, map[metrics.Labels]float64{}, map[metrics.Labels]float64{}
	for _, r := range g.routes {
		for _, u := range r.Targets {
			of := metrics.Labels{r.Model, u.Model}
			breakers[of] = float64(u.BreakerState())
			busy[of] = float64(u.Busy())
			if u.Health > 0 {
				healthy[of] = flag(u.Healthy())
			}
			if share, measured := u.Agreement(); measured {
				agreement[of] = share
			}
		}
	}
	unwritten := 0
	if g.settings.Access != nil {
		unwritten = g.settings.Access.Late()
	}
	pair := []string{"route", "upstream"}
	return []metrics.Gauge{
		metrics.NewGauge("toolpost_upstream_breaker", "State of the breaker of an upstream: 0 closed, 1 one request may try, 2 open.", pair, breakers),
		metrics.NewGauge("toolpost_upstream_busy", "Requests that an upstream is answering now.", pair, busy),
		metrics.NewGauge("toolpost_upstream_healthy", "1 if the last health check of an upstream succeeded.", pair, healthy),
		metrics.NewGauge("toolpost_upstream_agreement", "Share of the probes on which an upstream agrees with its first result, by the last drift check.", pair, agreement),
		metrics.NewGauge("toolpost_requests_in_flight", "Requests that are being answered now.", nil, metrics.Single(float64(g.inFlight.Load()))),
		metrics.NewGauge("toolpost_open_streams", "Open streams.", nil, metrics.Single(float64(g.streams.Load()))),
		metrics.NewGauge("toolpost_draining", "1 while the gateway drains before it ends.", nil, metrics.Single(flag(g.draining.Load()))),
		metrics.NewGauge("toolpost_usage_unwritten", "Requests with usage that waits for the database.", nil, metrics.Single(float64(unwritten))),
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// takeOver shares the state that outlives a setup with the previous gateway.
func (g *Gateway) takeOver(before *Gateway) {
	if before == nil {
		return
	}
	g.lasting, g.since = before.lasting, before.since
	g.table.TakeOver(before.table)
}

// defaultRequests is the default limit of concurrent requests.
const defaultRequests = 16384

// retryAfter is the wait before refused clients may try again.
const retryAfter = upstream.RetryAfter

// enter counts a request as in flight until leave. It refuses requests above the limit and while the gateway drains.
func (g *Gateway) enter() (reason string, err error) {
	switch {
	case g.draining.Load():
		reason, err = "draining", errors.New("the gateway is about to end; ask again")
	case g.inFlight.Add(1) > int64(g.settings.MaxRequests):
		g.inFlight.Add(-1)
		reason, err = "busy", fmt.Errorf("the gateway answers %d requests already", g.settings.MaxRequests)
	default:
		return "", nil
	}
	return reason, &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: retryAfter, Err: err}
}

// refuse answers a request that was not admitted. It reads the body first: HTTP/2 clients that are still sending lose
// the answer if their stream or connection ends.
func (x *chain) refuse(reason string, err error) {
	x.Metrics.Refused.Add(1, reason)
	clientio.DiscardBody(x.W, x.HTTP)
	if x.draining.Load() {
		clientio.CloseAfter(x.W, x.HTTP)
	}
	x.Fail(err)
	x.end(err)
	x.measure(err)
}

func (g *Gateway) leave() { g.inFlight.Add(-1) }

// sweep removes expired entries from the store regularly until ctx is done.
func (g *Gateway) sweep(ctx context.Context, running *sync.WaitGroup) {
	running.Go(func() {
		tick := time.NewTicker(conversation.SweepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = g.stateStore.Sweep(ctx) // Sweep logs its errors
			}
		}
	})
}
