package gateway

import (
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// stream sends the answer as a stream. Nothing is sent before the first event, because an earlier error has its own
// status.
func (p *prepared) stream() error {
	end := p.OpenStream()
	out := p.Stream
	defer out.Stop()
	kept := p.keeper()
	p.streams.Add(1)
	defer p.streams.Add(-1)
	err := p.ask(func(ev llm.Event) error {
		if _, ok := ev.(llm.Warning); ok {
			return warnClient(out, ev)
		}
		if ev = p.taken(ev, kept); p.Relaying {
			return nil
		}
		return out.Write(ev)
	})
	if err != nil && !p.Relaying && (!errors.Is(err, clientio.ErrGone) || exchange.ShuttingDown(p.Context())) {
		out.Fail(err)
	}
	out.Stop()
	if !p.CloseConn {
		end()
	}
	return err
}

// warnClient passes a warning on. It is not inlined, see newAsking.
//
//go:noinline
func warnClient(out *exchange.Stream, ev llm.Event) error { return out.Warn(ev.(llm.Warning)) }

// taken records an event and returns it as the client sees it.
//
//go:noinline
func (p *prepared) taken(ev llm.Event, kept *keeper) llm.Event {
	if ev = p.seen(ev); kept != nil {
		ev = kept.add(ev)
	}
	p.bodies.add(ev)
	return ev
}

// keeper collects an answer that later requests may continue.
type keeper struct {
	p *prepared
	llm.Builder
}

// keeper returns nil if answers of the format cannot be continued.
//
//go:noinline
func (p *prepared) keeper() *keeper {
	if p.Codec.Properties().Previous == "" {
		return nil
	}
	return &keeper{p: p}
}

// add records an event and returns it as the client sees it. The last event stores the answer.
func (k *keeper) add(ev llm.Event) llm.Event {
	k.Add(ev)
	if _, last := ev.(llm.Finish); !last {
		return ev
	}
	return k.end()
}

// end keeps the whole answer. It is not inlined: its part of the stack would be held with every event of the stream.
//
//go:noinline
func (k *keeper) end() llm.Event {
	resp := k.Response()
	k.p.keep(resp)
	return resp.Finish
}

// whole sends the answer as a document.
func (p *prepared) whole() error {
	var b llm.Builder
	err := p.ask(func(ev llm.Event) error {
		if w, ok := ev.(llm.Warning); ok {
			p.Warn(w)
			return nil
		}
		b.Add(p.seen(ev))
		if _, last := ev.(llm.Finish); last && p.Relaying { // the bytes follow
			p.keep(b.Response())
		}
		return nil
	})
	if err != nil || p.Relaying {
		return err
	}
	resp := b.Response()
	p.keep(resp)
	body, lost, err := p.Codec.EncodeResponse(resp)
	if err != nil {
		return err
	}
	for _, w := range lost {
		if w.Feature != "model" { // the client knows the model name
			p.Warn(w)
		}
	}
	p.WriteDocument(body)
	return nil
}

// keep stores what later requests of the client may continue. It runs before the client gets the end of the answer.
func (p *prepared) keep(resp *llm.Response) {
	if resp.Start.ID == "" {
		resp.Start.ID = resp.Finish.ID
	}
	switch err := p.answers.Keep(p.Context(), p.Owner, p.KeyID(), p.Codec, p.req, resp); {
	case errors.Is(err, vendorapi.ErrIDTaken):
		p.Tell(llm.Warning{Code: llm.Degraded, Feature: "state", Detail: fmt.Sprintf("the upstream gave the id %.100s to an answer of another key, which stays kept under it; this one is not kept", resp.Start.ID)})
	case err != nil:
		p.Tell(conversation.Unavailable(state.Answer))
	}
	if p.idempotency != nil && p.Codec.Properties().Previous != "" {
		p.idempotency.AnswerID = resp.Start.ID
	}
}

// seen records an event and returns it as the client sees it: with the model name that the client asked for.
func (p *prepared) seen(ev llm.Event) llm.Event {
	switch ev.(type) {
	case llm.Start:
		return startWithModel(ev, p.Model)
	case llm.Finish:
		return p.seenEnd(ev)
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

// seenEnd implements seen for the end of an answer. It is not inlined; see newAsking.
//
//go:noinline
func (p *prepared) seenEnd(end llm.Event) llm.Event {
	ev := end.(llm.Finish)
	ev.Model = p.Model
	p.measured.usage = ev.Usage
	p.spent.SetComplete(true)
	if p.idempotency != nil && p.rounds == nil {
		p.idempotency.Answered = true
	}
	return p.AddRepeatedFields(ev)
}

// relayed receives the bytes of an upstream that speaks the client's format.
type relayed struct {
	a       *asking
	failed  error  // why the answer is rejected
	refused error  // why nothing is sent: another upstream is asked
	waits   bool   // until the answer begins; until then another upstream may be asked
	held    []byte // bytes held while waits is true
}

// take handles an event of the answer. The bytes of the event follow.
func (r *relayed) take(ev llm.Event) {
	r.a.Relaying = true
	if r.failed == nil {
		if r.failed = r.a.take(ev); r.a.given {
			r.refused = r.failed
			r.a.watch.Stop()
		}
	}
	if r.a.begun && r.waits {
		r.begin()
	}
}

// Write sends bytes of an answer: whole events of a stream, or a complete document.
func (r *relayed) Write(b []byte) (int, error) {
	if r.refused != nil {
		return 0, r.refused
	}
	if r.waits {
		r.held = append(r.held, b...)
		return len(b), nil
	}
	return r.a.WriteRelayed(b)
}

// begin sends the held bytes and stops holding.
func (r *relayed) begin() {
	if r.waits = false; len(r.held) == 0 {
		return
	}
	held := r.held
	r.held = nil
	_, _ = r.Write(held) // a disconnected client shows with the next bytes
}

// FlushError flushes the client's connection.
func (r *relayed) FlushError() error {
	if r.waits {
		return nil
	}
	return r.a.FlushRelayed()
}
