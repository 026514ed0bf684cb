package vendorapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

const (
	maxKept     = 1000     // answers
	maxKeptSize = 64 << 20 // bytes of the requests they belong to
)

// Answers are answers that are kept, as vendors do whose clients go on from an answer by
// its id. The oldest go first. The zero value is empty and ready to use, and safe for
// concurrent use.
type Answers struct {
	mu   sync.Mutex
	list []kept // oldest first
	size int
}

// kept is an answer with the conversation before it.
type kept struct {
	owner, id string
	messages  []llm.Message // with the answer
	answer    *llm.Response
	size      int
}

// find returns the place of an answer, the last one of that id, and -1 if it is not there. It wants
// a.mu.
func (a *Answers) find(owner, id string) int {
	for i := len(a.list) - 1; i >= 0; i-- {
		if a.list[i].id == id && a.list[i].owner == owner {
			return i
		}
	}
	return -1
}

// Recall puts the conversation that a request goes on from before it. The owner is whose
// answers these are: nobody goes on from another's.
func (a *Answers) Recall(owner string, codec wire.Codec, req *llm.Request) error {
	member := codec.Properties().Previous
	if member == "" {
		return nil
	}
	id := js.Text(req.Extra[codec.Format][member])
	if id == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.find(owner, id)
	if i < 0 {
		return &llm.Error{
			Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest, Code: "previous_response_not_found",
			Err: errors.New("Previous response with id '" + id + "' not found."),
		}
	}
	req.Messages = slices.Concat(a.list[i].messages, req.Messages)
	return nil
}

// Keep remembers an answer, unless the request says otherwise, and lets the oldest go.
// The size is that of the request.
func (a *Answers) Keep(owner string, codec wire.Codec, req *llm.Request, r *llm.Response, size int) {
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
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, kept{owner, r.Start.ID, slices.Concat(req.Messages, []llm.Message{answer.Message}), &answer, size})
	a.size += size
	for len(a.list) > maxKept || a.size > maxKeptSize {
		a.size -= a.list[0].size
		a.list = slices.Delete(a.list, 0, 1)
	}
}

// Serve answers what is asked about an answer that is kept: to have it, or to forget it.
func (a *Answers) Serve(owner string, e Endpoint, w http.ResponseWriter, r *http.Request) {
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	a.mu.Lock()
	i := a.find(owner, id)
	var answer *llm.Response
	if i >= 0 {
		answer = a.list[i].answer
		if e.Action == DeleteAnswer {
			a.size -= a.list[i].size
			a.list = slices.Delete(a.list, i, i+1)
		}
	}
	a.mu.Unlock()
	switch {
	case answer == nil:
		Fail(w, e.Codec, &llm.Error{Op: "server", Kind: llm.NotFound, Status: http.StatusNotFound, Err: errors.New("Response with id '" + id + "' not found.")})
	case e.Action == DeleteAnswer:
		WriteJSON(w, map[string]any{"id": id, "object": "response", "deleted": true})
	default:
		body, _, err := e.Codec.EncodeResponse(answer)
		if err != nil {
			Fail(w, e.Codec, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}
