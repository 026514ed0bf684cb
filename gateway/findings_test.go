package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// bodyOf is an upstream of a format that answers every request with a body.
func bodyOf(t *testing.T, format, stream, whole string) *provider.Client {
	t.Helper()
	codec, _ := wire.For(format)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", codec.StreamType())
			fmt.Fprint(w, stream)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole)
	}))
	t.Cleanup(up.Close)
	return &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + roots[format], Wires: []string{format}}}, Route: provider.Native, Retry: provider.Retry{Attempts: -1}}
}

// TestRepeatedAnswerIDs checks that a client whose upstream gives every answer the same id goes on
// from the last one.
func TestRepeatedAnswerIDs(t *testing.T) {
	n := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"resp_same","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}]}`,
			n, fmt.Sprintf("answer %d to %d bytes, about it %t", n, len(body), strings.Contains(string(body), "alpha")))
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Responses}}}, Route: provider.Native}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	post := func(body string) string { return string(raw(t, url, wire.Responses, "m", []byte(body), false)) }
	post(`{"model":"m","input":"the alpha question"}`)
	post(`{"model":"m","input":"another question"}`)
	if got := post(`{"model":"m","input":"and?","previous_response_id":"resp_same"}`); !strings.Contains(got, "about it false") {
		t.Errorf("it went on from the first answer: %s", got)
	}
}

// TestNoAnswerIsNoAnswer checks that a stream without an answer is an error, for clients of the
// upstream's format and of others.
func TestNoAnswerIsNoAnswer(t *testing.T) {
	client := bodyOf(t, wire.Chat, "data: {\"id\":\"x\",\"choices\":[]}\n\ndata: [DONE]\n\n", `{"id":"x","object":"chat.completion","choices":[]}`)
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for format := range roots {
		for _, stream := range []bool{false, true} {
			if got := ask(t, url, format, question("m"), stream); got.err == nil {
				t.Errorf("%s, stream=%t: %+v", format, stream, got.Response)
			}
		}
	}
}

// TestUnknownFinish checks that a word for the end of an answer that nobody knows reaches a client
// of another format as one of its own.
func TestUnknownFinish(t *testing.T) {
	client := saying(t, `{"role":"assistant","content":"hi"}`, "because_i_can")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	words := map[string]string{wire.Chat: `"finish_reason":"stop"`, wire.Messages: `"end_turn"`, wire.Gemini: `"STOP"`, wire.Ollama: `"stop"`, wire.Responses: `"completed"`, wire.Converse: `"end_turn"`}
	for format, word := range words {
		codec, _ := wire.For(format)
		body, _, _ := codec.EncodeRequest(question("m"), false)
		got := string(raw(t, url, format, "m", body, false))
		if strings.Contains(got, "because_i_can") || !strings.Contains(strings.ReplaceAll(got, `": "`, `":"`), word) {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// TestRelayedIsMended checks what the readers of an answer repair also where its bytes pass: a finish
// that contradicts the calls, and ids of calls that repeat.
func TestRelayedIsMended(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+format+"/sim/native+wrong-finish")}})
			codec, _ := wire.For(format)
			body, _, _ := codec.EncodeRequest(question("m"), stream)
			got := string(raw(t, url, format, "m", body, stream))
			switch format {
			case wire.Chat:
				if !strings.Contains(got, `"finish_reason":"tool_calls"`) {
					t.Errorf("%s, stream=%t: %s", format, stream, got)
				}
			case wire.Messages, wire.Converse:
				said := regexp.MustCompile(`(?m)^: .*$`).ReplaceAllString(got, "") // comments may quote the vendor
				if !strings.Contains(said, `"tool_use"`) || strings.Contains(said, `"end_turn"`) {
					t.Errorf("%s, stream=%t: %s", format, stream, got)
				}
			}
		}
	}
	call := `{"index":%d,"id":"same","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"%s\"}"}}`
	two := fmt.Sprintf(call, 0, "Rome") + "," + fmt.Sprintf(call, 1, "Paris")
	client := saying(t, `{"role":"assistant","tool_calls":[`+two+`]}`, "tool_calls")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, stream := range []bool{false, true} {
		codec, _ := wire.For(wire.Chat)
		body, _, _ := codec.EncodeRequest(question("m"), stream)
		if got := string(raw(t, url, wire.Chat, "m", body, stream)); strings.Count(got, `"id":"same"`) != 1 {
			t.Errorf("stream=%t: %s", stream, got)
		}
	}
}

