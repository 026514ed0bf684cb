package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// slow is an upstream that answers on a signal, except the second request, which it answers immediately.
type slow struct {
	begun, let chan struct{}
}

// second is a request that is answered immediately.
const second = `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"the second"}]}`

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "the second") {
		s.begun <- struct{}{}
		<-s.let
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)
}

// TestReservations holds a request open and sends another, with a key of 10,000 tokens in total. The output that the
// first allows with any field is reserved. The second is refused and told to retry soon, or admitted if the first
// allows little.
func TestReservations(t *testing.T) {
	up := &slow{make(chan struct{}, 9), make(chan struct{}, 9)}
	g := guard(t, up)
	const chat, gemini, converse, ollama = "/v1/chat/completions", "/v1beta/models/chat:generateContent", "/model/chat/converse", "/api/chat"
	bodies := map[string]string{chat: hello, gemini: helloBlock, converse: helloAWS, ollama: hello}
	for _, test := range []struct {
		path, members string
		much          bool
	}{
		{chat, `"max_tokens":200`, false},
		{chat, `"max_tokens":12000`, true},
		{chat, `"max_tokens":5,"chat_template":"` + strings.Repeat("   ", 21000) + `"`, true},
		{chat, `"max_tokens":5,"documents":["` + strings.Repeat("word ", 13000) + `"]`, true},
		{chat, `"max_tokens":5,"documents":["` + strings.Repeat("word ", 100) + `"]`, false},
		{chat, `"max_tokens":1,"max_completion_tokens":12000`, true},
		{chat, `"max_tokens":200,"n":60`, true},
		{chat, `"max_tokens":200,"n":2`, false},
		{chat, `"max_tokens":1,"n_predict":12000`, true},
		{chat, `"max_tokens":1,"N-Predict":12000`, true},
		{chat, `"max_tokens":1,"maxNewTokens":12000`, true},
		{chat, `"max_tokens":200,"best_of":60`, true},
		{chat, `"max_tokens":200,"bestOf":60`, true},
		{chat, `"max_tokens":1,"min_tokens":12000`, true},
		{chat, `"max_tokens":1,"thinking_budget":12000`, true},
		{chat, `"max_tokens":1,"extra_body":{"max_tokens":12000}`, true},
		{chat, `"max_tokens":200,"extra_body":{"n":60}`, true},
		{chat, `"max_tokens":200,"extra_body":{"n":null}`, false},
		{chat, `"max_tokens":1,"extra_body":{"extra_body":{"ExtraBody":{"max_new_tokens":12000}}}`, true},
		{chat, `"max_tokens":1,"extra_body":{"options":{"num_predict":12000}}`, true},
		{chat, `"max_tokens":1,"sampling_params":{"max_new_tokens":12000}`, true},
		{chat, `"max_tokens":1,"metadata":{"max_tokens":12000}`, false},
		{chat, `"max_tokens":5,"reasoning":{"max_tokens":12000}`, true},
		{chat, `"max_tokens":5,"reasoning":{"max_tokens":"12000"}`, true},
		{chat, `"max_tokens":5,"reasoning":{"effort":"low","max_tokens":0,"enabled":true}`, false},
		{chat, `"max_tokens":5,"thinking":{"type":"enabled","budget_tokens":12000}`, true},
		{chat, `"max_tokens":5,"chat_template_kwargs":{"thinking_budget":12000.0}`, true},
		{chat, `"max_tokens":5,"chat_template_kwargs":{"thinking_budget":0}`, false},
		{chat, `"max_tokens":5,"nvext":{"max_thinking_tokens":12000}`, true},
		{chat, `"max_tokens":5,"vendor_options":{"max_tokens":12000}`, true},
		{chat, `"max_tokens":5,"vendor_options":[[{"Max-Tokens":12000}]]`, true},
		{chat, `"max_tokens":5,"parameters":{"details":{"max_new_tokens":12000}}`, true},
		{chat, `"max_tokens":5,"extra_body":{"reasoning":{"max_tokens":12000}}`, true},
		{chat, `"max_tokens":5,"deep":` + strings.Repeat(`{"a":`, 12) + `{"max_tokens":12000}` + strings.Repeat(`}`, 12), true},
		{chat, `"max_tokens":5,"max_length":12000`, true},
		{chat, `"max_tokens":5,"min_length":12000`, true},
		{chat, `"max_tokens":5,"min_length":0`, false},
		{chat, `"max_tokens":200,"num_beams":60`, true},
		{chat, `"max_tokens":200,"num_completions":60`, true},
		{chat, `"max_tokens":200,"sampling":{"n":60}`, true},
		{chat, `"max_tokens":5,"prediction":{"type":"content","content":"` + strings.Repeat("word ", 9000) + `"}`, true},
		{chat, `"max_tokens":5,"length_penalty":1.5,"eos_token_id":128001,"max_context_tokens":128000,"skip_special_tokens":true,"logit_bias":{"12000":5}`, false},
		{chat, `"max_tokens":5,"guided_json":{"type":"object","properties":{"a":{"type":"string","maxLength":12000}}}`, false},
		{gemini, `"generationConfig":{"maxOutputTokens":200,"thinkingConfig":{"thinkingBudget":12000}}`, true},
		{gemini, `"generationConfig":{"maxOutputTokens":200,"thinkingConfig":{"thinkingBudget":0}}`, false},
		{gemini, `"generationConfig":{"maxOutputTokens":200}`, false},
		{gemini, `"generationConfig":{"maxOutputTokens":12000}`, true},
		{gemini, `"generationConfig":{"maxOutputTokens":200,"candidateCount":60}`, true},
		{gemini, `"generation_config":{"max_output_tokens":12000}`, true},
		{converse, `"inferenceConfig":{"maxTokens":200}`, false},
		{converse, `"inferenceConfig":{"maxTokens":12000}`, true},
		{converse, `"inferenceConfig":{"maxTokens":1},"additionalModelRequestFields":{"max_gen_len":12000}`, true},
		{converse, `"inferenceConfig":{"maxTokens":1},"additionalModelRequestFields":{"textGenerationConfig":{"maxTokenCount":12000}}`, true},
		{ollama, `"stream":false,"options":{"num_predict":200}`, false},
		{ollama, `"stream":false,"options":{"num_predict":12000}`, true},
	} {
		key := g.key(t, access.Key{Limits: quotas(t, "tokens/total=10000")})
		body := strings.Replace(bodies[test.path], "{", "{"+test.members+",", 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			send(t, "POST", g.url+test.path, "application/json", body, "Authorization", "Bearer "+key)
		}()
		select {
		case <-up.begun:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: the upstream is not asked", test.members)
		}
		resp, got := send(t, "POST", g.url+chat, "application/json", second, "Authorization", "Bearer "+key)
		if (resp.StatusCode == http.StatusTooManyRequests) != test.much {
			t.Errorf("%s: %d %s", test.members, resp.StatusCode, got)
		}
		if test.much && (resp.Header.Get("Retry-After") != "5" || !strings.Contains(got, "reserved") || strings.Contains(got, "insufficient_quota")) {
			t.Errorf("%s: Retry-After %q, %s", test.members, resp.Header.Get("Retry-After"), got)
		}
		up.let <- struct{}{}
		<-done
	}
}

