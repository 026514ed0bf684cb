package vendorapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Answers are answers that are kept, as vendors do whose clients go on from an answer by
// its id. The zero value keeps them in memory, and is safe for concurrent use.
type Answers struct {
	// Store is where they are kept; nil means in memory.
	Store state.Store
	// Life is how long they are; 0 means 30 days, as with OpenAI.
	Life time.Duration
	// Deleting is told of an answer before it is deleted, which an error prevents. It may be nil.
	Deleting func(ctx context.Context, owner, id string) error

	memory state.Memory
}

// AnswerLife is how long answers are kept if nobody says otherwise.
const AnswerLife = 30 * 24 * time.Hour

// kept is an answer with the conversation before it.
type kept struct {
	Messages []llm.Message   `json:"messages"` // with the answer
	Answer   json.RawMessage `json:"answer"`   // as the vendor would show it
	By       string          `json:"by,omitempty"`
}

func (a *Answers) store() state.Store {
	if a.Store == nil {
		return &a.memory
	}
	return a.Store
}

func answerKey(owner, id string) state.Place {
	return state.Place{Kind: state.Answer, Owner: owner, Hash: state.HashOf([]byte(id))}
}

// find returns an answer, nil if it is not there.
func (a *Answers) find(ctx context.Context, owner, id string) (*kept, error) {
	key := answerKey(owner, id)
	found, err := a.store().Get(ctx, key.Kind, key.Owner, key.Hash)
	if err != nil || len(found[key.Hash]) == 0 {
		return nil, unavailable(err)
	}
	k := new(kept)
	return k, unavailable(json.Unmarshal(found[key.Hash][0], k))
}

// unavailable is the error of a store that does not work. What it says itself is not for clients.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return &llm.Error{Op: "server", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
		Err: errors.New("what is kept of earlier answers cannot be reached now; ask again later")}
}

// Recall puts the conversation that a request goes on from before it. The owner is whose
// answers these are: nobody goes on from another's.
func (a *Answers) Recall(ctx context.Context, owner string, codec wire.Codec, req *llm.Request) error {
	member := codec.Properties().Previous
	if member == "" {
		return nil
	}
	named := req.Extra[codec.Format][member]
	if kind := js.Kind(named); len(named) > 0 && kind != '"' && kind != 'n' {
		return &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: errors.New(member + " must be a string")}
	}
	id := js.Text(named)
	if id == "" {
		return nil
	}
	k, err := a.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if k == nil {
		return &llm.Error{
			Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest, Code: "previous_response_not_found",
			Err: errors.New("Previous response with id '" + id + "' not found."),
		}
	}
	req.Messages = slices.Concat(codec.Answering(req).Flat(k.Messages), req.Messages)
	return nil
}

// ErrIDTaken says that an answer is not kept because an earlier one, which somebody else asked for, has its id.
var ErrIDTaken = errors.New("an earlier answer has this id")

// Keep remembers an answer, unless the request says otherwise. An error says that it is not kept. Who of the owner's asked for
// it is by; an upstream that gives an id twice takes no answer away from another, but who asks again goes on from the last.
func (a *Answers) Keep(ctx context.Context, owner, by string, codec wire.Codec, req *llm.Request, r *llm.Response) error {
	own, member := req.Extra[codec.Format], codec.Properties().Previous
	if member == "" {
		return nil
	}
	if before := own[member]; before != nil {
		said := maps.Clone(r.Finish.Extra[codec.Format])
		if said == nil {
			said = make(map[string]json.RawMessage, 1)
		}
		said[member] = before
		if r.Finish.Extra = maps.Clone(r.Finish.Extra); r.Finish.Extra == nil {
			r.Finish.Extra = llm.Extra{}
		}
		r.Finish.Extra[codec.Format] = said
	}
	if string(own["store"]) == "false" {
		return nil
	}
	answer := *r
	answer.Message.Parts = slices.Clone(r.Message.Parts) // encoding may change them
	body, _, err := codec.EncodeResponse(&answer)
	if err != nil {
		return err
	}
	value, err := json.Marshal(kept{codec.Spaced(whole(slices.Concat(req.Messages, []llm.Message{r.Message}))), body, by})
	if err != nil {
		return err
	}
	life := a.Life
	if life <= 0 {
		life = AnswerLife
	}
	until := time.Now().Add(life)
	items, err := a.itemsOf(ctx, owner, by, body, until)
	if err != nil {
		return err
	}
	return a.put(ctx, state.Kept{Place: answerKey(owner, r.Start.ID), Value: value, Until: until}, by, items)
}

