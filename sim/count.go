package sim

import (
	"encoding/base64"
	"io"
	"net/http"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// counting is how a vendor counts the tokens of a request that is not answered.
type counting struct {
	format string
	inside [][]string // where the request stands in the body, if not at its root
	object string     // what the answer says it is
	member string     // of the answer that has the number
}

var (
	countMessages  = counting{format: wire.Messages, member: "input_tokens"}
	countResponses = counting{format: wire.Responses, object: "response.input_tokens", member: "input_tokens"}
	countGemini    = counting{format: wire.Gemini, inside: [][]string{{"generateContentRequest"}}, member: "totalTokens"}
	countConverse  = counting{format: wire.Converse, inside: [][]string{{"input", "converse"}, {"input", "invokeModel", "body"}}, member: "inputTokens"}
)

// serve answers how many tokens a request has: as many as its answer says.
func (c counting) serve(s *Server, w http.ResponseWriter, r *http.Request) {
	codec := wire.Codec{Format: c.format}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(codec, w, &llm.Error{Op: "sim", Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Err: err})
		return
	}
	body, inner := c.request(codec, body)
	req, _, err := inner.DecodeRequest(body)
	if err != nil {
		fail(codec, w, err)
		return
	}
	if err := s.recall(inner, req); err != nil {
		fail(codec, w, err)
		return
	}
	answer := map[string]any{c.member: inputTokens(req)}
	if c.object != "" {
		answer["object"] = c.object
	}
	writeJSON(w, answer)
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
