// Package clientio reads requests from clients and writes answers to them. Both have time limits: a slow or silent
// client cannot hold a connection forever.
package clientio

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Writer writes the answer to one request. It records the status and a copy of the answer, and limits how long the
// client may take to read.
type Writer struct {
	http.ResponseWriter
	Status int       // 0 until the header is sent
	SentAt time.Time // when the header was sent
	Copy   *Capture  // a copy of the body for later requests; nil if none is wanted
	Log    *Capture  // a copy of the body for the log; nil if none is wanted

	limit    time.Duration // to read one piece; negative if this writer sets no deadline
	deadline time.Time
}

// Reset prepares w to write to a client that may take limit to read each piece. A negative limit means no limit.
func (w *Writer) Reset(to http.ResponseWriter, r *http.Request, limit time.Duration) {
	w.ResponseWriter, w.limit = to, limit
	if r.ProtoMajor > 1 && limit > 0 {
		w.ResponseWriter, w.limit = &http2Writer{ResponseWriter: to, limit: limit}, -1
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *Writer) WriteHeader(status int) {
	if w.Status == 0 && status >= 200 {
		w.Status, w.SentAt = status, time.Now()
	}
	w.ResponseWriter.WriteHeader(status)
}

// maxPiece is the most bytes that are written under one deadline. A client that reads a long answer slowly gets the full
// limit for each piece.
const maxPiece = 256 << 10

// Write implements [io.Writer].
func (w *Writer) Write(b []byte) (written int, err error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.Copy.add(b)
	w.Log.add(b)
	for {
		w.extendDeadline()
		n, err := w.ResponseWriter.Write(b[:min(len(b), maxPiece)])
		if written += n; err != nil || n == len(b) {
			return written, err
		}
		b = b[n:]
	}
}

// extendDeadline moves the deadline when an eighth of the limit has passed. Setting it for each piece would be slow.
func (w *Writer) extendDeadline() {
	now := time.Now()
	if w.limit < 0 || w.deadline.Sub(now) > w.limit-w.limit/8 {
		return
	}
	w.deadline = now.Add(w.limit)
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(w.deadline) // servers without deadlines have their own limits
}

// Finish gives the client the full limit to read what package http still buffers. Package http removes the last deadline
// before the connection serves another request.
func (w *Writer) Finish() {
	if s, is := w.ResponseWriter.(*http2Writer); is {
		LimitReading(s.ResponseWriter, s.limit)
	} else if !w.deadline.IsZero() {
		w.extendDeadline()
	}
}

// Unwrap is for [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// LimitReading sets how long a client may take to read the rest of an answer.
func LimitReading(w http.ResponseWriter, limit time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // servers without deadlines have their own limits
}

// http2Writer writes an answer over HTTP/2. It ends the stream if the client does not take a piece within the limit. A
// plain deadline over HTTP/2 also ends streams that are only silent, so the deadline is set once the time of a piece is
// over, and when the answer is complete.
type http2Writer struct {
	http.ResponseWriter
	limit time.Duration

	mu    sync.Mutex
	until time.Time // when the current piece must have been taken; zero between pieces
	clock *time.Timer
}

func (s *http2Writer) Write(b []byte) (int, error) {
	s.startClock()
	defer s.stopClock()
	return s.ResponseWriter.Write(b)
}

// FlushError is for [http.ResponseController].
func (s *http2Writer) FlushError() error {
	s.startClock()
	defer s.stopClock()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// Unwrap is for [http.ResponseController].
func (s *http2Writer) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *http2Writer) startClock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Now().Add(s.limit)
	if s.clock == nil {
		s.clock = time.AfterFunc(s.limit, s.endStream)
	} else {
		s.clock.Reset(s.limit)
	}
}

// stopClock stops the clock. It waits for endStream, which must not use the writer after the request.
func (s *http2Writer) stopClock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
	s.clock.Stop()
}

// endStream ends the stream, unless the piece was taken in the meantime.
func (s *http2Writer) endStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.IsZero() && !time.Now().Before(s.until) {
		_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(s.until) // a deadline in the past ends the stream at once
	}
}

// Capture is a copy of the written bytes, up to a limit. The zero value counts the bytes but keeps none of them.
type Capture struct {
	Limit int64 // a longer text is not kept at all
	Size  int64 // bytes that were written

	text bytes.Buffer
}

// Bytes returns the written bytes, or false if there were more than the limit. It returns false for a nil capture.
func (c *Capture) Bytes() ([]byte, bool) {
	if c == nil || c.Size > c.Limit {
		return nil, false
	}
	return c.text.Bytes(), true
}

func (c *Capture) add(b []byte) {
	if c == nil {
		return
	}
	if c.Size += int64(len(b)); c.Size <= c.Limit {
		c.text.Write(b)
	} else {
		c.text = bytes.Buffer{}
	}
}

// ErrGone is the error of an answer whose client has disconnected.
var ErrGone = errors.New("the client is gone")
