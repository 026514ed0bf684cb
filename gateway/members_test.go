package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
)

// TestMembersBeyondTheKey sends members by which some vendor takes another model, runs a tool or asks for a higher price, with keys of
// which each bounds something else. What leaves the bounds is refused before anybody is asked; what does not is passed on as it is.
func TestMembersBeyondTheKey(t *testing.T) {
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

// What would be answered elsewhere is refused, whoever asks: it would be lost, and not counted.
func TestNothingInTheBackground(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-responses/echo")}})
	for body, want := range map[string]int{
		`{"model":"m","input":"Hello","background":true}`:                   400,
		`{"model":"m","input":"Hello","background":true,"stream":true}`:     400,
		`{"model":"m","input":"Hello","extra_body":{"background":true}}`:    400,
		`{"model":"m","input":"Hello","background":false}`:                  200,
		`{"model":"m","input":"Hello","background":null,"service_tier":""}`: 200,
	} {
		resp, err := http.Post(url+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 400 && !strings.Contains(string(text), "background is not served") {
			t.Errorf("%s: %d %s", body, resp.StatusCode, text)
		}
	}
}
