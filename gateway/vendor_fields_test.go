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
	"github.com/toolpost/toolpost/sim"
)

// TestFieldsBeyondTheKey sends fields with which some vendor uses another model, runs a tool or charges more, with
// keys that each have a different limit. Fields that bypass the limit are refused before an upstream is asked; others
// are passed on unchanged.
func TestFieldsBeyondTheKey(t *testing.T) {
	g := guard(t, nil)
	keys := map[string]string{
		"free":   g.key(t, access.Key{}),
		"models": g.key(t, access.Key{Models: []string{"chat", "costly"}}),
		"routes": g.key(t, access.Key{Routes: []string{"chat", "costly"}}),
		"tools":  g.key(t, access.Key{Tools: []string{"lookup"}}),
		"money":  g.key(t, access.Key{Limits: quotas(t, "money/day=5")}),
	}
	for member, refuses := range map[string]string{ // the keys that are refused, separated by spaces
		`"models":["costly"]`:                                            "money",
		`"models":["messages"]`:                                          "models routes money",
		`"models":["costly","openrouter/other"]`:                         "models routes money",
		`"models":[{"model":"other"}]`:                                   "models routes money",
		`"models":{"a":1}`:                                               "models routes money",
		`"models":["costly",{"costly":"other"}]`:                         "models routes money",
		`"Models":["other"]`:                                             "models routes money",
		`"mode\u006cs":["other"]`:                                        "models routes money",
		`"fallbacks":[{"chat":["other"]}]`:                               "models routes money",
		`"fallbacks":["costly"]`:                                         "money",
		`"fallbacks":[{"model":"other","messages":[]}]`:                  "models routes money",
		`"models":[]`:                                                    "",
		`"models":null`:                                                  "",
		`"preset":"cheap"`:                                               "models routes tools money",
		`"user_config":{"model_list":[]}`:                                "models routes tools money",
		`"api_base":"https://example.org"`:                               "models routes tools money",
		`"extra_body":{"models":["other"]}`:                              "models routes money",
		`"extra_body":{"model":"other"}`:                                 "models routes tools money",
		`"extra_body":{"tools":[{"type":"web_search"}]}`:                 "models routes tools money",
		`"extra_body":{"top_k":3}`:                                       "",
		`"plugins":[{"id":"web"}]`:                                       "tools money",
		`"plugins":[{"id":"file-parser"}]`:                               "tools money",
		`"plugins":[]`:                                                   "",
		`"search_parameters":{"mode":"on"}`:                              "tools money",
		`"search_parameters":{}`:                                         "tools money",
		`"search_parameters":{"mode":"off"}`:                             "",
		`"enable_search":true`:                                           "tools money",
		`"enable_search":false`:                                          "",
		`"web_search_options":{}`:                                        "tools money",
		`"provider":{"order":["dear"]}`:                                  "money",
		`"route":"fallback"`:                                             "money",
		`"service_tier":"priority"`:                                      "money",
		`"service_tier":"auto"`:                                          "",
		`"service_tier":"flex"`:                                          "",
		`"speed":"fast"`:                                                 "money",
		`"performanceConfig":{"latency":"optimized"}`:                    "money",
		`"performanceConfig":{"latency":"standard"}`:                     "",
		`"additionalModelRequestFields":{"top_k":5}`:                     "",
		`"additionalModelRequestFields":{"speed":"fast"}`:                "money",
		`"additionalModelRequestFields":{"extra_body":{"models":["x"]}}`: "models routes tools money",
		`"extra_body":{"extra_body":{"models":["x"]}}`:                   "models routes tools money",
		`"extra_body":[{"models":["x"]}]`:                                "models routes tools money",
		`"extra_body":"{\"models\":[\"x\"]}"`:                            "models routes tools money",
		`"lora_path":"x"`:                                                "models routes tools money",
		`"litellm_params":{"model":"x"}`:                                 "models routes tools money",
		`"fallback":"x"`:                                                 "models routes money",
		`"metadata":{"models":["other"]},"user":"a"`:                     "",
		`"metadata":{"tags":"a,b"}`:                                      "",
		`"metadata":{"tags":["dear"]}`:                                   "models routes tools money",
		`"metadata":{"fallbacks":[{"chat":["other"]}]}`:                  "models routes tools money",
		`"litellm_metadata":{"Tags":["dear"]}`:                           "models routes tools money",
		`"prompt":{"id":"pmpt_1"}`:                                       "models routes tools money",
		`"prompt":{"variables":{}}`:                                      "",
		`"prompt_id":"p"`:                                                "models routes tools money",
		`"container":{"skills":[{"skill_id":"x"}]}`:                      "models routes tools money",
		`"config":{"targets":[{"override_params":{"model":"other"}}]}`:   "models routes tools money",
		`"engine":"other"`:                                               "models routes tools money",
		`"lora":[{"id":1}]`:                                              "models routes tools money",
		`"loraPath":"x"`:                                                 "models routes tools money",
		`"liteLLM_Params":{"model":"x"}`:                                 "models routes tools money",
		`"deploymentId":"x"`:                                             "models routes tools money",
		`"Fall-Backs":["other"]`:                                         "models routes money",
		`"fallbackModels":["other"]`:                                     "models routes money",
		`"data_sources":[{"type":"azure_search"}]`:                       "tools money",
		`"dataSources":[{"type":"azure_search"}]`:                        "tools money",
		`"mcpServers":[{"url":"x"}]`:                                     "tools money",
		`"web_search":true`:                                              "tools money",
		`"serviceTier":"priority"`:                                       "money",
		`"serviceTier":{"type":"priority"}`:                              "money",
		`"serviceTier":{"type":"default"}`:                               "",
		`"performance_config":{"latency":"optimized"}`:                   "money",
		`"provider_options":{"gateway":{}}`:                              "models routes tools money",
		`"modalities":["text"]`:                                          "",
		`"modalities":["text","audio"],"audio":{"voice":"a"}`:            "money",
		`"generationConfig":{"responseModalities":["AUDIO"]}`:            "money",
		`"generationConfig":{"responseModalities":["TEXT"]}`:             "",
		`"extra_body":{"functions":[{"name":"x"}]}`:                      "models routes tools money",
		`"adapter_id":"x"`:                                               "models routes tools money",
	} {
		for name, key := range keys {
			asked := func() int { return strings.Count(g.told(), "POST /v1/chat/completions HTTP") }
			before := asked()
			body := strings.Replace(helloCost, "{", "{"+member+",", 1)
			resp, got := send(t, "POST", g.url+"/v1/chat/completions", "application/json", body, "Authorization", "Bearer "+key)
			refused := strings.Contains(" "+refuses+" ", " "+name+" ")
			if (resp.StatusCode == http.StatusForbidden) != refused {
				t.Errorf("%s with the key %q: %d %s", member, name, resp.StatusCode, got)
			}
			if n := asked() - before; refused && n > 0 {
				t.Errorf("%s with the key %q: the upstream was asked", member, name)
			}
		}
	}
}

