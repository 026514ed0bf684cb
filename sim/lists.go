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

// modelPage is how a vendor speaks of its models.
type modelPage struct {
	format string
	one    func(name string) map[string]any
	all    func(models []map[string]any) map[string]any
}

// modelPages are the vendors whose words differ from OpenAI's, whose row is the
// last and stands for everyone else.
var modelPages = []modelPage{
	{wire.Messages, func(name string) map[string]any {
		return map[string]any{"type": "model", "id": name, "display_name": name, "created_at": since}
	}, func(models []map[string]any) map[string]any {
		return map[string]any{"data": models, "has_more": false, "first_id": models[0]["id"], "last_id": models[len(models)-1]["id"]}
	}},
	{wire.Gemini, func(name string) map[string]any {
		return map[string]any{"name": "models/" + name, "displayName": name, "inputTokenLimit": 32768, "outputTokenLimit": 8192,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"}}
	}, func(models []map[string]any) map[string]any { return map[string]any{"models": models} }},
	{wire.Chat, func(name string) map[string]any {
		return map[string]any{"id": name, "object": "model", "created": since.Unix(), "owned_by": "sim"}
	}, func(models []map[string]any) map[string]any { return map[string]any{"object": "list", "data": models} }},
}

func modelPageOf(format string) modelPage {
	for _, page := range modelPages {
		if page.format == format {
			return page
		}
	}
	return modelPages[len(modelPages)-1]
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) { listIn(w, formatOf(r)) }

func (s *Server) listGemini(w http.ResponseWriter, _ *http.Request) { listIn(w, wire.Gemini) }

func listIn(w http.ResponseWriter, format string) {
	page := modelPageOf(format)
	var models []map[string]any
	for _, name := range Models() {
		models = append(models, page.one(name))
	}
	writeJSON(w, page.all(models))
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
	writeJSON(w, modelPageOf(format).one(name))
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
