package gateway_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestReplaysOfDeletedAnswers: an answer that its owner has deleted does not come back by the name of its request, and the request is not run again.
func TestReplaysOfDeletedAnswers(t *testing.T) {
	g := guard(t, nil)
	mine, theirs := g.key(t, access.Key{}), g.key(t, access.Key{Team: "blue"})
	for _, format := range []string{wire.Responses, wire.Chat} {
		for _, stream := range []bool{false, true} {
			name := fmt.Sprint(format, stream)
			ask := func(key string) (int, string) {
				resp, body := send(t, "POST", g.url+"/v1/responses", "application/json", fmt.Sprintf(`{"model":%q,"stream":%t,"input":"What is the weather in Paris?"}`, format, stream), "Authorization", "Bearer "+key, "Idempotency-Key", name)
				return resp.StatusCode, body
			}
			status, first := ask(mine)
			id := outputOf(t, first).ID
			if status != 200 || id == "" {
				t.Fatalf("%s: %d %s", name, status, first)
			}
			if status, again := ask(mine); status != 200 || again != first {
				t.Errorf("%s: %d %s", name, status, again)
			}
			if status, body := g.respond(t, "DELETE", "/v1/responses/"+id, theirs, ""); status != 404 {
				t.Errorf("%s: another team deleted it: %d %s", name, status, body)
			}
			if status, body := g.respond(t, "DELETE", "/v1/responses/"+id, mine, ""); status != 200 {
				t.Fatalf("%s: %d %s", name, status, body)
			}
			for range 2 {
				status, body := ask(mine)
				if code := js.Text(js.Get(js.Get([]byte(body), "error"), "code")); status != 404 || code != "response_not_found" || !strings.Contains(body, id) {
					t.Errorf("%s: after it was deleted: %d %s", name, status, body)
				}
			}
		}
	}
}

// TestSameNameOtherRequest: what makes a request another one than the first of its name, and what does not.
func TestSameNameOtherRequest(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	const body = `{"model":"messages","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	for i, test := range []struct {
		name          string
		first, second []string // the body, then headers
		status        int
	}{
		{"another beta", []string{body, "Anthropic-Beta", "a-2025-01-01"}, []string{body, "Anthropic-Beta", "b-2025-01-01"}, 422},
		{"a beta more", []string{body}, []string{body, "Anthropic-Beta", "b-2025-01-01"}, 422},
		{"a beta less", []string{body, "Openai-Beta", "b"}, []string{body}, 422},
		{"the same beta", []string{body, "Anthropic-Beta", "a-2025-01-01"}, []string{body, "Anthropic-Beta", "a-2025-01-01"}, 200},
		{"a member that is null", []string{body}, []string{strings.Replace(body, `{`, `{"stop_sequences":null,`, 1)}, 200},
		{"a member that was null", []string{strings.Replace(body, `{`, `{"metadata":null,`, 1)}, []string{body}, 200},
		{"one of a message", []string{body}, []string{strings.Replace(body, `"role"`, `"cache_control":null,"role"`, 1)}, 200},
		{"one that is not null", []string{body}, []string{strings.Replace(body, `{`, `{"stop_sequences":[],`, 1)}, 422},
		{"null in a schema", []string{strings.Replace(body, `{`, `{"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"default":null}}}}],`, 1)},
			[]string{strings.Replace(body, `{`, `{"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{}}}}],`, 1)}, 422},
	} {
		ask := func(said []string) (int, string, string) {
			resp, got := send(t, "POST", g.url+"/v1/messages", "application/json", said[0], append([]string{"Authorization", "Bearer " + key, "Idempotency-Key", fmt.Sprint(i)}, said[1:]...)...)
			return resp.StatusCode, got, resp.Header.Get(gateway.ReplayHeader)
		}
		if status, got, _ := ask(test.first); status != 200 {
			t.Fatalf("%s: %d %s", test.name, status, got)
		}
		if status, got, replay := ask(test.second); status != test.status || (replay != "") != (status == 200) {
			t.Errorf("%s: %d %q %s", test.name, status, replay, got)
		}
	}
}

// TestReplaysAreBooked: an answer that is given again is booked and logged under the upstream that gave it, as the first time.
func TestReplaysAreBooked(t *testing.T) {
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	up := httptest.NewServer(new(sim.Server))
	t.Cleanup(up.Close)
	upstream := "ollama+" + up.URL + "/api#sim/native"
	client := &provider.Client{Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
	g.url = serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("chat", upstream)}, Access: g.book, Log: slog.New(slog.NewTextHandler(g, nil))})
	key := g.key(t, access.Key{})
	for range 2 {
		if resp, body := send(t, "POST", g.url+"/v1/chat/completions", "application/json", hello, "Authorization", "Bearer "+key, "Idempotency-Key", "a"); resp.StatusCode != 200 {
			t.Fatal(body)
		}
	}
	lines, err := g.book.Log(t.Context(), 9)
	if err != nil || len(lines) != 2 || lines[0].Upstream != upstream || lines[1].Upstream != upstream || !lines[0].Cached {
		t.Errorf("%v %+v", err, lines)
	}
	if n := strings.Count(g.told(), `upstream=`+upstream) + strings.Count(g.told(), `upstream="`+upstream); n != 2 {
		t.Errorf("the log names it %d times: %s", n, g.told())
	}
}
