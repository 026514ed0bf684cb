package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// native is a catalogue in which a model calls tools.
func native(id string) *catalog.Catalog {
	yes := catalog.Answer{Support: catalog.Yes}
	return catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: id}, Kind: "chat", NativeTools: yes, ParallelTools: yes, ToolChoiceRequired: yes})
}

// refusals are how vendors say that there is no tool calling.
var refusals = []struct {
	who    string
	status int
	body   string
}{
	{"Ollama", 400, `{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}`},
	{"Ollama, OpenAI format", 400, `{"error":{"message":"gemma:2b does not support tools","type":"api_error"}}`},
	{"vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`},
	{"llama.cpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`},
	{"Bedrock", 400, `{"message":"This model doesn't support tool use."}`},
	{"Bedrock, streamed", 400, `{"message":"This model doesn't support tool use in streaming mode."}`},
	{"OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit the documentation","code":404}}`},
	{"Groq", 400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\",\"type\":\"invalid_request_error\"}}"},
	{"Gemini", 400, `{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`},
	{"Fireworks", 400, `{"error":{"message":"Model does not support function calling","type":"invalid_request_error"}}`},
	{"LM Studio", 400, `{"error":"Model does not support tool use"}`},
}

// A vendor that has no tools after all is asked again in the same request, by
// prompt, and never again with tools.
func TestFallback(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.who, func(t *testing.T) {
			withTools, without := 0, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				if strings.Contains(string(body), `"tools":`) {
					withTools++
					w.WriteHeader(r.status)
					_, _ = io.WriteString(w, r.body)
					return
				}
				without++
				text := "```json\n{\"tool\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n```"
				fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, text)
			}))
			defer server.Close()
			id := server.URL + "/v1#m"
			c := &provider.Client{Catalog: native(id), HTTP: server.Client(), Whole: true, Retry: provider.RetryPolicy{Attempts: 1}}
			for range 2 {
				got, err := llm.Generate(t.Context(), open(t, c, id), ask("weather in Rome?"))
				if err != nil || len(got.Message.Calls()) != 1 {
					t.Fatalf("calls %v, error %v", got.Message.Calls(), err)
				}
			}
			if withTools != 1 || without != 2 {
				t.Errorf("%d requests with tools and %d without; the first must teach", withTools, without)
			}
			lessons := c.Lessons()
			if len(lessons) != 1 || lessons[0].ID != id || lessons[0].Values["native_tools"] != "false" {
				t.Errorf("lessons %+v", lessons)
			}
		})
	}
}

// Other refusals are not taken for a lack of tools.
func TestNoFallback(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"Invalid schema for function 'x': tools[0] is wrong"}}`,
		`{"error":{"message":"tool_choice is only supported with tools"}}`,
		`{"error":{"message":"context length exceeded"}}`,
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			http.Error(w, body, http.StatusBadRequest)
		}))
		id := server.URL + "/v1#m"
		c := &provider.Client{Catalog: native(id), HTTP: server.Client()}
		_, err := llm.Generate(t.Context(), open(t, c, id), ask("x"))
		if err == nil || asked != 1 || len(c.Lessons()) != 0 {
			t.Errorf("%s: %v after %d requests, lessons %v", body, err, asked, c.Lessons())
		}
		server.Close()
	}
}

// What Groq could not read of its own model is read with the table of
// dialects.
func TestFailedGeneration(t *testing.T) {
	for _, c := range []struct{ wrote, args string }{
		{`<function=get_weather>{"city": "Rome"}</function>`, `{"city":"Rome"}`},
		{`<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`, `{"city":"Rome"}`},
		{`[get_weather(city="Rome")]`, `{"city":"Rome"}`},
		{`I am sorry, I cannot do that.`, ""},
	} {
		for _, whole := range []bool{false, true} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				body := fmt.Sprintf(`{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":%q}}`, c.wrote)
				if !whole { // in the stream, after the status
					fmt.Fprintf(w, "data: %s\n\n", body)
					return
				}
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, body)
			}))
			id := "groq+" + server.URL + "/v1#llama-3.3-70b-versatile"
			client := &provider.Client{Catalog: native(id), HTTP: server.Client(), Whole: whole}
			r, err := llm.Generate(t.Context(), open(t, client, id), ask("weather in Rome?"))
			calls := r.Message.Calls()
			switch {
			case c.args == "" && llm.KindOf(err) != llm.BrokenPromise:
				t.Errorf("%s: %v", c.wrote, err)
			case c.args != "" && (err != nil || len(calls) != 1 || compact(string(calls[0].Args)) != c.args || r.Finish.Reason != llm.ToolCalls):
				t.Errorf("%s (whole %v): calls %v, finish %v, error %v", c.wrote, whole, calls, r.Finish, err)
			}
			server.Close()
		}
	}
}

// A call that a vendor with tools leaves in the text is found there, and ids
// stay apart.
func TestLeaks(t *testing.T) {
	for _, c := range []struct {
		why, message string
		calls        int
		text         string
	}{
		{"in a dialect", `{"content":"Sure. <tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>"}`, 1, "Sure. "},
		{"beside a real one", `{"content":"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_time","arguments":"{\"city\":\"Rome\"}"}}]}`, 2, ""},
		{"in thinking that never ended", `{"content":"","reasoning_content":"I will call <tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>"}`, 1, ""},
		{"in thinking that ended", `{"content":"Done.","reasoning_content":"I could call <tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>"}`, 0, "Done."},
		{"of a tool that was not offered", `{"content":"{\"name\":\"fly\",\"arguments\":{}}"}`, 0, `{"name":"fly","arguments":{}}`},
		{"in an example", "{\"content\":\"Write x < y and `<tool_call>` yourself.\"}", 0, "Write x < y and `<tool_call>` yourself."},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":"stop"}]}`, c.message)
		}))
		id := server.URL + "/v1#m"
		r, err := llm.Generate(t.Context(), open(t, &provider.Client{Catalog: native(id), HTTP: server.Client(), Whole: true}, id), ask("?"))
		calls := r.Message.Calls()
		if err != nil || len(calls) != c.calls || strings.TrimSpace(r.Message.Text()) != strings.TrimSpace(c.text) {
			t.Errorf("%s: calls %v, text %q, error %v", c.why, calls, r.Message.Text(), err)
		}
		ids := map[string]bool{}
		for _, call := range calls {
			ids[call.ID] = true
		}
		if len(ids) != len(calls) {
			t.Errorf("%s: ids repeat: %v", c.why, calls)
		}
		server.Close()
	}
}
