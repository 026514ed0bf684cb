package converse

import (
	"encoding/base64"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

var server = format.ServerAPI{
	Routes: []format.ServerPath{
		{Method: "POST", Path: "/model/*/count-tokens", Action: format.CountTokens},
		{Method: "POST", Path: "/model/", Action: format.Generate},
	},
	Prefix: "/model/",
	Count: func(body []byte) format.CountedRequest {
		input := js.Get(body, "input")
		if v := js.Get(input, "converse"); js.Kind(v) == '{' {
			return format.CountedRequest{Body: v}
		}
		switch v := js.Get(js.Get(input, "invokeModel"), "body"); js.Kind(v) {
		case '{':
			return format.CountedRequest{Body: v}
		case '"': // a body of the messages format in base64
			if raw, err := base64.StdEncoding.DecodeString(js.Text(v)); err == nil {
				return format.CountedRequest{Body: raw, Format: format.Messages, Quirks: messages.OnBedrock()}
			}
		}
		return format.CountedRequest{Body: body}
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *format.ServerAPI { return &server }
