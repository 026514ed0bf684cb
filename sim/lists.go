package sim

import (
	"net/http"
	"strings"
	"time"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/wire"
)

// Models returns the names of the simulated models, without faults.
func Models() []string {
	names := []string{"sim/" + nativeName}
	for _, d := range dialect.All() {
		names = append(names, "sim/"+d.Name)
	}
	return names
}

// since is when the models were made, as they say.
var since = time.Unix(1700000000, 0).UTC()

// modelInfo is what a vendor says of a model.
func modelInfo(format, name string) map[string]any {
	switch format {
	case wire.Messages:
		return map[string]any{"type": "model", "id": name, "display_name": name, "created_at": since}
	case wire.Gemini:
		return map[string]any{"name": "models/" + name, "displayName": name, "inputTokenLimit": 32768, "outputTokenLimit": 8192,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"}}
	}
	return map[string]any{"id": name, "object": "model", "created": since.Unix(), "owned_by": "sim"}
}

func modelInfos(format string) []map[string]any {
	var data []map[string]any
	for _, name := range Models() {
		data = append(data, modelInfo(format, name))
	}
	return data
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	switch format := formatOf(r); format {
	case wire.Messages:
		data := modelInfos(format)
		writeJSON(w, map[string]any{"data": data, "has_more": false, "first_id": data[0]["id"], "last_id": data[len(data)-1]["id"]})
	case wire.Gemini:
		s.listGemini(w, r)
	default:
		writeJSON(w, map[string]any{"object": "list", "data": modelInfos(format)})
	}
}

func (s *Server) listGemini(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"models": modelInfos(wire.Gemini)})
}

// getModel says what there is to say of one model.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request) {
	format := formatOf(r)
	_, name, _ := strings.Cut(r.URL.Path, "models/")
	if _, err := ParseBehaviour(name); err != nil {
		codec := wire.Codec{Format: format}
		fail(codec, w, notFound(codec, err))
		return
	}
	writeJSON(w, modelInfo(format, name))
}

func (s *Server) listTags(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		Name  string `json:"name"`
		Model string `json:"model"`
	}
	var data []model
	for _, name := range Models() {
		data = append(data, model{name, name})
	}
	writeJSON(w, map[string]any{"models": data})
}

// showModel says what an Ollama server says of a model: only the native one
// has tools.
func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	if err := decodeBody(w, r, &ask); err != nil {
		http.Error(w, `{"error":"the body is not JSON"}`, http.StatusBadRequest)
		return
	}
	b, err := ParseBehaviour(ask.Model + ask.Name)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		writeJSON(w, map[string]string{"error": err.Error()})
		return
	}
	capabilities := []string{"completion"}
	if b.Dialect == "" && !b.NoTools {
		capabilities = append(capabilities, "tools")
	}
	writeJSON(w, map[string]any{"capabilities": capabilities, "details": map[string]string{"family": "sim"}, "model_info": map[string]any{"sim.context_length": 32768}})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"version": "0.0.0-sim"})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"status": "ok"})
}
