package gateway

import (
	"errors"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
)

// stream answers piece by piece. Nothing is sent before the first piece, because an earlier error has its own status.
func (x *chain) stream(ways []upstream.Candidate, req *llm.Request) error {
	end := x.OpenStream()
	out := x.Stream
	defer out.Stop()
	kept := x.keeper(req)
	x.streams.Add(1)
	defer x.streams.Add(-1)
	err := x.question(ways, req, func(ev llm.Event) error {
		if w, ok := ev.(llm.Warning); ok {
			return out.Warn(w)
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

// taken takes note of an event and returns it as the client shall see it.
//
//go:noinline
func (x *chain) taken(ev llm.Event, kept *keeper) llm.Event {
	if ev = x.seen(ev); kept != nil {
		ev = kept.add(ev)
	}
	x.bodies.add(ev)
	return ev
}

// keeper collects an answer that later requests may go on from.
type keeper struct {
	x   *chain
	req *llm.Request
	llm.Builder
}

// keeper returns nil if the format has no such answers.
//
//go:noinline
func (x *chain) keeper(req *llm.Request) *keeper {
	if x.Codec.Properties().Previous == "" {
		return nil
	}
	return &keeper{x: x, req: req}
}

// add takes an event and returns it as it is said. The last one keeps the answer.
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

// relayed is where an upstream's own bytes go.
type relayed struct {
	x       *chain
	a       *asking
	failed  error  // why the answer cannot be taken
	refused error  // why nothing is sent, because another upstream is asked
	waits   bool   // for the answer to begin: until then another upstream may be asked
	held    []byte // meanwhile
}

// take takes an event of the answer, of which the bytes follow.
func (r *relayed) take(ev llm.Event) {
	r.x.Relaying = true
	if r.failed == nil {
		if r.failed = r.a.take(ev); r.a.given {
			r.refused = r.failed
			r.a.stop()
		}
	}
	if r.a.begun && r.waits {
		r.begin()
	}
}

// Write sends bytes of an answer: whole events of a stream, or all of a document.
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

// begin sends what was held; from now on nothing is.
func (r *relayed) begin() {
	if r.waits = false; len(r.held) == 0 {
		return
	}
	held := r.held
	r.held = nil
	_, _ = r.Write(held) // a client that is gone shows with the next bytes
}

// FlushError sends all that was written.
func (r *relayed) FlushError() error {
	if r.waits {
		return nil
	}
	return r.x.FlushRelayed()
}
