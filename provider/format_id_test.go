package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// TestIDsChooseTheFormat: the path of the request shows the format that the model is asked in.
func TestIDsChooseTheFormat(t *testing.T) {
	path := ""
	simulator := &sim.Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			path = r.URL.Path
		}
		simulator.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := &provider.Client{HTTP: server.Client(), Vendors: map[string]provider.Vendor{"mine": {Like: "openai", BaseURL: server.URL + "/v1"}}}
	at := func(vendor, rest string) string { return vendor + "+" + server.URL + rest + "#sim/native" }
	for id, want := range map[string]string{
		"mine+responses:sim/native":         "/v1/responses",
		"mine+chat:sim/native":              "/v1/chat/completions",
		"mine+chat/sim/native":              "/v1/chat/completions",
		"MINE+Responses:sim/native":         "/v1/responses",
		at("openai+responses", "/v1"):       "/v1/responses",
		at("openai+chat", "/v1"):            "/v1/chat/completions",
		at("openai", ""):                    "/v1/chat/completions",
		at("openai+responses", ""):          "/v1/responses",
		at("ollama", ""):                    "/api/chat",
		at("ollama", "/"):                   "/api/chat",
		at("anthropic", ""):                 "/v1/messages",
		at("anthropic", "/v1"):              "/v1/messages",
		at("gemini", ""):                    "/v1beta/models/sim/native:streamGenerateContent",
		at("openai-compatible+chat", "/v1"): "/v1/chat/completions",
	} {
		m, err := c.Open(id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		resp, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("Hello")}})
		if err != nil || resp.Message.Text() == "" || path != want {
			t.Errorf("%s: asked at %s, want %s, %v", id, path, want, err)
		}
	}
	for id, says := range map[string]string{
		"openai+messages:gpt-5":               "chat, responses",
		"anthropic+responses:claude-opus-4-5": "messages",
		"opnai+responses:gpt-5":               "did you mean openai",
		"openai+responses:":                   "lacks the name of a model",
		"openai-compatible+chat:x":            "http://",
		"openai+chat+ftp://h/v1#m":            "http://",
		"openai+chat+chat+http://h/v1#m":      "http://",
		"openai+nonsense+http://h/v1#m":       "does not speak",
	} {
		if m, err := c.Open(id); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v, want %q", id, m, err, says)
		}
	}
}

func TestMediaWithoutATypeAreSniffedOrRefused(t *testing.T) {
	var body string
	simulator := &sim.Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		r.Body = io.NopCloser(strings.NewReader(body))
		simulator.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := &provider.Client{HTTP: server.Client()}
	for _, id := range []string{"openai+chat+%#sim/native", "openai+responses+%#sim/native", "anthropic+%#sim/native", "gemini+%#sim/native"} {
		id = strings.ReplaceAll(id, "%", server.URL)
		m, err := c.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []struct {
			media llm.Media
			typ   string
		}{
			{llm.Media{Kind: llm.Image, Data: png}, "image/png"},
			{llm.Media{Data: png}, "image/png"},
			{llm.Media{Kind: llm.Image, Data: []byte("GIF89a\x01\x00\x01\x00")}, "image/gif"},
			{llm.Media{Kind: llm.Document, Data: []byte("%PDF-1.4")}, "application/pdf"},
			{llm.Media{Kind: llm.Image, Data: []byte("no image at all")}, ""},
			{llm.Media{Kind: llm.Image, Data: []byte{0, 1, 2, 3}}, ""},
			{llm.Media{Data: []byte{0, 1, 2, 3}}, ""},
			{llm.Media{Kind: llm.Audio, Data: png}, ""},
		} {
			body = ""
			req := &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "What is this?"}, in.media}}}, MaxTokens: 100}
			_, err := llm.Generate(t.Context(), m, req)
			switch {
			case in.typ == "" && (llm.KindOf(err) != llm.Invalid || body != "" || !strings.Contains(err.Error(), "Media.")):
				t.Errorf("%s: %s %q: %v, sent %q", id, in.media.Kind, in.media.Data, err, body)
			case in.typ != "" && (err != nil || !strings.Contains(body, in.typ)):
				t.Errorf("%s: %s %q: %v, sent %q", id, in.media.Kind, in.media.Data, err, body)
			}
			if got := req.Messages[0].Parts[1].(llm.Media); got.MIME != "" || got.Kind != in.media.Kind {
				t.Errorf("%s: the request of the caller was changed: %+v", id, got)
			}
		}
	}
}

// TestThinkingOfAnotherVendorIsNotSentAsText: formats that have a field for unsigned thinking get none
// of what another vendor signed, and do get what no vendor signed.
func TestThinkingOfAnotherVendorIsNotSentAsText(t *testing.T) {
	var body string
	simulator := &sim.Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		r.Body = io.NopCloser(strings.NewReader(body))
		simulator.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := &provider.Client{HTTP: server.Client()}
	for _, vendor := range []string{"openai+chat", "openai+responses", "deepseek", "anthropic", "gemini", "ollama", "mistral"} {
		m, err := c.Open(vendor + "+" + server.URL + "#sim/native")
		if err != nil {
			t.Fatal(err)
		}
		for _, signer := range []string{"anthropic/messages", "google/gemini", "openai/responses", "amazon/converse"} {
			req := &llm.Request{MaxTokens: 100, Messages: []llm.Message{llm.User("Think."),
				llm.Assistant(llm.Thinking{Text: "private thoughts", State: llm.State{Vendor: signer, Data: []byte(`{"signature":"c2lnbmVk"}`)}}, llm.Text{Text: "Done."}), llm.User("And?")}}
			resp, err := llm.Generate(t.Context(), m, req)
			if strings.HasPrefix(signer, strings.SplitN(vendor, "+", 2)[0]) {
				continue
			}
			if err != nil || strings.Contains(body, "private thoughts") {
				t.Errorf("%s got the thinking of %s: %v %s", vendor, signer, err, body)
			}
			if resp != nil && len(resp.Warnings) == 0 {
				t.Errorf("%s: no warning about the thinking of %s", vendor, signer)
			}
		}
	}
}
