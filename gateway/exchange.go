package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
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

// The headers of answers.
const (
	// RequestHeader is the id of the request, which the log has too.
	RequestHeader = "Toolpost-Request-Id"
	// UpstreamHeader is the id of the model that answered, without the address of its host.
	UpstreamHeader = "Toolpost-Upstream"
	// WarningHeader says what was not done as asked, as far as it is known when the answer
	// begins: a warning each, "code; feature; detail".
	WarningHeader = "Toolpost-Warning"
)

// exchange is one request and its answer.
type exchange struct {
	*Gateway
	vendorapi.Endpoint
	w     http.ResponseWriter // the outlet
	r     *http.Request
	id    string
	owner string // whose answers may be gone on from

	rights *access.Rights // nil if everybody may ask
	spent  spending
	bodies *bodyLog // nil if they are not kept

	// mu guards what follows up to the blank line: a stream that is silent is kept alive beside
	// whoever waits for the upstream.
	mu       sync.Mutex
	begun    bool          // the status is sent
	upstream string        // that answers
	told     []llm.Warning // in the header
	beyond   []llm.Warning // that the header has no room for
	unsaid   int           // warnings that came too late for it

	raw      []byte // the request as it came, if it may be passed on so; nil if it was changed
	asked    []byte // the request as it came, in a format whose answers repeat what was asked for; else nil
	streamed bool   // the answer is wanted as a stream
	out      *sink  // nil if the answer is in one piece
	relaying bool   // the bytes of the answer are the upstream's
	relayed  bool   // some of them were sent
	torn     bool   // the connection ends with the answer, half of which must not look like a whole one
	holds    bool   // calls are held until they fit
	goesOn   bool   // what the request goes on from stands before it
	untold   bool   // the client did not ask what its stream uses, and is not told
	counts   bool   // the upstream was asked for it in the client's place
	name     string // of the model, as the client says it
	ownID    string // of an answer of another format than the upstream's
	invalid  int    // calls that do not fit
	usage    llm.Usage
	start    time.Time
	step     *observe.Request // nil if nobody observes
	outlet   clientio.Writer
	tally    tally
	cacheKey cacheKey
	cacheFor time.Duration               // how long the answer may be given again
	serving  *serving                    // the tools of the gateway; nil if there are none
	repeat   *repeat                     // what a request that may come again is known by
	members  []saidMember                // of the request, by which a vendor may do more than its model and tools say
	allows   allowance                   // of output
	signed   map[state.Hash][]signedTurn // that were looked up
	token    string                      // of the ids of calls in the answer
}

func (g *Gateway) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{Gateway: g, Endpoint: vendorapi.Find(r), r: r, id: "req_" + rand.Text(), start: time.Now()}
	if e, _ := otherEndpoint(r); e != nil || asksWebSocket(r) {
		x.Action = format.NoOperation
	}
	x.trace()
	x.outlet.Reset(w, r, g.settings.WriteTime)
	x.w = &x.outlet
	w.Header().Set(RequestHeader, x.id)
	return x
}

// trace takes over which trace the client's request is part of, and tells the observer that it begins.
func (x *exchange) trace() {
	ctx := x.r.Context()
	if list := x.r.Header["Traceparent"]; len(list) == 1 {
		if t, ok := observe.ParseTrace(list[0], strings.Join(x.r.Header["Tracestate"], ",")); ok {
			ctx = observe.WithTrace(ctx, t)
		}
	}
	if x.settings.Observer != nil {
		ctx, x.step = observe.BeginRequest(observe.With(ctx, x.settings.Observer), observe.Request{ID: x.id, Method: x.r.Method, Path: x.r.URL.Path, Endpoint: endpointOf(x.r)})
	}
	if ctx != x.r.Context() {
		x.r = x.r.WithContext(ctx)
	}
}

// observed tells the observer how the request ended.
func (x *exchange) observed(err error) {
	if x.step == nil {
		return
	}
	x.step.Route, x.step.Model = x.tally.route, x.name
	x.step.Upstream, x.step.Status, x.step.Usage = x.upstream, x.outlet.Status, x.used()
	if x.rights != nil {
		x.step.Team = x.rights.Key.Team
	}
	observe.End(x.r.Context(), x.step, err)
}

// used is what the request used: with keys what was booked, else what the upstream said last.
func (x *exchange) used() llm.Usage {
	if x.spent.admission != nil {
		return x.spent.used
	}
	return x.usage
}

