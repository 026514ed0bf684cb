package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// Setup is what a gateway is made of.
type Setup struct {
	// Open opens an upstream by its id, as a provider.Client does that asks in this way. It
	// asks nobody.
	Open func(id string, way Way) (llm.Model, error)
	// Routes lead from the names of models to upstreams. One is needed.
	Routes []ModelRoute
	// MaxBody bounds the body of a request, in bytes; 0 means 64 MiB.
	MaxBody int64
	// KeepAlive is how long a stream may be silent before the client is told that it is
	// still alive; 0 means 15 s, less means for ever.
	KeepAlive time.Duration
	// Log is told of every request; nil tells nobody.
	Log *slog.Logger
}

// The defaults of Setup.
const (
	defaultBody      = 64 << 20
	defaultKeepAlive = 15 * time.Second
)

// Gateway answers clients of the vendors' APIs. It is made by [New] and safe for
// concurrent use.
type Gateway struct {
	settings Setup
	routes   []*route
	answers  vendorapi.Answers
	states   states
	checks   validators
	since    time.Time
}

// New returns a gateway, or what is wrong with its routes. No upstream is asked.
func New(c Setup) (*Gateway, error) {
	if c.Open == nil {
		return nil, errors.New("gateway: Setup.Open is missing")
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultBody
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = defaultKeepAlive
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{settings: c, since: time.Now().UTC().Truncate(time.Second)}
	if err := g.addRoutes(c.Routes); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return g, nil
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := g.begin(w, r)
	var err error
	switch x.Action {
	case vendorapi.Answer:
		err = x.answer()
	case vendorapi.Count:
		err = x.count()
	case vendorapi.ListModels, vendorapi.ListTags:
		x.WriteModels(w, g.models())
	case vendorapi.GetModel, vendorapi.ShowModel:
		err = x.getModel()
	case vendorapi.GetAnswer, vendorapi.DeleteAnswer:
		g.answers.Serve(x.owner, x.Endpoint, w, r)
	case vendorapi.Version:
		vendorapi.WriteJSON(w, map[string]string{"version": ollamaVersion})
	default:
		err = vendorapi.NoEndpoint(x.Codec, r)
	}
	if err != nil {
		x.fail(err)
	}
	x.end(err)
}

// ollamaVersion is the version of the API that clients of Ollama are told.
const ollamaVersion = "0.17.0"