// put keeps an answer and its items.
func (a *Answers) put(ctx context.Context, answer state.Kept, by string, items []state.Kept) error {
	if by == "" {
		return a.store().Put(ctx, append([]state.Kept{answer}, items...)...)
	}
	there, err := a.store().Claim(ctx, answer, nil)
	if err == nil && !bytes.Equal(there, answer.Value) && js.Is(js.Get(there, "by"), by) {
		there, err = a.store().Claim(ctx, answer, there)
	}
	switch {
	case err != nil:
		return err
	case !bytes.Equal(there, answer.Value):
		return ErrIDTaken
	case len(items) == 0:
		return nil
	}
	if err = a.store().Put(ctx, items...); err != nil { // without its items it is not kept
		_, _ = a.store().Delete(ctx, answer.Place, answer.Value)
	}
	return err
}

// whole returns messages without calls whose arguments were cut off: nobody has run them.
func whole(messages []llm.Message) []llm.Message {
	cut := func(p llm.Part) bool {
		c, ok := p.(llm.Call)
		return ok && len(c.Args) > 0 && !js.Valid(c.Args)
	}
	for i, m := range messages {
		if slices.ContainsFunc(m.Parts, cut) {
			messages[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), cut)
		}
	}
	return messages
}

// forgetItems drops the items of an answer, and none that somebody else's has the id of.
func (a *Answers) forgetItems(ctx context.Context, owner, by string, answer []byte) error {
	var errs []error
	for _, id := range itemIDs(answer) {
		shared := itemKey(owner, id)
		found, err := a.store().Get(ctx, shared.Kind, shared.Owner, shared.Hash)
		errs = append(errs, err)
		if values := found[shared.Hash]; len(values) > 0 {
			if _, whose := readItem(values[0]); whose == by || whose == "" {
				_, err = a.store().Delete(ctx, shared, values[0])
				errs = append(errs, err)
			}
		}
		if by != "" {
			_, err = a.store().Delete(ctx, ownItemKey(owner, by, id), nil)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// NoAnswer is the error of an answer that is not kept, or was deleted.
func NoAnswer(id string) error {
	return &llm.Error{Op: "server", Kind: llm.NotFound, Status: http.StatusNotFound, Code: "response_not_found", Err: errors.New("Response with id '" + id + "' not found.")}
}

// delete forgets an answer, and reports whether it was there.
func (a *Answers) delete(ctx context.Context, owner, id string, k *kept) (bool, error) {
	if a.Deleting != nil {
		if err := a.Deleting(ctx, owner, id); err != nil {
			return false, err
		}
	}
	was, err := a.store().Delete(ctx, answerKey(owner, id), nil)
	if err != nil || !was {
		return was, err
	}
	return true, a.forgetItems(ctx, owner, k.By, k.Answer)
}

// answerPath is where answers that are kept are asked for.
const answerPath = "/v1/responses/"

// Serve answers what is asked about an answer that is kept: to have it or the items of its input, or to forget it.
func (a *Answers) Serve(owner string, e Endpoint, w http.ResponseWriter, r *http.Request) {
	id, part, below := strings.Cut(strings.TrimPrefix(r.URL.Path, answerPath), "/")
	k, err := a.find(r.Context(), owner, id)
	if err == nil && k != nil && below {
		if err = k.under(e, w, r, id, part); err == nil {
			return
		}
	}
	if err == nil && k != nil && e.Action == GetAnswer && r.URL.Query().Get("stream") == "true" {
		err = errReplay
	}
	if err == nil && k != nil && e.Action == DeleteAnswer {
		var was bool
		if was, err = a.delete(r.Context(), owner, id, k); err == nil && !was {
			k = nil // somebody else has deleted it
		}
		err = unavailable(err)
	}
	switch {
	case err != nil:
		Fail(w, e.Codec, err)
	case k == nil:
		Fail(w, e.Codec, NoAnswer(id))
	case e.Action == DeleteAnswer:
		WriteJSON(w, map[string]any{"id": id, "object": "response", "deleted": true})
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(k.Answer) // a client that is gone needs no answer
	}
}
