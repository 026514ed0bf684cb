package gateway_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
)

// TestBelowKeptAnswers: a path below an answer that is kept is about that answer, which stays as it is.
func TestBelowKeptAnswers(t *testing.T) {
	g := guard(t, nil)
	key, theirs := g.key(t, access.Key{}), g.key(t, access.Key{Team: "blue"})
	_, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"chat","input":"hi"}`)
	id := outputOf(t, body).ID
	for _, c := range []struct{ method, path, key, says string }{
		{"GET", "/v1/responses/" + id + "/output_items", key, "no such endpoint: GET /v1/responses/" + id + "/output_items"},
		{"GET", "/v1/responses/" + id + "/", key, "no such endpoint: GET /v1/responses/" + id + "/; leave out the / at the end"},
		{"DELETE", "/v1/responses/" + id + "/input_items", key, "no such endpoint: DELETE"},
		{"GET", "/v1/responses/" + id + "/input_items", theirs, "Response with id '" + id + "' not found."},
		{"GET", "/v1/responses/resp_none/input_items", key, "Response with id 'resp_none' not found."},
		{"GET", "/v1/responses/resp_none", key, "Response with id 'resp_none' not found."},
		{"DELETE", "/v1/responses/resp_none/input_items?limit=2", key, "Response with id 'resp_none' not found."},
	} {
		status, body := g.respond(t, c.method, c.path, c.key, "")
		if status != 404 || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, status, body, c.says)
		}
	}
	if status, body := g.respond(t, "GET", "/v1/responses/"+id, key, ""); status != 200 {
		t.Errorf("it is gone: %d %s", status, body)
	}
}
