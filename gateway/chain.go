package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/hosttools"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// chain is one request while the steps process it. What a step returns belongs to the steps after it and is not here.
type chain struct {
	*Gateway
	*exchange.Request
	admit.Client
	admit.Demand
	*exchange.Response
	conversation.Scope
	spent    admit.Spending
	trace    upstream.Trace
	bodies   *bodyLog         // nil if bodies are not logged
	observed *observe.Request // nil without an observer
	measured measurements
}

func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) *chain {
	x, id := &chain{Gateway: g}, "req_"+rand.Text()
	ctx := x.beginTrace(r, id)
	x.Request = exchange.NewRequest(r.WithContext(ctx), id, passthrough.Endpoint(r), exchange.Services{Log: g.settings.Log, Metrics: g.meters, Warned: &g.warned, Trace: &x.trace})
	x.Client = admit.NewClient(x.Request, w.Header(), g.settings.Access)
	x.Response = exchange.NewResponse(x.Request, w, g.settings.KeepAlive, g.settings.WriteTime)
	x.Scope = conversation.NewScope(x.Response, g.stateStore)
	x.Response.Cost = x.spent.Cost
	x.spent = admit.NewSpending(&x.Client, &x.Demand, &x.reserves, &x.trace, x.Warn)
	w.Header().Set(exchange.RequestHeader, x.ID)
	return x
}

// beginTrace continues the trace of the client's request and counts this gateway in its hops. It tells the observer that
// the request begins.
func (x *chain) beginTrace(r *http.Request, id string) context.Context {
	ctx := requestctx.WithHops(r.Context(), hopsOf(r.Header)+1)
	if list := r.Header["Traceparent"]; len(list) == 1 {
		if t, ok := observing.ParseTrace(list[0], strings.Join(r.Header["Tracestate"], ",")); ok {
			ctx = observing.WithTrace(ctx, t)
		}
	}
	if x.settings.Observer != nil {
		ctx, x.observed = observing.BeginRequest(observe.With(ctx, x.settings.Observer), observe.Request{ID: id, Method: r.Method, Path: r.URL.Path, Endpoint: passthrough.EndpointOf(r)})
	}
	return ctx
}

// answer serves a model request. Each step returns what the next ones need, and what a step acquires is released at the
// end. The request does not change after it was read. The steps are not inlined: the stack that they need would be held
// until the answer ends.
func (x *chain) answer() (err error) {
	q, err := x.read() // decode the body, recall the conversation that it continues
	if err != nil {
		return err
	}
	ways, err := x.admit(q) // the upstreams that the key may use for what the request asks for
	if err != nil {
		return err
	}
	if len(q.req.Messages) == 0 { // it only asks whether the model is there
		return x.writeReady(q)
	}
	earlier, err := x.answerAsBefore(q, x.routeOf(&ways[0])) // from the cache, or as the request that it repeats
	if err != nil || earlier == nil {
		return err
	}
	defer func() { x.keepForRepeats(earlier, err) }()
	if ways, err = x.spent.Claim(ways, q.req); err != nil { // reserve what the request may use of the key's limits
		return err
	}
	defer func() { x.book(err) }()
	leave, err := x.occupy(ways[0].Route) // count the request on its route
	if err != nil {
		return err
	}
	defer leave()
	p, err := x.prepare(q, ways, earlier) // overrides, tools of the gateway, relaying
	if err != nil {
		return err
	}
	if x.Streamed {
		return p.stream() // ask the upstreams, and pass their answer on
	}
	return p.whole()
}

// question is a decoded model request. Prepare changes it for the upstreams.
type question struct {
	body      []byte
	req       *llm.Request
	continues bool // the conversation of an earlier answer precedes the messages
}

// read reads and decodes the request, and prepends the conversation that it continues.
//
//go:noinline
func (x *chain) read() (*question, error) {
	if err := checkHops(x.HTTP.Header); err != nil {
		return nil, err
	}
	q, err := x.decode(x.Endpoint.Request)
	if err != nil {
		return nil, err
	}
	if err := checkStore(&x.Codec, q.req); err != nil {
		return nil, err
	}
	q.req.MaxTokens = max(q.req.MaxTokens, 0) // some clients send -1 for no limit
	x.spent.SetAnswers(x.Output.Answers)
	return q, x.recall(q)
}

