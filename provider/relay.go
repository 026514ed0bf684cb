package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/wire"
)

// ClientRequest is a request as a client of a vendor's format wrote it.
type ClientRequest struct {
	Format string // of Body
	Body   []byte
	Stream bool         // the answer is wanted as a stream
	Says   *llm.Request // what Body says
	// Header goes with the request where it is relayed; see [Betas].
	Header http.Header
}

// Relay sends a client's request as it is and writes the answer as it comes, byte for byte, if
// the client speaks the model's own format and nothing has to be mended on the way. It reports
// false, and has asked nobody, where the request has to be changed for the vendor: [Model.Stream]
// does that. The events of the answer are those of Stream, and each is shown to observe before
// its bytes are written; where they are not what the vendor said, because a call was found in
// the text, a name was mapped back or a promise was broken, the answer is a translation from
// there on. Strict schemas, which Stream asks for by itself, are left to the client.
//
// Nothing is written before the answer has begun. An error after that has been told to the client
// in the words of its format.
func (m *Model) Relay(ctx context.Context, r *ClientRequest, dst io.Writer, each func(llm.Event)) (relayed bool, err error) {
	m, j, body := m.relayable(ctx, r)
	if j == nil {
		return false, nil
	}
	out := &relay{dst: dst}
	j.relay, j.header = out, r.Header
	pass := func(ev llm.Event, failed error) bool {
		if err = failed; failed == nil {
			each(ev)
		}
		return true
	}
	run := func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			m.observed(ctx, j)
			for _, w := range j.warnings {
				if !yield(w, nil) {
					return
				}
			}
			m.persist(ctx, j, body, yield)
		}
	}
	if observe.From(ctx) == nil {
		run(ctx, r.Says)(pass)
	} else {
		observe.Question(ctx, m.id, r.Says, run, pass)
	}
	if err != nil && !out.begun && m.learn(j, err) {
		return false, nil // the tools have to be taught
	}
	return true, err
}

// relayable returns the job of a request that can be sent as it is, the model that knows its server, and the body with
// the vendor's name for the model. The job is nil if the request has to be changed.
//
//go:noinline
func (m *Model) relayable(ctx context.Context, r *ClientRequest) (*Model, *job, []byte) {
	if r.Format != m.wire || m.client.Whole || m.differs(r) {
		return m, nil, nil
	}
	m = m.discovered(ctx, r.Says)
	j := m.planRelay(r)
	if j == nil {
		return m, nil, nil
	}
	body := m.ownName(r)
	if body == nil {
		return m, nil, nil
	}
	if _, foreign := m.redactBody(body); len(foreign) > 0 {
		return m, nil, nil
	}
	return m, j, body
}

// differs reports whether a request uses something in which the host differs from the vendor who
// made the format.
func (m *Model) differs(r *ClientRequest) bool {
	q, req := m.quirks(), r.Says
	has := func(field string) bool { return js.Get(js.Trim(r.Body), field) != nil }
	thought := func(msg llm.Message) bool {
		return slices.ContainsFunc(msg.Parts, func(p llm.Part) bool { _, is := p.(llm.Thinking); return is })
	}
	strict := func(t llm.ToolDef) bool { return t.Strict != nil && *t.Strict }
	switch {
	case q.MaxTokens != "" && req.MaxTokens > 0 && !has(q.MaxTokens),
		q.SystemRole != "" && req.System != "",
		(q.Thinking != "" || q.ThinkingForCalls || q.ThinkingParts) && slices.ContainsFunc(req.Messages, thought),
		q.NoParallel && req.OneCall,
		q.NoStrict && slices.ContainsFunc(req.Tools, strict),
		q.NoStreamUsage && r.Stream && has("stream_options"),
		q.NoCallIDs && countCalls(req) > 0,
		q.OpenAPISchema && len(req.Tools) > 0:
		return true
	}
	q.MaxTokens, q.SystemRole, q.Thinking = "", "", ""
	q.Members, q.ModelFields = "", "" // which are for requests of other formats
	q.ThinkingForCalls, q.ThinkingParts, q.NoParallel, q.NoStrict, q.NoStreamUsage, q.NoCallIDs, q.OpenAPISchema = false, false, false, false, false, false, false
	return q != wire.Quirks{}
}

