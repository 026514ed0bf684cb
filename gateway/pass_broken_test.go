package gateway_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// logText is a log.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// wait returns the log once it has a line with words.
func (l *logText) wait(words string) string {
	for range 300 {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, words) {
			return text
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

// TestPassedAnswersThatBreakOff: an answer that is passed on and breaks off ends the client's connection, and is in the log, in
// the store and in the metrics like any other request that failed.
func TestPassedAnswersThatBreakOff(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/embeddings"):
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, `{"data":[`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{wire.Chat}}}, Key: func(string) (string, error) { return "vendor-key", nil }}
	for _, keys := range []bool{false, true} {
		for path, body := range map[string]string{"/v1/embeddings": `{"model":"m","input":"a"}`, "/v1/completions": `{"model":"m","prompt":"a","stream":true}`} {
			log := new(logText)
			setup := gateway.Setup{Open: opening(client), Forward: client.Forwarder, Log: slog.New(slog.NewTextHandler(log, nil)),
				Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: gateway.Kinds()}}}
			g := &guarded{}
			if keys {
				g.book = &access.Book{Store: new(access.Memory)}
				setup.Access = g.book
			}
			_, url := live(t, setup)
			post, err := http.NewRequest("POST", url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			post.Header.Set("Content-Type", "application/json")
			if keys {
				post.Header.Set("Authorization", "Bearer "+g.key(t, access.Key{}))
			}
			resp, err := http.DefaultClient.Do(post)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s, keys %t: half an answer looks whole: %s", path, keys, got)
			}
			resp.Body.Close()
			text := log.wait("request failed")
			for _, words := range []string{"path=" + path, "upstream=up/m", "kind=incomplete", "the answer of the upstream broke off"} {
				if !strings.Contains(text, words) {
					t.Errorf("%s, keys %t: the log does not say %s: %s", path, keys, words, text)
				}
			}
			if keys {
				if l := newest(t, g.book, path); l.Status != "incomplete" {
					t.Errorf("%s: %+v", path, l)
				}
			}
			counted := false
			for i := 0; i < 300 && !counted; i++ {
				_, text = get(t, url+"/metrics")
				counted = strings.Contains(text, `toolpost_requests_total{route="m",upstream="up/m",format="chat",status="200"} 1`)
			}
			if !counted {
				t.Errorf("%s, keys %t: it is not counted:\n%s", path, keys, text)
			}
		}
	}
}