// decode reads a body with messages.
func (x *chain) decode(decoder func(path string, body []byte) (req *llm.Request, streamed bool, err error)) (*question, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	if body, err = x.answers.Refer(x.Context(), x.Owner, x.KeyID(), x.Codec, body, x.settings.MaxBody); err != nil {
		return nil, err
	}
	req, streamed, err := decoder(x.HTTP.URL.Path, body)
	if err != nil {
		return nil, err
	}
	x.SetBody(req, streamed, body)
	return &question{body: body, req: req}, cmp.Or(admit.CheckRepeated(body), x.Read(body, admit.Weighed))
}

// recall prepends the conversation that a request continues.
func (x *chain) recall(q *question) error {
	before := len(q.req.Messages)
	err := x.answers.Recall(x.Context(), x.Owner, x.Codec, q.req)
	q.continues = len(q.req.Messages) != before
	return err
}

// admit finds the upstreams that the key may use, and refuses a request that could exceed the rights of its key.
// Candidates that use the account of another team are dropped if the request names objects that a vendor stores.
//
//go:noinline
func (x *chain) admit(q *question) ([]upstream.Candidate, error) {
	ways, err := x.candidates(q.req)
	if err != nil {
		return nil, err
	}
	for i := range ways {
		if m, ok := ways[i].Opened.(*provider.Model); ok {
			ways[i].Opened = m.For(x.Codec.Format, q.req)
		}
	}
	if err := x.CheckFields(&x.Demand, x.table); err != nil {
		return nil, err
	}
	x.logs(x.routeOf(&ways[0]), q.body)
	return x.WithinAccount(ways, q.req, &x.Demand, x.accountTeam)
}

//go:noinline
func (x *chain) writeReady(q *question) error { return x.WriteReady(x.W, q.req) }

// occupy counts a request as in flight on its route, and refuses it if the route is at its limit.
//
//go:noinline
func (x *chain) occupy(r *upstream.Route) (leave func(), err error) {
	if leave, err = r.Enter(); err != nil {
		x.Metrics.Refused.Add(1, "route_busy")
	}
	return leave, err
}

// prepared is a request that upstreams can be asked.
type prepared struct {
	*chain
	*question
	ways        []upstream.Candidate
	raw         []byte                    // the unchanged request body, for relaying; nil if the request was changed
	rounds      *hosttools.Rounds         // the tools that the gateway runs; nil if there are none
	idempotency *conversation.Idempotency // nil if the request has none
	signatures  conversation.Signatures
	holds       bool // calls are held until they match their schemas
}

// prepare applies the settings of the route to the request. The client's bytes are kept for relaying if they still
// match the request.
//
//go:noinline
func (x *chain) prepare(q *question, ways []upstream.Candidate, earlier *repeats) (*prepared, error) {
	p := &prepared{chain: x, question: q, ways: ways, idempotency: earlier.idempotency}
	p.signatures = conversation.NewSignatures(&x.Scope, p.ownsTool)
	for i := range q.req.Tools { // the client may have them from anywhere
		q.req.Tools[i].Origin = llm.OriginDescription
	}
	route := x.routeOf(&ways[0])
	changed := route.Override.apply(q.req)
	if route.Tools != nil {
		var err error
		if p.rounds, err = hosttools.New(route.Tools, &x.Scope, p.idempotency, ways[0], q.req); err != nil {
			return nil, err
		}
	}
	if !changed && !q.continues && p.rounds == nil && !p.reasks(q.req) && x.Codec.Quirks == (format.Quirks{}) {
		p.raw = q.body
	}
	if x.Streamed {
		p.askUsage()
	}
	return p, nil
}

// checkStore rejects a request whose store field is not a boolean or null, in formats whose answers the gateway stores.
func checkStore(codec *wire.Codec, req *llm.Request) error {
	value := req.Extra[codec.Format]["store"]
	if value == nil || js.Kind(value) == 't' || js.Kind(value) == 'f' || js.Kind(value) == 'n' || !keepsAnswers(codec) {
		return nil
	}
	return exchange.Invalid("store must be true or false")
}

// keepsAnswers reports whether clients of the format can continue from a stored answer.
func keepsAnswers(codec *wire.Codec) bool { return codec.Properties().Previous != "" }

// askUsage records whether the client of a stream wants usage. If the gateway needs usage for a key, it asks the
// upstream anyway: thinking is not in the text, so the text is not enough for an estimate.
func (p *prepared) askUsage() {
	asking, added := p.Codec.AskUsage(p.body)
	if p.HideUsage = added; added && p.Rights != nil && p.raw != nil {
		p.raw, p.StripUsage = asking, true
	}
}

// The default times for a client to send its request, and to read a chunk of the answer.
const (
	bodyTime  = time.Minute
	writeTime = 2 * time.Minute
)

