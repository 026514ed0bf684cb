package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// The log names what a request failed for: a budget, an expired key with its team, a body over the limit, a certificate
// that is not accepted. It says which route answered in place of another, and how long the answer took to begin.
func TestLogNamesTheCause(t *testing.T) {
	secure := httptest.NewTLSServer(new(sim.Server)) // its certificate is its own
	defer secure.Close()
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	good := httptest.NewServer(new(sim.Server))
	defer good.Close()
	client := &provider.Client{Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}, Vendors: map[string]provider.Vendor{
		"secure": {BaseURL: secure.URL + "/v1", Wires: []string{wire.Chat}}, "good": {BaseURL: good.URL + "/v1", Wires: []string{wire.Chat}}}}
	first := to("first", "secure/sim/native")
	first.Fallback = []string{"second"}
	log := new(safeLog)
	book := &access.Book{Store: new(access.Memory)}
	url := serve(t, gateway.Setup{Open: opening(client), Access: book, MaxBody: 2000, Log: slog.New(slog.NewTextHandler(log, nil)),
		Routes: []gateway.ModelRoute{first, to("second", "good/sim/native"), to("slow", "good/sim/native+stall=10m")}})
	key := func(k access.Key) (id, secret string) {
		k.Team = "red"
		made, secret, err := book.Create(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return made.ID, secret
	}
	usual, free := key(access.Key{})
	_, poor := key(access.Key{Limits: quotas(t, "tokens/day=0")})
	expires := time.Now().Add(200 * time.Millisecond)
	late, old := key(access.Key{Expires: expires})
	post := func(ctx context.Context, secret, model, text string) {
		body := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`, model, text)
		req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	post(t.Context(), free, "first", "Hello")
	post(t.Context(), poor, "second", "Hello")
	time.Sleep(time.Until(expires))
	post(t.Context(), old, "second", "Hello")
	post(t.Context(), free, "second", strings.Repeat("long ", 1000))
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	post(soon, free, "slow", "Hello")
	for _, line := range [][]string{
		{`msg="upstream attempt failed"`, "route=first", "upstream=secure/sim/native", "kind=certificate error="},
		{"level=INFO msg=request ", "status=200", "route=first fallback=second first_token=", "upstream=good/sim/native"},
		{`msg="request failed"`, "status=429", "team=red", "kind=budget"},
		{`msg="request failed"`, "status=401", "team=red key=" + late, "kind=expired"},
		{`msg="request failed"`, "status=413", "team=red key=" + usual, "kind=body_size"},
		{`level=INFO msg="request cancelled"`, "route=slow", "kind=canceled", "the client closed the connection"},
	} {
		log.wait(t, line...)
	}
	if text := log.text(); strings.Contains(text, "status=0 ") {
		t.Errorf("a status that nobody sent:\n%s", text)
	}
}
