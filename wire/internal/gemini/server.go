package gemini

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
)

var server = serverapi.ServerAPI{
	Routes: []serverapi.ServerPath{
		{Method: "POST", Path: "/v1beta/models/*:countTokens", Action: serverapi.CountTokens},
		{Method: "POST", Path: "/v1/models/*:countTokens", Action: serverapi.CountTokens},
		{Method: "POST", Path: "/v1beta/models/", Action: serverapi.Generate},
		{Method: "POST", Path: "/v1/models/", Action: serverapi.Generate},
		{Method: "GET", Path: "/v1beta/models", Action: serverapi.ListModels},
		{Method: "GET", Path: "/v1beta/models/", Action: serverapi.GetModel},
	},
	Forwarded: []serverapi.ForwardedPath{
		{Kind: "embeddings", Methods: "POST", Path: "/v1beta/models/*:embedContent", Root: "/v1beta", Model: serverapi.ModelInPath, Costs: serverapi.InputOnly},
		{Kind: "embeddings", Methods: "POST", Path: "/v1beta/models/*:batchEmbedContents", Root: "/v1beta", Model: serverapi.ModelInPath, Costs: serverapi.InputOnly},
	},
	Header: "X-Goog-Api-Key", Prefix: "/v1beta/",
	EventsQuery: "alt=sse",
	Models: &serverapi.ModelPage{
		One: func(m serverapi.ModelInfo) map[string]any {
			answer := map[string]any{"name": "models/" + m.Name, "displayName": m.Name,
				"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"}}
			if m.Context > 0 {
				answer["inputTokenLimit"] = m.Context
			}
			if m.Output > 0 {
				answer["outputTokenLimit"] = m.Output
			}
			return answer
		},
		All: func(models []map[string]any) map[string]any { return map[string]any{"models": models} },
	},
	Count: func(body []byte) serverapi.CountedRequest {
		if v := js.Get(body, "generateContentRequest"); js.Kind(v) == '{' {
			body = v
		}
		return serverapi.CountedRequest{Body: body}
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *serverapi.ServerAPI { return &server }
