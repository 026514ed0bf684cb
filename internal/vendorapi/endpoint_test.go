package vendorapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/wire"
)

func TestFind(t *testing.T) {
	anthropic, google := http.Header{"Anthropic-Version": {"x"}}, http.Header{"X-Goog-Api-Key": {"x"}}
	for _, c := range []struct {
		method, path string
		header       http.Header
		action       serverapi.Operation
		format       string
		host         string // Quirks.Path
		route        string
	}{
		{"POST", "/v1/chat/completions", nil, serverapi.Generate, wire.Chat, "", "/v1/chat/completions"},
		{"POST", "/openai/deployments/m/chat/completions", nil, serverapi.Generate, wire.Chat, "", "/openai/deployments/*/chat/completions"},
		{"POST", "/openai/responses", nil, serverapi.Generate, wire.Responses, "", "/openai/responses"},
		{"POST", "/v1/responses/input_tokens", nil, serverapi.CountTokens, wire.Responses, "", "/v1/responses/input_tokens"},
		{"GET", "/v1/responses/resp_1", nil, serverapi.GetAnswer, wire.Responses, "", "/v1/responses/*"},
		{"POST", "/v1/responses/resp_1/cancel", nil, serverapi.CancelAnswer, wire.Responses, "", "/v1/responses/*/cancel"},
		{"POST", "/v1/messages", nil, serverapi.Generate, wire.Messages, "", "/v1/messages"},
		{"POST", "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict", nil, serverapi.Generate, wire.Messages, wire.OnVertex().Path, "/v1/projects/*/publishers/anthropic/models/*"},
		{"POST", "/model/m/invoke", nil, serverapi.Generate, wire.Messages, wire.OnBedrock().Path, "/model/*/invoke"},
		{"POST", "/model/m/converse-stream", nil, serverapi.Generate, wire.Converse, "", "/model/*/converse-stream"},
		{"POST", "/model/m/count-tokens", nil, serverapi.CountTokens, wire.Converse, "", "/model/*/count-tokens"},
		{"POST", "/v1beta/models/m:countTokens", nil, serverapi.CountTokens, wire.Gemini, "", "/v1beta/models/*:countTokens"},
		{"POST", "/v1beta/models/m:generateContent", nil, serverapi.Generate, wire.Gemini, "", "/v1beta/models/*:generateContent"},
		{"POST", "/api/generate", nil, serverapi.Generate, wire.Ollama, "generate", "/api/generate"},
		{"GET", "/api/tags", nil, serverapi.ListModels, wire.Ollama, "", "/api/tags"},
		{"GET", "/v1/models", nil, serverapi.ListModels, wire.Chat, "", "/v1/models"},
		{"GET", "/v1/models", anthropic, serverapi.ListModels, wire.Messages, "", "/v1/models"},
		{"GET", "/v1/models/m", google, serverapi.GetModel, wire.Gemini, "", "/v1/models/*"},
		{"GET", "/openai/v1/models", anthropic, serverapi.ListModels, wire.Chat, "", "/openai/v1/models"},
		{"POST", "/v1/messages/x", nil, serverapi.NoOperation, wire.Messages, "", ""},
		{"GET", "/model/x", nil, serverapi.NoOperation, wire.Converse, "", ""},
		{"GET", "/", nil, serverapi.NoOperation, wire.Chat, "", ""},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.header != nil {
			r.Header = c.header
		}
		e := Find(r)
		if e.Action != c.action || e.Codec.Format != c.format || e.Codec.Quirks.Path != c.host {
			t.Errorf("%s %s %v: action %d of %s, host %q", c.method, c.path, c.header, e.Action, e.Codec.Format, e.Codec.Quirks.Path)
		}
		if got := Route(r); got != c.route {
			t.Errorf("%s %s: route %q, not %q", c.method, c.path, got, c.route)
		}
	}
}
