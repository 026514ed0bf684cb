package vendorapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Body reads the body of a request, up to a number of bytes.
func Body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusUnsupportedMediaType, Err: fmt.Errorf("the body is encoded (Content-Encoding: %.40s); send it as it is", coding)}
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, most), min(r.ContentLength, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &llm.Error{Op: "request", Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Err: &LargeBodyError{most}}
	case errors.Is(err, os.ErrDeadlineExceeded): // whose text names the addresses of both ends
		return nil, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusRequestTimeout, Err: errors.New("the body did not come in time")}
	case err != nil:
		return nil, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: fmt.Errorf("the body could not be read: %w", err)}
	}
	return body, nil
}

// LargeBodyError is the cause of a refused body.
type LargeBodyError struct{ Most int64 }

func (e *LargeBodyError) Error() string {
	return fmt.Sprintf("the body has more than %d bytes", e.Most)
}

// mostAhead limits the buffer that is allocated from Content-Length alone.
const mostAhead = 1 << 20

// readAll reads a body into a buffer of the announced length.
func readAll(src io.Reader, announced int64) ([]byte, error) {
	room := min(max(announced, 0), mostAhead) + bytes.MinRead // ReadFrom needs it to find the end
	b := bytes.NewBuffer(make([]byte, 0, room))
	_, err := b.ReadFrom(src)
	return b.Bytes(), err
}

// Request decodes a request for an answer and reports whether it asks for a stream. Both the model and the stream come
// from the path if the format has them there.
func (e *Endpoint) Request(path string, body []byte) (req *llm.Request, stream bool, err error) {
	if req, stream, err = e.Codec.DecodeRequest(body); err != nil {
		return nil, false, err
	}
	if stream, err = e.byPath(path, req, stream); err != nil {
		return nil, false, err
	}
	return req, stream, nil
}

// byPath adds the values in the path to a request, and reports whether the request asks for a stream.
func (e *Endpoint) byPath(path string, req *llm.Request, stream bool) (bool, error) {
	has := e.path
	if has == nil || has.format != e.Codec.Format {
		has = describePath(e.Codec)
	}
	if has.model {
		model, streams, ok := e.Codec.SplitPath(path)
		if !ok {
			return false, &llm.Error{Op: "request", Kind: llm.NotFound, Status: http.StatusNotFound, Err: fmt.Errorf("the path %s names no model", path)}
		}
		req.Model = model
		if has.stream {
			stream = streams
		}
	}
	if name := has.deployment(path); name != "" {
		req.Model = name
	}
	if len(req.Messages) == 0 && !has.emptyLoads {
		return false, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusBadRequest,
			Err: errors.New("the conversation has no messages, or none but results of calls that are not in it")}
	}
	return stream, nil
}

// deployment returns the model that the path names although the format has it in the body.
func (p *requestPath) deployment(path string) string {
	rest, ok := strings.CutPrefix(path, p.deployments)
	if p.deployments == "" || !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// CountRequest reads the request whose tokens a client counts. The model comes from the path if the format has it there.
func (e Endpoint) CountRequest(path string, body []byte) (*llm.Request, error) {
	server, codec := e.Codec.Server(), e.Codec
	if server.Count != nil {
		counted := server.Count(body)
		if body = counted.Body; counted.Format != "" {
			codec = wire.Codec{Format: counted.Format, Quirks: counted.Quirks}
		}
	}
	req, _, err := codec.DecodeRequest(body)
	if err == nil && e.Codec.Properties().ModelInPath() {
		req.Model = countedModel(server.Routes, path)
	}
	return req, err
}

// countedModel returns the part of a path that * stands for in a route for [format.CountTokens].
func countedModel(routes []serverapi.ServerPath, path string) string {
	for _, r := range routes {
		before, after, found := strings.Cut(r.Path, "*")
		rest, begins := strings.CutPrefix(path, before)
		if model, ends := strings.CutSuffix(rest, after); found && begins && ends && r.Action == serverapi.CountTokens {
			return model
		}
	}
	return ""
}

// WriteCount writes the number of tokens of a request.
func (e Endpoint) WriteCount(w http.ResponseWriter, tokens int) {
	answer := map[string]any{e.Codec.Properties().Count.Member: tokens}
	if object := e.Codec.Server().CountObject; object != "" {
		answer["object"] = object
	}
	WriteJSON(w, answer)
}
