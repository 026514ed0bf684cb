package gateway

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// chain is one request while the steps process it.
type chain struct {
	*Gateway
	*exchange.Request
	admit.Client
	admit.Demand
	spent admit.Spending
	trace upstream.Trace
	*exchange.Response
	conversation.Scope
	signatures conversation.Signatures
	bodies     *bodyLog // nil if bodies are not logged

	answeringRoute string // the route whose upstream was asked last
	raw            []byte // the unchanged request body, for relaying; nil if the request was changed
	holds          bool   // calls are held until they match their schemas
	invalid        int    // calls that do not match
	usage          llm.Usage
	step           *observe.Request // nil without an observer
	measured       measurements
	cacheKey       state.Place
	cacheFor       time.Duration             // how long the answer may be cached
	rounds         *hosttools.Rounds         // the tools that the gateway runs; nil if there are none
	idempotency    *conversation.Idempotency // the idempotency state of the request; nil if it has none
}

func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) *chain {
	x := &chain{Gateway: g, Request: &exchange.Request{Endpoint: vendorapi.Find(r), HTTP: r, ID: "req_" + rand.Text(), Start: time.Now(), Log: g.settings.Log, Metrics: g.meters, Warned: &g.warned}}
	x.Trace = &x.trace
	x.Client = admit.NewClient(x.Request, w.Header(), g.settings.Access)
	if e, _ := passthrough.FindEndpoint(r); e != nil || passthrough.AsksWebSocket(r) {
		x.Action = serverapi.NoOperation
	}
	x.joinTrace()
	x.Response = exchange.NewResponse(x.Request, w, g.settings.KeepAlive, g.settings.WriteTime)
	x.Scope = conversation.NewScope(x.Response, g.stateStore)
	x.signatures = conversation.NewSignatures(&x.Scope, x.ownsTool)
	x.Response.Cost = x.spent.Cost
	x.spent = admit.NewSpending(&x.Client, &x.Demand, &x.reserves, &x.trace, x.Warn)
	w.Header().Set(exchange.RequestHeader, x.ID)
	return x
}

// joinTrace continues the trace of the client's request and tells the observer that the request begins.
func (x *chain) joinTrace() {
	ctx := x.HTTP.Context()
	if list := x.HTTP.Header["Traceparent"]; len(list) == 1 {
		if t, ok := observing.ParseTrace(list[0], strings.Join(x.HTTP.Header["Tracestate"], ",")); ok {
			ctx = observing.WithTrace(ctx, t)
		}
	}
	if x.settings.Observer != nil {
		ctx, x.step = observing.BeginRequest(observe.With(ctx, x.settings.Observer), observe.Request{ID: x.ID, Method: x.HTTP.Method, Path: x.HTTP.URL.Path, Endpoint: passthrough.EndpointOf(x.HTTP)})
	}
	if ctx != x.HTTP.Context() {
		x.HTTP = x.HTTP.WithContext(ctx)
	}
}

// observed tells the observer how the request ended.
func (x *chain) observed(err error) {
	if x.step == nil {
		return
	}
	x.step.Route, x.step.Model = x.trace.Route, x.Model
	x.step.Upstream, x.step.Status, x.step.Usage = x.Upstream, x.Writer.Status, x.used()
	if x.Rights != nil {
		x.step.Team = x.Rights.Key.Team
	}
	observing.End(x.HTTP.Context(), x.step, err)
}

// used returns the usage of the request: the booked usage with keys, otherwise what the upstream reported last.
func (x *chain) used() llm.Usage {
	if used, booked := x.spent.Used(); booked {
		return used
	}
	return x.usage
}

