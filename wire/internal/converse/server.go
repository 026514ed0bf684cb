package converse

import (
	"encoding/base64"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

var server = serverapi.ServerAPI{
	Routes: []serverapi.ServerPath{
		{Method: "POST", Path: "/model/*/count-tokens", Action: serverapi.CountTokens},
		{Method: "POST", Path: "/model/", Action: serverapi.Generate},
	},
	Prefix: "/model/",
	Count: func(body []byte) serverapi.CountedRequest {
		input := js.Get(body, "input")
		if v := js.Get(input, "converse"); js.Kind(v) == '{' {
			return serverapi.CountedRequest{Body: v}
		}
		switch v := js.Get(js.Get(input, "invokeModel"), "body"); js.Kind(v) {
		case '{':
			return serverapi.CountedRequest{Body: v}
		case '"': // a body of the messages format in base64
			if raw, err := base64.StdEncoding.DecodeString(js.Text(v)); err == nil {
				return serverapi.CountedRequest{Body: raw, Format: names.Messages, Quirks: messages.OnBedrock()}
			}
		}
		return serverapi.CountedRequest{Body: body}
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *serverapi.ServerAPI { return &server }
