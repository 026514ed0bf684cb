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
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Clients that go on from a kept answer may name its items one by one, in place of the answer, by
// elements of their input that are references.
const (
	itemsMember   = "output" // of an answer
	inputMember   = "input"  // of a request
	itemReference = "item_reference"

	maxReferences = 1000 // of one request
)

func itemKey(owner, id string) state.Place {
	return state.Place{Kind: state.Item, Owner: owner, Hash: state.HashOf([]byte(id))}
}

// ownItemKey is where an item is whose id an item of somebody else of the owner's has, for who asked for it.
func ownItemKey(owner, by, id string) state.Place {
	return state.Place{Kind: state.Item, Owner: owner, Hash: state.HashOf([]byte(id), []byte(by))}
}

// ownedItem is an item with who asked for its answer, as it is kept. Those that nobody in particular asked for are kept as they are.
func ownedItem(by string, item []byte) []byte {
	out := js.AppendQuoted([]byte(`{"by":`), by)
	return append(append(append(out, `,"item":`...), item...), '}')
}

// readItem returns an item as it is kept, and who asked for it.
func readItem(value []byte) (item []byte, by string) {
	if inner := js.Get(value, "item"); inner != nil && js.Get(value, "type") == nil {
		return inner, js.Text(js.Get(value, "by"))
	}
	return value, ""
}

// itemIDs returns the ids of the items of an answer.
func itemIDs(answer []byte) (ids []string) {
	for item := range js.Elements(js.Get(answer, itemsMember)) {
		if id := js.Text(js.Get(item, "id")); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// itemsOf returns the items of an answer as they are kept. An id that an item of somebody else has, because an upstream gives ids twice, stays
// that one's; who asked for this one finds it all the same.
func (a *Answers) itemsOf(ctx context.Context, owner, by string, answer []byte, until time.Time) (list []state.Kept, err error) {
	var hashes []state.Hash
	for _, id := range itemIDs(answer) {
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
	for item := range js.Elements(js.Get(answer, itemsMember)) {
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

// Refer returns the body of a request with the items that it names in place of their names, as far as
// they are the owner's. Others are left as they are. Of two that have one id, that of who asks, by, counts. The body may have no more than
// most bytes then.
func (a *Answers) Refer(ctx context.Context, owner, by string, codec wire.Codec, body []byte, most int64) ([]byte, error) {
	if codec.Properties().Previous == "" || !bytes.Contains(body, []byte(itemReference)) || !js.Valid(body) {
		return body, nil
	}
	body = js.Trim(body)
	items, err := a.named(ctx, owner, by, js.Get(body, inputMember))
	if err != nil || len(items) == 0 {
		return body, err
	}
	var w js.Writer
	w.Object()
	for key, value := range js.Members(body) {
		w.AnyKey(string(key))
		if string(key) != inputMember || js.Kind(value) != '[' {
			w.Raw(value)
			continue
		}
		w.Array()
		for element := range js.Elements(value) {
			if item := items[referred(element)]; item != nil {
				element = item
			}
			if w.Raw(element); int64(len(w.Buf)) > most {
				return nil, &llm.Error{Op: "server", Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Err: fmt.Errorf("with the items that it names, the body has more than %d bytes", most)}
			}
		}
		w.EndArray()
	}
	w.End()
	return w.Buf, nil
}

// referred returns the id that a reference names, "" if it is none.
func referred(element []byte) string {
	if !js.Is(js.Get(element, "type"), itemReference) {
		return ""
	}
	return js.Text(js.Get(element, "id"))
}

// named returns the items that are named in an input and kept for the owner.
func (a *Answers) named(ctx context.Context, owner, by string, input []byte) (map[string]json.RawMessage, error) {
	ids := map[string]state.Hash{}
	var hashes []state.Hash
	for element := range js.Elements(input) {
		if id := referred(element); id != "" && ids[id] == (state.Hash{}) {
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