// end reports the request to the observer and the log.
func (x *chain) end(err error) {
	x.observed(err)
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs, slog.String("id", x.ID), slog.String("method", x.HTTP.Method), slog.String("path", x.logged(x.HTTP.URL.Path)), slog.Int("status", x.Writer.Status), slog.Duration("took", time.Since(x.Start)))
	attrs = append(attrs, x.LogAttrs()...)
	if x.Model != "" {
		used := x.used()
		attrs = append(attrs, slog.String("route", x.trace.Route))
		if x.answeringRoute != "" && x.answeringRoute != x.trace.Route {
			attrs = append(attrs, slog.String("fallback", x.answeringRoute))
		}
		if x.measured.firstToken > 0 {
			attrs = append(attrs, slog.Duration("first_token", x.measured.firstToken))
		}
		attrs = append(attrs, slog.String("model", x.logged(x.Model)), slog.String("upstream", x.Upstream), slog.Bool("cached", x.spent.FromCache()),
			slog.Int("input_tokens", used.Input), slog.Int("output_tokens", used.Output),
			slog.String("cost", x.spent.Cost()), slog.Int("warnings", x.Warnings()), slog.Int("invalid_calls", x.invalid))
	}
	if err != nil && exchange.ShuttingDown(x.Context()) { // the upstream's error only shows the cancellation
		err = fmt.Errorf("%w (%w)", exchange.ErrShutdown, err)
	}
	if refusal := (*access.Refusal)(nil); errors.As(err, &refusal) && refusal.Key != "" {
		attrs = append(attrs, slog.String("team", refusal.Team), slog.String("key", refusal.Key))
	}
	switch {
	case err == nil:
		x.settings.Log.LogAttrs(x.Context(), slog.LevelInfo, "request", attrs...)
	case x.outcome(err) == "cancelled":
		text := "the client closed the connection before the answer began"
		if x.Writer.Status == http.StatusOK {
			text = "the client closed the connection while the answer came"
		}
		x.settings.Log.LogAttrs(x.Context(), slog.LevelInfo, "request cancelled", append(attrs, slog.String("kind", llm.Canceled.String()), slog.String("error", text))...)
	default:
		x.settings.Log.LogAttrs(x.Context(), slog.LevelWarn, "request failed", append(attrs, slog.String("kind", upstream.FailureKind(err)), slog.String("error", x.logged(err.Error())))...)
	}
}

// logged shortens a text for the log and redacts keys, because clients control parts of the text.
func (g *Gateway) logged(text string) string { return vendorapi.Brief(g.redactKeys(text)) }

// redactKeys redacts gateway keys that a client wrote in unexpected places.
func (g *Gateway) redactKeys(text string) string {
	if !strings.Contains(text, access.Prefix) {
		return text
	}
	return g.settings.Secrets.Clean(text).String()
}

// A step of the chain answers a request itself (done), refuses it, or passes it to the next step.
type step func(x *chain, q *query) (done bool, err error)

// questionSteps are the steps of every model request before an upstream is asked, in order. Steps that acquire
// something, such as a reservation, release it in finish.
var questionSteps = []step{
	(*chain).readRequest,     // read and decode the body, recall the conversation that it continues
	(*chain).findUpstreams,   // find the route and the upstreams that the key may use
	(*chain).checkDemands,    // refuse fields and stored objects that the key may not use
	(*chain).answerReady,     // a request without messages only asks whether the model is there
	(*chain).answerFromCache, // the route may cache answers
	(*chain).answerRepeated,  // the request may repeat an earlier one
	(*chain).reserve,         // reserve what the request may use of the key's limits
	(*chain).takePlace,       // count the request on its route
	(*chain).prepare,         // overrides, tools of the gateway, relaying
}

// query is the state of a model request.
type query struct {
	body       []byte
	req        *llm.Request
	candidates []upstream.Candidate
	settings   *route // of the first candidate
	unanswered bool   // a new answer is needed, and may be cached
	reserved   bool   // the usage must be recorded
	leave      func() // releases the place on the route; nil if none was taken
	err        error
}

// answer serves a model request: it runs the steps, and then asks the upstreams.
func (x *chain) answer() error {
	q := new(query)
	defer x.finish(q)
	if !x.runSteps(q) {
		return q.err
	}
	if x.Streamed {
		q.err = x.stream(q.candidates, q.req)
	} else {
		q.err = x.whole(q.candidates, q.req)
	}
	return q.err
}

