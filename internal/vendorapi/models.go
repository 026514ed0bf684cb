package vendorapi

import (
	"io"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/wire"
)

// Model is what a server reports about a model.
type Model = serverapi.ModelInfo

// page returns how the server of a format describes models. A format without its own page has that of the first.
func page(codec wire.Codec) *serverapi.ModelPage {
	if p := codec.Server().Models; p != nil {
		return p
	}
	return wire.Codec{Format: wire.Formats()[0]}.Server().Models
}

// Readers returns the formats that share the endpoint's list of models.
func (e Endpoint) Readers() []string {
	own := e.Codec.Server().Models
	if own == nil {
		return []string{e.Codec.Format}
	}
	var readers []string
	for _, name := range wire.Formats() {
		if (wire.Codec{Format: name}).Server().Models == own {
			readers = append(readers, name)
		}
	}
	return readers
}

// WriteModels writes the list of models.
func (e Endpoint) WriteModels(w http.ResponseWriter, models []Model) {
	p := page(e.Codec)
	list := make([]map[string]any, len(models))
	for i, m := range models {
		list[i] = p.One(m)
	}
	WriteJSON(w, p.All(list))
}

// WriteModel writes the description of one model.
func (e Endpoint) WriteModel(w http.ResponseWriter, m Model) {
	if e.Action == serverapi.ShowModel {
		WriteJSON(w, e.Codec.Server().Show.Show(m))
		return
	}
	WriteJSON(w, page(e.Codec).One(m))
}

// maxShow limits the body of a request for [format.ShowModel].
const maxShow = 64 << 10

// ModelName returns the model that a request for one model names.
func (e Endpoint) ModelName(r *http.Request) string {
	if e.Action == serverapi.ShowModel {
		body, _ := io.ReadAll(io.LimitReader(r.Body, maxShow)) // an incomplete body names no model
		return e.Codec.Server().Show.Name(body)
	}
	_, name, _ := strings.Cut(r.URL.Path, "models/")
	return name
}
