package gateway

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// chain is one request on its way through the steps that answer it.
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
	bodies     *bodyLog // nil if they are not kept

	raw      []byte // the request as it came, if it may be passed on so; nil if it was changed
	holds    bool   // calls are held until they fit
	invalid  int    // calls that do not fit
	usage    llm.Usage
	step     *observe.Request // nil if nobody observes
	tally    tally
	cacheKey conversation.CacheKey
	cacheFor time.Duration             // how long the answer may be given again
	serving  *serving                  // the tools of the gateway; nil if there are none
	repeat   *conversation.Idempotency // what a request that may come again is known by
}

func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) *chain {
	x := &chain{Gateway: g, Request: &exchange.Request{Endpoint: vendorapi.Find(r), HTTP: r, ID: "req_" + rand.Text(), Start: time.Now(), Log: g.settings.Log, Metrics: g.meters}}
	x.Client = admit.NewClient(x.Request, w.Header(), g.settings.Access)
	if e, _ := otherEndpoint(r); e != nil || asksWebSocket(r) {
		x.Action = format.NoOperation
	}
	x.joinTrace()
	x.Response = exchange.NewResponse(x.Request, w, g.settings.KeepAlive, g.settings.WriteTime)
	x.Scope = conversation.NewScope(x.Response, g.stateStore)
	x.signatures = conversation.NewSignatures(&x.Scope, x.ownsTool)
	x.spent = admit.NewSpending(&x.Client, &x.Demand, &x.trace, x.Warn)
	w.Header().Set(exchange.RequestHeader, x.ID)
	return x
}

// joinTrace takes over which trace the client's request is part of, and tells the observer that it begins.
func (x *chain) joinTrace() {
	ctx := x.HTTP.Context()
	if list := x.HTTP.Header["Traceparent"]; len(list) == 1 {
		if t, ok := observe.ParseTrace(list[0], strings.Join(x.HTTP.Header["Tracestate"], ",")); ok {
			ctx = observe.WithTrace(ctx, t)
		}
	}
	if x.settings.Observer != nil {
		ctx, x.step = observe.BeginRequest(observe.With(ctx, x.settings.Observer), observe.Request{ID: x.ID, Method: x.HTTP.Method, Path: x.HTTP.URL.Path, Endpoint: endpointOf(x.HTTP)})
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
	observe.End(x.HTTP.Context(), x.step, err)
}

// used is what the request used: with keys what was booked, else what the upstream said last.
func (x *chain) used() llm.Usage {
	if used, booked := x.spent.Used(); booked {
		return used
	}
	return x.usage
}

// end tells the observer and the log.
func (x *chain) end(err error) {
	x.observed(err)
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs, slog.String("id", x.ID), slog.String("method", x.HTTP.Method), slog.String("path", x.logged(x.HTTP.URL.Path)), slog.Duration("took", time.Since(x.Start)))
	attrs = append(attrs, x.LogAttrs()...)
	if x.Model != "" {
		used := x.used()
		attrs = append(attrs, slog.String("route", x.trace.Route), slog.String("model", x.logged(x.Model)), slog.String("upstream", x.Upstream), slog.Bool("cached", x.spent.FromCache()),
			slog.Int("input_tokens", used.Input), slog.Int("output_tokens", used.Output),
			slog.Int("warnings", x.Warnings()), slog.Int("invalid_calls", x.invalid))
	}
	if err != nil && exchange.ShuttingDown(x.Context()) { // what the upstream says of that is only that it was left
		err = fmt.Errorf("%w (%w)", exchange.ErrShutdown, err)
	}
	if err != nil {
		x.settings.Log.LogAttrs(x.Context(), slog.LevelWarn, "request failed", append(attrs, slog.String("kind", llm.KindOf(err).String()), slog.String("error", x.logged(err.Error())))...)
		return
	}
	x.settings.Log.LogAttrs(x.Context(), slog.LevelInfo, "request", attrs...)
}

// logged returns a text as it may stand in the log: clients write parts of it, and choose how long they are.
func (x *chain) logged(text string) string { return vendorapi.Brief(x.redactKeys(text)) }

// redactKeys returns a text for the log without the keys that a client wrote where none belong.
func (x *chain) redactKeys(text string) string {
	if !strings.Contains(text, access.Prefix) {
		return text
	}
	return x.settings.Secrets.Clean(text).String()
}

// answer serves one question.
func (x *chain) answer() error {
	q := new(clientQuestion)
	defer x.over(q)
	if !x.accept(q) {
		return q.err
	}
	if x.Streamed {
		q.err = x.stream(q.way, q.req)
	} else {
		q.err = x.whole(q.way, q.req)
	}
	return q.err
}

