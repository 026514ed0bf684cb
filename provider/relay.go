package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/provider/internal/relay"
	"github.com/toolpost/toolpost/wire/format"
)

// Relay sends a client's request unchanged and writes the answer as it arrives, byte
// for byte, if the client speaks the model's own format and nothing has to be
// repaired. It reports false, without a request, if the request has to be changed for
// the vendor; [Model.Stream] does that.
//
// The events of the answer are those of Stream, and each is passed to the callback
// before its bytes are written. If the stages change the answer, because they found a
// call in the text, restored a name or rejected the answer, the rest of the answer is
// a translation. Strict schemas, which Stream adds itself, are left to the client.
//
// Nothing is written before the answer has begun. A later error is written in the
// client's format.
func (m *Model) Relay(ctx context.Context, r *ClientRequest, dst io.Writer, each func(llm.Event)) (relayed bool, err error) {
	m, j, body := r.relayable(ctx, m)
	if j == nil {
		return false, nil
	}
	out := &relayTarget{dst: dst}
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
		observing.Question(ctx, m.id, r.Says, run, pass)
	}
	if err != nil && !out.begun && m.learn(j, err) {
		return false, nil // the tools have to be taught
	}
	return true, err
}

// relayTarget is the destination of the bytes of an answer.
type relayTarget struct {
	dst   io.Writer
	begun bool             // something was written
	mask  *credential.Mask // of the key in the request
}

// Write passes bytes on, without the key: whole events of a stream, or a document.
func (r *relayTarget) Write(b []byte) (int, error) {
	r.begun = true
	if _, err := r.dst.Write(r.mask.Redact(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// FlushError passes on that all so far shall be sent.
func (r *relayTarget) FlushError() error {
	switch w := r.dst.(type) {
	case interface{ FlushError() error }:
		return w.FlushError()
	case http.Flusher:
		w.Flush()
	}
	return nil
}

// passOn relays a successful answer.
func (x *exchange) passOn() (*llm.Error, bool) {
	j := x.job
	j.relay.mask = x.client.masks.Of(x.key)
	src := clientReader{x.resp.Body, x.watch.Context}
	var err error
	if j.whole {
		err = x.passDocument(src)
	} else {
		s := &streamRelay{Comparison: relay.New(j.answer, j.asked, j.req), exchange: x}
		defer s.Stop()
		err = j.codec.Relay(j.relay, src, s.decide)
	}
	if err == nil {
		return nil, true
	}
	e := x.lost(err, j.relay.begun)
	if !j.relay.begun {
		e = x.noAnswer(e)
	}
	return e, j.relay.begun
}

// streamRelay decides about each event of a stream that is relayed.
type streamRelay struct {
	*relay.Comparison
	*exchange
}

// decide is called for every event, deep in a stack that is held for as long as the
// stream lasts. Rare cases have a function each that is not inlined.
func (s *streamRelay) decide(ev llm.Event) format.RelayDecision {
	switch ev.(type) {
	case format.RelayFailure, format.RelayTrailing:
		return s.afterAnswer(ev)
	case llm.Finish:
		s.checkFinish(ev)
	}
	if err := s.watch.Count(ev); err != nil {
		return s.giveUp(err)
	}
	return s.Decide(s.Show(ev, s.yield))
}

// checkFinish makes the end of the answer a translation if its finish reason has to
// be encoded again.
// It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (s *streamRelay) checkFinish(ev llm.Event) {
	if f, _ := ev.(llm.Finish); !s.Pending() && !s.job.codec.FinishFits(f) {
		s.Replaced = true
	}
}

// giveUp ends the relay with an error. It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (s *streamRelay) giveUp(err error) format.RelayDecision { return format.GiveUp(s.lost(err, true)) }

// afterAnswer decides about an error of the upstream, and about bytes after the end
// of the answer. An error that may contain the key is not passed on.
// It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (s *streamRelay) afterAnswer(ev llm.Event) format.RelayDecision {
	if f, failed := ev.(format.RelayFailure); failed {
		if said := string(f.Said); f.Said != nil && credential.Redact(said, s.key) == said {
			return format.Pass
		}
		return s.giveUp(f.Err)
	}
	t, _ := ev.(format.RelayTrailing)
	s.yield(llm.Warning{Code: llm.Corrected, Feature: "stream", Detail: fmt.Sprintf("%d bytes after the end of the answer were not passed on", t.Bytes)}, nil)
	return format.Pass
}

// clientReader reads an answer whose errors are shown to a client: they do not contain
// the addresses of a lost connection, and give the reason of a cancelled one.
type clientReader struct {
	io.Reader
	ctx context.Context
}

func (p clientReader) Read(b []byte) (int, error) {
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

// passDocument relays an answer that is one document: unchanged if its stages return
// the same events, else as they return it.
func (x *exchange) passDocument(src io.Reader) error {
	j := x.job
	b, err := document.Read(src)
	if err != nil {
		return err
	}
	events, mended, err := j.codec.DecodeEvents(b)
	if err != nil {
		return err
	}
	side := relay.New(j.answer, j.asked, j.req)
	defer side.Stop()
	var said, replaced []llm.Event
	keep := func(ev llm.Event, err error) bool {
		said = append(said, ev)
		return x.yield(ev, err)
	}
	for _, ev := range events {
		if err := x.watch.Count(ev); err != nil {
			return err
		}
		if loss.SaysReplaced(ev) {
			replaced = append(replaced, ev)
			continue
		}
		if w := repairWarning(ev); w != nil {
			x.yield(*w, nil)
		}
		if _, err := side.Show(ev, keep); err != nil {
			return err
		}
	}
	changed := (side.Replaced || side.Pending()) && !relay.EqualAnswers(events, said)
	if finish, _ := events[len(events)-1].(llm.Finish); mended || changed || !j.codec.FinishFits(finish) {
		if !changed {
			said = events
		}
		var translated llm.Builder
		for _, ev := range said {
			translated.Add(ev)
		}
		if b, _, err = j.codec.EncodeResponse(translated.Response()); err != nil {
			return err
		}
		for _, w := range replaced {
			x.yield(w, nil)
		}
	}
	_, err = j.relay.Write(b)
	return err
}

// repairWarning returns a warning for a call whose arguments a relay has to write
// again, and nil for other events.
func repairWarning(ev llm.Event) *llm.Warning {
	_, ev = relay.AnswerOf(ev)
	c, _ := ev.(llm.Call)
	if len(c.Provenance.Repairs) == 0 {
		return nil
	}
	return &llm.Warning{Code: llm.Corrected, Feature: "arguments", Detail: fmt.Sprintf("the arguments of %s were no JSON and were repaired (%s)", c.Name, c.Provenance.Repairs[0].Rule)}
}
