package vendorapi

import (
	"bytes"
	"net/http"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/wire"
)

// arrays are the formats whose streams are a JSON array unless the query asks for events.
var arrays = []struct{ format, key, events string }{{wire.Gemini, "alt", "sse"}}

// AsArray returns where the stream of an answer is written, and what ends it: a writer that makes an
// array of the events if the client did not ask for events, else w.
func (e Endpoint) AsArray(w http.ResponseWriter, r *http.Request) (out http.ResponseWriter, end func()) {
	for _, row := range arrays {
		if row.format == e.Codec.Format && r.URL.Query().Get(row.key) != row.events {
			a := &arrayWriter{ResponseWriter: w}
			return a, a.end
		}
	}
	return w, func() {}
}

// arrayWriter writes the data of a stream of events as the elements of an array.
type arrayWriter struct {
	http.ResponseWriter
	rest   []byte // of an event that is not whole
	begun  bool
	failed bool // what is written is an error, and no stream
}

// Unwrap returns the writer behind it, for http.ResponseController.
func (a *arrayWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader sends the status.
func (a *arrayWriter) WriteHeader(status int) {
	a.Header().Set("Content-Type", "application/json")
	a.failed = status != http.StatusOK
	a.ResponseWriter.WriteHeader(status)
}

// Write writes the events that are whole. What is no data is left out.
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

// endOfEvent returns where the first event ends and where the next begins; end is below 0 if none is whole. The lines
// of a vendor whose bytes are passed on may end in CR LF, as Google's do.
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
	if data := bytes.TrimPrefix(bytes.TrimSpace(a.rest), []byte("data:")); !a.failed && js.Valid(bytes.TrimSpace(data)) { // the last event needs no blank line, but has to be whole
		_ = a.element(a.rest) // a client that is gone needs no answer
	}
	if a.begun {
		_, _ = a.ResponseWriter.Write([]byte("]\n")) // a client that is gone needs no answer
	}
}
