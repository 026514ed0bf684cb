package vendorapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// WriteJSON answers with a JSON document.
func WriteJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// maxErrorText limits the text of an error, because clients and upstreams write parts of it.
const maxErrorText = 4 << 10

// Brief returns a text without its middle if it is too long.
func Brief(text string) string { return clip.Middle(text, maxErrorText, maxErrorText/8) }

// Fail answers with an error in the client's format.
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
	_, _ = w.Write(body) // the client may be gone
}

// WriteReady answers a request without messages: the model is ready, or was removed from memory.
func (e Endpoint) WriteReady(w http.ResponseWriter, req *llm.Request) error {
	answer := &llm.Response{Start: llm.Start{Created: time.Now()}, Finish: llm.Finish{Model: req.Model, Reason: llm.OtherReason}}
	if ready := e.Codec.Server().Ready; ready != nil {
		answer.Finish.Raw = ready(req.Extra[e.Codec.Format])
	}
	body, _, err := e.Codec.EncodeResponse(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may be gone
	return nil
}

// NotFound is the error about an unknown object, with the format's code.
func NotFound(codec wire.Codec, err error) error {
	return &llm.Error{Op: "server", Kind: llm.NotFound, Status: http.StatusNotFound, Code: codec.Properties().Errors[llm.NotFound], Err: err}
}

// hints are the paths to use instead of unknown ones. An entry that ends in "/" applies to all paths below it.
var hints = []struct{ path, hint string }{
	{"/v1/completions", "completions are asked for at /v1/chat/completions, with messages"},
	{"/completions", "completions are asked for at /v1/chat/completions, with messages"},
	{"/v1/v1/", "the base address of the client has /v1 twice: leave it out at the end"},
	{"/v1/v1beta/", "the base address of the client must not end in /v1"},
	{"/v1/api/", "the base address of the client must not end in /v1"},
	{"/v1/model/", "the base address of the client must not end in /v1"},
}

// Hint returns how to correct an unknown path, and "" if there is no hint.
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

// NoEndpoint is the error about an unknown path.
func NoEndpoint(codec wire.Codec, r *http.Request) error {
	unknown := codec.Server().UnknownPath
	words, code := cmp.Or(unknown.Words, "no such endpoint: %s %s"), cmp.Or(unknown.Code, codec.Properties().Errors[llm.NotFound])
	return &llm.Error{Op: "server", Kind: llm.NotFound, Status: http.StatusNotFound, Code: code, Err: fmt.Errorf(words+"%s", r.Method, r.URL.Path, Hint(r.URL.Path))}
}
