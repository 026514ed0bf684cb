package vendorapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// The default and the maximum length of a page of input items are OpenAI's.
const (
	itemsPage = 20
	maxItems  = 100
)

// itemList is a page of items.
type itemList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID *string           `json:"first_id"`
	LastID  *string           `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

// inputOf returns the input items of a stored answer. They include the conversation before it if the request continued
// from an earlier answer.
func inputOf(codec wire.Codec, id string, k *kept) ([]serverapi.StoredItem, error) {
	if len(k.Messages) == 0 {
		return nil, nil
	}
	body, _, err := codec.EncodeRequest(&llm.Request{Model: "m", Messages: k.Messages[:len(k.Messages)-1]}, false)
	if err != nil {
		return nil, err
	}
	return codec.Server().Stored.List(body, id), nil
}

// paged returns a page of a list: the items after an id, up to a limit, newest first unless order is asc.
func paged(all []serverapi.StoredItem, query url.Values) (itemList, error) {
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
		i := slices.IndexFunc(all, func(it serverapi.StoredItem) bool { return it.ID == after })
		if i < 0 {
			return list, badQuery("after names no item of the input: %.100q", after)
		}
		all = all[i+1:]
	}
	if list.HasMore = len(all) > most; list.HasMore {
		all = all[:most]
	}
	for _, it := range all {
		list.Data = append(list.Data, it.Item)
	}
	if len(all) > 0 {
		list.FirstID, list.LastID = &all[0].ID, &all[len(all)-1].ID
	}
	return list, nil
}

func badQuery(format string, args ...any) error {
	return &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: fmt.Errorf(format, args...)}
}

// errCancel answers a request to cancel. Stored answers have ended.
var errCancel = &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest,
	Err: errors.New("only an answer in the background can be cancelled, and those are not served here; close the connection to end one that runs")}

// errReplay answers a request for a stored answer as a stream.
var errReplay = &llm.Error{Op: "server", Kind: llm.Invalid, Status: http.StatusBadRequest,
	Err: errors.New("an answer that is kept is given in one piece, not as a stream: leave out stream")}

// under answers a request for a path below a stored answer.
func (k *kept) under(e Endpoint, w http.ResponseWriter, r *http.Request, id, part string) error {
	stored := e.Codec.Server().Stored
	switch {
	case part == stored.InputItems && e.Action == serverapi.GetAnswer:
		all, err := inputOf(e.Codec, id, k)
		if err != nil {
			return unavailable(err)
		}
		list, err := paged(all, r.URL.Query())
		if err == nil {
			WriteJSON(w, list)
		}
		return err
	case part == stored.Cancel && e.Action == serverapi.CancelAnswer:
		return errCancel
	}
	return NoEndpoint(e.Codec, r)
}