// clientQuestion is what a client asks, who may answer it, and what is to be done when it is answered.
type clientQuestion struct {
	body     []byte
	req      *llm.Request
	recalled bool // what it goes on from stands before it
	way      []upstream.Candidate
	admitted bool
	claimed  bool   // the usage of the request is to be booked
	leave    func() // nil if no place was taken
	err      error
}

// accept reads a question and makes it ready to be asked. It reports false if it was answered already, or must not
// be asked. It is not inlined, for the stack that it needs.
//
//go:noinline
func (x *chain) accept(q *clientQuestion) bool {
	if q.body, q.req, q.recalled, q.err = x.read(); q.err != nil {
		return false
	}
	var done bool
	if q.way, done, q.err = x.admit(q.body, q.req); done || q.err != nil {
		return false
	}
	q.admitted = true
	if q.way, q.err = x.spent.Claim(q.way, q.req); q.err != nil {
		return false
	}
	q.claimed = true
	if q.leave, q.err = x.enterRoute(q.way[0].Route); q.err != nil {
		return false
	}
	q.err = x.prepare(q.way, q.body, q.req, q.recalled)
	return q.err == nil
}

// over gives back what a question took, what it took last first.
func (x *chain) over(q *clientQuestion) {
	if q.leave != nil {
		q.leave()
	}
	if q.claimed {
		x.book(q.err)
	}
	if q.admitted {
		x.remember(q.err)
		if x.repeat != nil {
			x.repeat.Settle(q.err)
		}
	}
}

// admit returns who may answer a request. It is done where nobody has to: what was answered before is
// answered again, and a request without messages says that the model is there.
func (x *chain) admit(body []byte, req *llm.Request) (way []upstream.Candidate, done bool, err error) {
	if way, err = x.ways(req.Model); err != nil {
		return nil, false, err
	}
	if err = x.CheckFields(&x.Demand, x.table); err != nil {
		return nil, false, err
	}
	x.logs(x.routeOf(&way[0]), body)
	if way, err = x.WithinAccount(way, req, &x.Demand, x.accountTeam); err != nil {
		return nil, false, err
	}
	if len(req.Messages) == 0 {
		return nil, true, x.WriteReady(x.W, req)
	}
	if done, err = x.fromCache(x.routeOf(&way[0]), req, body); done || err != nil {
		return nil, done, err
	}
	done, err = x.repeated(x.routeOf(&way[0]), req, body)
	return way, done, err
}

// prepare makes of a request what the route wants of it, and keeps its body if that says all of it.
func (x *chain) prepare(way []upstream.Candidate, body []byte, req *llm.Request, recalled bool) error {
	changed := x.routeOf(&way[0]).Override.apply(req)
	if err := x.attach(way[0], req); err != nil {
		return err
	}
	if !changed && !recalled && x.serving == nil && !x.reasks(way, req) && x.plain() {
		x.raw = body
	}
	if x.Codec.Properties().Previous != "" {
		x.Asked = body
	}
	if x.Streamed {
		x.askUsage(body)
	}
	return nil
}

// read reads the request. What it goes on from is put before it.
func (x *chain) read() (body []byte, req *llm.Request, recalled bool, err error) {
	if err = x.hop(); err != nil {
		return nil, nil, false, err
	}
	if body, err = x.body(); err != nil {
		return nil, nil, false, err
	}
	if body, err = x.answers.Refer(x.Context(), x.Owner, x.KeyID(), x.Codec, body, x.settings.MaxBody); err != nil {
		return nil, nil, false, err
	}
	if req, x.Streamed, err = x.Endpoint.Request(x.HTTP.URL.Path, body); err != nil {
		return nil, nil, false, err
	}
	x.Model = req.Model
	x.answering(req)
	if err = cmp.Or(admit.CheckRepeated(body), x.Read(body, admit.Weighed), x.readStore(req)); err != nil {
		return nil, nil, false, err
	}
	req.MaxTokens = max(req.MaxTokens, 0) // some clients send -1 for no limit
	x.spent.SetAnswers(x.Output.Answers)
	before := len(req.Messages)
	err = x.answers.Recall(x.Context(), x.Owner, x.Codec, req)
	x.Continues = len(req.Messages) != before
	return body, req, x.Continues, err
}

// readStore refuses a request that does not say clearly whether its answer is kept, where the gateway keeps answers.
func (x *chain) readStore(req *llm.Request) error {
	value := req.Extra[x.Codec.Format]["store"]
	switch {
	case x.Codec.Properties().Previous == "", value == nil, js.Kind(value) == 't', js.Kind(value) == 'f', js.Kind(value) == 'n':
		return nil
	}
	return exchange.Invalid("store has to be true or false")
}

// plain reports whether the client speaks its format as the vendor does.
func (x *chain) plain() bool { return x.Codec.Quirks == wire.Quirks{} }

