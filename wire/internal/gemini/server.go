package gemini

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/wire/format"
)

var server = format.ServerAPI{
	Routes: []format.ServerPath{
		{Method: "POST", Path: "/v1beta/models/*:countTokens", Action: format.CountTokens},
		{Method: "POST", Path: "/v1/models/*:countTokens", Action: format.CountTokens},
		{Method: "POST", Path: "/v1beta/models/", Action: format.Generate},
		{Method: "POST", Path: "/v1/models/", Action: format.Generate},
		{Method: "GET", Path: "/v1beta/models", Action: format.ListModels},
		{Method: "GET", Path: "/v1beta/models/", Action: format.GetModel},
	},
	Forwarded: []format.ForwardedPath{
		{Kind: "embeddings", Methods: "POST", Path: "/v1beta/models/*:embedContent", Root: "/v1beta", Model: format.ModelInPath, Costs: format.InputOnly},
		{Kind: "embeddings", Methods: "POST", Path: "/v1beta/models/*:batchEmbedContents", Root: "/v1beta", Model: format.ModelInPath, Costs: format.InputOnly},
	},
	Header: "X-Goog-Api-Key", Prefix: "/v1beta/",
	EventsQuery: "alt=sse",
	Models: &format.ModelPage{
		One: func(m format.ModelInfo) map[string]any {
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
	Count: func(body []byte) format.CountedRequest {
		if v := js.Get(body, "generateContentRequest"); js.Kind(v) == '{' {
			body = v
		}
		return format.CountedRequest{Body: body}
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *format.ServerAPI { return &server }
