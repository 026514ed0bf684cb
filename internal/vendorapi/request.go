package vendorapi

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Body reads the body of a request, of at most so many bytes.
func Body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusUnsupportedMediaType, Err: fmt.Errorf("the body is encoded (Content-Encoding: %.40s); send it as it is", coding)}
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, most), min(r.ContentLength, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &llm.Error{Op: "request", Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Err: fmt.Errorf("the body has more than %d bytes", most)}
	case errors.Is(err, os.ErrDeadlineExceeded): // whose text names the addresses of both ends
		return nil, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusRequestTimeout, Err: errors.New("the body did not come in time")}
	case err != nil:
		return nil, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: fmt.Errorf("the body could not be read: %w", err)}
	}
	return body, nil
}

// mostAhead is the room that is made for a body whose length is only announced.
const mostAhead = 1 << 20

// readAll reads a body, for which there is room at once if it is as long as announced.
func readAll(src io.Reader, announced int64) ([]byte, error) {
	room := min(max(announced, 0), mostAhead) + bytes.MinRead // which reading wants to see the end
	b := bytes.NewBuffer(make([]byte, 0, room))
	_, err := b.ReadFrom(src)
	return b.Bytes(), err
}

// Request reads what a client asks a model, and whether for a stream. The model and the
// stream are taken from the path where the format has them there.
func (e *Endpoint) Request(path string, body []byte) (req *llm.Request, stream bool, err error) {
	if req, stream, err = e.Codec.DecodeRequest(body); err != nil {
		return nil, false, err
	}
	if stream, err = e.byPath(path, req, stream); err != nil {
		return nil, false, err
	}
	return req, stream, nil
}

// byPath has a request say what stands in its path, and reports whether it asks for a stream.
func (e *Endpoint) byPath(path string, req *llm.Request, stream bool) (bool, error) {
	format := e.Codec.Properties()
	if format.ModelInPath() {
		model, streams, ok := e.Codec.SplitPath(path)
		if !ok {
			return false, &llm.Error{Op: "request", Kind: llm.NotFound, Status: http.StatusNotFound, Err: fmt.Errorf("the path %s names no model", path)}
		}
		req.Model = model
		if format.StreamInPath() {
			stream = streams
		}
	}
	if name := deployment(path); name != "" {
		req.Model = name
	}
	if len(req.Messages) == 0 && !format.EmptyLoads {
		return false, &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusBadRequest,
			Err: errors.New("the conversation has no messages, or none but results of calls that are not in it")}
	}
	return stream, nil
}

// deployment returns the model that a path of Azure's names.
func deployment(path string) string {
	rest, ok := strings.CutPrefix(path, deployments)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// deployments are where Azure has models of its customers.
const deployments = "/openai/deployments/"

// counting is how a vendor counts the tokens of a request that is not answered.
type counting struct {
	format string
	inside [][]string // where the request stands in the body, if not at its root
	object string     // what the answer says it is
	member string     // of the answer that has the number
}

// countings are the formats that count tokens.
var countings = []counting{
	{format: wire.Messages, member: "input_tokens"},
	{format: wire.Responses, object: "response.input_tokens", member: "input_tokens"},
	{format: wire.Gemini, inside: [][]string{{"generateContentRequest"}}, member: "totalTokens"},
	{format: wire.Converse, inside: [][]string{{"input", "converse"}, {"input", "invokeModel", "body"}}, member: "inputTokens"},
}

func (e Endpoint) counting() counting {
	for _, c := range countings {
		if c.format == e.Codec.Format {
			return c
		}
	}
	return countings[0]
}

// CountRequest reads the request whose tokens a client wants to know. The model is taken from the
// path where the format has it there.
func (e Endpoint) CountRequest(path string, body []byte) (*llm.Request, error) {
	body, codec := e.counting().request(e.Codec, body)
	req, _, err := codec.DecodeRequest(body)
	if err == nil && e.Codec.Properties().ModelInPath() {
		req.Model = modelIn(path)
	}
	return req, err
}

// modelIn returns the model that the path of a question for tokens names.
func modelIn(path string) string {
	for _, before := range []string{"/models/", "/model/"} {
		_, rest, found := strings.Cut(path, before)
		if !found {
			continue
		}
		for _, after := range []string{":countTokens", "/count-tokens"} {
			if model, ok := strings.CutSuffix(rest, after); ok {
				return model
			}
		}
	}
	return ""
}

// WriteCount says how many tokens a request has.
func (e Endpoint) WriteCount(w http.ResponseWriter, tokens int) {
	c := e.counting()
	answer := map[string]any{c.member: tokens}
	if c.object != "" {
		answer["object"] = c.object
	}
	WriteJSON(w, answer)
}

// request finds the request in the body of a question for its tokens.
func (c counting) request(codec wire.Codec, body []byte) ([]byte, wire.Codec) {
	for _, path := range c.inside {
		v := body
		for _, key := range path {
			v = js.Get(v, key)
		}
		switch {
		case js.Kind(v) == '{':
			return v, codec
		case js.Kind(v) == '"': // the body of another format, in base64
			if raw, err := base64.StdEncoding.DecodeString(js.Text(v)); err == nil {
				return raw, wire.Codec{Format: wire.Messages, Quirks: wire.OnBedrock()}
			}
		}
	}
	return body, codec
}
