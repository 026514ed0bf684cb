package provider_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// TestMembersOfOtherServers: members of another format that the maker of this one takes are not sent to a server that only speaks like it: it may
// refuse what it does not know.
func TestMembersOfOtherServers(t *testing.T) {
	var body string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer up.Close()
	codec, _ := wire.For(wire.Responses)
	req, _, err := codec.DecodeRequest([]byte(`{"model":"m","input":"x","user":"u","prompt_cache_key":"k","store":false,"safety_identifier":"s","service_tier":"flex","text":{"verbosity":"low"}}`))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]provider.Vendor{
		"like":  {Like: "openai", BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}},
		"own":   {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}, Quirks: format.Quirks{MaxTokens: "max_tokens"}},
		"plain": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}},
	}
	client := &provider.Client{Vendors: rows, Key: func(string) (string, error) { return "k", nil }, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	for _, id := range []string{"like/m", "own/m", "plain/m", "openai+" + up.URL + "/v1#m"} {
		m, err := client.Open(id)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		body = ""
		_, _ = llm.Generate(context.Background(), m, req)
		if body == "" {
			t.Errorf("%s: nobody was asked", id)
		}
		for _, member := range []string{"prompt_cache_key", "safety_identifier", "service_tier", "verbosity", `"user":"u"`} {
			if strings.Contains(body, member) {
				t.Errorf("%s: %s is sent: %s", id, member, body)
			}
		}
	}
}