// readBody reads the body of the request. A limited key sends only known fields.
func (x *chain) readBody() ([]byte, error) {
	body, err := clientio.ReadWithin(x.settings.BodyTime, x.W, x.HTTP, func() ([]byte, error) { return vendorapi.Body(x.W, x.HTTP, x.settings.MaxBody) })
	x.measured.read = time.Now()
	if err != nil {
		return nil, err
	}
	return x.KnownFields(x.Rights, body, x.Warn), nil
}

// count returns how many tokens a request has: counted by the upstream if it speaks the client's format, otherwise
// estimated.
func (x *chain) count() (err error) {
	q, err := x.decode(func(path string, body []byte) (*llm.Request, bool, error) {
		req, err := x.CountRequest(path, body)
		return req, false, err
	})
	if err != nil {
		return err
	}
	if err := x.recall(q); err != nil {
		return err
	}
	ways, err := x.admit(q)
	if err != nil {
		return err
	}
	if err := x.spent.ClaimFree(false); err != nil {
		return err
	}
	defer func() { x.book(err) }()
	x.SetUpstream(ways[0].ID)
	x.trace.Upstream = ways[0].Model
	if m, ok := ways[0].Opened.(*provider.Model); ok && !q.continues {
		raw := provider.ClientRequest{Format: x.Codec.Format, Body: q.body, Says: q.req}
		if n, counted, err := m.CountTokens(x.Context(), raw); counted && err == nil {
			x.WriteCount(x.W, n)
			return nil
		}
	}
	x.W.Header().Set(exchange.WarningHeader, "compatibility; tokens; estimated, not counted by the vendor")
	x.WriteCount(x.W, llm.EstimateRequest(q.req))
	return nil
}

// getModel answers with the properties of one model.
func (x *chain) getModel() error {
	name := x.ModelName(x.HTTP)
	var r *route
	for _, format := range x.Readers() {
		if r = x.find(name, format); r != nil {
			break
		}
	}
	if r == nil || !x.MaySee(r.Model, name) {
		return x.NoModel(name)
	}
	x.WriteModel(x.W, x.describe(r, name))
	return nil
}

// candidates returns the upstreams that may answer a request, in the order in which they are asked.
func (x *chain) candidates(req *llm.Request) ([]upstream.Candidate, error) {
	name := req.Model
	if err := x.MayUseModel(name); err != nil {
		return nil, err
	}
	first := x.find(name, x.Codec.Format)
	if first == nil || name == "" {
		return nil, x.NoModel(name)
	}
	x.trace.Route = first.Model
	if err := x.MayUseRoute(first.Model); err != nil {
		return nil, err
	}
	first, name = x.byTask(first, name, req)
	x.trace.Route = first.Model
	return x.table.Candidates(first.Route, name, x.Codec.Format, func(r *upstream.Route) bool { return x.MayUseRoute(r.Name) == nil })
}

// accountTeam returns the team that owns the vendor account of a candidate, or "" if unknown.
func (g *Gateway) accountTeam(c *upstream.Candidate) string { return g.routeOf(c).PassTeam }

// book records the usage of the request. Without access control it does nothing.
func (x *chain) book(err error) {
	if x.Rights != nil {
		x.spent.Settle(x.Upstream, err)
	}
}

// forwardRequest forwards a request that is not a question to a chat model.
func (x *chain) forwardRequest() error {
	f := passthrough.Forwarder{
		Request: x.Request, Response: x.Response, Client: &x.Client, Demand: &x.Demand, Spent: &x.spent, Trace: &x.trace,
		Routes: x.forwards, Table: x.table, Forward: x.settings.Forward, Enter: x.occupy,
		ReadBody: x.readBody, LogBody: func(r *passthrough.Route, body []byte) { x.logs(x.routes[r.Index], body) }, Book: x.book,
	}
	err := f.Serve()
	x.measured.usage = f.Usage
	return err
}

// maxHops is how many gateways a request may pass through.
const maxHops = 5

// hopsOf returns how many gateways a request has passed through.
func hopsOf(h http.Header) int {
	hops, _ := strconv.Atoi(h.Get(requestctx.HopsHeader))
	return max(hops, 0)
}

// checkHops refuses a request that goes in a circle.
func checkHops(h http.Header) error {
	if hopsOf(h) < maxHops {
		return nil
	}
	return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: http.StatusLoopDetected,
		Err: errors.New("the route leads back to this gateway, or through too many; look at the addresses of its upstreams")}
}
