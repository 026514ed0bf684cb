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

// Live is a gateway that a platform runs: its setup can be replaced while it serves, it says
// how it is, and it can be drained. It is made by [NewLive] and safe for concurrent use.
type Live struct {
	now atomic.Pointer[Gateway]

	requests context.Context // of which those of requests are made
	end      context.CancelCauseFunc

	trouble atomic.Pointer[string] // why no request should be sent here, besides what it knows itself

	mu     sync.Mutex // of what follows
	stop   context.CancelFunc
	probes sync.WaitGroup
	closed bool
}

// NewLive returns a gateway that serves a setup, and asks its upstreams from time to time how
// they are where the setup says so. Close ends that.
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

// Replace serves another setup from the next request on. Requests that are being answered keep
// the one that they began with. What is remembered for clients is kept, and so are the breakers
// of upstreams that both have. If something is wrong with the setup, everything stays as it is.
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

// Refused counts a configuration that could not even be read.
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

// Close ends the questions to upstreams how they are. Requests are still answered.
func (l *Live) Close() {
	l.mu.Lock()
	l.closed = true
	l.stop()
	l.mu.Unlock()
	l.probes.Wait()
}

// ServeHTTP answers one request.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.now.Load().ServeHTTP(w, r) }

// Drain refuses requests from now on, with status 503 in the words of each client's format, and lets those finish that
// have begun; see [Live.Idle]. Whoever listens goes on listening, so that clients and balancers are told.
func (l *Live) Drain() { l.now.Load().draining.Store(true) }

// idleEvery is how often it is looked whether the last request has ended.
const idleEvery = 20 * time.Millisecond

// Idle waits until no request is being answered. If ctx is done before that, it returns its error.
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

// BaseContext is for http.Server: [Live.End] reaches the requests of a server that has it.
func (l *Live) BaseContext(net.Listener) context.Context { return l.requests }

// End ends the answers that are still open, each with an error in the words of its client's format, so
// that none is cut off. What was run for them is cancelled.
func (l *Live) End() { l.end(exchange.ErrShutdown) }

// Trouble has [Live.Ready] say that no request should be sent here, for a reason that whoever runs the gateway knows; "" takes
// that back. Everybody may be told the reason.
func (l *Live) Trouble(why string) { l.trouble.Store(&why) }

// Ready says why no request should be sent here, nil if there is no reason: the gateway is being
// drained, is in [Live.Trouble], cannot ask for keys or book what they use, or the breakers of all upstreams are open.
func (l *Live) Ready() error {
	g := l.now.Load()
	if g.draining.Load() {
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

// readyTime is how long the store of keys may take to show that it is there.
const readyTime = 2 * time.Second

// hasKeys reports whether the store of keys answers and takes what requests write, if there is one.
func (g *Gateway) hasKeys() bool {
	book := g.settings.Access
	if book == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	return book.Ready(ctx) == nil
}

// Health answers /healthz and /readyz. It says nothing about the setup, and may be served to
// everybody.
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
	_, _ = fmt.Fprintln(w, text) // whoever asked may be gone
}

// Metrics answers with all that is counted, in the text format of Prometheus. The names of
// routes and upstreams stand in it.
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
	breakers, busy, healthy := map[metrics.Labels]float64{}, map[metrics.Labels]float64{}, map[metrics.Labels]float64{}
	for _, r := range g.routes {
		for _, u := range r.Targets {
			of := metrics.Labels{r.Model, u.Model}
			breakers[of] = float64(u.BreakerState())
			busy[of] = float64(u.Busy())
			if u.Health > 0 {
				healthy[of] = flag(u.Healthy())
			}
		}
	}
	unwritten := 0
	if g.settings.Access != nil {
		unwritten = g.settings.Access.Late()
	}
	pair := []string{"route", "upstream"}
	return []metrics.Gauge{
		metrics.NewGauge("toolpost_upstream_breaker", "How the breaker of an upstream stands: 0 closed, 1 one request may try, 2 open.", pair, breakers),
		metrics.NewGauge("toolpost_upstream_busy", "Requests that an upstream is answering.", pair, busy),
		metrics.NewGauge("toolpost_upstream_healthy", "Whether an upstream answered when it was last asked how it is.", pair, healthy),
		metrics.NewGauge("toolpost_requests_in_flight", "Requests that are being answered.", nil, metrics.Single(float64(g.inFlight.Load()))),
		metrics.NewGauge("toolpost_open_streams", "Streams that are open.", nil, metrics.Single(float64(g.streams.Load()))),
		metrics.NewGauge("toolpost_draining", "Whether requests are refused because the gateway is about to end.", nil, metrics.Single(flag(g.draining.Load()))),
		metrics.NewGauge("toolpost_usage_unwritten", "Requests whose use could not be written yet and is kept.", nil, metrics.Single(float64(unwritten))),
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// takeOver shares what outlives a setup with the gateway that is replaced.
func (g *Gateway) takeOver(before *Gateway) {
	if before == nil {
		return
	}
	g.lasting, g.since = before.lasting, before.since
	g.table.TakeOver(before.table)
}

// defaultRequests bounds the requests that are answered at the same time.
const defaultRequests = 16384

// retryAfter is when refused clients may try again.
const retryAfter = upstream.RetryAfter

// admit counts a request as in flight until leave. It refuses requests above the limit and while the gateway drains.
func (g *Gateway) admit() (reason string, err error) {
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

// refuse answers a request that was not let in. Its body is read first: clients of HTTP/2 that are still sending, and see
// their stream or connection end, lose the answer.
func (x *chain) refuse(reason string, err error) {
	x.Metrics.Refused.Add(1, reason)
	clientio.DiscardBody(x.W, x.HTTP)
	if x.draining.Load() {
		clientio.CloseAfter(x.W, x.HTTP)
	}
	x.Fail(err)
	x.end(err)
	x.measure()
}

func (g *Gateway) leave() { g.inFlight.Add(-1) }

// enterRoute counts a request as in flight on its route, and refuses it if the route is at its limit.
func (x *chain) enterRoute(r *upstream.Route) (leave func(), err error) {
	if leave, err = r.Enter(); err != nil {
		x.Metrics.Refused.Add(1, "route_busy")
	}
	return leave, err
}

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
				_ = g.stateStore.Sweep(ctx) // which says itself what went wrong
			}
		}
	})
}
