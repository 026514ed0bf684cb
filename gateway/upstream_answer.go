package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http/httptrace"
	"slices"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/opening"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// askUpstreams asks the upstreams until one begins to answer, and passes each event of its answer to each. Deviations
// from the request become warnings to the client.
func (p *prepared) askUpstreams(req *llm.Request, each func(llm.Event) error) error {
	if err := p.spent.ClaimAgain(p.ways, req); err != nil {
		return err
	}
	return upstream.Failover(p.Context(), p.ways, &attempts{p, req, each})
}

// attempts is one model request that several upstreams may be asked to answer.
type attempts struct {
	*prepared
	req  *llm.Request
	each func(llm.Event) error
}

// Ask implements [upstream.Asker].
func (a *attempts) Ask(to *upstream.Candidate, others bool) (begun bool, err error) {
	a.spent.Begin(to.ID, a.req)
	start := time.Now()
	begun, err = a.askOne(to, a.req, a.each, others)
	a.spent.BookLost(err)
	a.ended(to, time.Since(start), err)
	return begun, err
}

// Failed implements [upstream.Asker]: it tells the client that an upstream did not answer.
func (a *attempts) Failed(failed *upstream.Candidate, err error, next *upstream.Candidate) {
	a.Tell(llm.Warning{Code: llm.Degraded, Feature: "upstream", Detail: fmt.Sprintf("%s did not answer (%s), so %s was asked", upstream.ShownID(failed.ID), llm.KindOf(err), upstream.ShownID(next.ID))})
}

// Paused implements [upstream.Asker]: it logs that an upstream is left alone, or used again.
func (a *attempts) Paused(to *upstream.Candidate, wait time.Duration) {
	place := []any{"id", a.ID, "route", to.Route.Name, "upstream", upstream.ShownID(to.ID)}
	if wait == 0 {
		a.settings.Log.Info("upstream answers again and is used as before", place...)
		return
	}
	a.settings.Log.Warn("upstream is paused after failures in a row, while another can be asked", append(place, "for", wait)...)
}

// ended records an attempt. An upstream that did not answer is logged and counted under the requested route, like the
// request itself. It is not inlined; see newAsking.
//
//go:noinline
func (a *attempts) ended(to *upstream.Candidate, took time.Duration, err error) {
	kind, status, text := "ok", 0, ""
	if err != nil {
		kind, text = upstream.FailureKind(err), a.logged(err.Error())
		if known := (*llm.Error)(nil); errors.As(err, &known) {
			status = known.Status
		}
	}
	a.spent.Attempted(access.UpstreamAttempt{Upstream: upstream.ShownID(to.ID), Kind: kind, Status: status, Error: text, Seconds: took.Round(time.Millisecond).Seconds()})
	if err != nil && llm.KindOf(err) != llm.Canceled && !errors.Is(err, clientio.ErrGone) {
		a.Metrics.Failures.Add(1, a.trace.Route, a.trace.Upstream, kind)
		attrs := []slog.Attr{slog.String("id", a.ID), slog.String("route", a.trace.Route), slog.String("upstream", a.trace.Upstream), slog.String("kind", kind)}
		if status != 0 {
			attrs = append(attrs, slog.Int("status", status))
		}
		a.settings.Log.LogAttrs(a.Context(), slog.LevelWarn, "upstream attempt failed", append(attrs, slog.String("error", text))...)
	}
}

// askOne asks one upstream. If there is another, this one gets no retries by default, and an answer blocked by its filter
// counts as a failure.
func (p *prepared) askOne(to *upstream.Candidate, req *llm.Request, each func(llm.Event) error, others bool) (begun bool, err error) {
	ctx, watch := upstream.NewWatch(httptrace.WithClientTrace(p.Context(), p.trace.HTTP()), to, others, p.Stream == nil)
	defer watch.Stop()
	p.SetUpstream(to.ID)
	p.trace.Upstream, p.measured.route = to.Model, to.Route.Name
	a := p.newAsking(to, req)
	a.each, a.others, a.watch = each, others, watch
	req = a.marked(to, p.signatures.ForUpstream(a.labels, to.Limited(req)))
	begun, err = a.answer(ctx, to, req)
	p.noteFirstToken(watch.Took())
	return begun, watch.Err(err, &p.trace)
}

// noteFirstToken records the time to the first text, thinking or call of an answer.
func (p *prepared) noteFirstToken(took time.Duration) {
	if took > 0 {
		p.measured.firstToken = took
		p.Metrics.FirstToken.Observe(took.Seconds(), p.trace.Route, p.trace.Upstream)
	}
}