// TestBetasBeyondTheKey sends beta features in Anthropic's header that cost more, or run tools.
func TestBetasBeyondTheKey(t *testing.T) {
	g := guard(t, nil)
	keys := map[string]string{
		"free":   g.key(t, access.Key{}),
		"models": g.key(t, access.Key{Models: []string{"costly"}}),
		"tools":  g.key(t, access.Key{Tools: []string{"lookup"}}),
		"money":  g.key(t, access.Key{Limits: quotas(t, "money/day=5")}),
	}
	for beta, refuses := range map[string]string{
		"fast-mode-2026-02-01":             "money",
		"context-1m-2025-08-07":            "money",
		"mcp-client-2025-04-04":            "tools money",
		"skills-2025-10-02":                "models tools money",
		"interleaved-thinking-2025-05-14":  "",
		"claude-code-1, FAST-MODE-1":       "money",
		"prompt-caching-2024-07-31, other": "",
	} {
		for name, key := range keys {
			body := strings.Replace(helloMax, `"chat"`, `"costly"`, 1)
			refused := strings.Contains(" "+refuses+" ", " "+name+" ")
			for place, sent := range map[string][]string{
				"header": {body, "Anthropic-Beta", beta},
				"member": {strings.Replace(body, "{", fmt.Sprintf(`{"anthropic_beta":[%q],`, beta), 1)},
				"text":   {strings.Replace(body, "{", fmt.Sprintf(`{"betas":%q,`, beta), 1)},
			} {
				before := g.sent()
				resp, got := send(t, "POST", g.url+"/v1/messages", "application/json", sent[0], append([]string{"X-Api-Key", key}, sent[1:]...)...)
				if (resp.StatusCode == http.StatusForbidden) != refused || refused && g.sent() != before {
					t.Errorf("%s in a %s with the key %q: %d %s", beta, place, name, resp.StatusCode, got)
				}
			}
		}
	}
}

