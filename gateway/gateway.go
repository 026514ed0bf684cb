package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire/format"
)

// Setup is what a gateway is made of.
type Setup struct {
	// Open opens an upstream by its id, as a provider.Client does that asks in this way. It
	// asks nobody.
	Open func(id string, way Way) (llm.Model, error)
	// Inside is how ids begin that open something of this machine, like a file or a program. A name that a client writes in the
	// place of a * opens such a one only if its route begins so.
	Inside []string
	// Forward opens what passes other endpoints of an upstream on; nil passes none on.
	Forward func(id string) (*provider.Forwarder, error)
	// Routes lead from the names of models to upstreams. One is needed.
	Routes []ModelRoute
	// MaxBody bounds the body of a request, in bytes; 0 means 64 MiB.
	MaxBody int64
	// KeepAlive is how long a stream may be silent before the client is told that it is
	// still alive; 0 means 15 s, less means for ever.
	KeepAlive time.Duration
	// MaxRequests bounds the requests that are answered at the same time; 0 means 16,384. One
	// that is too many is refused with status 503.
	MaxRequests int
	// Access says who may ask for what, and counts what they use; nil lets everybody in.
	Access *access.Book
	// BodyTime is how long a client may take to send its request, and WriteTime how long it may
	// leave a piece of its answer unread; 0 means 1 and 2 minutes. A connection of HTTP/2 of which nothing at all
	// is read is for the server to end: see [http.HTTP2Config.WriteByteTimeout].
	BodyTime, WriteTime time.Duration
	// Observer is told of the questions to models and of the calls of tools; nil tells nobody.
	Observer observe.Observer
	// State is where it keeps what it remembers between requests: answers that clients go on from,
	// signatures, results of its tools, calls that wait for a person, requests that must not be run twice. Gateways that share
	// one know the same. Nil means in memory.
	State state.Store
	// AnswerLife is how long answers are kept that clients may go on from by id; 0 means 30 days.
	AnswerLife time.Duration
	// Log is told of every request; nil tells nobody.
	Log *slog.Logger
	// Secrets are taken out of the bodies that routes have kept in the log of Access, and MaxKeptBody bounds each of them, in bytes; 0
	// means 64 KiB.
	Secrets     *journal.Secrets
	MaxKeptBody int
}

// The defaults of Setup.
const (
	defaultBody      = 64 << 20
	defaultKeepAlive = 15 * time.Second
)

// Gateway answers clients of the vendors' APIs. It is made by [New] and safe for
// concurrent use.
type Gateway struct {
	settings   Setup
	routes     []*route
	table      upstream.Table      // of the routes, by their index
	forwards   []passthrough.Route // of the routes, by their index
	since      time.Time
	stateStore *conversation.Store
	answers    vendorapi.Answers
	*lasting
}

// lasting is the state that a gateway passes on to its successor; see [Live].
type lasting struct {
	memory   state.Memory // what is remembered, if nobody says where
	checks   validators
	meters   *metrics.Set
	cache    conversation.Cache
	inFlight atomic.Int64 // requests
	streams  atomic.Int64 // that are open
	draining atomic.Bool
}

// New returns a gateway, or all errors in its routes. No upstream is asked.
func New(c Setup) (*Gateway, error) { return build(c, nil) }

// build makes a gateway that takes over from another, if there is one.
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
	if c.State == nil {
		c.State = &g.memory
	}
	g.stateStore = conversation.NewStore(c.State, g.meters, c.Log)
	g.answers.Store, g.answers.Life, g.answers.Deleting = g.stateStore, c.AnswerLife, g.stateStore.ForgetReplay
	return g, nil
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reason, full := g.admit()
	x := g.begin(w, r)
	if full != nil {
		x.refuse(reason, full)
		return
	}
	defer g.leave()
	w = x.W
	if err := x.Identify(); err != nil {
		clientio.DiscardBody(x.W, x.HTTP)
		x.Fail(err)
		x.end(err)
		x.measure()
		return
	}
	x.Limited = x.Rights != nil
	var err error
	switch x.Action {
	case format.Generate:
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
	x.measure()
	if x.CloseConn {
		panic(http.ErrAbortHandler)
	}
}

// serveOther serves requests that are not questions to a model.
func (x *chain) serveOther(w http.ResponseWriter, r *http.Request) error {
	switch x.Action {
	case format.CountTokens:
		return x.count()
	case format.ListModels:
		x.WriteModels(w, x.models())
	case format.GetModel, format.ShowModel:
		return x.getModel()
	case format.GetAnswer, format.DeleteAnswer, format.CancelAnswer:
		x.answers.Serve(x.Owner, x.Endpoint, w, r)
	case format.GetVersion:
		vendorapi.WriteJSON(w, map[string]string{"version": ollamaVersion})
	default:
		return x.forwardRequest()
	}
	return nil
}

// ollamaVersion is the version of the API that clients of Ollama are told.
const ollamaVersion = "0.17.0"
