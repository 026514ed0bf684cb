package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/passthrough"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/provider"
)

// A server repeats the key that it got, outside of errors: in comments, ids, event names, unknown events, and after the
// end of its answer. The stream is relayed without the key and without the text after its end.
func TestRelayedStreamsHideKeys(t *testing.T) {
	const key = "sk-upstream-SECRET-0123456789abcdef"
	chat := func(extra string) string {
		chunk := `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":null}]%s}` + "\n\n"
		end := `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
		return strings.Replace(extra, "@", fmt.Sprintf(chunk, "")+end, 1)
	}
	messages := func(extra, after string) string {
		return `event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" + extra +
			`event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}` + "\n\n" +
			`event: content_block_stop` + "\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
			`event: message_delta` + "\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\n" +
			`event: message_stop` + "\n" + `data: {"type":"message_stop"}` + "\n\n" + after
	}
	document := `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],"asked_with":"KEY"}`
	for _, c := range []struct{ name, wire, body, has, not string }{
		{"a comment", "chat", chat(": debug KEY\n\n@"), ": debug [stripped:value]", ""},
		{"an id", "chat", chat("id: KEY\n@"), "id: [stripped:value]", ""},
		{"the name of an event", "chat", chat("event: KEY\n@"), "event: [stripped:value]", ""},
		{"a field that nobody knows", "chat", chat("x-key: KEY\n@"), "x-key: [stripped:value]", ""},
		{"a member that nobody knows", "chat", strings.Replace(chat("@"), `"model":"m",`, `"model":"m","debug":"KEY",`, 1), `"debug":"[stripped:value]"`, ""},
		{"a list of numbers", "chat", strings.Replace(chat("@"), `"model":"m",`, `"model":"m","debug":[115,107,45,117,112,115,116,114,101,97,109,45,83,69,67,82,69,84,45,48,49,50,51,52,53,54,55,56,57,97,98,99,100,101,102],`, 1), `"debug":[0]`, "115,107"},
		{"an event that nobody knows", "messages", messages("event: debug\ndata: {\"type\":\"debug\",\"key\":\"KEY\"}\n\n", ""), `"key":"[stripped:value]"`, ""},
		{"after the end", "chat", chat("@data: {\"late\":\"KEY\"}\n\n"), "[DONE]", "late"},
		{"after the end of messages", "messages", messages("", "event: debug\ndata: {\"late\":1}\n\n"), "message_stop", "late"},
		{"a comment after the end", "chat", chat("@: late\n\n"), "[DONE]", "late\n"},
		{"a document", "chat", document, `"asked_with":"[stripped:value]"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, form := range secret.Forms(key) {
				if i > 0 && !strings.Contains(c.body, "KEY") || testing.Short() && i > 3 {
					break
				}
				if strings.HasPrefix(form, `\x`) && strings.Contains(c.has, `"`) { // not valid JSON
					continue
				}
				got := relayedOnce(t, c.wire, strings.ReplaceAll(c.body, "KEY", form), key)
				if strings.Contains(got, form) || !strings.Contains(got, c.has) && !strings.Contains(got, strings.ReplaceAll(c.has, "[stripped:value]", "0")) || c.not != "" && strings.Contains(got, c.not) {
					t.Fatalf("the client got, of %q,\n%s", form, got)
				}
				if strings.Contains(c.name, "after") != strings.Contains(got, "\n: corrected; stream; ") {
					t.Fatalf("whether something followed the end is not told:\n%s", got)
				}
			}
		})
	}
}

// relayedOnce calls a gateway whose upstream answers with body, and returns the client's answer.
func relayedOnce(t *testing.T, format, body, key string) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
	}))
	defer up.Close()
	client := &provider.Client{Route: provider.Native, Key: func(string) (string, error) { return key, nil },
		Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{format}, KeyEnv: "UP_KEY"}}}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	path := map[string]string{"chat": "/v1/chat/completions", "messages": "/v1/messages"}[format]
	stream := !strings.HasPrefix(body, "{")
	resp, err := http.Post(url+path, "application/json", strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%v,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, stream)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// Forwarded endpoints do not reveal the key either: not in an error, and not in a stream.
func TestPassedAnswersHideKeys(t *testing.T) {
	const key = "sk-upstream-SECRET-0123456789abcdef"
	for _, c := range []struct {
		path, kind, answer, want string
		status                   int
	}{
		{"/v1/embeddings", "application/json", `{"error":{"message":"no credit for KEY"}}`, `{"error":{"message":"no credit for [stripped:value]"}}`, 429},
		{"/v1/embeddings", "application/json", `{"a":"sk\u002Dupstream\u002dSECRET-0123456789abcdef"}`, `{"a":"[stripped:value]"}`, 200},
		{"/v1/completions", "text/event-stream", ": KEY\n\ndata: {\"choices\":[{\"text\":\"KEY\"}]}\n\ndata: [DONE]\n\n", ": [stripped:value]\n\ndata: {\"choices\":[{\"text\":\"[stripped:value]\"}]}\n\ndata: [DONE]\n\n", 200},
	} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind+"; k="+key)
			w.WriteHeader(c.status)
			for part := range strings.SplitSeq(strings.ReplaceAll(c.answer, "KEY", key[:9]+"|"+key[9:]), "|") { // split within the key
				io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
			}
		}))
		defer up.Close()
		client := &provider.Client{Key: func(string) (string, error) { return key, nil }, Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{"chat"}, KeyEnv: "UP_KEY"}}}
		route := to("m", "up/m")
		route.Pass = passthrough.Kinds()
		url := serve(t, gateway.Setup{Open: opening(client), Forward: client.Forwarder, Routes: []gateway.ModelRoute{route}})
		resp, got := send(t, "POST", url+c.path, "application/json", `{"model":"m","prompt":"a","input":"a"}`)
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != c.status || got != c.want || kind != c.kind+"; k=[stripped:value]" {
			t.Errorf("%s: %d %s %s", c.path, resp.StatusCode, kind, got)
		}
	}
}
