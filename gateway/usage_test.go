package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// counted is a server like OpenAI's: it sends the usage of a stream in a separate chunk, on request.
func counted(next http.Handler, asked *[]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = body
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		out := rec.Body.Bytes()
		if string(js.Get(js.Get(body, "stream_options"), "include_usage")) != "true" {
			out = wire.Codec{Format: wire.Chat}.WithoutUsage(out)
		}
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(out)
	})
}

// TestUsageOnlyForClientsThatAsk checks that a Chat stream has usage only for clients that ask for it, in a chunk after the
// answer, for every kind of answer. The gateway itself always knows the usage if it needs it.
func TestUsageOnlyForClientsThatAsk(t *testing.T) {
	for name, path := range map[string]struct {
		upstream, model string
		route           provider.RouteKind
		served          bool
		relays          bool
	}{
		"relayed":    {wire.Chat, "sim/native", provider.Native, false, true},
		"translated": {wire.Messages, "sim/native", provider.Native, false, false},
		"emulated":   {wire.Chat, "sim/hermes_json", provider.Prompted, false, false},
		"served":     {wire.Chat, "sim/native", provider.Native, true, false},
	} {
		for _, keyed := range []bool{false, true} {
			for options, asks := range map[string]bool{
				``: false, `"stream_options":{"include_usage":true},`: true, `"stream_options":{"include_usage":false},`: false,
				`"stream_options": {"include_obfuscation" : false} ,`: false,
			} {
				t.Run(fmt.Sprintf("%s/keys=%t/%s", name, keyed, options), func(t *testing.T) {
					var sent []byte
					server := &sim.Server{}
					var n counter
					if path.served {
						server.Model = script(t, "call look {\"what\":\"one\"}", "text Done.")
					}
					up := httptest.NewServer(counted(server, &sent))
					defer up.Close()
					client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{path.upstream}}}, Route: path.route, Style: "hermes", Retry: provider.RetryPolicy{Attempts: -1}}
					route := to("m", "up/"+path.model)
					if path.served {
						route.Tools = served(reading("look", "found", &n))
					}
					g := &guarded{book: &access.Book{Store: new(access.Memory)}}
					setup := gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}}
					if keyed {
						setup.Access = g.book
					}
					g.url = serve(t, setup)
					post, _ := http.NewRequest("POST", g.url+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,`+options+`"messages":[{"role":"user","content":"Hello there"}]}`))
					if keyed {
						bearerOf(g.key(t, access.Key{}))(post)
					}
					resp, err := http.DefaultClient.Do(post)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					b, _ := io.ReadAll(resp.Body)
					body := string(b)
					chunks := usageChunks(body)
					if resp.StatusCode != 200 || !strings.HasSuffix(body, "data: [DONE]\n\n") || asks != (len(chunks) == 1) || !asks && strings.Contains(body, "prompt_tokens") {
						t.Errorf("asks=%t: %s %s", asks, resp.Status, body)
					}
					if path.relays && !bytes.Contains(sent, []byte(`"messages":[{"role":"user","content":"Hello there"}]`)) {
						t.Errorf("the upstream was asked %s", sent)
					}
					if !keyed {
						return
					}
					log, err := g.book.Log(t.Context(), 1)
					if err != nil || len(log) != 1 || log[0].Estimated || log[0].Input == 0 || log[0].Output == 0 {
						t.Errorf("booked %+v, %v", log, err)
					}
					if asks && !strings.Contains(chunks[0], fmt.Sprintf(`"prompt_tokens":%d`, log[0].Input)) {
						t.Errorf("told %s, booked %+v", chunks[0], log[0])
					}
				})
			}
		}
	}
}

// usageChunks returns the chunks of a stream that contain only usage.
func usageChunks(body string) (chunks []string) {
	for line := range strings.Lines(body) {
		data := []byte(strings.TrimSpace(strings.TrimPrefix(line, "data:")))
		if js.Kind(js.Get(data, "usage")) == '{' && string(js.Get(data, "choices")) == "[]" {
			chunks = append(chunks, string(data))
		}
	}
	return chunks
}

// TestUsageOfRounds checks that the usage of an answer with gateway tools is the total of all rounds.
func TestUsageOfRounds(t *testing.T) {
	var n counter
	url, model := staged(t, script(t, "call look {\"what\":\"one\"}", "call look {\"what\":\"two\"}", "text Done."), wire.Chat, served(reading("look", "found", &n)))
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello there"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	chunks := usageChunks(string(b))
	if len(chunks) != 1 || len(model.asked) != 3 {
		t.Fatalf("%d rounds: %s", len(model.asked), b)
	}
	got, _ := js.Int(js.Get(js.Get([]byte(chunks[0]), "usage"), "prompt_tokens"))
	one := post(t, url, `{"model":"m","messages":[{"role":"user","content":"Hello there"}]}`)
	if whole, _ := js.Int(js.Get(js.Get(one, "usage"), "prompt_tokens")); whole != got || got == 0 {
		t.Errorf("a stream of three rounds used %d, the answer in one piece %d", got, whole)
	}
}

// post requests a document.
func post(t *testing.T, url, body string) []byte {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return b
}
