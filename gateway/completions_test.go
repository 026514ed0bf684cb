package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// completing starts a gateway that wants keys and passes completions on to an upstream.
func completing(t *testing.T, up http.HandlerFunc) *guarded {
	t.Helper()
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	known, err := catalog.Default().Load("models.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	c := &provider.Client{Catalog: known, Key: func(string) (string, error) { return "vendor-key", nil }, Vendors: map[string]provider.Vendor{
		"up":   {BaseURL: server.URL + "/base", Wires: []string{wire.Chat}},
		"else": {BaseURL: server.URL + "/else", Wires: []string{wire.Messages}},
	}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	pass := []string{"completions"}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book, Log: slog.New(slog.NewTextHandler(g, nil)), Routes: []gateway.ModelRoute{
		{Model: "fim", Upstreams: []gateway.Upstream{{Model: "up/priced"}}, Pass: pass},
		{Model: "else", Upstreams: []gateway.Upstream{{Model: "else/m"}}, Pass: pass},
		to("chat", "up/priced"),
	}})
	return g
}

const (
	fimDone  = `{"id":"cmpl-1","object":"text_completion","created":1,"model":"priced","choices":[{"index":0,"text":"return a + b","logprobs":null,"finish_reason":"stop"}]%s}`
	fimUsage = `,"usage":{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47}`
)

// fimAnswer is an answer of an upstream, in one piece or as a stream.
func fimAnswer(stream bool, usage string) string {
	if !stream {
		return fmt.Sprintf(fimDone, usage)
	}
	answer := `data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":"return a"}]}` + "\r\n\r\n: alive\n\n" + `data: {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" + b","finish_reason":"stop"}],"usage":null}` + "\n\n"
	if usage != "" {
		answer += `data: {"id":"cmpl-1","object":"text_completion","choices":[]` + usage + "}\n\n"
	}
	return answer + "data: [DONE]\n\n"
}

// TestCompletions checks that text completions reach an upstream of OpenAI's format as they are, that their answer comes back as it is, in one piece and as a stream, and that
// what they used is booked: what the upstream says, or what the text tells.
func TestCompletions(t *testing.T) {
	for _, usage := range []string{fimUsage, ""} {
		for _, stream := range []bool{false, true} {
			var asked, says string
			answer := fimAnswer(stream, usage)
			g := completing(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				asked, says = r.URL.Path+" "+r.Header.Get("Authorization"), string(b)
				w.Header().Set("Content-Type", map[bool]string{false: "application/json", true: "text/event-stream; charset=utf-8"}[stream])
				for part := range strings.SplitAfterSeq(answer, "a") { // however it is cut
					io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
				}
			})
			key := g.key(t, access.Key{Limits: quotas(t, "tokens/day=100000", "money/day=1")})
			body := fmt.Sprintf(`{"model":"fim","prompt":"func add(a, b int) int {\n","suffix":"\n}","max_tokens":64,"stream":%t,"stop":["\n\n"]}`, stream)
			resp, got := send(t, "POST", g.url+"/v1/completions", "application/json", body, "Authorization", "Bearer "+key)
			if resp.StatusCode != 200 || got != answer || asked != "/base/completions Bearer vendor-key" || says != strings.Replace(body, `"fim"`, `"priced"`, 1) || resp.Header.Get(gateway.UpstreamHeader) != "up/priced" {
				t.Errorf("stream=%t: %d %s; asked %s %s", stream, resp.StatusCode, got, asked, says)
			}
			l := newest(t, g.book)
			if used := fmt.Sprintln(l.Status, l.Route, l.Upstream, l.Unpriced, l.Estimated, l.Output); used != fmt.Sprintln("ok fim up/priced", false, usage == "", map[bool]int{true: 4, false: 7}[usage == ""]) || l.Money <= 0 {
				t.Errorf("stream=%t: booked %+v", stream, l)
			}
			if l.Input != 40 && usage != "" || l.Input < 5 || l.Input > 60 {
				t.Errorf("stream=%t: booked %+v", stream, l)
			}
		}
	}
}