// runSteps reports whether upstreams must be asked. It is not inlined: the stack that it needs would be held until the
// answer ends.
//
//go:noinline
func (x *chain) runSteps(q *query) bool {
	for _, step := range questionSteps {
		var done bool
		if done, q.err = step(x, q); done || q.err != nil {
			return false
		}
	}
	return true
}

// finish releases what the steps acquired, in reverse order.
func (x *chain) finish(q *query) {
	if q.leave != nil {
		q.leave()
	}
	if q.reserved {
		x.book(q.err)
	}
	if q.unanswered {
		x.remember(q.err)
		if x.idempotency != nil {
			x.idempotency.Settle(q.err)
		}
	}
}

// readRequest reads and decodes the request, and prepends the conversation that it continues.
func (x *chain) readRequest(q *query) (done bool, err error) {
	if err = checkHops(x.Request); err != nil {
		return false, err
	}
	if q.body, err = x.body(); err != nil {
		return false, err
	}
	if q.body, err = x.answers.Refer(x.Context(), x.Owner, x.KeyID(), x.Codec, q.body, x.settings.MaxBody); err != nil {
		return false, err
	}
	if q.req, x.Streamed, err = x.Endpoint.Request(x.HTTP.URL.Path, q.body); err != nil {
		return false, err
	}
	x.Model = q.req.Model
	x.Attribute(q.req.Extra[x.Codec.Format])
	x.answering(q.req)
	if err = cmp.Or(admit.CheckRepeated(q.body), x.Read(q.body, admit.Weighed), checkStore(&x.Codec, q.req)); err != nil {
		return false, err
	}
	q.req.MaxTokens = max(q.req.MaxTokens, 0) // some clients send -1 for no limit
	x.spent.SetAnswers(x.Output.Answers)
	before := len(q.req.Messages)
	err = x.answers.Recall(x.Context(), x.Owner, x.Codec, q.req)
	x.Continues = len(q.req.Messages) != before
	return false, err
}

func (x *chain) findUpstreams(q *query) (done bool, err error) {
	if q.candidates, err = x.candidates(q.req.Model); err == nil {
		q.settings = x.routeOf(&q.candidates[0])
	}
	return false, err
}

// checkDemands refuses a request that could exceed the rights of its key. Candidates that use the account of another team
// are dropped if the request names objects that a vendor stores.
func (x *chain) checkDemands(q *query) (done bool, err error) {
	if err = x.CheckFields(&x.Demand, x.table); err != nil {
		return false, err
	}
	x.logs(q.settings, q.body)
	if q.candidates, err = x.WithinAccount(q.candidates, q.req, &x.Demand, x.accountTeam); err == nil {
		q.settings = x.routeOf(&q.candidates[0])
	}
	return false, err
}

func (x *chain) answerReady(q *query) (done bool, err error) {
	if len(q.req.Messages) > 0 {
		return false, nil
	}
	return true, x.WriteReady(x.W, q.req)
}

func (x *chain) answerFromCache(q *query) (done bool, err error) {
	return x.fromCache(q.settings, q.req, q.body)
}

func (x *chain) answerRepeated(q *query) (done bool, err error) {
	done, err = x.repeated(q.settings, q.req, q.body)
	q.unanswered = !done && err == nil
	return done, err
}

// reserve reserves what the request may use. Candidates without a known price are dropped if the key has a budget.
func (x *chain) reserve(q *query) (done bool, err error) {
	if q.candidates, err = x.spent.Claim(q.candidates, q.req); err == nil {
		q.reserved = true
	}
	return false, err
}

func (x *chain) takePlace(q *query) (done bool, err error) {
	q.settings = x.routeOf(&q.candidates[0])
	q.leave, err = x.enterRoute(q.candidates[0].Route)
	return false, err
}