// TestWarningsWithoutComments checks that what is found out in the middle of a stream is told also
// where the format has no comments: behind the answer.
func TestWarningsWithoutComments(t *testing.T) {
	client := saying(t, `{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"town\":1}"}}]}`, "tool_calls")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, format := range []string{wire.Ollama, wire.Converse, wire.Gemini} {
		codec, _ := wire.For(format)
		body, _, _ := codec.EncodeRequest(question("m"), true)
		resp, err := http.Post(url+roots[format]+"/"+codec.Path("m", true), "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.Header.Values(gateway.WarningHeader), resp.Trailer.Values(gateway.WarningHeader)); !strings.Contains(got, "does not fit the schema") {
			t.Errorf("%s: warnings %s", format, got)
		}
	}
}

// TestNothingButThinking checks that an answer in which a model only thought is not presented in
// silence.
func TestNothingButThinking(t *testing.T) {
	for _, upstream := range []string{wire.Messages, wire.Gemini} {
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+upstream+"/sim/native+think-call")}})
		for format := range roots {
			got := ask(t, url, format, question("m"), false)
			if got.err != nil || len(got.Message.Calls()) > 0 || got.Message.Text() != "" {
				continue
			}
			if w := fmt.Sprint(got.header.Values(gateway.WarningHeader)); !strings.Contains(w, "thought") {
				t.Errorf("%s over %s: empty, and the warnings are %s", format, upstream, w)
			}
		}
	}
}

// TestErrorsOfVendors checks the words for errors that clients look at.
func TestErrorsOfVendors(t *testing.T) {
	url := serve(t, gateway.Setup{MaxBody: 400, Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native+503")}})
	for _, test := range []struct {
		format, size string
		status       int
		says         string
	}{
		{wire.Messages, "hi", 529, `"type":"overloaded_error"`},
		{wire.Messages, strings.Repeat("x", 500), 413, `"type":"request_too_large"`},
		{wire.Gemini, "hi", 503, `"status":"UNAVAILABLE"`},
		{wire.Chat, strings.Repeat("x", 500), 413, `"type":"invalid_request_error"`},
	} {
		codec, _ := wire.For(test.format)
		body, _, _ := codec.EncodeRequest(&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User(test.size)}}, false)
		resp, err := http.Post(url+roots[test.format]+"/"+codec.Path("m", false), "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(strings.ReplaceAll(string(b), ": ", ":"), test.says) {
			t.Errorf("%s: status %d, want %d and %s: %s", test.format, resp.StatusCode, test.status, test.says, b)
		}
	}
}

// TestGeminiArray checks that a stream of Gemini's is a JSON array unless events are asked for.
func TestGeminiArray(t *testing.T) {
	for _, upstream := range []string{wire.Gemini, wire.Chat} {
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+upstream+"/sim/native")}})
		codec, _ := wire.For(wire.Gemini)
		body, _, _ := codec.EncodeRequest(question("m"), true)
		resp, err := http.Post(url+"/v1beta/models/m:streamGenerateContent", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var list []map[string]any
		if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("over %s: %v, %q: %s", upstream, err, resp.Header.Get("Content-Type"), b)
		}
	}
}

// TestLoop checks that a gateway whose route leads back to it says so instead of asking for ever.
func TestLoop(t *testing.T) {
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native, Retry: provider.Retry{Attempts: -1}}
	g, err := gateway.New(gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	if err != nil {
		t.Fatal(err)
	}
	handler = g
	got := ask(t, server.URL, wire.Chat, question("m"), false)
	if got.err == nil || !strings.Contains(got.err.Error(), "leads back") {
		t.Errorf("status %d, %v", got.status, got.err)
	}
}
