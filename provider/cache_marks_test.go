package provider

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// TestClientMarksThePromptCache: a client with CacheMarks marks each request, where the vendor has marks, and says
// nothing about others. Without it there are none, and the request of the caller is not changed.
func TestClientMarksThePromptCache(t *testing.T) {
	marks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		marks = bytes.Count(body, []byte("cache_control"))
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	for _, c := range []struct {
		id   string
		on   bool
		want int
	}{{"mine/claude-sonnet-4-5", true, 2}, {"mine/claude-sonnet-4-5", false, 0}, {"anthropic+" + server.URL + "/v1#m", true, 0}, {"openai+" + server.URL + "/v1#gpt-5", true, 0}} {
		mine := Vendor{BaseURL: server.URL + "/v1", Wires: []string{wire.Messages}, Quirks: format.Quirks{Members: cacheMark}}
		m, err := (&Client{CacheMarks: c.on, Retry: RetryPolicy{Attempts: 1}, Vendors: map[string]Vendor{"mine": mine}}).Open(c.id)
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.User("Hello")}, MaxTokens: 9}
		for ev, err := range m.Stream(t.Context(), req) {
			if w, ok := ev.(llm.Warning); ok {
				t.Errorf("%s: %v %v", c.id, w, err)
			}
		}
		if marks != c.want || req.System == "" || req.Messages[0].Parts[0].(llm.Text).Extra != nil {
			t.Errorf("%s: %d marks, want %d; %+v", c.id, marks, c.want, req)
		}
	}
}
