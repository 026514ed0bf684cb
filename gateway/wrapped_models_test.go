package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
)

// TestWrappedModels: a model that a program wraps keeps its price, and errors of its upstream do not name the host.
func TestWrappedModels(t *testing.T) {
	t.Parallel()
	serve := &sim.Server{}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"no such thing at `+r.Host+`","type":"invalid_request_error"}}`)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(up.Close)
	known, err := catalog.Default().Load("mine", []byte("models:\n  sim/native: {price: {input: 1, output: 2}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: known}
	for name, wrap := range map[string]func(llm.Model) llm.Model{
		"plain":  func(m llm.Model) llm.Model { return m },
		"around": func(m llm.Model) llm.Model { return llm.Around(m, m.Stream) },
		"twice":  func(m llm.Model) llm.Model { return refine.Retry(llm.Around(m, m.Stream), 2) },
	} {
		keys, err := gateway.OpenAccess(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, secret, err := keys.Create(t.Context(), gateway.Key{Team: "red"}, "money/day=1")
		if err != nil {
			t.Fatal(err)
		}
		g, err := gateway.New(gateway.Setup{Access: keys,
			Open: func(id string, _ gateway.Way) (llm.Model, error) {
				m, err := client.Open(id)
				if err != nil {
					return nil, err
				}
				return wrap(m), nil
			},
			Routes: []gateway.ModelRoute{
				{Model: "good", Upstreams: []gateway.Upstream{{Model: "openai+" + up.URL + "/v1#sim/native"}}},
				{Model: "bad", Upstreams: []gateway.Upstream{{Model: "openai+" + up.URL + "/bad/v1#sim/native"}}},
			}})
		if err != nil {
			t.Fatal(err)
		}
		for model, status := range map[string]int{"good": http.StatusOK, "bad": http.StatusBadRequest} {
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Hello"}]}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code != status || strings.Contains(w.Body.String(), strings.TrimPrefix(up.URL, "http://")) || model == "good" && w.Header().Get("Toolpost-Cost") == "" {
				t.Errorf("%s, %s: status %d, %v, %s", name, model, w.Code, w.Header(), w.Body)
			}
		}
	}
}
