package clientio

import (
	"io"
	"net/http"
	"time"
)

// How much is read of a refused request, and for how long.
const (
	maxRefusedBody = 1 << 20
	maxRefusedTime = time.Second
)

// DiscardBody reads the body of a refused request. Clients of HTTP/2 that are still sending lose the answer if their stream
// or connection ends early. If the body is too long or too slow, the connection is closed after the answer. Its read
// deadline stays: package http does not wait for the rest.
func DiscardBody(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" { // the client waits for permission to send the body
		CloseAfter(w, r)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxRefusedTime)) // servers without deadlines have their own limits
	if n, err := io.CopyN(io.Discard, r.Body, maxRefusedBody); n == maxRefusedBody || err != io.EOF {
		CloseAfter(w, r)
	}
}

// CloseAfter closes the connection after the answer. HTTP/2 connections are shared with other answers and stay open.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
}

// ReadWithin calls read, which reads the body of a request, and gives the client limit to send it. If read fails, the
// connection is closed after the answer, because nothing reads the rest. The deadline is removed afterwards: package http
// would take a later timeout for a client that disconnected, and cancel the request.
func ReadWithin(limit time.Duration, w http.ResponseWriter, r *http.Request, read func() ([]byte, error)) ([]byte, error) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(limit)) // servers without deadlines have their own limits
	body, err := read()
	if err != nil {
		CloseAfter(w, r)
		return body, err
	}
	_ = c.SetReadDeadline(time.Time{})
	return body, nil
}