// TestObjectsStoredByVendors sends references to objects in the gateway's vendor account: files, conversations, containers.
// With keys, only the team that owns the account may use them. Without keys, and for the client's own data, nothing is
// refused.
func TestObjectsStoredByVendors(t *testing.T) {
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	up := httptest.NewServer(g.record(new(sim.Server)))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		for _, vendor := range []string{"shared-", "red-"} {
			client.Vendors[vendor+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
			route := to(vendor+format, vendor+format+"/sim/native")
			if vendor == "red-" {
				route.PassTeam = "red"
				route.Fallback = []string{"shared-" + format}
			}
			routes = append(routes, route)
		}
	}
	fails := to("fails", "red-chat/sim/native+status=500")
	fails.PassTeam, fails.Fallback = "red", []string{"shared-chat"}
	setup := gateway.Setup{Open: opening(client), Routes: append(routes, fails), Access: g.book}
	g.url = serve(t, setup)
	setup.Access = nil
	open := serve(t, setup)
	red, blue := g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "blue"})
	const responses, messages, chat = "/v1/responses", "/v1/messages", "/v1/chat/completions"
	for _, test := range []struct {
		path, body string // %s is the name of the route
		kept       bool
	}{
		{responses, `{"model":"%sresponses","input":"hi"}`, false},
		{responses, `{"model":"%sresponses","input":"hi","conversation":"conv_1"}`, true},
		{responses, `{"model":"%sresponses","input":"hi","conversation":{"id":"conv_1"}}`, true},
		{responses, `{"model":"%sresponses","input":"hi","conversation":null}`, false},
		{responses, `{"model":"%sresponses","input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"hi"}]}`, true},
		{responses, `{"model":"%sresponses","input":[{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}]}`, true},
		{responses, `{"model":"%sresponses","input":[{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}]}`, true},
		{responses, `{"model":"%sresponses","input":[{"role":"user","content":[{"type":"input_new","file\u005fid":"file-1"}]}]}`, true},
		{responses, `{"model":"%sresponses","input":"hi","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`, true},
		{responses, `{"model":"%sresponses","input":"hi","tools":[{"type":"code_interpreter","container":"cntr_1"}]}`, true},
		{responses, `{"model":"%sresponses","input":"hi","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file-1"]}}]}`, true},
		{responses, `{"model":"%sresponses","input":"hi","tools":[{"type":"function","name":"read","parameters":{"type":"object","properties":{"file_id":{"type":"string"}}}}]}`, false},
		{responses, `{"model":"%sresponses","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"file_id\":\"x\"}"},{"type":"function_call_output","call_id":"c1","output":"{\"file_id\":1}"}]}`, false},
		{messages, `{"model":"%smessages","max_tokens":9,"container":"cont_1","messages":[{"role":"user","content":"hi"}]}`, true},
		{messages, `{"model":"%smessages","max_tokens":9,"container":{"id":"cont_1"},"messages":[{"role":"user","content":"hi"}]}`, true},
		{messages, `{"model":"%smessages","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]}`, true},
		{messages, `{"model":"%smessages","max_tokens":9,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"file_1"}]}]}`, true},
		{messages, `{"model":"%smessages","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"read","input":{"file_id":"x"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}]}`, false},
		{chat, `{"model":"%schat","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, true},
		{chat, `{"model":"%schat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"gs://bucket/x.png"}}]}]}`, true},
		{chat, `{"model":"%schat","messages":[{"role":"user","content":"file_id conversation item_reference"}],"user":"file_id"}`, false},
		{"/v1beta/models/%sgemini:generateContent", `{"contents":[{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x"}}]}]}`, true},
		{"/v1beta/models/%sgemini:generateContent", `{"contents":[{"role":"user","parts":[{"file_data":{"mime_type":"image/png","file_uri":"gs://bucket/x.png"}}]}]}`, true},
		{"/v1beta/models/%sgemini:generateContent", `{"cachedContent":"cachedContents/x","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, true},
		{"/v1beta/models/%sgemini:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, false},
		{"/v1beta/models/%sgemini:generateContent", `{"contents":[{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"HTTPS://GenerativeLanguage.googleapis.com./v1beta/files/x"}}]}]}`, true},
		{"/v1beta/models/%sgemini:countTokens", `{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x"}}]}]}`, true},
		{"/model/%sconverse/converse", `{"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"a","source":{"s3Location":{"uri":"s3://bucket/x.pdf"}}}}]}]}`, true},
		{"/model/%sconverse/converse", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, false},
	} {
		for _, by := range []struct {
			name, url, route, key string
			refused               bool
		}{
			{"without keys", open, "shared-", "", false},
			{"a shared account", g.url, "shared-", red, test.kept},
			{"the team's account", g.url, "red-", red, false},
			{"another team's account", g.url, "red-", blue, test.kept},
		} {
			fill := func(s string) string { return strings.Replace(s, "%s", by.route, 1) }
			before := g.sent()
			resp, got := send(t, "POST", by.url+fill(test.path), "application/json", fill(test.body), "Authorization", "Bearer "+by.key)
			if (resp.StatusCode == http.StatusForbidden) != by.refused {
				t.Errorf("%s, %s: %d %s", test.body, by.name, resp.StatusCode, got)
			}
			if by.refused && (g.sent() != before || !strings.Contains(got, "pass_team")) {
				t.Errorf("%s, %s: asked, or not explained: %s", test.body, by.name, got)
			}
		}
	}
	for part, falls := range map[string]bool{`{"type":"text","text":"hi"}`: true, `{"type":"file","file":{"file_id":"file-1"}}`: false} {
		resp, got := send(t, "POST", g.url+chat, "application/json", `{"model":"fails","messages":[{"role":"user","content":[`+part+`]}]}`, "Authorization", "Bearer "+red)
		if (resp.StatusCode == http.StatusOK) != falls {
			t.Errorf("the fallback of %s: %d %s", part, resp.StatusCode, got)
		}
	}
}

// Requests with an answer that would be delivered elsewhere are refused for every client: the answer would be lost and
// not counted.
func TestBackgroundRequestsAreRefused(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-responses/echo")}})
	for body, want := range map[string]int{
		`{"model":"m","input":"Hello","background":true}`:                   400,
		`{"model":"m","input":"Hello","background":true,"stream":true}`:     400,
		`{"model":"m","input":"Hello","extra_body":{"background":true}}`:    400,
		`{"model":"m","input":"Hello","deferred":true}`:                     400,
		`{"model":"m","input":"Hello","background":false}`:                  200,
		`{"model":"m","input":"Hello","background":null,"service_tier":""}`: 200,
	} {
		resp, err := http.Post(url+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 400 && !strings.Contains(string(text), " is not served") {
			t.Errorf("%s: %d %s", body, resp.StatusCode, text)
		}
	}
}