// end tells the observer and the log.
func (x *exchange) end(err error) {
	x.observed(err)
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs, slog.String("id", x.id), slog.String("method", x.r.Method), slog.String("path", x.logged(x.r.URL.Path)), slog.Duration("took", time.Since(x.start)))
	attrs = append(attrs, x.whose()...)
	if x.name != "" {
		used := x.used()
		attrs = append(attrs, slog.String("route", x.tally.route), slog.String("model", x.logged(x.name)), slog.String("upstream", x.upstream), slog.Bool("cached", x.spent.cached),
			slog.Int("input_tokens", used.Input), slog.Int("output_tokens", used.Output),
			slog.Int("warnings", len(x.told)+x.unsaid), slog.Int("invalid_calls", x.invalid))
	}
	if err != nil && x.ending() { // what the upstream says of that is only that it was left
		err = fmt.Errorf("%w (%w)", errEnding, err)
	}
	if err != nil {
		x.settings.Log.LogAttrs(x.ctx(), slog.LevelWarn, "request failed", append(attrs, slog.String("kind", llm.KindOf(err).String()), slog.String("error", x.logged(err.Error())))...)
		return
	}
	x.settings.Log.LogAttrs(x.ctx(), slog.LevelInfo, "request", attrs...)
}

// logged returns a text as it may stand in the log: clients write parts of it, and choose how long they are.
func (x *exchange) logged(text string) string { return vendorapi.Brief(x.redactKeys(text)) }

// redactKeys returns a text for the log without the keys that a client wrote where none belong.
func (x *exchange) redactKeys(text string) string {
	if !strings.Contains(text, access.Prefix) {
		return text
	}
	return x.settings.Secrets.Clean(text).String()
}

// fail answers with an error, unless an answer has begun: then it has been told already.
func (x *exchange) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return
	}
	x.begun = true
	vendorapi.Fail(x.w, x.Codec, x.forClient(err))
}

// forClient returns what the client is told about an error.
func (x *exchange) forClient(err error) error {
	if x.ending() {
		return errEnding
	}
	told, final := upstream.ForClient(err)
	if final {
		x.w.Header().Set("X-Should-Retry", "false")
	}
	return told
}

