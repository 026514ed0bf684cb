package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/internal/state"
)

// Who deletes an answer by its id deletes what is kept of it for requests that come again, too. The client has the id before the answer ends,
// so both may happen at once, also in two gateways. Neither waits for the other: each writes first and looks afterwards, so that at
// least one of them sees what the other wrote.
//
//	the end of an answer: writes the link from its id to the request, writes the answer, looks whether the link is marked
//	who deletes it:       marks the link, or writes a mark where there is none yet, looks whether the answer is there

// deletedMark is the link of a deleted answer, followed by the request if that was known.
var deletedMark = []byte("deleted:")

// markLife is how long it is known that an answer was deleted that no request was linked to. It is longer than the end of an answer takes.
const markLife = 10 * time.Minute

// saysDeleted reports whether a link says that the answer to a request was deleted.
func saysDeleted(link []byte, request state.Hash) bool {
	of, marked := bytes.CutPrefix(link, deletedMark)
	return marked && len(link) != len(request) && (len(of) == 0 || bytes.Equal(of, request[:]))
}

// emptied returns the stored state of a deleted answer: only that the request has run.
func (k *Earlier) emptied(id string) ([]byte, error) {
	return json.Marshal(Earlier{Run: k.Run, Words: k.Words, Form: k.Form, Header: http.Header{}, Upstream: k.Upstream, Deleted: id})
}

// keepLinked keeps an answer that can be deleted by its id, and reports whether it, or that it was deleted, is kept.
func (p *Idempotency) keepLinked(e state.Kept, answer *Earlier) bool {
	gone, err := answer.emptied(p.AnswerID)
	if err != nil {
		return false
	}
	place := requestOf(p.Owner, p.AnswerID)
	link := state.Kept{Place: place, Value: p.Key.Hash[:], Until: e.Until}
	held, err := p.Store.Claim(p.Detached(), link, nil)
	switch {
	case err != nil:
		return false
	case saysDeleted(held, p.Key.Hash):
		e.Value = gone
	case !bytes.Equal(held, link.Value): // an upstream gave an id twice, and the later answer counts
		if p.Store.Put(p.Detached(), link) != nil {
			return false
		}
	}
	if kept, err := p.Store.Claim(p.Detached(), e, p.claimed); err != nil || !bytes.Equal(kept, e.Value) {
		return true // somebody else has the name now
	}
	found, err := p.Store.Get(p.Detached(), place.Kind, place.Owner, place.Hash)
	if list := found[place.Hash]; err == nil && len(list) > 0 && saysDeleted(list[0], p.Key.Hash) {
		e.Value = gone
		_ = p.Store.Put(p.Detached(), e) // which says itself what went wrong
	}
	return true
}

// ForgetReplay deletes the stored answer of a request. The request still counts as run.
func (r *Store) ForgetReplay(ctx context.Context, owner, id string) error {
	key := requestOf(owner, id)
	request, err := r.markDeleted(ctx, key)
	if err != nil || len(request) != len(key.Hash) {
		return err
	}
	copy(key.Hash[:], request)
	found, err := r.Get(ctx, key.Kind, owner, key.Hash)
	if err != nil || len(found[key.Hash]) == 0 {
		return err
	}
	was, err := readEarlier(found[key.Hash][0])
	if err != nil || was.Header == nil { // it is open, and its end sees the mark
		return err
	}
	value, err := was.emptied(id)
	if err != nil {
		return err
	}
	return r.Put(ctx, state.Kept{Place: key, Value: value, Until: time.Now().Add(replayLife)})
}

// markDeleted marks the link of an answer, and returns the request that it leads to, if there is one yet.
func (r *Store) markDeleted(ctx context.Context, link state.Place) ([]byte, error) {
	now := time.Now()
	held, err := r.Claim(ctx, state.Kept{Place: link, Value: deletedMark, Until: now.Add(markLife)}, nil)
	if err != nil {
		return nil, err
	}
	if len(held) != len(link.Hash) { // the mark, of this request or an earlier one that failed
		return bytes.TrimPrefix(held, deletedMark), nil
	}
	_, err = r.Claim(ctx, state.Kept{Place: link, Value: append(bytes.Clone(deletedMark), held...), Until: now.Add(replayLife)}, held)
	return held, err
}
