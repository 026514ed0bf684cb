package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
)

// Setup is the configuration of a gateway.
type Setup struct {
	// Open opens an upstream by its id and its way of asking, as a provider.Client does. It sends no requests.
	Open func(id string, way Way) (llm.Model, error)
	// Inside are the prefixes of ids that open something on this machine, such as a file or a program. A client's name
	// in place of a * must not complete such an id, unless the id of the upstream has the prefix before the *.
	Inside []string
	// Agreement asks a model fixed questions and returns the share of its first answers with which it still agrees, from 0
	// to 1. A result that is younger than maxAge may be used again. An error means that nothing was measured. Upstreams with
	// DriftEvery need it.
	Agreement func(ctx context.Context, id string, m llm.Model, maxAge time.Duration) (share float64, err error)
	// Forward opens an upstream for forwarding other endpoints; nil turns forwarding off.
	Forward func(id string) (*provider.Forwarder, error)
	// Routes map model names to upstreams. At least one is required.
	Routes []ModelRoute
	// MaxBody limits the request body, in bytes; 0 means 64 MiB.
	MaxBody int64
	// KeepAlive is the longest silence of a stream before a keep-alive is sent; 0 means 15 s, a negative value turns
	// keep-alives off.
	KeepAlive time.Duration
	// MaxRequests limits the concurrent requests; 0 means 16,384. Requests above the limit get status 503.
	MaxRequests int
	// Access controls who may use the gateway, and counts their usage; nil allows every client.
	Access *access.Book
	// Reserve is how many output tokens a request without an output limit reserves of budgets; 0 means an estimate that
	// is learned for each key and model, and a negative number the maximum of the model.
	Reserve int
	// BodyTime limits how long a client may take to send its request, WriteTime how long a chunk of the answer may stay
	// unread; 0 means 1 and 2 minutes. The server must end an HTTP/2 connection that reads nothing at all: see
	// [http.HTTP2Config.WriteByteTimeout].
	BodyTime, WriteTime time.Duration
	// Observer is notified of model requests and tool calls; nil means no observer.
	Observer observe.Observer
	// State stores data between requests: answers that clients continue, signatures, results of the gateway's tools,
	// calls that wait for a person, and requests that must not run twice. Gateways that share a store share this data.
	// Nil means in memory.
	State state.Store // see [OpenState]
	// AnswerLife is how long stored answers can be continued by id; 0 means 30 days.
	AnswerLife time.Duration
	// Log gets an entry for each request; nil turns logging off.
	Log *slog.Logger
	// Secrets are redacted from the bodies that routes log in Access. MaxKeptBody limits each body, in bytes; 0 means
	// 64 KiB.
	Secrets     *journal.Secrets
	MaxKeptBody int
}

// The defaults of Setup.
const (
	defaultBody      = 64 << 20
	defaultKeepAlive = 15 * time.Second
)

// Gateway serves clients of the vendors' APIs. Use [New] to create one. It is safe for concurrent use.
type Gateway struct {
	settings   Setup
	routes     []*route
	table      upstream.Table      // routes in the order of their index
	forwards   []passthrough.Route // routes in the order of their index
	since      time.Time
	stateStore *conversation.Store
	answers    vendorapi.Answers
	*lasting
}

// lasting is the state that a gateway hands to its successor; see [Live].
type lasting struct {
	memory   state.Memory // the answer cache, and the store if Setup.State is nil
	checks   validators
	meters   *metrics.Set
	reserves admit.Reserves
	warned   exchange.WarningLog
	inFlight atomic.Int64 // requests
	streams  atomic.Int64 // open streams
	draining atomic.Bool
	leaving  atomic.Bool // requests are served, but no more should come
}

// New returns a gateway, or all errors in its routes. It sends no requests to upstreams.
func New(c Setup) (*Gateway, error) { return build(c, nil) }

// build creates a gateway that takes over the state of another, if before is not nil.
func build(c Setup, before *Gateway) (*Gateway, error) {
	if c.Open == nil {
		return nil, errors.New("gateway: Setup.Open is missing")
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultBody
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = defaultKeepAlive
	}
	if c.MaxRequests == 0 {
		c.MaxRequests = defaultRequests
	}
	if c.BodyTime == 0 {
		c.BodyTime = bodyTime
	}
	if c.WriteTime == 0 {
		c.WriteTime = writeTime
	}
	if c.MaxKeptBody == 0 {
		c.MaxKeptBody = defaultKeptBody
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{settings: c, since: time.Now().UTC().Truncate(time.Second), lasting: &lasting{meters: metrics.New()}}
	if err := g.addRoutes(c.Routes); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.takeOver(before)
	g.reserves.Fixed = c.Reserve
	if c.State == nil {
		c.State = &g.memory
	}
	g.stateStore = conversation.NewStore(c.State, &g.memory, g.meters, c.Log)
	g.answers.Store, g.answers.Life, g.answers.Deleting = g.stateStore, c.AnswerLife, g.stateStore.ForgetReplay
	return g, nil
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reason, full := g.enter()
	x := g.begin(w, r)
	if full != nil {
		x.refuse(reason, full)
		return
	}
	defer g.leave()
	w = x.W
	if g.leaving.Load() {
		w.Header().Set("Connection", "close")
	}
	if err := x.Identify(); err != nil {
		clientio.DiscardBody(x.W, x.HTTP)
		x.Fail(err)
		x.end(err)
		x.measure(err)
		return
	}
	x.Limited = x.Rights != nil
	var err error
	switch x.Action {
	case serverapi.Generate:
		err = x.answer()
	default:
		err = x.serveOther(w, r)
	}
	if err != nil {
		x.Fail(err)
		if !x.spent.Admitted() { // admitted requests are in the log
			x.CountRefusal(x.trace.Route)
		}
	}
	x.keepBodies(err)
	x.end(err)
	x.measure(err)
	if x.CloseConn {
		panic(http.ErrAbortHandler)
	}
}

// serveOther serves requests other than model requests.
func (x *chain) serveOther(w http.ResponseWriter, r *http.Request) error {
	switch x.Action {
	case serverapi.CountTokens:
		return x.count()
	case serverapi.ListModels:
		x.WriteModels(w, x.models())
	case serverapi.GetModel, serverapi.ShowModel:
		return x.getModel()
	case serverapi.GetAnswer, serverapi.DeleteAnswer, serverapi.CancelAnswer:
		if id := path.Base(r.URL.Path); x.Action == serverapi.DeleteAnswer && !x.Codec.Properties().IsOwnID(id) {
			x.Warn(llm.Warning{Code: llm.Degraded, Feature: "delete", Detail: "the answer is deleted in this gateway; the vendor of the model may keep a copy, which has to be deleted there"})
		}
		x.answers.Serve(x.Owner, x.Endpoint, w, r)
	case serverapi.GetVersion:
		vendorapi.WriteJSON(w, map[string]string{"version": ollamaVersion})
	default:
		return x.forwardRequest()
	}
	return nil
}

// ollamaVersion is the API version that Ollama clients see.
const ollamaVersion = "0.17.0"
