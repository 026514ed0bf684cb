package vendorapi

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// AsArray returns the writer for the stream of an answer, and a function that ends it. The writer converts
// server-sent events to a JSON array if the format has one and the query of the request does not ask for events.
func (e Endpoint) AsArray(w http.ResponseWriter, r *http.Request) (out http.ResponseWriter, end func()) {
	key, events, _ := strings.Cut(e.Codec.Server().EventsQuery, "=")
	if key != "" && r.URL.Query().Get(key) != events {
		a := &arrayWriter{ResponseWriter: w}
		return a, a.end
	}
	return w, func() {}
}

// arrayWriter writes the data of server-sent events as the elements of an array.
type arrayWriter struct {
	http.ResponseWriter
	rest   []byte // an incomplete event
	begun  bool
	failed bool // the response is an error, not a stream
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (a *arrayWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader sends the status.
func (a *arrayWriter) WriteHeader(status int) {
	a.Header().Set("Content-Type", "application/json")
	a.failed = status != http.StatusOK
	a.ResponseWriter.WriteHeader(status)
}

// Write writes the complete events. Lines other than data are dropped.
func (a *arrayWriter) Write(b []byte) (int, error) {
	if a.failed {
		return a.ResponseWriter.Write(b)
	}
	a.rest = append(a.rest, b...)
	for {
		end, next := endOfEvent(a.rest)
		if end < 0 {
			return len(b), nil
		}
		event := a.rest[:end]
		a.rest = a.rest[next:]
		if err := a.element(event); err != nil {
			return 0, err
		}
	}
}

// endOfEvent returns where the first event ends and where the next begins; end is -1 if no event is complete. Lines may
// end in CR LF, as Google's do.
func endOfEvent(b []byte) (end, next int) {
	for i, c := range b {
		switch {
		case c != '\n':
		case bytes.HasPrefix(b[i+1:], []byte("\n")):
			return i, i + 2
		case bytes.HasPrefix(b[i+1:], []byte("\r\n")):
			return i, i + 3
		}
	}
	return -1, 0
}

// element writes the data of an event.
func (a *arrayWriter) element(event []byte) error {
	var data []byte
	for line := range bytes.Lines(event) {
		if value, is := bytes.CutPrefix(line, []byte("data:")); is {
			data = append(data, value...)
		}
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	before := ",\n"
	if !a.begun {
		a.begun, before = true, "["
	}
	_, err := a.ResponseWriter.Write(append([]byte(before), data...))
	return err
}

// end ends the array.
func (a *arrayWriter) end() {
	if data := bytes.TrimPrefix(bytes.TrimSpace(a.rest), []byte("data:")); !a.failed && js.Valid(bytes.TrimSpace(data)) { // the last event needs no blank line, but must be complete
		_ = a.element(a.rest) // the client may be gone
	}
	if a.begun {
		_, _ = a.ResponseWriter.Write([]byte("]\n")) // the client may be gone
	}
}