// marked returns the request with marks for the prompt cache of the upstream, if its route asks for them.
func (a *asking) marked(to *upstream.Candidate, req *llm.Request) *llm.Request {
	m, ok := to.Opened.(*provider.Model)
	if !ok || !a.routeOf(to).CacheMarks {
		return req
	}
	out := m.WithCacheMarks(req)
	a.remade = out != req
	return out
}

// answer relays the answer of the upstream, or reads it as events.
func (a *asking) answer(ctx context.Context, to *upstream.Candidate, req *llm.Request) (begun bool, err error) {
	if relayed, err := a.relay(ctx, to, req); relayed {
		return a.RelayedBytes, err
	}
	if a.others && a.Stream == nil {
		return a.whole(ctx, to, req)
	}
	return a.stream(ctx, to, req)
}

// newAsking returns the state of a request to an upstream. It is not inlined: the stack that it needs would be held
// until the answer ends.
//
//go:noinline
func (p *prepared) newAsking(to *upstream.Candidate, req *llm.Request) *asking {
	labels := p.SignerOf(to.Opened)
	return &asking{prepared: p, labels: labels, signed: p.signatures.Begin(labels, req), check: p.checking(p.holds || p.routeOf(to).Check == CheckOff, req)}
}

// stream reads the answer of the upstream as events.
func (a *asking) stream(ctx context.Context, to *upstream.Candidate, req *llm.Request) (begun bool, err error) {
	answer := a.source
	if answer == nil {
		answer = to.Opened.Stream(ctx, a.portable(to.Opened, req))
	}
	source, t := a.stages().Pipeline().Begin(answer, func(ev llm.Event, failed error) bool {
		if begun, err = a.begun, failed; failed != nil {
			return false
		}
		if err = a.take(ev); err != nil {
			begun = !a.given
			return false
		}
		begun = a.begun
		return true
	})
	defer t.Stop()
	source(t.Take)
	t.End()
	return begun, err
}

// whole passes on the events of an answer once it is complete. A client that waits for the whole answer has seen
// nothing until then, so another upstream can be asked.
func (a *asking) whole(ctx context.Context, to *upstream.Candidate, req *llm.Request) (begun bool, err error) {
	var held []llm.Event
	each := a.each
	a.each = func(ev llm.Event) error {
		held = append(held, ev)
		return nil
	}
	if _, err := a.stream(ctx, to, req); err != nil {
		return false, err
	}
	for _, ev := range held {
		if err := each(ev); err != nil {
			return true, err
		}
	}
	return true, nil
}

// portable returns a request without features that the upstream's vendor does not support. The client's own vendor
// supports them, so the client is warned.
func (a *asking) portable(m llm.Model, req *llm.Request) *llm.Request {
	req = a.withoutPrevious(req)
	known, ok := m.(*provider.Model)
	if !ok {
		a.warnPlain(req)
		return req
	}
	req, warnings := known.Portable(req)
	for _, w := range warnings {
		a.Warn(w)
	}
	if a.SignerOf(m).Client == "" { // the client sends back the parts of its streams
		out := *req
		out.Messages = a.Codec.MergePieces(req.Messages)
		req = &out
	}
	return req
}

// withoutPrevious removes the id of the previous answer from a request that contains the whole conversation.
func (a *asking) withoutPrevious(req *llm.Request) *llm.Request {
	if !a.continues {
		return req
	}
	out := *req
	out.Extra = maps.Clone(req.Extra)
	own := maps.Clone(out.Extra[a.Codec.Format])
	delete(own, a.Codec.Properties().Previous)
	if out.Extra[a.Codec.Format] = own; len(own) == 0 {
		delete(out.Extra, a.Codec.Format)
	}
	return &out
}

// warnPlain warns about request fields that a custom model does not know.
func (a *asking) warnPlain(req *llm.Request) {
	ignored := func(feature string) {
		a.Warn(llm.Warning{Code: llm.Ignored, Feature: feature, Detail: "the upstream does not support it"})
	}
	if req.N > 1 {
		ignored("n")
	}
	for _, name := range slices.Sorted(maps.Keys(req.Extra[a.Codec.Format])) {
		if name != "store" {
			ignored(name)
		}
	}
}

// asking is the state of a request to one upstream.
type asking struct {
	*prepared
	labels       conversation.Signer
	signed       *conversation.SignedAnswer // nil if no signatures must be stored
	check        checking
	each         func(llm.Event) error
	source       iter.Seq2[llm.Event, error] // an answer that has begun; nil to ask for one
	others       bool                        // another upstream can be asked
	watch        *upstream.Watch
	begun        bool
	opening      opening.Opening // events held back until the answer begins
	given        bool            // the answer was given up for another upstream
	remade       bool            // the request is not the client's own
	contentKinds                 // content of the answer so far
}