// prepare applies the settings of the route to the request. The client's bytes are kept for relaying if they still
// match the request.
func (x *chain) prepare(q *query) (done bool, err error) {
	for i := range q.req.Tools { // the client may have them from anywhere
		q.req.Tools[i].Origin = llm.OriginDescription
	}
	changed := q.settings.Override.apply(q.req)
	if err := x.offerTools(q.candidates[0], q.req); err != nil {
		return false, err
	}
	if !changed && !x.Continues && x.rounds == nil && !x.reasks(q.candidates, q.req) && x.Codec.Quirks == (format.Quirks{}) {
		x.raw = q.body
	}
	if x.Codec.Properties().Previous != "" {
		x.Asked = q.body
	}
	if x.Streamed {
		x.askUsage(q.body)
	}
	return false, nil
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
func (x *chain) askUsage(body []byte) {
	asking, added := x.Codec.AskUsage(body)
	if x.HideUsage = added; added && x.Rights != nil && x.raw != nil {
		x.raw, x.StripUsage = asking, true
	}
}

// whole sends the answer as a document.
func (x *chain) whole(ways []upstream.Candidate, req *llm.Request) error {
	var b llm.Builder
	err := x.question(ways, req, func(ev llm.Event) error {
		if w, ok := ev.(llm.Warning); ok {
			x.Warn(w)
			return nil
		}
		b.Add(x.seen(ev))
		if _, last := ev.(llm.Finish); last && x.Relaying { // the bytes follow
			x.keep(req, b.Response())
		}
		return nil
	})
	if err != nil || x.Relaying {
		return err
	}
	resp := b.Response()
	x.keep(req, resp)
	body, lost, err := x.Codec.EncodeResponse(resp)
	if err != nil {
		return err
	}
	for _, w := range lost {
		if w.Feature != "model" { // the client knows the model name
			x.Warn(w)
		}
	}
	x.WriteDocument(body)
	return nil
}

// The default times for a client to send its request, and to read a chunk of the answer.
const (
	bodyTime  = time.Minute
	writeTime = 2 * time.Minute
)

// body reads the request. A limited key sends only known fields.
func (x *chain) body() ([]byte, error) {
	body, err := clientio.ReadWithin(x.settings.BodyTime, x.W, x.HTTP, func() ([]byte, error) { return vendorapi.Body(x.W, x.HTTP, x.settings.MaxBody) })
	x.measured.read = time.Now()
	if err != nil {
		return nil, err
	}
	return x.KnownFields(x.Rights, body, x.Warn), nil
}

// keep stores what later requests of the client may continue. It runs before the client gets the end of the answer.
func (x *chain) keep(req *llm.Request, resp *llm.Response) {
	if resp.Start.ID == "" {
		resp.Start.ID = resp.Finish.ID
	}
	switch err := x.answers.Keep(x.Context(), x.Owner, x.KeyID(), x.Codec, req, resp); {
	case errors.Is(err, vendorapi.ErrIDTaken):
		x.Tell(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: fmt.Sprintf("the upstream gave the id %.100s to an answer of another key, which stays kept under it; this one is not kept", resp.Start.ID)})
	case err != nil:
		x.Tell(conversation.Unavailable(state.Answer))
	}
	if x.idempotency != nil && x.Codec.Properties().Previous != "" {
		x.idempotency.AnswerID = resp.Start.ID
	}
}

// seen records an event and returns it as the client sees it: with the model name that the client asked for.
func (x *chain) seen(ev llm.Event) llm.Event {
	switch ev.(type) {
	case llm.Start:
		return startWithModel(ev, x.Model)
	case llm.Finish:
		return x.seenEnd(ev)
	}
	return ev
}

// startWithModel returns the start of an answer with the model that the client asked for. It is not inlined, see newAsking.
//
//go:noinline
func startWithModel(ev llm.Event, model string) llm.Event {
	start := new(llm.Start) // on the stack it would be there twice
	*start = ev.(llm.Start)
	start.Model = model
	return *start
}

// answering tells the codec about the tools of the request. It is not inlined; see newAsking.
//
//go:noinline
func (x *chain) answering(req *llm.Request) { x.Codec = x.Codec.Answering(req) }

// seenEnd implements seen for the end of an answer. It is not inlined; see newAsking.
//
//go:noinline
func (x *chain) seenEnd(end llm.Event) llm.Event {
	ev := end.(llm.Finish)
	ev.Model = x.Model
	x.usage = ev.Usage
	x.spent.SetComplete(true)
	if x.idempotency != nil && x.rounds == nil {
		x.idempotency.Answered = true
	}
	return x.AddRepeatedFields(ev)
}

