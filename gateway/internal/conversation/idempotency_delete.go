package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/internal/state"
)

// Deleting an answer by its id also deletes the copy that is kept for repeated requests. The client knows the id before
// the answer ends, so both may happen at once, also in two gateways. Neither side waits for the other. Each writes
// first and reads afterwards, so at least one of them sees the write of the other.
//
//	end of the answer: write the link from its id to the request, write the answer, check whether the link is marked
//	deletion:          mark the link, or create a marked one, check whether the answer exists

// deletedMark is the link of a deleted answer. The hash of the request follows if it was known.
var deletedMark = []byte("deleted:")

// saysDeleted reports whether a link marks the answer to a request as deleted.
func saysDeleted(link []byte, request state.Hash) bool {
	of, marked := bytes.CutPrefix(link, deletedMark)
	return marked && len(link) != len(request) && (len(of) == 0 || bytes.Equal(of, request[:]))
}

// emptied returns the stored state of a deleted answer. It keeps only the fact that the request has run.
func (k *Earlier) emptied(id string) ([]byte, error) {
	return json.Marshal(Earlier{Run: k.Run, Words: k.Words, Form: k.Form, Header: http.Header{}, Upstream: k.Upstream, Deleted: id})
}

// keepLinked stores an answer that can be deleted by its id. It reports whether the answer, or its deletion, is stored.
func (p *Idempotency) keepLinked(e state.Kept, answer *Earlier) bool {
	gone, err := answer.emptied(p.AnswerID)
	if err != nil {
		return false
	}
	link := state.Kept{Place: forAnswer.Key(p.Owner, []byte(p.AnswerID)), Value: p.Key.Hash[:], Until: e.Until}
	held, err := p.Store.Claim(p.Detached(), link, nil)
	switch {
	case err != nil:
		return false
	case saysDeleted(held, p.Key.Hash):
		e.Value = gone
	case !bytes.Equal(held, link.Value): // an upstream used an id twice; the later answer counts
		if p.Store.Put(p.Detached(), link) != nil {
			return false
		}
	}
	if kept, err := p.Store.Claim(p.Detached(), e, p.claimed); err != nil || !bytes.Equal(kept, e.Value) {
		return true // another request holds the name now
	}
	if mark, err := p.Store.newest(p.Detached(), link.Place); err == nil && saysDeleted(mark, p.Key.Hash) {
		e.Value = gone
		_ = p.Store.Put(p.Detached(), e) // Put logs its errors
	}
	return true
}

// ForgetReplay deletes the stored answer of a request. The request still counts as run.
func (r *Store) ForgetReplay(ctx context.Context, owner, id string) error {
	key := forAnswer.Key(owner, []byte(id))
	request, err := r.markDeleted(ctx, key)
	if err != nil || len(request) != len(key.Hash) {
		return err
	}
	copy(key.Hash[:], request)
	was, err := r.earlier(ctx, key)
	if err != nil || was == nil || was.Header == nil { // in progress: its end sees the mark
		return err
	}
	value, err := was.emptied(id)
	if err != nil {
		return err
	}
	return r.Put(ctx, state.Kept{Place: key, Value: value, Until: time.Now().Add(replayLife)})
}

// markDeleted marks the link of an answer, and returns the request that it leads to, if known.
func (r *Store) markDeleted(ctx context.Context, link state.Place) ([]byte, error) {
	now := time.Now()
	held, err := r.Claim(ctx, state.Kept{Place: link, Value: deletedMark, Until: now.Add(markLife)}, nil)
	if err != nil {
		return nil, err
	}
	if len(held) != len(link.Hash) { // a mark of this deletion, or of an earlier one that failed
		return bytes.TrimPrefix(held, deletedMark), nil
	}
	_, err = r.Claim(ctx, state.Kept{Place: link, Value: append(bytes.Clone(deletedMark), held...), Until: now.Add(replayLife)}, held)
	return held, err
}
