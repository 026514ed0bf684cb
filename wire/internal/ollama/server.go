package ollama

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
)

var server = serverapi.ServerAPI{
	Routes: []serverapi.ServerPath{
		{Method: "POST", Path: "/api/chat", Action: serverapi.Generate},
		{Method: "POST", Path: "/api/generate", Action: serverapi.Generate, Quirks: OnGenerate()},
		{Method: "POST", Path: "/api/show", Action: serverapi.ShowModel},
		{Method: "GET", Path: "/api/tags", Action: serverapi.ListModels},
		{Method: "GET", Path: "/api/version", Action: serverapi.GetVersion},
	},
	Forwarded: []serverapi.ForwardedPath{
		{Kind: "embeddings", Methods: "POST", Path: "/api/embed", Root: "/api", Model: serverapi.ModelInBody, Costs: serverapi.InputOnly},
		{Kind: "embeddings", Methods: "POST", Path: "/api/embeddings", Root: "/api", Model: serverapi.ModelInBody, Costs: serverapi.InputOnly},
	},
	Prefix: "/api/",
	Models: &serverapi.ModelPage{
		One: func(m serverapi.ModelInfo) map[string]any { return map[string]any{"name": m.Name, "model": m.Name} },
		All: func(models []map[string]any) map[string]any { return map[string]any{"models": models} },
	},
	Show: serverapi.ModelQuery{Name: shownModel, Show: showModel},
	Ready: func(fields map[string]json.RawMessage) string {
		if unloads(fields["keep_alive"]) {
			return "unload"
		}
		return ""
	},
}

// Server returns the HTTP API of the format.
func (Format) Server() *serverapi.ServerAPI { return &server }

func shownModel(body []byte) string {
	var query struct{ Model, Name string }
	_ = json.Unmarshal(body, &query) // an empty name is an unknown model
	return cmp.Or(query.Model, query.Name)
}

func showModel(m serverapi.ModelInfo) any {
	capabilities := []string{"completion"}
	if m.Tools {
		capabilities = append(capabilities, "tools")
	}
	if m.Thinks {
		capabilities = append(capabilities, "thinking")
	}
	info := map[string]any{}
	if m.Context > 0 {
		info[m.Owner+".context_length"] = m.Context
	}
	return map[string]any{"capabilities": capabilities, "details": map[string]string{"family": m.Owner}, "model_info": info}
}

// unloads reports whether the value of keep_alive, a number of seconds or a duration, removes the model from memory.
func unloads(keep json.RawMessage) bool {
	if js.Kind(keep) == '0' {
		n, err := strconv.ParseFloat(string(keep), 64)
		return err == nil && n == 0
	}
	d, err := time.ParseDuration(js.Text(keep))
	return err == nil && d == 0
}