// planRelay plans a request that is sent as it is, and returns nil if it has to be changed.
func (m *Model) planRelay(r *ClientRequest) *job {
	j, err := m.planned(r.Says, true)
	if err != nil || j.route.Kind != Native {
		return nil
	}
	for _, w := range j.warnings {
		if w.Code != llm.UnknownModel {
			return nil
		}
	}
	if !sameRequest(j.req, r.Says) {
		return nil
	}
	j.whole = !r.Stream
	j.nameBack()
	return j
}

// nameBack has the codec know how the client named its tools. The codecs that it copies stay out
// of the frame of its caller, in which the deepest steps of the plan are taken.
//
//go:noinline
func (j *job) nameBack() { j.codec = j.codec.Answering(j.req) }

// ownName returns the body of a request with the vendor's own name for the model, and nil if the
// body names more than one: the vendor might read another than we did.
func (m *Model) ownName(r *ClientRequest) []byte {
	if m.format().ModelInPath() {
		return r.Body
	}
	var name []byte
	for key, value := range js.Members(js.Trim(r.Body)) {
		if !strings.EqualFold(string(key), "model") { // some read keys in any case
			continue
		}
		if name != nil || string(key) != "model" {
			return nil
		}
		name = value
	}
	switch {
	case name == nil:
		return nil
	case js.Text(name) == m.model:
		return r.Body
	}
	at := cap(r.Body) - cap(name) // it is a part of the body
	out := make([]byte, 0, len(r.Body)+len(m.model))
	out = append(out, r.Body[:at]...)
	out = js.AppendQuoted(out, m.model)
	return append(out, r.Body[at+len(name):]...)
}

// relay is where the bytes of an answer go.
type relay struct {
	dst   io.Writer
	begun bool  // something was written
	mask  *mask // of the key that was asked with
}

