package vendorapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// Answers stores answers, for formats whose clients continue from an answer by its id. The zero value stores them in
// memory. It is safe for concurrent use.
type Answers struct {
	// Store holds the answers; nil means memory.
	Store state.Store
	// Life is how long an answer is stored; 0 means 30 days, as with OpenAI.
	Life time.Duration
	// Deleting is called before an answer is deleted. If it returns an error, the answer stays. It may be nil.
	Deleting func(ctx context.Context, owner, id string) error

	memory state.Memory
}

// AnswerLife is the default of [Answers.Life].
const AnswerLife = 30 * 24 * time.Hour

// kept is a stored answer with the conversation before it.
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

// find returns an answer, and nil if it is unknown.
func (a *Answers) find(ctx context.Context, owner, id string) (*kept, error) {
	key := answerKey(owner, id)
	found, err := a.store().Get(ctx, key.Kind, key.Owner, key.Hash)
	if err != nil || len(found[key.Hash]) == 0 {
		return nil, unavailable(err)
	}
	k := new(kept)
	return k, unavailable(json.Unmarshal(found[key.Hash][0], k))
}

// unavailable is the error of a store that fails. Clients do not see the text of the store.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return &llm.Error{Op: "server", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
		Err: errors.New("what is kept of earlier answers cannot be reached now; ask again later")}
}

// Recall adds the conversation of the stored answer from which a request continues. A request can continue only from
// answers of the same owner.
func (a *Answers) Recall(ctx context.Context, owner string, codec wire.Codec, req *llm.Request) error {
	member := codec.Properties().Previous
	if member == "" || codec.Server().Stored == nil {
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
		return unknownAnswer(codec.Server().Stored.PreviousNotFound, http.StatusBadRequest, id)
	}
	req.Messages = slices.Concat(codec.Answering(req).WithoutNamespaces(k.Messages), req.Messages)
	return nil
}

// ErrIDTaken reports that an answer was not stored because an answer of another caller has its id.
var ErrIDTaken = errors.New("an earlier answer has this id")

// Keep stores an answer unless the request has store: false. It returns an error if the answer was not stored. by is the
// caller within the owner. If an upstream uses an id twice, the answer of another caller stays; for the same caller the
// last answer counts.
func (a *Answers) Keep(ctx context.Context, owner, by string, codec wire.Codec, req *llm.Request, r *llm.Response) error {
	own, member := req.Extra[codec.Format], codec.Properties().Previous
	if member == "" || codec.Server().Stored == nil {
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
	value, err := json.Marshal(kept{codec.WithNamespaces(whole(slices.Concat(req.Messages, []llm.Message{r.Message}))), body, by})
	if err != nil {
		return err
	}
	life := a.Life
	if life <= 0 {
		life = AnswerLife
	}
	until := time.Now().Add(life)
	items, err := a.itemsOf(ctx, owner, by, codec, body, until)
	if err != nil {
		return err
	}
	return a.put(ctx, state.Kept{Place: answerKey(owner, r.Start.ID), Value: value, Until: until}, by, items)
}

// put stores an answer and its items.
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
	if err = a.store().Put(ctx, items...); err != nil { // an answer without its items is not stored
		_, _ = a.store().Delete(ctx, answer.Place, answer.Value)
	}
	return err
}

// whole returns messages without calls whose arguments were truncated. Such calls were never run.
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

// forgetItems deletes the items of an answer, but not an item of another caller with the same id.
func (a *Answers) forgetItems(ctx context.Context, owner, by string, codec wire.Codec, answer []byte) error {
	var errs []error
	for _, id := range itemIDs(codec, answer) {
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

// NoAnswer is the error of an answer that is not stored, or was deleted.
func NoAnswer(codec wire.Codec, id string) error {
	return unknownAnswer(codec.Server().Stored.NotFound, http.StatusNotFound, id)
}

func unknownAnswer(form format.ErrorForm, status int, id string) error {
	return &llm.Error{Op: "server", Kind: form.Kind, Status: status, Code: form.Code, Err: fmt.Errorf(form.Words, id)}
}

// delete deletes an answer and reports whether it was stored.
func (a *Answers) delete(ctx context.Context, owner string, codec wire.Codec, id string, k *kept) (bool, error) {
	if a.Deleting != nil {
		if err := a.Deleting(ctx, owner, id); err != nil {
			return false, err
		}
	}
	was, err := a.store().Delete(ctx, answerKey(owner, id), nil)
	if err != nil || !was {
		return was, err
	}
	return true, a.forgetItems(ctx, owner, k.By, codec, k.Answer)
}

// Serve answers requests about a stored answer: to get it or its input items, or to delete it.
func (a *Answers) Serve(owner string, e Endpoint, w http.ResponseWriter, r *http.Request) {
	stored := e.Codec.Server().Stored
	id, part, below := strings.Cut(strings.TrimPrefix(r.URL.Path, stored.Path), "/")
	k, err := a.find(r.Context(), owner, id)
	if err == nil && k != nil && below {
		if err = k.under(e, w, r, id, part); err == nil {
			return
		}
	}
	if err == nil && k != nil && e.Action == serverapi.GetAnswer && r.URL.Query().Get("stream") == "true" {
		err = errReplay
	}
	if err == nil && k != nil && e.Action == serverapi.DeleteAnswer {
		var was bool
		if was, err = a.delete(r.Context(), owner, e.Codec, id, k); err == nil && !was {
			k = nil // deleted meanwhile
		}
		err = unavailable(err)
	}
	switch {
	case err != nil:
		Fail(w, e.Codec, err)
	case k == nil:
		Fail(w, e.Codec, NoAnswer(e.Codec, id))
	case e.Action == serverapi.DeleteAnswer:
		WriteJSON(w, stored.Deleted(id))
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(k.Answer) // the client may be gone
	}
}
