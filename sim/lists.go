package sim

import (
	"net/http"

	"github.com/toolpost/toolpost/dialect"
)

// Models returns the names of the simulated models, without faults.
func Models() []string {
	names := []string{"sim/" + nativeName}
	for _, d := range dialect.All() {
		names = append(names, "sim/"+d.Name)
	}
	return names
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	var data []model
	for _, name := range Models() {
		data = append(data, model{name, "model", 0, "sim"})
	}
	writeJSON(w, map[string]any{"object": "list", "data": data})
}

func (s *Server) listGemini(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		Name    string   `json:"name"`
		Methods []string `json:"supportedGenerationMethods"`
	}
	var data []model
	for _, name := range Models() {
		data = append(data, model{"models/" + name, []string{"generateContent", "streamGenerateContent"}})
	}
	writeJSON(w, map[string]any{"models": data})
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