// take takes an event of the answer.
func (a *asking) take(ev llm.Event) error {
	a.note(ev)
	a.watch.Saw(ev)
	switch ev.(type) {
	case llm.Warning:
		return a.each(ev) // also in the middle of a stream
	case provider.RequestRetry:
		return nil
	case llm.Finish:
		if err := a.finish(ev); err != nil {
			return err
		}
	}
	a.record(ev)
	if !a.others {
		a.begun = a.begun || llm.Begins(ev)
		return a.pass(ev)
	}
	if _, alive := ev.(llm.KeepAlive); alive && !a.begun { // another upstream may be asked, so nothing is sent yet
		return nil
	}
	for _, ev := range a.opening.Next(ev) {
		if err := a.pass(ev); err != nil {
			return err
		}
	}
	a.begun = a.opening.Begun()
	return nil
}

// note counts an event. Like finish it is not inlined: events are handled deep in the stack of a request, and a stack
// that has grown is held until the answer ends.
//
//go:noinline
func (a *asking) note(ev llm.Event) {
	a.saw(ev)
	a.book(ev)
}

// book counts what an event costs. For why it is not inlined see note.
//
//go:noinline
func (a *asking) book(ev llm.Event) {
	a.spent.Count(ev)
	switch ev := ev.(type) {
	case llm.Finish:
		a.spent.BookUsage(ev.Usage)
	case provider.RequestRetry:
		a.spent.Retried(ev)
	}
}

// finish checks the end of an answer, and returns an error if the answer is unusable.
//
//go:noinline
func (a *asking) finish(ev llm.Event) error {
	f, _ := ev.(llm.Finish)
	if a.others && !a.begun && f.Reason == llm.ContentFilter {
		a.given = true
		return &llm.Error{Op: "gateway", Kind: llm.Refused, Err: errors.New("the filter of the vendor let nothing through")}
	}
	err := a.ends(f.Raw)
	if err != nil {
		a.given = a.others && !a.begun
	}
	return err
}

// pass passes on an event with its id and signatures adapted for the client.
func (a *asking) pass(ev llm.Event) error {
	if w := a.unusual(ev); w != nil {
		if err := a.each(*w); err != nil {
			return err
		}
	}
	ev = a.signed.UniqueIDs(a.foreign(a.labels.Relabel(ev)))
	if a.signed != nil && a.signatures.Add(a.signed, ev) != nil {
		if err := a.each(conversation.Unavailable(state.Signature)); err != nil {
			return err
		}
	}
	if err := a.each(ev); err != nil {
		return err
	}
	fault := a.check.fault(ev)
	if fault == nil {
		return nil
	}
	a.measured.invalid++
	a.Metrics.Invalid.Add(1, a.trace.Route, "schema")
	return a.each(*fault)
}

// foreign removes what only the upstream's format can interpret from an event: the answer id and the vendor's finish
// reason. It changes nothing if the client uses the same format.
func (a *asking) foreign(ev llm.Event) llm.Event {
	if a.labels.Client != "" {
		return ev
	}
	switch ev := ev.(type) {
	case llm.Start:
		ev.ID = a.AnswerID()
		return ev
	case llm.Finish:
		if ev.Reason == llm.OtherReason { // each vendor's words mean something else
			ev.Reason = a.meant(ev.Raw)
		}
		ev.ID, ev.Raw = a.AnswerID(), ""
		return ev
	}
	return ev
}

// relay passes on the upstream's own bytes if it speaks the client's format and the answer needs no changes. It reports
// whether it did.
func (a *asking) relay(ctx context.Context, to *upstream.Candidate, req *llm.Request) (bool, error) {
	m, ok := to.Opened.(*provider.Model)
	if !ok || a.raw == nil || a.remade {
		return false, nil
	}
	dst := &relayed{a: a, waits: a.others && a.Stream != nil}
	relayed, err := m.Relay(ctx, a.asItCame(req), dst, dst.take)
	if err == nil && dst.failed == nil && dst.waits {
		dst.begin()
	}
	a.Relaying = a.RelayedBytes // an error after the first bytes was already sent
	return relayed, cmp.Or(dst.failed, err)
}

// asItCame returns the client's request for a relay. It is not inlined; see newAsking.
//
//go:noinline
func (a *asking) asItCame(req *llm.Request) *provider.ClientRequest {
	return &provider.ClientRequest{Format: a.Codec.Format, Body: a.raw, Stream: a.Stream != nil, Says: req, Header: requestctx.Betas(a.HTTP.Header)}
}