// TestInvalidOutputLimits sends numbers that no host accepts: the error names the field. Values that some hosts read as "no
// limit" pass.
func TestInvalidOutputLimits(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	for _, test := range []struct {
		path, members, names string // "" passes
	}{
		{"/v1/chat/completions", `"max_tokens":-5`, "max_tokens"},
		{"/v1/chat/completions", `"max_tokens":-100000`, "max_tokens"},
		{"/v1/chat/completions", `"max_tokens":1.5`, "max_tokens"},
		{"/v1/chat/completions", `"max_tokens":"100"`, "max_tokens"},
		{"/v1/chat/completions", `"max_tokens":0`, ""},
		{"/v1/chat/completions", `"max_tokens":-1`, ""},
		{"/v1/chat/completions", `"max_tokens":null`, ""},
		{"/v1/chat/completions", `"max_tokens":100000000`, ""},
		{"/v1/chat/completions", `"n":-60`, "n has to be"},
		{"/v1/chat/completions", `"n":0`, "n has to be"},
		{"/v1/chat/completions", `"n":129`, "n has to be"},
		{"/v1/chat/completions", `"best_of":-1`, "best_of"},
		{"/v1/chat/completions", `"extra_body":{"max_tokens":"12000"}`, "max_tokens"},
		{"/v1/chat/completions", `"extra_body":{"n":1e9}`, "n has to be"},
		{"/v1/chat/completions", `"extra_body":` + strings.Repeat(`{"extra_body":`, 20) + `{}` + strings.Repeat(`}`, 20), "extra_body"},
		{"/v1/chat/completions", `"n_predict":-7`, "n_predict"},
		{"/v1/responses", `"max_output_tokens":-3`, "max_output_tokens"},
		{"/v1/messages", `"max_tokens":-3`, "max_tokens"},
		{"/v1beta/models/chat:generateContent", `"generationConfig":{"maxOutputTokens":-3}`, "maxOutputTokens"},
		{"/v1beta/models/chat:generateContent", `"generationConfig":{"candidateCount":-3}`, "candidateCount"},
		{"/model/chat/converse", `"inferenceConfig":{"maxTokens":-3}`, "maxTokens"},
		{"/api/chat", `"stream":false,"options":{"num_predict":-3}`, "num_predict"},
		{"/api/chat", `"stream":false,"options":{"num_predict":-2}`, ""},
		{"/api/chat", `"stream":false,"options":{"num_predict":-1}`, ""},
	} {
		body := map[string]string{"/v1/responses": `{"model":"chat","input":"hi"}`, "/v1/messages": hello, "/v1beta/models/chat:generateContent": helloBlock, "/model/chat/converse": helloAWS}[test.path]
		if body == "" {
			body = hello
		}
		before := g.sent()
		resp, got := send(t, "POST", g.url+test.path, "application/json", strings.Replace(body, "{", "{"+test.members+",", 1), "Authorization", "Bearer "+key)
		want := http.StatusOK
		if test.names != "" {
			want = http.StatusBadRequest
		}
		if resp.StatusCode != want || !strings.Contains(got, test.names) {
			t.Errorf("%s %s: %d %s", test.path, test.members, resp.StatusCode, got)
		}
		if asked := g.sent() != before; asked != (test.names == "") {
			t.Errorf("%s %s: asked=%t", test.path, test.members, asked)
		}
	}
}