// Write passes bytes on, without the key: whole events of a stream, or a document.
func (r *relay) Write(b []byte) (int, error) {
	r.begun = true
	if _, err := r.dst.Write(r.mask.redact(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// FlushError passes on that all so far shall be sent.
func (r *relay) FlushError() error {
	switch w := r.dst.(type) {
	case interface{ FlushError() error }:
		return w.FlushError()
	case http.Flusher:
		w.Flush()
	}
	return nil
}

// passOn relays a successful answer.
func (m *Model) passOn(w *watch, j *job, resp *http.Response, key string, yield func(llm.Event, error) bool) (*llm.Error, bool) {
	var err error
	src := placeless{resp.Body, w.ctx}
	j.relay.mask = m.client.masks.of(key)
	if j.whole {
		err = m.passDocument(w, j, src, yield)
	} else {
		p := &passing{m: m, w: w, lockstep: newLockstep(j), key: key, yield: yield}
		defer p.stop()
		err = j.codec.Relay(j.relay, src, p.judge())
	}
	if err == nil {
		return nil, true
	}
	e := m.lost(w.ctx, err, j.relay.begun, key)
	if !j.relay.begun {
		e = m.unlike(e, resp, key)
	}
	return e, j.relay.begun
}

// passing decides about each event of a stream that is relayed.
type passing struct {
	*lockstep
	m     *Model
	w     *watch
	key   string
	yield func(llm.Event, error) bool
}

// judge returns what decides. It is called for every event, and deep in the stack of a request, which is held as long as
// the stream: what is rare has a function of its own.
func (p *passing) judge() func(llm.Event) wire.RelayDecision {
	return func(ev llm.Event) wire.RelayDecision {
		switch ev.(type) {
		case wire.RelayFailure, wire.RelayTrailing:
			return p.afterwards(ev)
		case llm.Finish:
			p.last(ev)
		}
		if err := p.w.count(ev); err != nil {
			return p.giveUp(err)
		}
		return p.verdict(p.show(ev, p.yield))
	}
}

// last looks at the end of an answer, whose word may have to be encoded anew.
//
//go:noinline
func (p *passing) last(ev llm.Event) {
	if f, _ := ev.(llm.Finish); !p.waits() && !p.job.codec.FinishFits(f) {
		p.over = true
	}
}

//go:noinline
func (p *passing) giveUp(err error) wire.RelayDecision {
	return wire.GiveUp(p.m.lost(p.w.ctx, err, true, p.key))
}

// afterwards decides about what is no event of the answer.
//
//go:noinline
func (p *passing) afterwards(ev llm.Event) wire.RelayDecision {
	if f, failed := ev.(wire.RelayFailure); failed {
		return p.m.withoutKey(p.w.ctx, f, p.key)
	}
	t, _ := ev.(wire.RelayTrailing)
	p.yield(llm.Warning{Code: llm.Corrected, Feature: "stream", Detail: fmt.Sprintf("%d bytes after the end of the answer were not passed on", t.Bytes)}, nil)
	return wire.Pass
}

// withoutKey decides about the error of an upstream that may repeat the key it was asked with.
func (m *Model) withoutKey(ctx context.Context, f wire.RelayFailure, key string) wire.RelayDecision {
	if said := string(f.Said); f.Said != nil && redact(said, key) == said {
		return wire.Pass
	}
	return wire.GiveUp(m.lost(ctx, f.Err, true, key))
}

// placeless reads an answer whose errors are told to a client: they do not say between which
// addresses a connection was lost, and if it was given up they say why.
type placeless struct {
	io.Reader
	ctx context.Context
}

func (p placeless) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	var op *net.OpError
	switch why := context.Cause(p.ctx); {
	case errors.Is(err, context.Canceled) && why != nil:
		err = why
	case errors.As(err, &op):
		err = fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return n, err
}

// readWhole returns the events of an answer in the caller's terms. Calls that were found in its text
// come when they are whole; those that the vendor delivers pass as they come.
func (j *job) readWhole(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	var native delivered
	noted := func(yield func(llm.Event, error) bool) {
		for ev, err := range raw {
			native.note(ev)
			if !yield(ev, err) {
				return
			}
		}
	}
	return emulate.WholeCalls(j.read(noted), native.has)
}

// delivered are the ids of the calls that a vendor delivers, in any of its answers.
type delivered struct{ ids map[string]bool }

// note takes the id of a call. For why it is not inlined see lockstep.broken.
//
//go:noinline
func (d *delivered) note(ev llm.Event) {
	var id string
	_, ev = answerOf(ev)
	switch ev := ev.(type) {
	case llm.CallStart:
		id = ev.ID
	case llm.Call:
		id = ev.ID
	case llm.InvalidCall:
		id = ev.ID
	default:
		return
	}
	if d.ids == nil {
		d.ids = make(map[string]bool)
	}
	d.ids[id] = true
}

func (d *delivered) has(id string) bool { return d.ids[id] }

// passDocument relays an answer in one piece: as it came if the readers of the answer have
// nothing to say about it, else as they read it. All of it is there, so the readers need not run
// beside the relay.
func (m *Model) passDocument(w *watch, j *job, src io.Reader, yield func(llm.Event, error) bool) error {
	b, err := wire.ReadDocument(src)
	if err != nil {
		return err
	}
	events, mended, err := j.codec.DecodeEvents(b)
	if err != nil {
		return err
	}
	side := newLockstep(j)
	defer side.stop()
	var said, replaced []llm.Event
	hear := func(ev llm.Event, err error) bool {
		said = append(said, ev)
		return yield(ev, err)
	}
	for _, ev := range events {
		if err := w.count(ev); err != nil {
			return err
		}
		if wire.SaysReplaced(ev) {
			replaced = append(replaced, ev)
			continue
		}
		if w := repaired(ev); w != nil {
			yield(*w, nil)
		}
		if _, err := side.show(ev, hear); err != nil {
			return err
		}
	}
	changed := (side.over || side.waits()) && !saysTheSame(events, said)
	if finish, _ := events[len(events)-1].(llm.Finish); mended || changed || !j.codec.FinishFits(finish) {
		if !changed {
			said = events
		}
		var anew llm.Builder
		for _, ev := range said {
			anew.Add(ev)
		}
		if b, _, err = j.codec.EncodeResponse(anew.Response()); err != nil {
			return err
		}
		for _, w := range replaced {
			yield(w, nil)
		}
	}
	_, err = j.relay.Write(b)
	return err
}

// repaired warns of a call whose arguments a relay has to write anew; nil if the event is none.
func repaired(ev llm.Event) *llm.Warning {
	_, ev = answerOf(ev)
	c, _ := ev.(llm.Call)
	if len(c.Provenance.Repairs) == 0 {
		return nil
	}
	return &llm.Warning{Code: llm.Corrected, Feature: "arguments", Detail: fmt.Sprintf("the arguments of %s were no JSON and were repaired (%s)", c.Name, c.Provenance.Repairs[0].Rule)}
}
