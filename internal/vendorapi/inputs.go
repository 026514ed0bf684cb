package vendorapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// What is asked for below an answer that is kept.
const (
	inputItems   = "input_items"
	cancelAnswer = "cancel"
)

// How many items a page of the input has if nobody says so, and at most, as with OpenAI.
const (
	itemsPage = 20
	maxItems  = 100
)

// itemList is a page of items, as OpenAI lists things.
type itemList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID *string           `json:"first_id"`
	LastID  *string           `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

// inputOf returns what a kept answer was the answer to, as items that have ids: the conversation before it, too, where the request went on from an
// earlier answer. An item has the same id whenever it is asked for.
func inputOf(codec wire.Codec, id string, k *kept) ([]listedItem, error) {
	if len(k.Messages) == 0 {
		return nil, nil
	}
	body, _, err := codec.EncodeRequest(&llm.Request{Model: "m", Messages: k.Messages[:len(k.Messages)-1]}, false)
	if err != nil {
		return nil, err
	}
	var list []listedItem
	seen := map[string]bool{} // pages go on after an id, so that each is there once
	input := js.Get(body, inputMember)
	if js.Kind(input) == '"' {
		input = fmt.Appendf(nil, `[{"role":"user","content":%s}]`, input)
	}
	for item := range js.Elements(input) {
		own := js.Text(js.Get(item, "id"))
		if own == "" || seen[own] {
			own = fmt.Sprintf("msg_%s_%d", strings.TrimPrefix(id, codec.Properties().IDPrefix), len(list))
		}
		seen[own] = true
		list = append(list, listedItem{own, asListed(item, own)})
	}
	return list, nil
}

// listedItem is an item of a list and its id.
type listedItem struct {
	id   string
	item json.RawMessage
}

// asListed returns an item of a request as the vendor lists it: with an id, a type and a status, and its text as a list of parts.
func asListed(item []byte, id string) json.RawMessage {
	var w js.Writer
	w.Object()
	w.StringField("id", id)
	if js.Get(item, "type") == nil {
		w.StringField("type", "message")
	}
	part := "input_text"
	if js.Is(js.Get(item, "role"), "assistant") {
		part = "output_text"
	}
	for key, v := range js.Members(item) {
		switch {
		case string(key) == "id":
			continue
		case string(key) == "content" && js.Kind(v) == '"':
			w.Key("content")
			w.Raw(fmt.Appendf(nil, `[{"type":%q,"text":%s}]`, part, v))
			continue
		}
		w.AnyKey(string(key))
		w.Raw(v)
	}
	if js.Get(item, "status") == nil {
		w.StringField("status", "completed")
	}
	w.End()
	return w.Buf
}

// paged returns the part of a list that a query asks for: after an id, at most so many, the last first unless the order says otherwise.
func paged(all []listedItem, query url.Values) (itemList, error) {
	list := itemList{Object: "list", Data: []json.RawMessage{}}
	most := itemsPage
	if text := query.Get("limit"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > maxItems {
			return list, badQuery("limit has to be a number from 1 to %d", maxItems)
		}
	}
	switch query.Get("order") {
	case "asc":
	case "", "desc":
		all = slices.Clone(all)
		slices.Reverse(all)
	default:
		return list, badQuery("order has to be asc or desc")
	}
	if after := query.Get("after"); after != "" {
		i := slices.IndexFunc(all, func(it listedItem) bool { return it.id == after })
		if i < 0 {
			return list, badQuery("after names no item of the input: %.100q", after)
		}
		all = all[i+1:]
	}
	if list.HasMore = len(all) > most; list.HasMore {
		all = all[:most]
	}
	for _, it := range all {
		list.Data = append(list.Data, it.item)
	}
	if len(all) > 0 {
		list.FirstID, list.LastID = &all[0].id, &all[len(all)-1].id
	}
	return list, nil
}

func badQuery(format string, args ...any) error {
	return &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: fmt.Errorf(format, args...)}
}

// errCancel is what who cancels an answer is told: answers that are kept have ended.
var errCancel = &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest,
	Err: errors.New("only an answer in the background can be cancelled, and those are not served here; close the connection to end one that runs")}

// errReplay is what who wants a kept answer as a stream is told.
var errReplay = &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest,
	Err: errors.New("an answer that is kept is given in one piece, not as a stream: leave out stream")}

// under answers what is asked about a part of a kept answer, and says whether there is such a thing.
func (k *kept) under(e Endpoint, w http.ResponseWriter, r *http.Request, id, part string) error {
	switch {
	case part == inputItems && e.Action == GetAnswer:
		all, err := inputOf(e.Codec, id, k)
		if err != nil {
			return unavailable(err)
		}
		list, err := paged(all, r.URL.Query())
		if err == nil {
			WriteJSON(w, list)
		}
		return err
	case part == cancelAnswer && e.Action == CancelAnswer:
		return errCancel
	}
	return NoEndpoint(e.Codec, r)
}
