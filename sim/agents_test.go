package sim_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/sim"
)

// TestForAgents: the requests of programs that take the server for their vendor's.
func TestForAgents(t *testing.T) {
	script, err := sim.ParseScript([]byte("-- 1 --\ncall apply_patch \"*** Begin Patch\\n*** End Patch\"\ncall look {\"at\":1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(new(sim.Server))
	defer plain.Close()
	scripted := httptest.NewServer(&sim.Server{Model: script, Unknown: "sim/native"})
	defer scripted.Close()
	const custom = `{"model":"gpt-5-codex","input":"go","stream":%v,"tools":[{"type":"custom","name":"apply_patch"},{"type":"namespace","name":"eyes","tools":[{"type":"function","name":"look","parameters":{"type":"object"}}]}]}`
	for _, c := range []struct {
		name, method, url, body string
		status                  int
		has, hasNot             string
	}{
		{"a custom tool in a script", "POST", scripted.URL + "/v1/responses", fmt.Sprintf(custom, false), 200, `"name":"apply_patch","input":"*** Begin Patch\n*** End Patch"`, ""},
		{"and in a namespace", "POST", scripted.URL + "/v1/responses", fmt.Sprintf(custom, false), 200, `"name":"look","namespace":"eyes"`, ""},
		{"streamed", "POST", scripted.URL + "/v1/responses", fmt.Sprintf(custom, true), 200, `"name":"look","namespace":"eyes"`, ""},
		{"a custom tool as a function", "POST", scripted.URL + "/v1/messages", `{"model":"claude-x","max_tokens":99,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"apply_patch","input_schema":{"type":"object"}}]}`, 200, `"name":"apply_patch","input":{"input":"*** Begin Patch\n*** End Patch"}`, ""},
		{"no tools, no calls", "POST", scripted.URL + "/v1/chat/completions", `{"model":"gpt-5","messages":[{"role":"user","content":"A title, please."}]}`, 200, "There is no tool to call.", "tool_calls"},
		{"usage of the input", "POST", scripted.URL + "/v1/messages", `{"model":"claude-x","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`, 200, `"input_tokens":1`, `"input_tokens":0`},
		{"an unknown model is known", "GET", scripted.URL + "/v1/models/gpt-5", "", 200, `"id":"gpt-5"`, ""},
		{"in the form of Gemini", "GET", scripted.URL + "/v1beta/models/gemini-x", "", 200, `"name":"models/gemini-x"`, ""},
		{"a slash in an id", "POST", plain.URL + "/v1beta/models/sim/native:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, 200, `"modelVersion":"sim/native"`, ""},
		{"a slash in the count", "POST", plain.URL + "/v1beta/models/sim/native:countTokens", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, 200, `"totalTokens":`, ""},
		{"without an alias", "POST", plain.URL + "/v1/chat/completions", `{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}`, 404, `"code":"model_not_found"`, ""},
		{"Gemini's word for it", "POST", plain.URL + "/v1beta/models/nope:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, 404, `"status":"NOT_FOUND"`, "model_not_found"},
		{"a path of nobody", "POST", plain.URL + "/v1/nothing", `{}`, 404, `"code":"unknown_url"`, "model_not_found"},
		{"Gemini's", "GET", plain.URL + "/v1beta/nothing", "", 404, `"status":"NOT_FOUND"`, "model_not_found"},
		{"Ollama's", "POST", plain.URL + "/api/nothing", `{}`, 404, `{"error":"`, "model_not_found"},
		{"Anthropic's", "POST", plain.URL + "/v1/messages/nothing", `{}`, 404, `"type":"not_found_error"`, "model_not_found"},
		{"Amazon's", "POST", plain.URL + "/model/a/nothing", `{}`, 404, "ResourceNotFoundException", "model_not_found"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if got := string(b); resp.StatusCode != c.status || !strings.Contains(got, c.has) || c.hasNot != "" && strings.Contains(got, c.hasNot) {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, got)
		}
	}
}
