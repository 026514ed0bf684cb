package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// taskServer returns a gateway whose route m passes requests on. Each upstream answers with the name of its model.
func taskServer(t *testing.T, edit func(*gateway.Setup)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 1<<20)
		n := 0
		for {
			k, err := r.Body.Read(body[n:])
			if n += k; err != nil {
				break
			}
		}
		_, rest, _ := strings.Cut(string(body[:n]), `"model":"`)
		name, _, _ := strings.Cut(rest, `"`)
		chatAnswer(w, r, "by "+name)
	}))
	t.Cleanup(server.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{"v": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}}
	to := func(name string) []gateway.Upstream { return []gateway.Upstream{{Model: "v/" + name}} }
	setup := gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{
		{Model: "m", Upstreams: to("usual"), ThinkingRoute: "deep", LongRoute: "long-1", LongOver: 500, ImageRoute: "eyes"},
		{Model: "deep", Upstreams: to("deep"), LongRoute: "m"},
		{Model: "long-*", Upstreams: to("long"), ThinkingRoute: "deep"},
		{Model: "eyes", Upstreams: to("eyes")},
	}}
	if edit != nil {
		edit(&setup)
	}
	return serve(t, setup)
}

// TestRoutingByTask: requests that think, are long or have images reach the routes for them, streamed and whole, from
// clients of each format. Images come first, then length. A request is passed on once.
func TestRoutingByTask(t *testing.T) {
	t.Parallel()
	url := taskServer(t, nil)
	long := strings.Repeat("one two three four ", 300)
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"}}`
	const pixel = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"}}`
	for name, test := range map[string]struct{ path, body, by string }{
		"plain":                  {"/v1/chat/completions", `"model":"m","messages":[{"role":"user","content":"hi"}]`, "usual"},
		"thinking":               {"/v1/chat/completions", `"model":"m","reasoning_effort":"high","messages":[{"role":"user","content":"hi"}]`, "deep"},
		"long":                   {"/v1/chat/completions", `"model":"m","messages":[{"role":"user","content":"` + long + `"}]`, "long"},
		"long and thinking":      {"/v1/chat/completions", `"model":"m","reasoning_effort":"high","messages":[{"role":"user","content":"` + long + `"}]`, "long"},
		"image":                  {"/v1/chat/completions", `"model":"m","messages":[{"role":"user","content":[` + image + `,{"type":"text","text":"` + long + `"}]}]`, "eyes"},
		"asked for by name":      {"/v1/chat/completions", `"model":"deep","messages":[{"role":"user","content":"hi"}]`, "deep"},
		"Claude":                 {"/v1/messages", `"model":"m","max_tokens":5000,"messages":[{"role":"user","content":"hi"}]`, "usual"},
		"Claude, thinking":       {"/v1/messages", `"model":"m","max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"hi"}]`, "deep"},
		"Claude, not thinking":   {"/v1/messages", `"model":"m","max_tokens":5000,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"hi"}]`, "usual"},
		"Claude, image of tool":  {"/v1/messages", `"model":"m","max_tokens":5000,"tools":[{"name":"look","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[` + pixel + `]}]}]`, "eyes"},
		"Responses, thinking":    {"/v1/responses", `"model":"m","reasoning":{"effort":"medium"},"input":"hi"`, "deep"},
		"Responses, no thinking": {"/v1/responses", `"model":"m","reasoning":{"effort":"none"},"input":"hi"`, "usual"},
	} {
		for _, stream := range []bool{false, true} {
			resp, body := send(t, "POST", url+test.path, "application/json", fmt.Sprintf(`{%s,"stream":%t}`, test.body, stream))
			if resp.StatusCode != 200 || !strings.Contains(body, "by "+test.by) {
				t.Errorf("%s, streamed %t: %d, want an answer by %s:\n%s", name, stream, resp.StatusCode, test.by, body)
			}
		}
	}
}

// TestTaskRoutesAreChecked: a route for a task must exist, be another one, and be for clients of the same formats.
func TestTaskRoutesAreChecked(t *testing.T) {
	t.Parallel()
	client := &provider.Client{Vendors: map[string]provider.Vendor{"v": {BaseURL: "http://127.0.0.1:1/v1", Wires: []string{wire.Chat}}}}
	up := []gateway.Upstream{{Model: "v/a"}}
	for says, r := range map[string]gateway.ModelRoute{
		`no other route is for "gone"`:    {ThinkingRoute: "gone"},
		`no other route is for "m"`:       {ImageRoute: "m"},
		"is for clients of other formats": {LongRoute: "other", From: []string{wire.Messages}},
		"-1 is less than 0":               {LongRoute: "other", LongOver: -1},
		"which the route does not have":   {LongOver: 5},
	} {
		r.Model, r.Upstreams = "m", up
		_, err := gateway.New(gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{r, {Model: "other", Upstreams: up, From: []string{wire.Chat}}}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestTaskRoutesNeedARight: a key without the right to the route for a task is answered by the route that it asked for.
func TestTaskRoutesNeedARight(t *testing.T) {
	t.Parallel()
	book := &access.Book{Store: new(access.Memory)}
	url := taskServer(t, func(s *gateway.Setup) { s.Access = book })
	for by, k := range map[string]access.Key{
		"deep":   {Team: "red", Routes: []string{"m", "deep"}},
		"usual":  {Team: "red", Routes: []string{"m"}},
		"usual ": {Team: "red", Models: []string{"m"}},
	} {
		_, secret, err := book.Create(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","reasoning_effort":"high","messages":[{"role":"user","content":"hi"}]}`))
		bearerOf(secret)(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(body), "by "+strings.TrimSpace(by)+`"`) {
			t.Errorf("%+v: %d, want an answer by %s:\n%s", k, resp.StatusCode, by, body)
		}
	}
}
