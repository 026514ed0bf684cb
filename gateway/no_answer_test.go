package gateway_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// safeLog is a log that several write.
type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// TestUpstreamsThatAnswerWithAPage checks that an upstream which answers 200 with a page is not told as one that cannot be reached, neither to the
// client nor in the log, that the client is told nothing of its place or of the page, which is for the log, and that a fallback answers.
func TestUpstreamsThatAnswerWithAPage(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>Sign in at " + r.Host + "</html>"))
	}))
	defer page.Close()
	good := httptest.NewServer(new(sim.Server))
	defer good.Close()
	for _, format := range []string{wire.Chat, wire.Messages} {
		log := new(safeLog)
		c := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
			"page": {BaseURL: page.URL, Wires: []string{format}}, "good": {BaseURL: good.URL + "/v1", Wires: []string{wire.Chat}}}}
		alone, backed := to("alone", "page/m"), to("backed", "page/m")
		backed.Fallback = []string{"good"}
		url := serve(t, gateway.Setup{Open: opening(c), Log: slog.New(slog.NewTextHandler(log, nil)), Routes: []gateway.ModelRoute{alone, backed, to("good", "good/sim/native")}})
		for _, stream := range []string{"false", "true"} {
			ask := func(model string) (*http.Response, string) {
				return send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"`+model+`","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`)
			}
			resp, body := ask("alone")
			const says = "the server answered 200 with what is no answer of a model (text/html); the address"
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, says) || strings.Contains(body, "reached") || strings.Contains(body, "Sign in") || strings.Contains(body, strings.TrimPrefix(page.URL, "http://")) {
				t.Errorf("%s %s: %s %s", format, stream, resp.Status, body)
			}
			if resp, body := ask("backed"); resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %s %s", format, stream, resp.Status, body)
			}
		}
		log.mu.Lock()
		if text := log.b.String(); !strings.Contains(text, "no answer of a model (text/html), which begins") || !strings.Contains(text, "Sign in") || !strings.Contains(text, "kind=malformed") {
			t.Error(text)
		}
		log.mu.Unlock()
	}
}
