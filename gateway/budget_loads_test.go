package gateway_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestSpendEqualsTheBill sends random requests through two gateways with one store, to upstreams that answer, refuse or
// close the connection, and checks that the spend equals what the upstreams billed, and that the team's budget is exceeded
// by less than what was in flight.
func TestSpendEqualsTheBill(t *testing.T) {
	var billed atomic.Int64 // picodollars
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(40, 2))
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		fault, in, out := rng.IntN(5), 1+rng.IntN(500), 1+rng.IntN(300)
		mu.Unlock()
		switch fault {
		case 0:
			http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
			return
		case 1:
			panic(http.ErrAbortHandler)
		}
		billed.Add(int64(in)*1_000_000 + int64(out)*2_000_000) // the rates of priced
		usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, in, out)
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],%s}\n\ndata: [DONE]\n\n", usage)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],%s}`, usage)
	}))
	t.Cleanup(up.Close)
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: known, Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}, Vendors: map[string]provider.Vendor{
		"one": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}, "two": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	store := new(access.Memory)
	g := &guarded{book: &access.Book{Store: store}}
	var urls []string
	for range 2 {
		urls = append(urls, serve(t, gateway.Setup{Open: opening(client), Access: &access.Book{Store: store}, Routes: []gateway.ModelRoute{
			{Model: "m", Upstreams: []gateway.Upstream{{Model: "one/priced"}, {Model: "two/priced"}}}}}))
	}
	const budget = 40_000_000_000 // picodollars
	if err := g.book.SetTeam(t.Context(), access.Team{Name: "red", Limits: quotas(t, "money/day=0.04")}); err != nil {
		t.Fatal(err)
	}
	secret := g.key(t, access.Key{})
	var refused atomic.Int64
	var wg sync.WaitGroup
	const parallel = 6
	for w := range parallel {
		wg.Go(func() {
			for i := range 25 {
				path, body := "/v1/chat/completions", `{"model":"m","max_tokens":300,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`
				if i%3 == 0 {
					path = "/v1/messages"
				}
				resp, text := send(t, "POST", urls[(w+i)%2]+path, "application/json", fmt.Sprintf(body, i%2 == 0), "Authorization", "Bearer "+secret)
				if resp.StatusCode == http.StatusTooManyRequests && strings.Contains(text, "limit of the team") {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	spent, err := g.book.Usage(t.Context(), time.Time{})
	if err != nil || len(spent) != 1 || int64(spent[0].Money) != billed.Load() {
		t.Errorf("%+v, the bill is %d: %v", spent, billed.Load(), err)
	}
	if over := billed.Load() - budget; over > parallel*(500*1_000_000+300*2_000_000) || refused.Load() == 0 {
		t.Errorf("%d over the budget, %d refused", over, refused.Load())
	}
}
