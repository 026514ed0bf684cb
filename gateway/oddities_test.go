package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// sendTo sends a body to a path, and returns the status, the body and the warnings of the answer.
func sendTo(t *testing.T, method, url, body string) (int, string, string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), strings.Join(resp.Header.Values(gateway.WarningHeader), "\n")
}

// TestWordsInPlaceOfAValue checks that an answer in words of a server that was asked to hold it to a schema is whole, and that clients of
// every format are told that the server did not.
func TestWordsInPlaceOfAValue(t *testing.T) {
	up := upstreamOf(t, says("I am a model that does not know what a schema is."))
	vendors := map[string]provider.Vendor{"up": {BaseURL: up.server.URL + "/v1", Wires: []string{wire.Chat}}}
	held := &provider.Client{Vendors: vendors, Retry: once, Route: provider.Constrained}
	url := serve(t, gateway.Setup{Open: opening(held), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			if c.prompt {
				continue
			}
			got := c.ask(t, url, question("m"), stream)
			if got.err != nil || got.Finish.Reason != llm.Stop || !strings.Contains(got.warnings, "did not hold the answer to the schema") || !strings.Contains(got.Message.Text(), "I am a model") {
				t.Errorf("%s, stream=%t: %v, finish %q, text %q, told %s", c.name, stream, got.err, got.Finish.Reason, got.Message.Text(), got.warnings)
			}
		}
	}
}

// TestOddRequests checks what requests are told that ask for something odd, each in one line.
func TestOddRequests(t *testing.T) {
	up := newStation(t, "up", says("Fine."))
	plain := func(id string, way gateway.Way) (llm.Model, error) {
		if id == "plain" {
			return says("Fine."), nil
		}
		return opens(once, nil, up)(id, way)
	}
	url := serve(t, gateway.Setup{Open: plain, Routes: []gateway.ModelRoute{to("m", "up-chat/m"), to("plain", "plain"), to("messages", "up-messages/m")}})
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	for _, test := range []struct {
		method, path, body string
		status             int
		says               string // the answer, or the warnings
		not                string // neither of them
	}{
		{"POST", "/v1/chat/completions", `{` + hi + `}`, 400, "names no model", ""},
		{"POST", "/v1/chat/completions", `{"model":"",` + hi + `}`, 400, "names no model", ""},
		{"POST", "/v1/chat/completions", `{"model":"x",` + hi + `}`, 404, "the list of models", ""},
		{"POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"tool","tool_call_id":"c","content":"x"}]}`, 400, "results of calls that are not in it", ""},
		{"POST", "/v1/chat/completions", `{"model":"plain","n":5,"unheard_of":1,` + hi + `}`, 200, "ignored; n; ", ""},
		{"POST", "/v1/chat/completions", `{"model":"plain","logprobs":true,` + hi + `}`, 200, "ignored; logprobs; ", ""},
		{"POST", "/v1/chat/completions", `{"model":"plain","unheard_of":1,` + hi + `}`, 200, "ignored; unheard_of; ", ""},
		{"POST", "/v1/responses", `{"model":"m","input":5}`, 400, "input must be a text or an array", ""},
		{"POST", "/v1/responses", `{"model":"m","input":"hi","previous_response_id":["resp_1"]}`, 400, "previous_response_id must be a string", ""},
		{"POST", "/v1/responses", `{"model":"m","input":"hi","previous_response_id":5}`, 400, "previous_response_id must be a string", ""},
		{"POST", "/v1/responses", `{"model":"m","input":"hi","previous_response_id":null}`, 200, "Fine.", ""},
		{"GET", "/v1/responses/resp_none", ``, 404, "response_not_found", "model_not_found"},
		{"DELETE", "/v1/responses/resp_none", ``, 404, "response_not_found", "model_not_found"},
		{"POST", "/model/m/converse", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, 200, "Fine.", "ignored; model"},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","raw":true}`, 400, "raw is not supported here", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","Raw":true}`, 400, "raw is not supported here", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","SUFFIX":"x"}`, 400, "suffix is not supported here", ""},
		{"POST", "/api/generate", `{"model":"m","Prompt":"hi","stream":false}`, 200, "Fine.", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":5}`, 400, "prompt must be a string", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","system":5}`, 400, "system must be a string", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","images":"x"}`, 400, "images must be a list", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","options":"x"}`, 400, "options must be an object", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","options":{"seed":"x"}}`, 400, "options.seed must be", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","format":"xml"}`, 400, "format must be ", ""},
		{"POST", "/api/generate", `{"model":"m","prompt":"hi","format":"","stream":false}`, 200, "Fine.", ""},
		{"POST", "/api/generate", `{"model":"m"}`, 200, `"done_reason":"load"`, ""},
		{"POST", "/api/generate", `{"model":"m","keep_alive":0}`, 200, `"done_reason":"unload"`, ""},
		{"POST", "/api/generate", `{"model":"m","keep_alive":"0s"}`, 200, `"done_reason":"unload"`, ""},
		{"POST", "/api/generate", `{"model":"m","keep_alive":"5m"}`, 200, `"done_reason":"load"`, ""},
		{"POST", "/api/chat", `{"model":"m","keep_alive":0,"messages":[]}`, 200, `"done_reason":"unload"`, ""},
		{"POST", "/api/chat", `{"model":"m","keep_alive":0,"stream":false,` + hi + `}`, 200, "ignored; keep_alive; ", ""},
		{"POST", "/api/chat", `{"model":"m","options":"x",` + hi + `}`, 400, "options must be an object", ""},
		{"POST", "/api/chat", `{"model":"m","format":"xml",` + hi + `}`, 400, "format must be ", ""},
		{"POST", "/api/chat", `{"model":"m","messages":[null]}`, 400, "messages[0] must be an object", ""},
		{"POST", "/v1beta/models/m:generateContent", `{"tools":[{"functionDeclarations":[{"name":"now"},{"name":"go","parameters":{"type":"OBJECT","properties":{"to":{"type":"STRING"}}}}]}],` + hiBlock + `}`, 200, "Fine.", "ignored; parameters"},
		{"POST", "/v1beta/models/m:generateContent", `{"parameters":1,"unheardOf":1,` + hiBlock + `}`, 200, "ignored; parameters", ""},
		{"POST", "/v1/chat/completions", `{"model":"messages","n":2,` + hi + `}`, 200, "ignored; n; ", ""},
		{"POST", "/v1/chat/completions", `{"model":"messages","seed":2,` + hi + `}`, 200, "ignored; seed; ", ""},
		{"POST", "/v1/chat/completions", `{"model":"messages","logprobs":true,` + hi + `}`, 200, "ignored; logprobs; ", ""},
		{"POST", "/v1/chat/completions", `{"model":"messages","unheard_of":2,` + hi + `}`, 200, "ignored; unheard_of; ", ""},
		{"POST", "/openai/deployments/m/chat/completions?api-version=2024-10-21", `{` + hi + `}`, 200, "Fine.", ""},
		{"POST", "/openai/deployments/m/chat/completions?api-version=2024-10-21", `{"model":"other",` + hi + `}`, 200, "Fine.", ""},
		{"POST", "/openai/deployments/other/chat/completions", `{"model":"m",` + hi + `}`, 404, "other", ""},
		{"POST", "/openai/v1/chat/completions", `{"model":"m",` + hi + `}`, 200, "Fine.", ""},
		{"POST", "/openai/v1/responses", `{"model":"m","input":"hi"}`, 200, "Fine.", ""},
		{"GET", "/openai/v1/models", ``, 200, `"plain"`, ""},
		{"POST", "/v1/completions", `{"model":"m","prompt":"hi"}`, 404, "asked for at /v1/chat/completions", ""},
		{"POST", "/v1/v1/messages", `{"model":"m",` + hi + `}`, 404, "/v1 twice", ""},
		{"POST", "/v1/chat/completions/", `{"model":"m",` + hi + `}`, 404, "leave out the / at the end", ""},
	} {
		status, body, warnings := sendTo(t, test.method, url+test.path, test.body)
		if status != test.status || !strings.Contains(body+warnings, test.says) || test.not != "" && strings.Contains(body+warnings, test.not) {
			t.Errorf("%s %s %s: status %d, %s, warnings %q", test.method, test.path, test.body, status, body, warnings)
		}
	}
}

