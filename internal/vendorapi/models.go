package vendorapi

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/wire"
)

// Model is what a server says of a model.
type Model struct {
	Name    string
	Owner   string
	Since   time.Time
	Context int // tokens of the window; 0 where nobody knows
	Output  int // tokens of an answer; 0 where nobody knows
	Tools   bool
	Thinks  bool
}

// page is how a vendor speaks of its models.
type page struct {
	formats []string // of the clients that read it, its own first
	one     func(m Model) map[string]any
	all     func(models []map[string]any) map[string]any
}

// pages are the vendors whose words differ from OpenAI's, whose row is the last and
// stands for everyone else.
var pages = []page{
	{[]string{wire.Messages}, func(m Model) map[string]any {
		return map[string]any{"type": "model", "id": m.Name, "display_name": m.Name, "created_at": m.Since}
	}, func(models []map[string]any) map[string]any {
		answer := map[string]any{"data": models, "has_more": false, "first_id": nil, "last_id": nil}
		if len(models) > 0 {
			answer["first_id"], answer["last_id"] = models[0]["id"], models[len(models)-1]["id"]
		}
		return answer
	}},
	{[]string{wire.Gemini}, func(m Model) map[string]any {
		answer := map[string]any{"name": "models/" + m.Name, "displayName": m.Name,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"}}
		if m.Context > 0 {
			answer["inputTokenLimit"] = m.Context
		}
		if m.Output > 0 {
			answer["outputTokenLimit"] = m.Output
		}
		return answer
	}, func(models []map[string]any) map[string]any { return map[string]any{"models": models} }},
	{[]string{wire.Chat, wire.Responses}, func(m Model) map[string]any {
		return map[string]any{"id": m.Name, "object": "model", "created": m.Since.Unix(), "owned_by": m.Owner}
	}, func(models []map[string]any) map[string]any { return map[string]any{"object": "list", "data": models} }},
}

func pageOf(format string) page {
	for _, p := range pages {
		if slices.Contains(p.formats, format) {
			return p
		}
	}
	return pages[len(pages)-1]
}

// Readers are the formats of the clients that read what an endpoint says of models: OpenAI's two formats have one list.
func (e Endpoint) Readers() []string {
	if p := pageOf(e.Codec.Format); slices.Contains(p.formats, e.Codec.Format) {
		return p.formats
	}
	return []string{e.Codec.Format}
}

// WriteModels lists models as the client's vendor does.
func (e Endpoint) WriteModels(w http.ResponseWriter, models []Model) {
	p := pageOf(e.Codec.Format)
	if e.Action == ListTags {
		p = tags
	}
	list := make([]map[string]any, len(models))
	for i, m := range models {
		list[i] = p.one(m)
	}
	WriteJSON(w, p.all(list))
}

// tags is how Ollama lists its models.
var tags = page{[]string{wire.Ollama},
	func(m Model) map[string]any { return map[string]any{"name": m.Name, "model": m.Name} },
	func(models []map[string]any) map[string]any { return map[string]any{"models": models} }}

// WriteModel says what there is to say of one model.
func (e Endpoint) WriteModel(w http.ResponseWriter, m Model) {
	if e.Action != ShowModel {
		WriteJSON(w, pageOf(e.Codec.Format).one(m))
		return
	}
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
	WriteJSON(w, map[string]any{"capabilities": capabilities, "details": map[string]string{"family": m.Owner}, "model_info": info})
}

// maxShow bounds the body of a question for a model.
const maxShow = 64 << 10

// ModelName returns the model that a request about one names.
func (e Endpoint) ModelName(r *http.Request) string {
	if e.Action != ShowModel {
		_, name, _ := strings.Cut(r.URL.Path, "models/")
		return name
	}
	var ask struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	_ = json.NewDecoder(io.LimitReader(r.Body, maxShow)).Decode(&ask) // no name is a model that is not there
	if ask.Model == "" {
		return ask.Name
	}
	return ask.Model
}