// askUsage finds out whether the client of a stream wants to be told what it uses. Where the gateway
// has to know it, the upstream is asked for it all the same: what a model thinks does not show in its
// text, so it cannot be estimated.
func (x *chain) askUsage(body []byte) {
	asking, added := x.Codec.AskUsage(body)
	if x.HideUsage = added; added && x.Rights != nil && x.raw != nil {
		x.raw, x.StripUsage = asking, true
	}
}

// whole answers in one piece.
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
		if w.Feature != "model" { // whose name the client has said itself
			x.Warn(w)
		}
	}
	x.WriteDocument(body)
	return nil
}

// The defaults of how long a client may take to send its request, and to read a piece of its answer.
const (
	bodyTime  = time.Minute
	writeTime = 2 * time.Minute
)

// body reads the request.
func (x *chain) body() ([]byte, error) {
	body, err := clientio.ReadWithin(x.settings.BodyTime, x.W, x.HTTP, func() ([]byte, error) { return vendorapi.Body(x.W, x.HTTP, x.settings.MaxBody) })
	x.tally.read = time.Now()
	if err != nil {
		return nil, err
	}
	return body, nil
}

// keep remembers what later requests of the client may go on from, before it has the end of the answer.
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
	if x.repeat != nil && x.Codec.Properties().Previous != "" {
		x.repeat.AnswerID = resp.Start.ID
	}
}

// seen takes note of an event and returns it as the client shall see it: the model is
// the one that was asked for, and what only the upstream can read is kept aside.
func (x *chain) seen(ev llm.Event) llm.Event {
	switch ev := ev.(type) {
	case llm.Start:
		ev.Model = x.Model
		return ev
	case llm.Finish:
		return x.seenEnd(ev)
	}
	return ev
}

// answering has the codec know the tools of the request. For why it is not inlined see newAsking.
//
//go:noinline
func (x *chain) answering(req *llm.Request) { x.Codec = x.Codec.Answering(req) }

// seenEnd is seen for the end of an answer. It is not inlined, see newAsking.
//
//go:noinline
func (x *chain) seenEnd(ev llm.Finish) llm.Event {
	ev.Model = x.Model
	x.usage = ev.Usage
	x.spent.SetComplete(true)
	if x.repeat != nil && x.serving == nil {
		x.repeat.Answered = true
	}
	return x.AddEcho(ev)
}

// count answers how many tokens a request has: what the upstream says if it speaks the client's
// format, else our own estimate.
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
	ways, err := x.ways(req.Model)
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

// getModel says what is known of one model.
func (x *chain) getModel() error {
	name := x.ModelName(x.HTTP)
	var r *route
	for _, format := range x.Readers() {
		if r = x.find(name, format); r != nil {
			break
		}
	}
	if r == nil || !x.MaySee(r.Model, name) {
		return x.noModel(name)
	}
	x.WriteModel(x.W, x.describe(r, name))
	return nil
}

func (x *chain) noModel(name string) error {
	if name == "" {
		return exchange.Invalid("the request names no model; the list of models has those that there are")
	}
	return vendorapi.NotFound(x.Codec, fmt.Errorf("no route leads to the model %q; the list of models has those that there are, but for routes of all names that begin alike", name))
}

// ways returns who may answer for a model, in the order in which they are asked.
func (x *chain) ways(name string) ([]upstream.Candidate, error) {
	if err := x.MayUseModel(name); err != nil {
		return nil, err
	}
	first := x.find(name, x.Codec.Format)
	if first == nil || name == "" {
		return nil, x.noModel(name)
	}
	x.trace.Route = first.Model
	if err := x.MayUseRoute(first.Model); err != nil {
		return nil, err
	}
	return x.table.Candidates(first.Route, name, x.Codec.Format, func(r *upstream.Route) bool { return x.MayUseRoute(r.Name) == nil })
}

// accountTeam is the team whose account a candidate uses, "" if it is not known.
func (x *chain) accountTeam(c *upstream.Candidate) string { return x.routeOf(c).PassTeam }

// book books what the request used. Without access control nothing is booked.
func (x *chain) book(err error) {
	if x.Rights != nil {
		x.spent.Settle(x.Upstream, err)
	}
}

// ownsTool reports whether the gateway runs a tool, so that its calls are none of the client's.
func (x *chain) ownsTool(name string) bool { return x.serving != nil && x.serving.owns(name) }

// repeated reports whether a request was answered like an earlier one that it repeats, or why it is refused.
func (x *chain) repeated(r *route, req *llm.Request, body []byte) (bool, error) {
	p, found, err := x.Idempotency(req.Model, body, r.Tools != nil && x.mayChange(r.Tools))
	if x.repeat = p; err != nil || found == nil {
		return false, err
	}
	if err := x.spent.ClaimFree(true); err != nil {
		return false, err
	}
	defer x.book(nil)
	if x.Streamed {
		x.askUsage(body)
	}
	x.repeat = nil
	return true, p.Replay(found)
}
