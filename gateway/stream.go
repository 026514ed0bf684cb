package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// stream answers piece by piece. Until the first piece is there nothing is sent, so that an
// error has its own status.
func (x *exchange) stream(ways []upstream.Candidate, req *llm.Request) error {
	end := x.open()
	out := x.out
	defer out.stop()
	kept := x.keeper(req)
	x.streams.Add(1)
	defer x.streams.Add(-1)
	err := x.question(ways, req, func(ev llm.Event) error {
		if w, ok := ev.(llm.Warning); ok {
			return out.remark(w)
		}
		if ev = x.taken(ev, kept); x.relaying {
			return nil
		}
		return out.write(ev)
	})
	if err != nil && !x.relaying && (!errors.Is(err, clientio.ErrGone) || x.ending()) {
		out.fail(err)
	}
	out.stop()
	if !x.torn {
		end()
	}
	return err
}

// taken takes note of an event and returns it as the client shall see it.
//
//go:noinline
func (x *exchange) taken(ev llm.Event, kept *keeper) llm.Event {
	if ev = x.seen(ev); kept != nil {
		ev = kept.add(ev)
	}
	x.bodies.add(ev)
	return ev
}

// open makes the sink of a stream, and returns what ends it. Like others that are called before an
// answer comes it is not inlined: what it needs of the stack would be held as long as the stream.
//
//go:noinline
func (x *exchange) open() (end func()) {
	x.w, end = x.AsArray(x.w, x.r)
	x.out = x.newSink()
	return end
}

// keeper collects an answer that later requests may go on from.
type keeper struct {
	x   *exchange
	req *llm.Request
	llm.Builder
}

// keeper returns nil if the format has no such answers.
//
//go:noinline
func (x *exchange) keeper(req *llm.Request) *keeper {
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
	resp := k.Response()
	k.x.keep(k.req, resp)
	return resp.Finish
}

// sink is where a stream is written. While nothing comes, it tells the client that it is
// still there.
type sink struct {
	x     *exchange
	enc   *wire.StreamEncoder
	flush *http.ResponseController
	every time.Duration

	timer  *time.Timer // nil if the client is told nothing; it wants x.mu, as do done and headed
	done   bool
	headed bool // the head of the answer is sent

	typ      string // of the stream
	comments bool   // the client passes over comments
	trailing int    // warnings behind the answer
	losses   int    // warnings about what the format cannot carry
}

func (x *exchange) newSink() *sink {
	s := &sink{x: x, flush: http.NewResponseController(x.w), every: x.settings.KeepAlive}
	s.enc = x.Codec.NewStream(x.w, wire.Head{Model: x.name, NoUsage: x.untold, Lost: s.lost, Echo: x.firstEcho})
	format := x.Codec.Properties()
	s.typ, s.comments = format.StreamType, format.StreamType == eventStream && !format.NoComments
	if s.every > 0 && format.KeepAlive != "" {
		s.x.mu.Lock()
		s.timer = time.AfterFunc(s.every, s.alive)
		s.x.mu.Unlock()
	}
	return s
}

// write sends an event of the answer.
func (s *sink) write(ev llm.Event) error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	return s.send(ev)
}

// send writes an event; it wants s.x.mu.
func (s *sink) send(ev llm.Event) error {
	s.begin()
	if err := s.enc.Write(ev); err != nil {
		return s.ended(err)
	}
	return s.ended(s.push())
}

// push sends all that was written; it wants s.x.mu. The first time the head of the answer goes too, for which package
// http needs 3 kB of the stack, more than all else that a stream does: it has one of its own for that, because stacks
// do not become smaller, and this one is held as long as the stream.
func (s *sink) push() error {
	if s.headed {
		return s.flush.Flush()
	}
	s.headed = true
	type outcome struct {
		err      error
		panicked any
	}
	sent := make(chan outcome)
	go func() {
		var o outcome
		defer func() { o.panicked = recover(); sent <- o }()
		o.err = s.flush.Flush()
	}()
	o := <-sent
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// begin sends the status before the first piece, and sets the clock; it wants s.x.mu.
func (s *sink) begin() {
	s.x.head(s.typ)
	if s.timer != nil {
		s.timer.Reset(s.every)
	}
}

// relayed is where an upstream's own bytes go.
type relayed struct {
	x       *exchange
	a       *asking
	failed  error  // why the answer cannot be taken
	refused error  // why nothing is sent, because another upstream is asked
	waits   bool   // for the answer to begin: until then another upstream may be asked
	held    []byte // meanwhile
}

// take takes an event of the answer, of which the bytes follow.
func (r *relayed) take(ev llm.Event) {
	r.x.relaying = true
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
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	return r.send(b)
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

// send writes bytes; it wants r.x.mu.
func (r *relayed) send(b []byte) (int, error) {
	r.x.relayed = true
	if r.x.out == nil {
		r.x.head("application/json")
		return r.x.w.Write(b)
	}
	r.x.out.begin()
	if !r.x.counts {
		return r.x.w.Write(b)
	}
	if _, err := r.x.w.Write(r.x.withoutUsage(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// withoutUsage is not inlined, see open.
//
//go:noinline
func (x *exchange) withoutUsage(b []byte) []byte { return x.Codec.WithoutUsage(b) }

// FlushError sends all that was written.
func (r *relayed) FlushError() error {
	if r.x.out == nil || r.waits {
		return nil
	}
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	return r.x.out.push()
}

// ended says what an error of writing means: the client is gone, or the answer could not
// be written at all.
func (s *sink) ended(err error) error {
	if err == nil || llm.KindOf(err) != llm.Unknown && s.x.ctx().Err() == nil {
		return err
	}
	return clientio.ErrGone
}

// remark tells the client of a warning in the middle of an answer: in a comment, over which every
// reader passes, or behind the answer where the format has none.
func (s *sink) remark(w llm.Warning) error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	return s.ended(s.say(w))
}

// lost tells the client of what its format cannot carry; it wants s.x.mu. What went wrong with the client shows with the bytes that follow.
func (s *sink) lost(w llm.Warning) {
	if s.losses++; s.losses > maxWarnings {
		s.x.hint(w)
		return
	}
	_ = s.say(w)
}

// say is remark; it wants s.x.mu.
func (s *sink) say(w llm.Warning) error {
	switch s.x.hint(w); {
	case !s.x.begun, s.x.doneHere(w):
		return nil
	case !s.comments:
		if s.trailing++; s.trailing <= maxWarnings {
			s.x.w.Header().Add(http.TrailerPrefix+WarningHeader, warningText(w))
		}
		return nil
	}
	_, err := fmt.Fprintf(s.x.w, ": %s\n\n", warningText(w))
	return err
}

// eventStream is the type of streams in which a line may be a comment.
const eventStream = "text/event-stream"

// alive tells the client that the stream is still there. What went wrong with it shows
// with the next event.
func (s *sink) alive() {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	if !s.done {
		_ = s.send(llm.KeepAlive{})
	}
}

// fail ends the stream with an error in the words of the client's format.
func (s *sink) fail(err error) {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	if !s.x.begun {
		return // the error has its own status
	}
	var known *llm.Error
	if err = s.x.forClient(err); !errors.As(err, &known) {
		known = &llm.Error{Op: "gateway", Kind: llm.KindOf(err), Err: err}
	}
	if s.enc.Fail(known) != nil || s.flush.Flush() != nil {
		s.x.torn = true // a lost connection is all that is left
	}
}

// stop ends the timer, so that nothing is written once the request is over.
func (s *sink) stop() {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.done = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
