package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestRefusedRequestOfGoneClientIsFree checks clients that disconnect while the gateway waits to retry a busy upstream: the refusal
// costs nothing. A client that disconnects during a silent retry pays as usual.
func TestRefusedRequestOfGoneClientIsFree(t *testing.T) {
	asked := make(chan int, 99)
	for _, again := range []bool{false, true} {
		var n atomic.Int64
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			if n.Add(1)%2 == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				asked <- 1
				return
			}
			asked <- 2
			<-r.Context().Done()
		}))
		defer up.Close()
		wait := map[bool]time.Duration{false: time.Minute, true: time.Millisecond}[again]
		client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Retry: provider.RetryPolicy{Attempts: 2, Initial: wait, Max: wait}, Route: provider.Native}
		for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
			for _, stream := range []bool{false, true} {
				g := &guarded{book: &access.Book{Store: new(access.Memory)}}
				g.url = serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("chat", "up/m")}, Access: g.book})
				key := g.key(t, access.Key{Limits: quotas(t, "tokens/day=100000")})
				ctx, leave := context.WithCancel(t.Context())
				post, err := http.NewRequestWithContext(ctx, "POST", g.url+path, strings.NewReader(strings.Replace(hello, "{", fmt.Sprintf(`{"max_tokens":900,"stream":%t,`, stream), 1)))
				if err != nil {
					t.Fatal(err)
				}
				post.Header.Set("Authorization", "Bearer "+key)
				done := make(chan struct{})
				go func() {
					defer close(done)
					if resp, err := http.DefaultClient.Do(post); err == nil {
						resp.Body.Close()
					}
				}()
				if <-asked; again {
					<-asked
				} else {
					time.Sleep(100 * time.Millisecond) // the gateway reads the refusal
				}
				leave()
				<-done
				line := newest(t, g.book, path, stream)
				if free := line.Input+line.Output == 0 && !line.Estimated; free == again {
					t.Errorf("%s, stream=%t, asked again %t: booked %+v", path, stream, again, line)
				}
				n.Store(0)
			}
		}
	}
}

// newest waits for a line of the log.
func newest(t *testing.T, book *access.Book, what ...any) access.LogLine {
	t.Helper()
	for range 500 {
		if lines, err := book.Log(t.Context(), 1); err == nil && len(lines) == 1 {
			return lines[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nothing was booked", what)
	return access.LogLine{}
}
