package gateway_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestPagesTellNoKey checks that a page which repeats the key of the gateway in a spelling of its own, so that what is shown of the page ends
// within the key, tells none of it to the client or to the log.
func TestPagesTellNoKey(t *testing.T) {
	const key = "sk+live+0123456789abcdefABCDEF+very+secret+key+of+the+operator"
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><title>Blocked</title>Authorization: " + strings.ReplaceAll(r.Header.Get("Authorization"), "+", "&#43;") + "</html>"))
	}))
	defer page.Close()
	c := &provider.Client{
		Route: provider.Native, Key: func(string) (string, error) { return key, nil },
		Vendors: map[string]provider.Vendor{"page": {BaseURL: page.URL, Wires: []string{wire.Chat}, KeyEnv: "K"}},
	}
	log := new(safeLog)
	url := serve(t, gateway.Setup{Open: opening(c), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{to("alone", "page/m")}})
	for _, stream := range []string{"false", "true"} {
		_, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"alone","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`)
		if strings.Contains(body, "0123456789") || strings.Contains(body, "Blocked") || !strings.Contains(body, "no answer of a model (text/html)") {
			t.Error(body)
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if text := log.b.String(); strings.Contains(text, "0123456789") || !strings.Contains(text, "Blocked") {
		t.Error(text)
	}
}
