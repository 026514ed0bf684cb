package messages

import (
	"github.com/toolpost/toolpost/internal/wire/serverapi"
)

var server = serverapi.ServerAPI{
	Routes: []serverapi.ServerPath{
		{Method: "POST", Path: "/v1/messages", Action: serverapi.Generate},
		{Method: "POST", Path: "/v1/messages/count_tokens", Action: serverapi.CountTokens},
		{Method: "POST", Path: "/v1/projects/*/publishers/anthropic/models/*", Action: serverapi.Generate, Quirks: OnVertex()},
		{Method: "POST", Path: "/model/*/invoke", Action: serverapi.Generate, Quirks: OnBedrock()},
		{Method: "POST", Path: "/model/*/invoke-with-response-stream", Action: serverapi.Generate, Quirks: OnBedrock()},
	},
	Forwarded: []serverapi.ForwardedPath{
		{Kind: "batches", Methods: "GET POST", Path: "/v1/messages/batches", Root: "/v1", Costs: serverapi.OtherUnits},
		{Kind: "batches", Methods: "GET POST DELETE", Path: "/v1/messages/batches/", Root: "/v1", Costs: serverapi.OtherUnits},
	},
	Header: "Anthropic-Version", Prefix: "/v1/messages",
	Models: &serverapi.ModelPage{
		One: func(m serverapi.ModelInfo) map[string]any {
			return map[string]any{"type": "model", "id": m.Name, "display_name": m.Name, "created_at": m.Since}
		},
		All: func(models []map[string]any) map[string]any {
			answer := map[string]any{"data": models, "has_more": false, "first_id": nil, "last_id": nil}
			if len(models) > 0 {
				answer["first_id"], answer["last_id"] = models[0]["id"], models[len(models)-1]["id"]
			}
			return answer
		},
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *serverapi.ServerAPI { return &server }
