package vendorapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Clients that continue from a stored answer may name its items one by one instead, by references in their input.
// A request has at most maxReferences of them.
const maxReferences = 1000

func itemKey(owner, id string) state.Place {
	return state.Place{Kind: state.Item, Owner: owner, Hash: state.HashOf([]byte(id))}
}

// ownItemKey is the key of an item for one caller of the owner, when the item of another caller has the same id.
func ownItemKey(owner, by, id string) state.Place {
	return state.Place{Kind: state.Item, Owner: owner, Hash: state.HashOf([]byte(id), []byte(by))}
}

// ownedItem returns the stored form of an item with its caller. Items without a caller are stored unchanged.
func ownedItem(by string, item []byte) []byte {
	out := js.AppendQuoted([]byte(`{"by":`), by)
	return append(append(append(out, `,"item":`...), item...), '}')
}

// readItem returns a stored item and its caller.
func readItem(value []byte) (item []byte, by string) {
	if inner := js.Get(value, "item"); inner != nil && js.Get(value, "type") == nil {
		return inner, js.Text(js.Get(value, "by"))
	}
	return value, ""
}

// itemIDs returns the ids of the items of an answer.
func itemIDs(codec wire.Codec, answer []byte) (ids []string) {
	for item := range js.Elements(js.Get(answer, codec.Server().Stored.Output)) {
		if id := js.Text(js.Get(item, "id")); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// itemsOf returns the stored forms of the items of an answer. Some upstreams use an id twice: the item of the first
// caller keeps the shared key, and the second caller finds its own item under ownItemKey.
func (a *Answers) itemsOf(ctx context.Context, owner, by string, codec wire.Codec, answer []byte, until time.Time) (list []state.Kept, err error) {
	var hashes []state.Hash
	for _, id := range itemIDs(codec, answer) {
		hashes = append(hashes, itemKey(owner, id).Hash)
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	var there map[state.Hash][][]byte
	if by != "" {
		if there, err = a.store().Get(ctx, state.Item, owner, hashes...); err != nil {
			return nil, err
		}
	}
	for item := range js.Elements(js.Get(answer, codec.Server().Stored.Output)) {
		id := js.Text(js.Get(item, "id"))
		if id == "" {
			continue
		}
		place, value := itemKey(owner, id), bytes.Clone(item)
		if by != "" {
			value = ownedItem(by, item)
			if found := there[place.Hash]; len(found) > 0 {
				if _, whose := readItem(found[0]); whose != by {
					place = ownItemKey(owner, by, id)
				}
			}
		}
		list = append(list, state.Kept{Place: place, Value: value, Until: until})
	}
	return list, nil
}

// Refer returns the body of a request with references to the owner's items replaced by these items. Other references stay.
// If two items have one id, that of the caller, by, is used. The result may have at most most bytes.
func (a *Answers) Refer(ctx context.Context, owner, by string, codec wire.Codec, body []byte, most int64) ([]byte, error) {
	stored := codec.Server().Stored
	if stored == nil || !bytes.Contains(body, []byte(stored.Reference)) || !js.Valid(body) {
		return body, nil
	}
	body = js.Trim(body)
	items, err := a.named(ctx, owner, by, stored, js.Get(body, stored.Input))
	if err != nil || len(items) == 0 {
		return body, err
	}
	var w js.Writer
	w.Object()
	for key, value := range js.Members(body) {
		w.AnyKey(string(key))
		if string(key) != stored.Input || js.Kind(value) != '[' {
			w.Raw(value)
			continue
		}
		w.Array()
		for element := range js.Elements(value) {
			if item := items[referred(stored, element)]; item != nil {
				element = item
			}
			if w.Raw(element); int64(len(w.Buf)) > most {
				return nil, &llm.Error{Op: "server", Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Err: fmt.Errorf("with the items that it names, %w", &LargeBodyError{most})}
			}
		}
		w.EndArray()
	}
	w.End()
	return w.Buf, nil
}

// referred returns the id in a reference, and "" if the element is not a reference.
func referred(stored *serverapi.StoredAnswers, element []byte) string {
	if !js.Is(js.Get(element, "type"), stored.Reference) {
		return ""
	}
	return js.Text(js.Get(element, "id"))
}

// named returns the owner's items to which an input refers.
func (a *Answers) named(ctx context.Context, owner, by string, stored *serverapi.StoredAnswers, input []byte) (map[string]json.RawMessage, error) {
	ids := map[string]state.Hash{}
	var hashes []state.Hash
	for element := range js.Elements(input) {
		if id := referred(stored, element); id != "" && ids[id] == (state.Hash{}) {
			ids[id] = itemKey(owner, id).Hash
			hashes = append(hashes, ids[id])
		}
	}
	if len(hashes) == 0 {
		return nil, nil
	}
	if len(hashes) > maxReferences {
		return nil, &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: errors.New("the request names too many items by reference; send them whole")}
	}
	if by != "" {
		for id := range ids {
			hashes = append(hashes, ownItemKey(owner, by, id).Hash)
		}
	}
	found, err := a.store().Get(ctx, state.Item, owner, hashes...)
	if err != nil {
		return nil, unavailable(err)
	}
	items := map[string]json.RawMessage{}
	for id, hash := range ids {
		for _, at := range []state.Hash{ownItemKey(owner, by, id).Hash, hash} {
			if len(found[at]) > 0 && items[id] == nil {
				items[id], _ = readItem(found[at][0])
			}
		}
	}
	return items, nil
}
