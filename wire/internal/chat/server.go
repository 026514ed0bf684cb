package chat

import "github.com/toolpost/toolpost/wire/format"

// deployments begins the paths of Azure, where the model is in the path.
const deployments = "/openai/deployments/"

var server = format.ServerAPI{
	Routes: []format.ServerPath{
		{Method: "POST", Path: "/v1/chat/completions", Action: format.Generate},
		{Method: "POST", Path: "/chat/completions", Action: format.Generate},
		{Method: "POST", Path: "/openai/v1/chat/completions", Action: format.Generate},
		{Method: "POST", Path: deployments + "*/chat/completions", Action: format.Generate},
		{Method: "GET", Path: "/openai/v1/models", Action: format.ListModels},
		{Method: "GET", Path: "/v1/models", Action: format.ListModels, Shared: true},
		{Method: "GET", Path: "/models", Action: format.ListModels, Shared: true},
		{Method: "GET", Path: "/v1/models/", Action: format.GetModel, Shared: true},
		{Method: "GET", Path: "/models/", Action: format.GetModel, Shared: true},
	},
	Deployments: deployments,
	Models:      OpenAIModels,
	UnknownPath: format.ErrorForm{Words: "Invalid URL (%s %s)", Code: "unknown_url"},
}

// OpenAIModels is OpenAI's list of models, which its two formats share.
var OpenAIModels = &format.ModelPage{
	One: func(m format.ModelInfo) map[string]any {
		return map[string]any{"id": m.Name, "object": "model", "created": m.Since.Unix(), "owned_by": m.Owner}
	},
	All: func(models []map[string]any) map[string]any { return map[string]any{"object": "list", "data": models} },
}

// Server returns the HTTP API of the format.
func (Format) Server() *format.ServerAPI { return &server }
