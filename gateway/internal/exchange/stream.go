package exchange

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// OpenStream starts a stream and returns the function that ends it. Like other functions called before the answer
// begins, it is not inlined: the stack that it needs would be held as long as the stream.
//
//go:noinline
func (r *Response) OpenStream() (end func()) {
	r.W, end = r.AsArray(r.W, r.HTTP)
	r.Stream = r.newStream()
	return end
}

// Stream writes a streamed answer. It sends keep-alives while no events come.
type Stream struct {
	r         *Response
	encoder   *wire.StreamEncoder
	conn      *http.ResponseController
	keepAlive time.Duration

	timer  *time.Timer // nil without keep-alives; r.mu guards it, done and headed
	done   bool
	headed bool // the header is sent
	early  bool // the header was sent before an upstream began to answer

	mediaType string // media type of the stream
	comments  bool   // the format allows comments
	trailing  int    // warnings in trailers
	losses    int    // warnings about content that the format cannot carry
}

func (r *Response) newStream() *Stream {
	s := &Stream{r: r, conn: http.NewResponseController(r.W), keepAlive: r.keepAlive}
	s.encoder = r.Codec.NewStream(r.W, format.Head{Model: r.Model, NoUsage: r.HideUsage, Lost: s.warnLost, Echo: r.firstRepeated})
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

// write sends an event. The caller must hold s.r.mu.
func (s *Stream) write(ev llm.Event) error {
	s.writeHead()
	if err := s.encoder.Write(ev); err != nil {
		return s.clientError(err)
	}
	return s.clientError(s.flushAll())
}

// flushAll sends everything written so far. The caller must hold s.r.mu. The first flush also sends the header, for
// which net/http needs 3 kB of stack, more than anything else in a stream. That flush runs in a separate goroutine,
// because stacks rarely shrink and this stack is held as long as the stream.
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

// writeHead sends the header before the first chunk and resets the keep-alive timer. The caller must hold s.r.mu.
func (s *Stream) writeHead() {
	s.r.head(s.mediaType)
	if s.timer != nil {
		s.timer.Reset(s.keepAlive)
	}
}

// withoutUsage is not inlined; see OpenStream.
//
//go:noinline
func (r *Response) withoutUsage(b []byte) []byte { return r.Codec.WithoutUsage(b) }

// clientError converts a write error: the client is gone, or the answer could not be encoded.
func (s *Stream) clientError(err error) error {
	if err == nil || llm.KindOf(err) != llm.Unknown && s.r.Context().Err() == nil {
		return err
	}
	return clientio.ErrGone
}

// Warn sends a warning during an answer: in a comment, which every client ignores, or in a trailer if the format has no
// comments.
func (s *Stream) Warn(w llm.Warning) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return s.clientError(s.warn(w))
}

// warnLost warns about content that the format cannot carry. The caller must hold s.r.mu. Connection errors are ignored
// here; the bytes that follow report them.
func (s *Stream) warnLost(w llm.Warning) {
	if s.losses++; s.losses > maxWarnings {
		s.r.addWarning(w)
		return
	}
	_ = s.warn(w)
}

// warn implements Warn. The caller must hold s.r.mu.
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

// EventStream is the media type of server-sent events, which may contain comments.
const EventStream = "text/event-stream"

// writeKeepAlive sends a keep-alive. Connection errors are ignored here; the next event reports them.
func (s *Stream) writeKeepAlive() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if !s.done {
		s.early = s.early || !s.r.headerSent
		_ = s.write(llm.KeepAlive{})
	}
}

// Fail ends the stream with an error in the client's format.
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
		s.r.CloseConn = true // the only signal left is to close the connection
	}
}

// Stop stops the keep-alive timer. Nothing is written after the request ends.
func (s *Stream) Stop() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.early && !s.done {
		s.r.W.Header().Set(http.TrailerPrefix+UpstreamHeader, upstream.ShownID(s.r.Upstream))
	}
	if !s.done && s.r.headerSent {
		s.r.setCost(http.TrailerPrefix)
	}
	s.done = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
