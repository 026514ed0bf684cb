package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestBetaHeaderOrder checks that idempotency and the cache treat requests with the same betas as equal, regardless of
// order and duplicates. The upstream gets the header as the client wrote it.
func TestBetaHeaderOrder(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, strings.Join(r.Header.Values("Anthropic-Beta"), " | "))
		mu.Unlock()
		new(sim.Server).ServeHTTP(w, r)
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Messages}}}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	cached := to("cached", "up/sim/native")
	cached.Cache = gateway.Cache{For: time.Hour}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("named", "up/sim/native"), cached}})
	for i, test := range []struct {
		first, second string
		same          bool
	}{
		{"b-2,a-1", "a-1,b-2", true},
		{"b-2 , a-1", "a-1,b-2,a-1,", true},
		{"z-1,a-1", "a-1", false},
		{"", ",", true},
	} {
		for _, model := range []string{"named", "cached"} {
			ask := func(betas string) *http.Response {
				header := []string{"Idempotency-Key", fmt.Sprint(model, i)}
				if model == "cached" {
					header = nil
				}
				if betas != "" {
					header = append(header, "Anthropic-Beta", betas)
				}
				resp, _ := send(t, "POST", url+"/v1/messages", "application/json", fmt.Sprintf(`{"model":%q,"max_tokens":900,"messages":[{"role":"user","content":"hi %d"}]}`, model, i), header...)
				return resp
			}
			if resp := ask(test.first); resp.StatusCode != 200 {
				t.Fatalf("%q of %s: %d", test.first, model, resp.StatusCode)
			}
			mu.Lock()
			n := len(asked)
			if got := asked[n-1]; got != test.first {
				t.Errorf("the upstream of %s got %q, not %q", model, got, test.first)
			}
			mu.Unlock()
			resp := ask(test.second)
			mu.Lock()
			again := len(asked) > n || resp.StatusCode != 200
			mu.Unlock()
			if again == test.same {
				t.Errorf("%s: %q after %q: status %d, asked again: %t", model, test.second, test.first, resp.StatusCode, again)
			}
		}
	}
}
