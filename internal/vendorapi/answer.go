package vendorapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// WriteJSON answers with a JSON document.
func WriteJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}

// maxTold bounds what is said of an error: parts of it are what a client or an upstream wrote.
const maxTold = 4 << 10

// Brief returns a text without its middle if it is too long to be told.
func Brief(text string) string {
	if len(text) <= maxTold {
		return text
	}
	const end = maxTold / 8
	return strings.ToValidUTF8(text[:maxTold-end], "") + fmt.Sprintf(" … (%d bytes are left out) … ", len(text)-maxTold) + strings.ToValidUTF8(text[len(text)-end:], "")
}

// Fail answers with an error in the words of the client's format.
func Fail(w http.ResponseWriter, codec wire.Codec, err error) {
	var known *llm.Error
	if !errors.As(err, &known) {
		known = &llm.Error{Op: "server", Kind: llm.KindOf(err), Err: err}
	}
	if known.Err != nil {
		if text := known.Err.Error(); Brief(text) != text {
			short := *known
			short.Err = errors.New(Brief(text))
			known = &short
		}
	}
	status, body := codec.EncodeError(known)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	for name, values := range codec.ErrorHeader(known) {
		header[name] = values
	}
	if known.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int((known.RetryAfter+time.Second-1)/time.Second)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// WriteReady answers a request without messages: the model is ready, or is not kept in memory any longer.
func (e Endpoint) WriteReady(w http.ResponseWriter, req *llm.Request) error {
	answer := &llm.Response{Start: llm.Start{Created: time.Now()}, Finish: llm.Finish{Model: req.Model, Reason: llm.OtherReason}}
	if unloads(req.Extra[e.Codec.Format]["keep_alive"]) {
		answer.Finish.Raw = "unload"
	}
	body, _, err := e.Codec.EncodeResponse(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // a client that is gone needs no answer
	return nil
}

// unloads reports whether a model is kept in memory for no time: a number of seconds, or a duration.
func unloads(keep json.RawMessage) bool {
	if js.Kind(keep) == '0' {
		n, err := strconv.ParseFloat(string(keep), 64)
		return err == nil && n == 0
	}
	d, err := time.ParseDuration(js.Text(keep))
	return err == nil && d == 0
}

// NotFound is the error about something that is not there. The code is the format's own.
func NotFound(codec wire.Codec, err error) error {
	return &llm.Error{Op: "server", Kind: llm.NotFound, Status: http.StatusNotFound, Code: codec.Properties().Errors[llm.NotFound], Err: err}
}

// endpointWords are the words in which vendors refuse a path that they do not have, where
// ours would not do.
var endpointWords = []struct{ format, words, code string }{{wire.Chat, "Invalid URL (%s %s)", "unknown_url"}}

// hints say what to ask instead of a path that is not served. An entry ends in "/" if it stands for all paths that begin so.
var hints = []struct{ path, hint string }{
	{"/v1/completions", "completions are asked for at /v1/chat/completions, with messages"},
	{"/completions", "completions are asked for at /v1/chat/completions, with messages"},
	{"/v1/v1/", "the base address of the client has /v1 twice: leave it out at the end"},
	{"/v1/v1beta/", "the base address of the client must not end in /v1"},
	{"/v1/api/", "the base address of the client must not end in /v1"},
	{"/v1/model/", "the base address of the client must not end in /v1"},
}

// Hint says what to ask instead of a path, "" if nobody knows.
func Hint(path string) string {
	for _, h := range hints {
		if path == h.path || strings.HasSuffix(h.path, "/") && strings.HasPrefix(path, h.path) {
			return "; " + h.hint
		}
	}
	if len(path) > 1 && strings.HasSuffix(path, "/") {
		return "; leave out the / at the end"
	}
	return ""
}

// NoEndpoint is the error about a path that no vendor has.
func NoEndpoint(codec wire.Codec, r *http.Request) error {
	words, code := "no such endpoint: %s %s", codec.Properties().Errors[llm.NotFound]
	for _, row := range endpointWords {
		if row.format == codec.Format {
			words, code = row.words, row.code
		}
	}
	return &llm.Error{Op: "server", Kind: llm.NotFound, Status: http.StatusNotFound, Code: code, Err: fmt.Errorf(words+"%s", r.Method, r.URL.Path, Hint(r.URL.Path))}
}
