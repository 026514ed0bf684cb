package exchange

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// OpenStream makes the sink of a stream, and returns what ends it. Like others that are called before an
// answer comes it is not inlined: what it needs of the stack would be held as long as the stream.
//
//go:noinline
func (r *Response) OpenStream() (end func()) {
	r.W, end = r.AsArray(r.W, r.HTTP)
	r.Stream = r.newStream()
	return end
}

// Stream is where a stream is written. While nothing comes, it tells the client that it is
// still there.
type Stream struct {
	r         *Response
	encoder   *wire.StreamEncoder
	conn      *http.ResponseController
	keepAlive time.Duration

	timer  *time.Timer // nil if the client is told nothing; it wants x.mu, as do done and headed
	done   bool
	headed bool // the head of the answer is sent

	mediaType string // of the stream
	comments  bool   // the client passes over comments
	trailing  int    // warnings behind the answer
	losses    int    // warnings about what the format cannot carry
}

func (r *Response) newStream() *Stream {
	s := &Stream{r: r, conn: http.NewResponseController(r.W), keepAlive: r.keepAlive}
	s.encoder = r.Codec.NewStream(r.W, wire.Head{Model: r.Model, NoUsage: r.HideUsage, Lost: s.warnLost, Echo: r.firstEcho})
	if alive := s.describe(); alive && s.keepAlive > 0 {
		s.r.mu.Lock()
		s.timer = time.AfterFunc(s.keepAlive, s.writeKeepAlive)
		s.r.mu.Unlock()
	}
	return s
}

// describe notes the media type of the format and whether it has comments. It reports whether it has keep-alives. It is
// not inlined: properties are large, and would be held on the stack as long as the stream.
//
//go:noinline
func (s *Stream) describe() (keepAlives bool) {
	format := s.r.Codec.Properties()
	s.mediaType, s.comments = format.StreamType, format.StreamType == EventStream && !format.NoComments
	return format.KeepAlive != ""
}

// Write sends an event of the answer.
func (s *Stream) Write(ev llm.Event) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return s.write(ev)
}

// write writes an event; it wants s.x.mu.
func (s *Stream) write(ev llm.Event) error {
	s.writeHead()
	if err := s.encoder.Write(ev); err != nil {
		return s.clientError(err)
	}
	return s.clientError(s.flushAll())
}

// flushAll sends all that was written; it wants s.x.mu. The first time the head of the answer goes too, for which package
// http needs 3 kB of the stack, more than all else that a stream does: it has one of its own for that, because stacks
// do not become smaller, and this one is held as long as the stream.
func (s *Stream) flushAll() error {
	if s.headed {
		return s.conn.Flush()
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
		o.err = s.conn.Flush()
	}()
	o := <-sent
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// writeHead sends the status before the first piece, and sets the clock; it wants s.x.mu.
func (s *Stream) writeHead() {
	s.r.head(s.mediaType)
	if s.timer != nil {
		s.timer.Reset(s.keepAlive)
	}
}

// withoutUsage is not inlined, see open.
//
//go:noinline
func (r *Response) withoutUsage(b []byte) []byte { return r.Codec.WithoutUsage(b) }

// clientError says what an error of writing means: the client is gone, or the answer could not
// be written at all.
func (s *Stream) clientError(err error) error {
	if err == nil || llm.KindOf(err) != llm.Unknown && s.r.Context().Err() == nil {
		return err
	}
	return clientio.ErrGone
}

// Warn tells the client of a warning in the middle of an answer: in a comment, over which every
// reader passes, or behind the answer where the format has none.
func (s *Stream) Warn(w llm.Warning) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return s.clientError(s.warn(w))
}

// warnLost tells the client of what its format cannot carry; it wants s.x.mu. What went wrong with the client shows with the bytes that follow.
func (s *Stream) warnLost(w llm.Warning) {
	if s.losses++; s.losses > maxWarnings {
		s.r.addWarning(w)
		return
	}
	_ = s.warn(w)
}

// warn is remark; it wants s.x.mu.
func (s *Stream) warn(w llm.Warning) error {
	switch s.r.addWarning(w); {
	case !s.r.headerSent, s.r.isDoneHere(w):
		return nil
	case !s.comments:
		if s.trailing++; s.trailing <= maxWarnings {
			s.r.W.Header().Add(http.TrailerPrefix+WarningHeader, warningText(w))
		}
		return nil
	}
	_, err := fmt.Fprintf(s.r.W, ": %s\n\n", warningText(w))
	return err
}

// EventStream is the type of streams in which a line may be a comment.
const EventStream = "text/event-stream"

// writeKeepAlive tells the client that the stream is still there. What went wrong with it shows
// with the next event.
func (s *Stream) writeKeepAlive() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if !s.done {
		_ = s.write(llm.KeepAlive{})
	}
}

// Fail ends the stream with an error in the words of the client's format.
func (s *Stream) Fail(err error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if !s.r.headerSent {
		return // the error has its own status
	}
	var known *llm.Error
	if err = s.r.forClient(err); !errors.As(err, &known) {
		known = &llm.Error{Op: "gateway", Kind: llm.KindOf(err), Err: err}
	}
	if s.encoder.Fail(known) != nil || s.conn.Flush() != nil {
		s.r.CloseConn = true // a lost connection is all that is left
	}
}

// Stop ends the timer, so that nothing is written once the request is over.
func (s *Stream) Stop() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.done = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
