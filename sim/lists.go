package sim

import (
	"net/http"
	"time"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/vendorapi"
)

// Models returns the names of the simulated models, without faults.
func Models() []string {
	names := []string{"sim/" + nativeName}
	for _, d := range dialect.Builtin().All() {
		names = append(names, "sim/"+d.Name)
	}
	return names
}

// since is the creation time of the models.
var since = time.Unix(1700000000, 0).UTC()

// described returns the metadata of models.
func described(names []string) []vendorapi.Model {
	models := make([]vendorapi.Model, len(names))
	for i, name := range names {
		models[i] = vendorapi.Model{Name: name, Owner: "sim", Since: since, Context: 32768, Output: 8192}
	}
	return models
}

// getModel returns the metadata of one model. Only the native one has tools.
func (s *Server) getModel(e vendorapi.Endpoint, w http.ResponseWriter, r *http.Request) error {
	name := e.ModelName(r)
	b, err := s.parse(name)
	if err != nil {
		return vendorapi.NotFound(e.Codec, err)
	}
	m := described([]string{name})[0]
	m.Tools, m.Thinks = b.Dialect == "" && !b.NoTools, true
	e.WriteModel(w, m)
	return nil
}

// count answers a request for a token count, with the number that its answer would report.
func (s *Server) count(e vendorapi.Endpoint, w http.ResponseWriter, r *http.Request) error {
	body, err := vendorapi.Body(w, r, maxBody)
	if err != nil {
		return err
	}
	req, err := e.CountRequest(r.URL.Path, body)
	if err != nil {
		return err
	}
	if err := s.answers.Recall(r.Context(), "", e.Codec, req); err != nil {
		return err
	}
	e.WriteCount(w, inputTokens(req))
	return nil
}
