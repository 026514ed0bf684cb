package gateway

import (
	"errors"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
)

// stream sends the answer as a stream. Nothing is sent before the first event, because an earlier error has its own
// status.
func (x *chain) stream(ways []upstream.Candidate, req *llm.Request) error {
	end := x.OpenStream()
	out := x.Stream
	defer out.Stop()
	kept := x.keeper(req)
	x.streams.Add(1)
	defer x.streams.Add(-1)
	err := x.question(ways, req, func(ev llm.Event) error {
		if _, ok := ev.(llm.Warning); ok {
			return warnClient(out, ev)
		}
		if ev = x.taken(ev, kept); x.Relaying {
			return nil
		}
		return out.Write(ev)
	})
	if err != nil && !x.Relaying && (!errors.Is(err, clientio.ErrGone) || exchange.ShuttingDown(x.Context())) {
		out.Fail(err)
	}
	out.Stop()
	if !x.CloseConn {
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
func (x *chain) taken(ev llm.Event, kept *keeper) llm.Event {
	if ev = x.seen(ev); kept != nil {
		ev = kept.add(ev)
	}
	x.bodies.add(ev)
	return ev
}

// keeper collects an answer that later requests may continue.
type keeper struct {
	x   *chain
	req *llm.Request
	llm.Builder
}

// keeper returns nil if answers of the format cannot be continued.
//
//go:noinline
func (x *chain) keeper(req *llm.Request) *keeper {
	if x.Codec.Properties().Previous == "" {
		return nil
	}
	return &keeper{x: x, req: req}
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
	k.x.keep(k.req, resp)
	return resp.Finish
}

// relayed receives the bytes of an upstream that speaks the client's format.
type relayed struct {
	x       *chain
	a       *asking
	failed  error  // why the answer is rejected
	refused error  // why nothing is sent: another upstream is asked
	waits   bool   // until the answer begins; until then another upstream may be asked
	held    []byte // bytes held while waits is true
}

// take handles an event of the answer. The bytes of the event follow.
func (r *relayed) take(ev llm.Event) {
	r.x.Relaying = true
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
	return r.x.WriteRelayed(b)
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
	return r.x.FlushRelayed()
}