// TestCompletionsRefused checks who may not have completions, and that they are told what to do instead.
func TestCompletionsRefused(t *testing.T) {
	g := completing(t, func(w http.ResponseWriter, r *http.Request) { t.Error("the upstream was asked") })
	keys := map[string]string{"any": g.key(t, access.Key{}), "chat": g.key(t, access.Key{Models: []string{"chat"}}), "none": ""}
	for _, test := range []struct {
		key, body string
		status    int
		says      string
	}{
		{"none", `{"model":"fim","prompt":"a"}`, 401, "invalid_api_key"},
		{"chat", `{"model":"fim","prompt":"a"}`, 403, "model_not_found"},
		{"any", `{"model":"else","prompt":"a"}`, 404, "no upstream of the route else has completions of this kind; completions are asked for at /v1/chat/completions"},
		{"any", `{"model":"chat","prompt":"a"}`, 404, "does not pass completions on; completions are asked for at /v1/chat/completions"},
		{"any", `{"model":"nobody","prompt":"a"}`, 404, "no route leads to"},
		{"any", `{"prompt":"a"}`, 400, "names no model"},
		{"any", `{"model":"fim","prompt":"a","n":0}`, 400, "n has to be"},
		{"any", `{"model":"fim","prompt":"a","prompt":"b"}`, 400, "twice"},
		{"any", `{"model":"fim","Prompt":["a","b"]}`, 400, "has to be written"},
		{"any", `{"model":"fim","prompt":[` + strings.TrimSuffix(strings.Repeat(`"a",`, 2049), ",") + `]}`, 400, "more than 2048 texts"},
	} {
		header := []string{"Authorization", "Bearer " + keys[test.key]}
		if keys[test.key] == "" {
			header = nil
		}
		if resp, body := send(t, "POST", g.url+"/v1/completions", "application/json", test.body, header...); resp.StatusCode != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s %.80s: %d %s", test.key, test.body, resp.StatusCode, body)
		}
	}
}

// TestCompletionsThatEndBadly checks what is booked of completions that have no end: what was written of a stream that breaks off, all that was reserved if a client leaves before an answer in one
// piece, and nothing if the upstream refuses.
func TestCompletionsThatEndBadly(t *testing.T) {
	begun := make(chan struct{}, 1)
	const part = `data: {"choices":[{"index":0,"text":"thirty bytes of text, all told."}]}` + "\n\n"
	for _, test := range []struct {
		name   string
		body   string
		up     http.HandlerFunc
		leaves bool
		output int64
	}{
		{"a stream that breaks off", `"stream":true`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, false, 11},
		{"an answer that nobody waits for", `"n":2`, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			begun <- struct{}{}
			<-r.Context().Done()
		}, true, 128},
		{"a refusal", `"n":2`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, false, 0},
	} {
		g := completing(t, test.up)
		ctx, leave := context.WithCancel(t.Context())
		post, err := http.NewRequestWithContext(ctx, "POST", g.url+"/v1/completions", strings.NewReader(`{"model":"fim","prompt":"def f():","max_tokens":64,`+test.body+`}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Authorization", "Bearer "+g.key(t, access.Key{Limits: quotas(t, "tokens/day=100000")}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := http.DefaultClient.Do(post); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		if test.leaves {
			<-begun
			leave()
		}
		<-done
		leave()
		if l := newest(t, g.book, test.name); l.Output != test.output || (l.Input > 0) != (test.output > 0) || l.Estimated != (test.output > 0) || l.Status == "ok" {
			t.Errorf("%s: booked %+v", test.name, l)
		}
	}
}

// TestCompletionsReserve checks that what completions may use is held back while they are written: for each answer to each text.
func TestCompletionsReserve(t *testing.T) {
	for members, all := range map[string]bool{
		`"prompt":"a","max_tokens":900`:                                   false,
		`"prompt":"a","max_tokens":1000`:                                  true,
		`"prompt":"a","max_tokens":100,"n":10`:                            true,
		`"prompt":"a","max_tokens":100,"n":1,"best_of":10`:                true,
		`"prompt":["a","b","c","d","e"],"max_tokens":100,"n":2`:           true,
		`"prompt":["a","b","c","d","e"],"max_tokens":50,"n":2`:            false,
		`"prompt":[[1,2],[3,4]],"max_tokens":500`:                         true,
		`"prompt":[1,2,3,4],"max_tokens":500`:                             false,
		`"prompt":[{"prompt_string":"a"},{"x":1}],"max_tokens":500`:       true,
		`"prompt":"","prompt_embeds":["AA","BB"],"max_tokens":500`:        true,
		`"prompt":"` + strings.Repeat("word ", 2000) + `","max_tokens":1`: true,
	} {
		begun, goOn := make(chan struct{}), make(chan struct{})
		var n atomic.Int64
		g := completing(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 1 {
				close(begun)
				<-goOn
			}
			fmt.Fprintf(w, fimDone, fimUsage)
		})
		key := "Bearer " + g.key(t, access.Key{Limits: quotas(t, "tokens/day=1000")})
		done := make(chan struct{})
		go func() {
			defer close(done)
			send(t, "POST", g.url+"/v1/completions", "application/json", `{"model":"fim",`+members+`}`, "Authorization", key)
		}()
		<-begun
		want := map[bool]int{false: 200, true: 429}[all]
		if resp, body := send(t, "POST", g.url+"/v1/completions", "application/json", `{"model":"fim","prompt":"a","max_tokens":1}`, "Authorization", key); resp.StatusCode != want {
			t.Errorf("%.60s: %d %s", members, resp.StatusCode, body)
		}
		close(goOn)
		<-done
	}
}
