package chat

import (
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/wire/format"
)

// deployments begins the paths of Azure, where the model is in the path.
const deployments = "/openai/deployments/"

var server = serverapi.ServerAPI{
	Routes: []serverapi.ServerPath{
		{Method: "POST", Path: "/v1/chat/completions", Action: serverapi.Generate},
		{Method: "POST", Path: "/chat/completions", Action: serverapi.Generate},
		{Method: "POST", Path: "/openai/v1/chat/completions", Action: serverapi.Generate},
		{Method: "POST", Path: deployments + "*/chat/completions", Action: serverapi.Generate},
		{Method: "GET", Path: "/openai/v1/models", Action: serverapi.ListModels},
		{Method: "GET", Path: "/v1/models", Action: serverapi.ListModels, Shared: true},
		{Method: "GET", Path: "/models", Action: serverapi.ListModels, Shared: true},
		{Method: "GET", Path: "/v1/models/", Action: serverapi.GetModel, Shared: true},
		{Method: "GET", Path: "/models/", Action: serverapi.GetModel, Shared: true},
	},
	Forwarded: []serverapi.ForwardedPath{
		{Kind: "embeddings", Methods: "POST", Path: "/v1/embeddings", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.InputOnly},
		{Kind: "completions", Methods: "POST", Path: "/v1/completions", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.InputAndOutput},
		{Kind: "images", Methods: "POST", Path: "/v1/images/generations", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "images", Methods: "POST", Path: "/v1/images/edits", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "images", Methods: "POST", Path: "/v1/images/variations", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "audio", Methods: "POST", Path: "/v1/audio/speech", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "audio", Methods: "POST", Path: "/v1/audio/transcriptions", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "audio", Methods: "POST", Path: "/v1/audio/translations", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "moderations", Methods: "POST", Path: "/v1/moderations", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.Free},
		{Kind: "rerank", Methods: "POST", Path: "/v1/rerank", Root: "/v1", Model: serverapi.ModelInBody, Costs: serverapi.OtherUnits},
		{Kind: "files", Methods: "GET POST", Path: "/v1/files", Root: "/v1", Costs: serverapi.Free},
		{Kind: "files", Methods: "GET DELETE", Path: "/v1/files/", Root: "/v1", Costs: serverapi.Free},
		{Kind: "files", Methods: "POST", Path: "/v1/uploads", Root: "/v1", Costs: serverapi.Free},
		{Kind: "files", Methods: "POST", Path: "/v1/uploads/", Root: "/v1", Costs: serverapi.Free},
		{Kind: "batches", Methods: "GET POST", Path: "/v1/batches", Root: "/v1", Costs: serverapi.OtherUnits},
		{Kind: "batches", Methods: "GET POST", Path: "/v1/batches/", Root: "/v1", Costs: serverapi.OtherUnits},
	},
	Deployments: deployments,
	Models:      OpenAIModels,
	UnknownPath: format.ErrorForm{Words: "Invalid URL (%s %s)", Code: "unknown_url"},
}

// OpenAIModels is OpenAI's list of models, which its two formats share.
var OpenAIModels = &serverapi.ModelPage{
	One: func(m serverapi.ModelInfo) map[string]any {
		return map[string]any{"id": m.Name, "object": "model", "created": m.Since.Unix(), "owned_by": m.Owner}
	},
	All: func(models []map[string]any) map[string]any { return map[string]any{"object": "list", "data": models} },
}

// Server returns the HTTP API of the format.
func (Format) Server() *serverapi.ServerAPI { return &server }
