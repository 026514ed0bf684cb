package sim

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Answers in the Responses format are kept, as the vendor does, so that the next
// request can go on from one of them by its id.

const (
	maxKept     = 1000     // answers
	maxKeptSize = 64 << 20 // bytes of the requests they belong to
)

// kept is an answer with the conversation before it.
type kept struct {
	id       string
	messages []llm.Message // with the answer
	answer   *llm.Response
	size     int
}

// recall puts the conversation that a request goes on from before it.
func (s *Server) recall(codec wire.Codec, req *llm.Request) error {
	member := codec.Properties().Previous
	if member == "" {
		return nil
	}
	id := js.Text(req.Extra[codec.Format][member])
	if id == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(id)
	if i < 0 {
		return &llm.Error{
			Op: "sim", Kind: llm.Invalid, Status: http.StatusBadRequest, Code: "previous_response_not_found",
			Err: errors.New("Previous response with id '" + id + "' not found."),
		}
	}
	req.Messages = slices.Concat(s.answers[i].messages, req.Messages)
	return nil
}

// keep remembers an answer, unless the request says otherwise, and lets the oldest
// go.
func (s *Server) keep(codec wire.Codec, req *llm.Request, r *llm.Response, size int) {
	own, member := req.Extra[codec.Format], codec.Properties().Previous
	if member == "" {
		return
	}
	if before := own[member]; before != nil {
		if r.Finish.Extra == nil {
			r.Finish.Extra = llm.Extra{}
		}
		r.Finish.Extra[codec.Format] = map[string]json.RawMessage{member: before}
	}
	if string(own["store"]) == "false" {
		return
	}
	answer := *r
	answer.Message.Parts = slices.Clone(r.Message.Parts) // sending may change them
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, kept{r.Start.ID, slices.Concat(req.Messages, []llm.Message{answer.Message}), &answer, size})
	s.size += size
	for len(s.answers) > maxKept || s.size > maxKeptSize {
		s.size -= s.answers[0].size
		s.answers = slices.Delete(s.answers, 0, 1)
	}
}

// find returns the place of an answer, and -1 if it is not there. It wants s.mu.
func (s *Server) find(id string) int {
	return slices.IndexFunc(s.answers, func(k kept) bool { return k.id == id })
}

// serveKept answers what is asked about an answer that is kept.
func (s *Server) serveKept(w http.ResponseWriter, req *http.Request) {
	codec := wire.Codec{Format: wire.Responses}
	id := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	s.mu.Lock()
	i := s.find(id)
	var answer *llm.Response
	if i >= 0 {
		answer = s.answers[i].answer
		if req.Method == http.MethodDelete {
			s.size -= s.answers[i].size
			s.answers = slices.Delete(s.answers, i, i+1)
		}
	}
	s.mu.Unlock()
	switch {
	case answer == nil:
		fail(codec, w, &llm.Error{Op: "sim", Kind: llm.NotFound, Status: http.StatusNotFound, Err: errors.New("Response with id '" + id + "' not found.")})
	case req.Method == http.MethodDelete:
		writeJSON(w, map[string]any{"id": id, "object": "response", "deleted": true})
	default:
		body, _, err := codec.EncodeResponse(answer)
		if err != nil {
			fail(codec, w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
}