// count returns how many tokens a request has: counted by the upstream if it speaks the client's format, otherwise
// estimated.
func (x *chain) count() (err error) {
	body, err := x.body()
	if err != nil {
		return err
	}
	if body, err = x.answers.Refer(x.Context(), x.Owner, x.KeyID(), x.Codec, body, x.settings.MaxBody); err != nil {
		return err
	}
	req, err := x.CountRequest(x.HTTP.URL.Path, body)
	if err != nil {
		return err
	}
	x.Model = req.Model
	if err := cmp.Or(admit.CheckRepeated(body), x.Read(body, admit.Weighed)); err != nil {
		return err
	}
	before := len(req.Messages)
	if err := x.answers.Recall(x.Context(), x.Owner, x.Codec, req); err != nil {
		return err
	}
	ways, err := x.candidates(req.Model)
	if err != nil {
		return err
	}
	x.logs(x.routeOf(&ways[0]), body)
	if ways, err = x.WithinAccount(ways, req, &x.Demand, x.accountTeam); err != nil {
		return err
	}
	if err := x.spent.ClaimFree(false); err != nil {
		return err
	}
	defer func() { x.book(err) }()
	x.SetUpstream(ways[0].ID)
	x.trace.Upstream = ways[0].Model
	if m, ok := ways[0].Opened.(*provider.Model); ok && len(req.Messages) == before {
		raw := provider.ClientRequest{Format: x.Codec.Format, Body: body, Says: req}
		if n, counted, err := m.CountTokens(x.Context(), raw); counted && err == nil {
			x.WriteCount(x.W, n)
			return nil
		}
	}
	x.W.Header().Set(exchange.WarningHeader, "compatibility; tokens; estimated, not counted by the vendor")
	x.WriteCount(x.W, llm.EstimateRequest(req))
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

// candidates returns the upstreams that may answer for a model, in the order in which they are asked.
func (x *chain) candidates(name string) ([]upstream.Candidate, error) {
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

// repeated reports whether a request was answered with the answer of an equal earlier one.
func (x *chain) repeated(r *route, req *llm.Request, body []byte) (bool, error) {
	p, found, err := x.Idempotency(req.Model, body, r.Tools != nil && r.Tools.MayChange(x.Context(), x.Rights))
	if x.idempotency = p; err != nil || found == nil {
		return false, err
	}
	if err := x.spent.ClaimFree(true); err != nil {
		return false, err
	}
	defer x.book(nil)
	if x.Streamed {
		x.askUsage(body)
	}
	x.idempotency = nil
	return true, p.Replay(found)
}

// forwardRequest forwards a request that is not a question to a chat model.
func (x *chain) forwardRequest() error {
	f := passthrough.Forwarder{
		Request: x.Request, Response: x.Response, Client: &x.Client, Demand: &x.Demand, Spent: &x.spent, Trace: &x.trace,
		Routes: x.forwards, Table: x.table, Forward: x.settings.Forward, Enter: x.enterRoute,
		ReadBody: x.body, LogBody: func(r *passthrough.Route, body []byte) { x.logs(x.routes[r.Index], body) }, Book: x.book,
	}
	err := f.Serve()
	x.usage = f.Usage
	return err
}

// maxHops is how many gateways a request may pass through.
const maxHops = 5

// checkHops counts the gateways that a request has passed through, and refuses a request that goes in a circle.
func checkHops(r *exchange.Request) error {
	hops, err := strconv.Atoi(r.HTTP.Header.Get(requestctx.HopsHeader))
	if err != nil || hops < 0 {
		hops = 0
	}
	if hops >= maxHops {
		return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: http.StatusLoopDetected,
			Err: errors.New("the route leads back to this gateway, or through too many; look at the addresses of its upstreams")}
	}
	r.HTTP = r.HTTP.WithContext(requestctx.WithHops(r.HTTP.Context(), hops+1))
	return nil
}