// TestMissingOutputLimit checks the reservation of a request without an output limit where the maximum is reserved: for a budget, the
// maximum output of the model if known, and no request may exceed it; for a limit per minute, the usual output.
func TestMissingOutputLimit(t *testing.T) {
	up := &slow{make(chan struct{}, 9), make(chan struct{}, 9)}
	g := guard(t, up, -1)
	for _, test := range []struct {
		model, limit, member string
		first, next          int
	}{
		{"long", "tokens/day=50000", "", 429, 200}, // maximum output is 60,000
		{"long", "tokens/day=60020", "", 200, 429},
		{"long", "tokens/day=70000", "", 200, 200},
		{"long", "tokens/day=60020", `"max_tokens":-1,`, 200, 429},
		{"long", "tokens/day=60020", `"max_tokens":0,`, 200, 429},
		{"long", "tokens/day=50000", `"max_tokens":9,"n_predict":-1,`, 429, 200},
		{"long", "tokens/day=50000", `"max_tokens":49999,`, 429, 200},
		{"long", "tokens/day=50000", `"max_tokens":900,`, 200, 200},
		{"long", "tokens/day=60030", `"max_tokens":900000,`, 200, 429},
		{"long", "tokens/minute=50000", "", 200, 200},
		{"long", "tokens/minute=4000", "", 200, 429},
		{"chat", "tokens/day=50000", "", 200, 200}, // maximum output is unknown
		{"chat", "tokens/day=4000", "", 429, 200},
		{"chat", "tokens/day=4120", "", 200, 429},
		{"chat", "tokens/minute=4000", "", 200, 429},
	} {
		key := g.key(t, access.Key{Limits: quotas(t, test.limit)})
		body := fmt.Sprintf(`{"model":%q,%s"messages":[{"role":"user","content":"hi"}]}`, test.model, test.member)
		answers := make(chan int, 1)
		go func() {
			resp, got := send(t, "POST", g.url+"/v1/chat/completions", "application/json", body, "Authorization", "Bearer "+key)
			if resp.StatusCode == http.StatusTooManyRequests && !strings.Contains(got, "say in the request how long an answer may be") {
				t.Errorf("%+v: the refusal does not help: %s", test, got)
			}
			answers <- resp.StatusCode
		}()
		var first int
		select {
		case <-up.begun:
		case first = <-answers:
		}
		resp, got := send(t, "POST", g.url+"/v1/chat/completions", "application/json", second, "Authorization", "Bearer "+key)
		if test.next == http.StatusOK != (resp.StatusCode == http.StatusOK) {
			t.Errorf("%+v: the next request: %d %s", test, resp.StatusCode, got)
		}
		if first == 0 {
			up.let <- struct{}{}
			first = <-answers
		}
		if first != test.first {
			t.Errorf("%+v: the first request: %d", test, first)
		}
	}
}
