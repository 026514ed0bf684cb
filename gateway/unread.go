package gateway

import (
	"net/http"
	"sync"
	"time"
)

// boundedStream is the writer of an answer over HTTP/2. It ends the stream if its client does not take a piece of the answer within the
// limit. A deadline alone would not do: over HTTP/2 it ends streams that are only silent, too. So one is set when the
// time of a piece is over, and when nothing more is written.
type boundedStream struct {
	http.ResponseWriter
	limit time.Duration

	mu    sync.Mutex
	until time.Time // when the client must have taken the piece that is being written; zero if none is
	clock *time.Timer
}

func (s *boundedStream) Write(b []byte) (int, error) {
	s.begin()
	defer s.done()
	return s.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController.
func (s *boundedStream) FlushError() error {
	s.begin()
	defer s.done()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (s *boundedStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// begin sets the clock for a piece.
func (s *boundedStream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Now().Add(s.limit)
	if s.clock == nil {
		s.clock = time.AfterFunc(s.limit, s.end)
	} else {
		s.clock.Reset(s.limit)
	}
}

// done stops the clock. It waits for end, which must not use the writer once the request is over.
func (s *boundedStream) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
	s.clock.Stop()
}

// end ends the stream, unless the piece was taken in the meantime.
func (s *boundedStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.IsZero() && !time.Now().Before(s.until) {
		_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(s.until) // it is over: the stream ends at once
	}
}

// rest gives the client its time to take what package http still holds when the answer is written.
func (s *boundedStream) rest() { readWithin(s.ResponseWriter, s.limit) }

// readWithin bounds how long a client may take to read an answer.
func readWithin(w http.ResponseWriter, limit time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // a server without deadlines has its own bounds
}