// TestGoingOnIsNoLoss checks that a conversation that is gone on from by id loses nothing, and is not said to.
func TestGoingOnIsNoLoss(t *testing.T) {
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages} {
		up := newStation(t, "up", says("Fine."))
		var last string
		up.before = func(_ http.ResponseWriter, r *http.Request) bool {
			b, _ := io.ReadAll(r.Body)
			last = string(b)
			r.Body = io.NopCloser(strings.NewReader(last))
			return false
		}
		url := serve(t, gateway.Setup{Open: opens(once, nil, up), Routes: []gateway.ModelRoute{to("m", "up-"+format+"/m")}})
		_, body, _ := sendTo(t, "POST", url+"/v1/responses", `{"model":"m","input":"the first question"}`)
		_, id, _ := strings.Cut(body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		status, body, warnings := sendTo(t, "POST", url+"/v1/responses", `{"model":"m","input":"and?","previous_response_id":"`+id+`"}`)
		if status != 200 || strings.Contains(warnings, "previous_response_id") || !strings.Contains(body, `"previous_response_id":"`+id) {
			t.Errorf("over %s: status %d, told %q: %s", format, status, warnings, body)
		}
		if !strings.Contains(last, "the first question") || strings.Contains(last, "previous_response_id") {
			t.Errorf("over %s: the upstream was asked %s", format, last)
		}
	}
}

// TestFinishWords checks that a word for the end of an answer that nobody knows is relayed as it is, and one of the client's format on every
// other path, where only a warning names it.
func TestFinishWords(t *testing.T) {
	client := saying(t, `{"role":"assistant","content":"hi"}`, "because_i_can")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			got := c.ask(t, url, greeting("m"), stream)
			want := map[bool]llm.Reason{false: llm.Stop, true: llm.OtherReason}[c.format == wire.Chat]
			if got.err != nil || got.Finish.Reason != want || strings.Contains(withoutComments(got.body), "because_i_can") != (c.format == wire.Chat) {
				t.Errorf("%s, stream=%t: %v, finish %q: %s", c.name, stream, got.err, got.Finish.Reason, fmt.Sprintf("%.300s", got.body))
			}
		}
	}
}

// withoutComments returns a stream without the lines that every reader passes over.
func withoutComments(body string) string {
	var out strings.Builder
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, ":") {
			out.WriteString(line)
		}
	}
	return out.String()
}
