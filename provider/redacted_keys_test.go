package provider_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// A key that stands anywhere in a request does not reach a server that it does
// not belong to, in no spelling and no format, and a warning says so. The key of
// the server itself is no secret from it.
func TestForeignKeysStayHome(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	keys := map[string]string{"OPENAI_API_KEY": "sk-proj-Ab3_9xQ7-zz81kLmN", "ANTHROPIC_API_KEY": "an0ther+key/of=Anthropic", "OWN_KEY": "0wn-key-of-the-host", "": "crm-t0ken-of-a-tool"}
	for name, key := range keys {
		if name != "" {
			t.Setenv(name, key)
		}
	}
	spell := map[string]func(string) string{
		"raw":     func(k string) string { return k },
		"url":     url.QueryEscape,
		"base64":  func(k string) string { return base64.StdEncoding.EncodeToString([]byte("ab:" + k)) },
		"aligned": func(k string) string { return base64.URLEncoding.EncodeToString([]byte("a:" + k + "c")) },
		"basic":   func(k string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(k)) },
	}
	for _, format := range wire.Formats() {
		for name, key := range keys {
			for how, f := range spell {
				attacks++
				spelled := f(key)
				var got string
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					got = string(b)
					w.WriteHeader(http.StatusTeapot)
				}))
				client := &provider.Client{
					Secrets: []string{keys[""]}, Retry: provider.RetryPolicy{Attempts: 1},
					Vendors: map[string]provider.Vendor{"own": {BaseURL: server.URL, Wires: []string{format}, KeyEnv: "OWN_KEY"}},
				}
				args, _ := json.Marshal(map[string]any{"text": spelled, "n": 12345678})
				req := &llm.Request{System: "It is " + spelled, Messages: []llm.Message{
					llm.User("Look at " + spelled),
					llm.Assistant(llm.Call{ID: "c1", Name: "f", Args: args}),
					{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c1", Name: "f", Parts: []llm.Part{llm.Text{Text: "KEY=" + spelled}}}}},
				}, Tools: []llm.ToolDef{{Name: "f", Description: "knows " + spelled, Schema: json.RawMessage(`{"type":"object"}`)}}}
				warned := false
				for ev := range open(t, client, "own/m").Stream(t.Context(), req) {
					if w, ok := ev.(llm.Warning); ok && w.Code == llm.Stripped {
						warned = true
					}
				}
				server.Close()
				inside, _ := json.Marshal(spelled)
				there := strings.Contains(got, strings.Trim(string(inside), `"`)) || strings.Contains(got, spelled)
				for i := range len(key) - 7 { // nor half of it, where a prompt was cut
					if name != "OWN_KEY" && how == "raw" && strings.Contains(got, key[i:i+8]) {
						t.Errorf("%s, %s: %q is left", format, name, key[i:i+8])
					}
				}
				if own := name == "OWN_KEY"; there != own || warned == own || got == "" || !json.Valid([]byte(got)) {
					t.Errorf("%s, %s as %s: there %v, warned %v: %s", format, name, how, there, warned, got)
				}
			}
		}
	}
}