// answer serves one question.
func (x *exchange) answer() error {
	q := new(clientQuestion)
	defer x.over(q)
	if !x.accept(q) {
		return q.err
	}
	if x.streamed {
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
	settle   func(error) // nil if nothing was claimed
	leave    func()      // nil if no place was taken
	err      error
}

// accept reads a question and makes it ready to be asked. It reports false if it was answered already, or must not
// be asked. It is not inlined, for the stack that it needs.
//
//go:noinline
func (x *exchange) accept(q *clientQuestion) bool {
	if q.body, q.req, q.recalled, q.err = x.read(); q.err != nil {
		return false
	}
	var done bool
	if q.way, done, q.err = x.admit(q.body, q.req); done || q.err != nil {
		return false
	}
	q.admitted = true
	if q.way, q.settle, q.err = x.claim(q.way, q.req); q.err != nil {
		return false
	}
	if q.leave, q.err = x.enterRoute(q.way[0].Route); q.err != nil {
		return false
	}
	q.err = x.prepare(q.way, q.body, q.req, q.recalled)
	return q.err == nil
}

// over gives back what a question took, what it took last first.
func (x *exchange) over(q *clientQuestion) {
	if q.leave != nil {
		q.leave()
	}
	if q.settle != nil {
		q.settle(q.err)
	}
	if q.admitted {
		x.remember(q.err)
		x.settled(q.err)
	}
}

// admit returns who may answer a request. It is done where nobody has to: what was answered before is
// answered again, and a request without messages says that the model is there.
func (x *exchange) admit(body []byte, req *llm.Request) (way []upstream.Candidate, done bool, err error) {
	if way, err = x.ways(req.Model); err != nil {
		return nil, false, err
	}
	if err = x.mayMean(); err != nil {
		return nil, false, err
	}
	x.logs(x.routeOf(&way[0]), body)
	if way, err = x.mayReach(way, req); err != nil {
		return nil, false, err
	}
	if len(req.Messages) == 0 {
		return nil, true, x.WriteReady(x.w, req)
	}
	if done, err = x.fromCache(x.routeOf(&way[0]), req, body); done || err != nil {
		return nil, done, err
	}
	done, err = x.repeated(x.routeOf(&way[0]), req, body, x.streamed)
	return way, done, err
}

// prepare makes of a request what the route wants of it, and keeps its body if that says all of it.
func (x *exchange) prepare(way []upstream.Candidate, body []byte, req *llm.Request, recalled bool) error {
	changed := x.routeOf(&way[0]).Override.apply(req)
	if err := x.attach(way[0], req); err != nil {
		return err
	}
	if !changed && !recalled && x.serving == nil && !x.reasks(way, req) && x.plain() {
		x.raw = body
	}
	if x.Codec.Properties().Previous != "" {
		x.asked = body
	}
	if x.streamed {
		x.askUsage(body)
	}
	return nil
}

// read reads the request. What it goes on from is put before it.
func (x *exchange) read() (body []byte, req *llm.Request, recalled bool, err error) {
	if err = x.hop(); err != nil {
		return nil, nil, false, err
	}
	if body, err = x.body(); err != nil {
		return nil, nil, false, err
	}
	if body, err = x.answers.Refer(x.ctx(), x.owner, x.keyID(), x.Codec, body, x.settings.MaxBody); err != nil {
		return nil, nil, false, err
	}
	if req, x.streamed, err = x.Request(x.r.URL.Path, body); err != nil {
		return nil, nil, false, err
	}
	x.name = req.Model
	x.answering(req)
	if err = cmp.Or(ambiguous(body), x.readMembers(body, weighed), x.readStore(req)); err != nil {
		return nil, nil, false, err
	}
	req.MaxTokens, x.spent.answers = max(req.MaxTokens, 0), x.allows.answers // some clients write no bound as -1
	before := len(req.Messages)
	err = x.answers.Recall(x.ctx(), x.owner, x.Codec, req)
	x.goesOn = len(req.Messages) != before
	return body, req, x.goesOn, err
}

// readStore refuses a request that does not say clearly whether its answer is kept, where the gateway keeps answers.
func (x *exchange) readStore(req *llm.Request) error {
	value := req.Extra[x.Codec.Format]["store"]
	switch {
	case x.Codec.Properties().Previous == "", value == nil, js.Kind(value) == 't', js.Kind(value) == 'f', js.Kind(value) == 'n':
		return nil
	}
	return invalid("store has to be true or false")
}

// plain reports whether the client speaks its format as the vendor does.
func (x *exchange) plain() bool { return x.Codec.Quirks == wire.Quirks{} }

// weighed are the names of members that the gateway decides by: what may be asked, how much it may
// cost, and how it is answered.
var weighed = []string{
	"model", "messages", "input", "contents", "tools", "mcp_servers", "web_search_options", "max_tokens", "max_completion_tokens",
	"max_output_tokens", "n", "stream", "stream_options", "previous_response_id", "store",
}

// ambiguous says why a body may be read in more than one way, nil if it may not: an upstream must not
// be asked something else than what was checked.
func ambiguous(body []byte) error {
	if name := js.Repeated(js.Trim(body)); name != nil {
		return invalid("the request has the member %.60q twice, or in two spellings", name)
	}
	return nil
}

// respelling refuses a member that is one of names in another spelling.
func respelling(key []byte, names []string) error {
	if oneSpelling(key) {
		return nil
	}
	for _, name := range names {
		if string(key) != name && strings.EqualFold(string(key), name) {
			return invalid("the member %.60q of the request has to be written %q", key, name)
		}
	}
	return nil
}

// oneSpelling reports whether a name can be no other spelling of one that is weighed: it has neither
// capitals nor letters that fold to others.
func oneSpelling(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// askUsage finds out whether the client of a stream wants to be told what it uses. Where the gateway
// has to know it, the upstream is asked for it all the same: what a model thinks does not show in its
// text, so it cannot be estimated.
func (x *exchange) askUsage(body []byte) {
	asking, added := x.Codec.AskUsage(body)
	if x.untold = added; added && x.rights != nil && x.raw != nil {
		x.raw, x.counts = asking, true
	}
}

// whole answers in one piece.
func (x *exchange) whole(ways []upstream.Candidate, req *llm.Request) error {
	var b llm.Builder
	err := x.question(ways, req, func(ev llm.Event) error {
		if w, ok := ev.(llm.Warning); ok {
			x.warn(w)
			return nil
		}
		b.Add(x.seen(ev))
		if _, last := ev.(llm.Finish); last && x.relaying { // the bytes follow
			x.keep(req, b.Response())
		}
		return nil
	})
	if err != nil || x.relaying {
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
			x.warn(w)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.head("application/json")
	_, _ = x.w.Write(body) // a client that is gone needs no answer
	return nil
}

// head sends the status of an answer and what is known of it, once; it wants x.mu.
func (x *exchange) head(mediaType string) {
	if x.begun {
		return
	}
	x.begun = true
	x.w.Header().Set("Content-Type", mediaType)
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.Header().Set(UpstreamHeader, upstream.ShownID(x.upstream))
	x.sayBeyond()
	x.w.WriteHeader(http.StatusOK)
}

// answerID is the id of an answer that is not the upstream's own.
func (x *exchange) answerID() string {
	if p := x.Codec.Properties(); x.ownID == "" && p.AnswerIDs {
		x.ownID = p.IDPrefix + rand.Text()
	}
	return x.ownID
}

// asks notes who is asked.
func (x *exchange) asks(upstream string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.upstream = upstream
}

// The defaults of how long a client may take to send its request, and to read a piece of its answer.
const (
	bodyTime  = time.Minute
	writeTime = 2 * time.Minute
)

// body reads the request.
func (x *exchange) body() ([]byte, error) {
	body, err := clientio.ReadWithin(x.settings.BodyTime, x.w, x.r, func() ([]byte, error) { return vendorapi.Body(x.w, x.r, x.settings.MaxBody) })
	x.tally.read = time.Now()
	if err != nil {
		return nil, err
	}
	return body, nil
}

// keyID is the id of the client's key, "" if everybody may ask.
func (x *exchange) keyID() string {
	if x.rights == nil {
		return ""
	}
	return x.rights.Key.ID
}

// keep remembers what later requests of the client may go on from, before it has the end of the answer.
func (x *exchange) keep(req *llm.Request, resp *llm.Response) {
	if resp.Start.ID == "" {
		resp.Start.ID = resp.Finish.ID
	}
	switch err := x.answers.Keep(x.ctx(), x.owner, x.keyID(), x.Codec, req, resp); {
	case errors.Is(err, vendorapi.ErrIDTaken):
		x.tell(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: fmt.Sprintf("the upstream gave the id %.100s to an answer of another key, which stays kept under it; this one is not kept", resp.Start.ID)})
	case err != nil:
		x.tell(forgotten(state.Answer))
	}
	if x.repeat != nil && x.Codec.Properties().Previous != "" {
		x.repeat.answer = resp.Start.ID
	}
}

// tell tells the client of a warning, wherever its answer is. What went wrong with its connection
// shows with the next event.
func (x *exchange) tell(w llm.Warning) {
	if x.out != nil {
		_ = x.out.remark(w)
		return
	}
	x.warn(w)
}

// seen takes note of an event and returns it as the client shall see it: the model is
// the one that was asked for, and what only the upstream can read is kept aside.
func (x *exchange) seen(ev llm.Event) llm.Event {
	switch ev := ev.(type) {
	case llm.Start:
		ev.Model = x.name
		return ev
	case llm.Finish:
		return x.seenEnd(ev)
	}
	return ev
}

// answering has the codec know the tools of the request. For why it is not inlined see newAsking.
//
//go:noinline
func (x *exchange) answering(req *llm.Request) { x.Codec = x.Codec.Answering(req) }

// seenEnd is seen for the end of an answer. It is not inlined, see newAsking.
//
//go:noinline
func (x *exchange) seenEnd(ev llm.Finish) llm.Event {
	ev.Model = x.name
	x.usage, x.spent.finished = ev.Usage, true
	if x.repeat != nil && x.serving == nil {
		x.repeat.answered = true
	}
	return x.echoing(ev)
}

// Bounds of the header of warnings: many proxies and clients take no more than 8 KiB of headers. The log takes more.
const (
	maxWarnings = 16
	maxWarning  = 300
	maxBeyond   = 512
)

// sayBeyond says in one more line of the header what the warnings are about that it has no room for, and has the log
// name them all; it wants x.mu.
func (x *exchange) sayBeyond() {
	if len(x.beyond) == 0 {
		return
	}
	var features, all []string
	for _, w := range x.beyond {
		if !slices.Contains(features, w.Feature) {
			features = append(features, w.Feature)
		}
		all = append(all, warningText(w))
	}
	x.w.Header().Add(WarningHeader, warningText(llm.Warning{Code: llm.Degraded, Feature: "warnings",
		Detail: fmt.Sprintf("%d more, of which the log has %d, about %s", x.unsaid, len(all), strings.Join(features, ", "))}))
	x.settings.Log.Warn("more warnings than the header has room for", "id", x.id, "warnings", all)
}

// warn tells the client of a warning, if its answer has not begun.
func (x *exchange) warn(w llm.Warning) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hint(w)
}

// hint is warn; it wants x.mu.
func (x *exchange) hint(w llm.Warning) {
	if x.doneHere(w) {
		return
	}
	text, lines := warningText(w), x.w.Header()[WarningHeader]
	if slices.Contains(lines, text) { // as each round of a route's tools says it
		return
	}
	if x.begun {
		x.unsaid++
		return
	}
	at := len(x.told)
	if slices.Contains(saidFirst, w.Code) {
		if i := slices.IndexFunc(x.told, func(t llm.Warning) bool { return !slices.Contains(saidFirst, t.Code) }); i >= 0 {
			at = i
		}
	}
	if x.told = slices.Insert(x.told, at, w); len(x.told) > maxWarnings {
		if x.unsaid++; len(x.beyond) < maxBeyond {
			x.beyond = append(x.beyond, x.told[maxWarnings])
		}
		x.told = x.told[:maxWarnings]
	}
	lines = slices.Insert(lines, min(at, len(lines)), text)
	x.w.Header()[WarningHeader] = lines[:min(len(lines), maxWarnings)]
}

// saidFirst are the warnings that stand before all others: without them a client takes for done what was not.
var saidFirst = []llm.WarningCode{llm.RefusedCall, llm.FailedCall}

// warningText is a warning as it may stand in a header: one line of plain letters, without the
// addresses of upstreams.
func warningText(w llm.Warning) string {
	about := upstream.ShownID(w.Feature)
	if about != w.Feature {
		w.Detail = strings.ReplaceAll(w.Detail, w.Feature, about)
	}
	text := string(w.Code) + "; " + about + "; " + w.Detail
	var b strings.Builder
	b.Grow(min(len(text), maxWarning) + len("..."))
	for _, r := range text {
		if r < ' ' || r > '~' {
			r = '?'
		}
		if b.WriteByte(byte(r)); b.Len() >= maxWarning {
			b.WriteString("...")
			break
		}
	}
	return b.String()
}

// count answers how many tokens a request has: what the upstream says if it speaks the client's
// format, else our own estimate.
func (x *exchange) count() (err error) {
	body, err := x.body()
	if err != nil {
		return err
	}
	if body, err = x.answers.Refer(x.ctx(), x.owner, x.keyID(), x.Codec, body, x.settings.MaxBody); err != nil {
		return err
	}
	req, err := x.CountRequest(x.r.URL.Path, body)
	if err != nil {
		return err
	}
	x.name = req.Model
	if err := cmp.Or(ambiguous(body), x.readMembers(body, weighed)); err != nil {
		return err
	}
	before := len(req.Messages)
	if err := x.answers.Recall(x.ctx(), x.owner, x.Codec, req); err != nil {
		return err
	}
	ways, err := x.ways(req.Model)
	if err != nil {
		return err
	}
	x.logs(x.routeOf(&ways[0]), body)
	if ways, err = x.mayReach(ways, req); err != nil {
		return err
	}
	settle, err := x.claimFree(false)
	if err != nil {
		return err
	}
	defer func() { settle(err) }()
	x.asks(ways[0].ID)
	x.tally.upstream = ways[0].Model
	if m, ok := ways[0].Opened.(*provider.Model); ok && len(req.Messages) == before {
		raw := provider.ClientRequest{Format: x.Codec.Format, Body: body, Says: req}
		if n, counted, err := m.CountTokens(x.ctx(), raw); counted && err == nil {
			x.WriteCount(x.w, n)
			return nil
		}
	}
	x.w.Header().Set(WarningHeader, "compatibility; tokens; estimated, not counted by the vendor")
	x.WriteCount(x.w, llm.EstimateRequest(req))
	return nil
}

// getModel says what is known of one model.
func (x *exchange) getModel() error {
	name := x.ModelName(x.r)
	var r *route
	for _, format := range x.Readers() {
		if r = x.find(name, format); r != nil {
			break
		}
	}
	if r == nil || !x.mayKnow(r, name) {
		return x.noModel(name)
	}
	x.WriteModel(x.w, x.describe(r, name))
	return nil
}

func (x *exchange) noModel(name string) error {
	if name == "" {
		return invalid("the request names no model; the list of models has those that there are")
	}
	return vendorapi.NotFound(x.Codec, fmt.Errorf("no route leads to the model %q; the list of models has those that there are, but for routes of all names that begin alike", name))
}

// ways returns who may answer for a model, in the order in which they are asked.
func (x *exchange) ways(name string) ([]upstream.Candidate, error) {
	if err := x.mayAsk(name); err != nil {
		return nil, err
	}
	first := x.find(name, x.Codec.Format)
	if first == nil || name == "" {
		return nil, x.noModel(name)
	}
	x.tally.route = first.Model
	if err := x.mayTake(first); err != nil {
		return nil, err
	}
	return x.table.Candidates(first.Route, name, x.Codec.Format, func(r *upstream.Route) bool { return x.mayTake(x.routes[r.Index]) == nil })
}

// ctx is that of the client: when it goes, the upstream is not asked any more.
func (x *exchange) ctx() context.Context { return x.r.Context() }
