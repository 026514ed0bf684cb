package chat

import (
	"cmp"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// OpenaiCodes are further codes of the OpenAI formats, which do not belong to a kind of error.
var OpenaiCodes = []string{
	"string_above_max_length", "insufficient_quota", "content_filter", "bio_policy", "misalignment_policy_violation", "image_content_policy_violation",
	"unsupported_parameter", "previous_response_not_found", "tool_use_failed", "invalid_prompt", "unknown_url", "response_not_found",
}

// OpenaiError writes the error of both OpenAI formats.
func OpenaiError(e *codec.Encoder, err *llm.Error) {
	e.Object()
	e.ObjectField("error")
	code := e.Host.Registry.ErrorCode(err, &properties)
	e.StringField("message", codec.ErrorMessage(err, &properties))
	e.StringField("type", cmp.Or(openaiCodeTypes[code], cmp.Or(openaiErrorTypes[err.Kind], "server_error")))
	e.Key("param")
	e.Null()
	e.StringField("code", code)
	e.End()
	e.End()
}

func (Format) EncodeError(e *codec.Encoder, err *llm.Error, _ int) { OpenaiError(e, err) }

func (Format) DecodeError(all *codec.Registry, body []byte) (code, message string) {
	v := js.Get(body, "error")
	if js.Kind(v) == '"' { // {"error":"…"} of many servers
		return "", js.Text(v)
	}
	if v == nil {
		v = body
	}
	code = codec.StringOrNumber(js.Get(v, "code"))
	if _, known := all.Kind(code); !known {
		typ := codec.StringOrNumber(js.Get(v, "type"))
		if kind, _ := all.Kind(typ); code == "" || kind != llm.Unknown && typ != "invalid_request_error" {
			code = cmp.Or(typ, code)
		}
	}
	message = js.Text(js.Get(v, "message"))
	if message == "" {
		message = js.Text(js.Get(body, "detail"))
	}
	return code, message
}
