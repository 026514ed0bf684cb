package responses

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
)

const (
	answerPath = "/v1/responses/"
	cancelPart = "cancel"
	inputField = "input"
)

var server = serverapi.ServerAPI{
	Routes: []serverapi.ServerPath{
		{Method: "POST", Path: "/openai/v1/responses", Action: serverapi.Generate},
		{Method: "POST", Path: "/openai/responses", Action: serverapi.Generate},
		{Method: "POST", Path: "/v1/responses", Action: serverapi.Generate},
		{Method: "POST", Path: "/responses", Action: serverapi.Generate},
		{Method: "POST", Path: "/v1/responses/input_tokens", Action: serverapi.CountTokens},
		{Method: "GET", Path: answerPath, Action: serverapi.GetAnswer},
		{Method: "POST", Path: answerPath + "*/" + cancelPart, Action: serverapi.CancelAnswer},
		{Method: "DELETE", Path: answerPath, Action: serverapi.DeleteAnswer},
	},
	Prefix:      "/v1/responses",
	Models:      chat.OpenAIModels,
	CountObject: "response.input_tokens",
	Stored: &serverapi.StoredAnswers{
		Path: answerPath, InputItems: "input_items", Cancel: cancelPart,
		Input: inputField, Output: "output", Reference: "item_reference",
		List:             listInput,
		NotFound:         format.ErrorForm{Kind: llm.NotFound, Code: "response_not_found", Words: "Response with id '%s' not found."},
		PreviousNotFound: format.ErrorForm{Kind: llm.Invalid, Code: "previous_response_not_found", Words: "Previous response with id '%s' not found."},
		Deleted: func(id string) any {
			return map[string]any{"id": id, "object": "response", "deleted": true}
		},
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *serverapi.ServerAPI { return &server }

// listInput returns the input items of a request. Items with a missing or repeated id get an id made of the answer's id
// and their position, because clients page through the list by id.
func listInput(request []byte, id string) []serverapi.StoredItem {
	var list []serverapi.StoredItem
	seen := map[string]bool{}
	input := js.Get(request, inputField)
	if js.Kind(input) == '"' {
		input = fmt.Appendf(nil, `[{"role":"user","content":%s}]`, input)
	}
	for item := range js.Elements(input) {
		own := js.Text(js.Get(item, "id"))
		if own == "" || seen[own] {
			own = fmt.Sprintf("msg_%s_%d", strings.TrimPrefix(id, properties.IDPrefix), len(list))
		}
		seen[own] = true
		list = append(list, serverapi.StoredItem{ID: own, Item: listedItem(item, own)})
	}
	return list
}

// listedItem returns an item of a request as the vendor lists it: with an id, a type, a status, and text as a list of
// parts.
func listedItem(item []byte, id string) json.RawMessage {
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
