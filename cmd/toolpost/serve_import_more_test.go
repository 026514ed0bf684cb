package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/sim"
)

// TestImportOfWildcardsAndWeights: wildcard names, fractional weights and settings with another place here are imported with
// the same meaning, or reported.
func TestImportOfWildcardsAndWeights(t *testing.T) {
	clitest.Bare(t, nil)
	const sure = "model_list:\n  - {model_name: sure, litellm_params: {model: openai/gpt-4o}}\n"
	for _, c := range []struct{ config, writes, says string }{
		{sure + liteEntry("'*'", "model: '*'"), "    - model: \"*\"\n      to:\n        - {model: \"*\"}\n", ":3: * is asked for the model that the client names, as VENDOR/MODEL (openai/gpt-4o)"},
		{sure + liteEntry("'*'", "model: '*', api_base: 'http://gpu:8000/v1'"), "- model: sure", "a model is left out: * is every model of every vendor"},
		{sure + liteEntry("all", "model: '*'"), "- model: sure", "a model is left out: * is every model of every vendor"},
		{sure + liteEntry("'openai/*'", "model: 'openai/*'"), `- {model: "openai/*"}`, ""},
		{sure + liteEntry("w", "model: openai/a, weight: 0.9") + liteEntry("w", "model: openai/b, weight: 0.1"), "- {model: openai/a, weight: 9}\n        - {model: openai/b, weight: 1}\n", "3 of 3 models"},
		{sure + liteEntry("w", "model: openai/a, weight: 0.75") + liteEntry("w", "model: openai/b"), "- {model: openai/a, weight: 3}\n        - {model: openai/b, weight: 4}\n", "3 of 3 models"},
		{sure + liteEntry("w", "model: openai/a, weight: 2") + liteEntry("w", "model: openai/b"), "- {model: openai/a, weight: 2}\n        - {model: openai/b}\n", "3 of 3 models"},
		{sure + liteEntry("w", "model: openai/a, weight: 0.5") + liteEntry("w", "model: openai/b, weight: 0.0"), "- {model: openai/a, weight: 1}\n        - {model: openai/b, weight: 0}\n", ""},
		{sure + liteEntry("w", "model: openai/a, weight: 0.5") + "router_settings: {model_group_alias: {v: w}}\n", "- model: v\n      to:\n        - {model: openai/a, weight: 1}\n", ""},
		{sure + liteEntry("w", "model: openai/a, weight: two"), "- {model: openai/a}\n", "weight is not a number of 0 or more"},
		{sure + "include: [more.yaml]\n", "- model: sure", "1 of 1 model is taken over, in 1 route; models of the files in include are not among them"},
		{sure + "include: [more.yaml]\n", "- model: sure", ":3: include is not taken over: models and settings of those files are missing"},
		{sure + "litellm_settings: {max_budget: 100}\n", "- model: sure", "max_budget of litellm_settings is not taken over: 'toolpost keys create --limit money/month=50'"},
		{sure + liteEntry("m", "model: os.environ/MY_MODEL"), "- model: sure", "its name is to come from a variable of the environment"},
		{sure + liteEntry("b", "model: openai/b") + "litellm_settings: {context_window_fallbacks: [{sure: [b]}]}\n", "fallback: [b]", ":4: context_window_fallbacks are fallbacks for every failure here"},
	} {
		place(t, "lite.yaml", c.config)
		r := toolpost(t, "", "serve", "import", "lite.yaml")
		if r.code != 0 || !strings.Contains(r.out, c.writes) || !strings.Contains(r.errOut, c.says) {
			t.Errorf("%s: %d\n%s%s", c.config, r.code, r.out, r.errOut)
		}
	}
}

// TestImportedStar: the imported route for all names leads to the model that the client names.
func TestImportedStar(t *testing.T) {
	clitest.Bare(t, nil)
	place(t, "lite.yaml", "model_list:\n"+liteEntry("'*'", "model: '*'"))
	r := toolpost(t, "", "serve", "import", "lite.yaml")
	must(t, r, 0)
	upstream := httptest.NewServer(new(sim.Server))
	defer upstream.Close()
	place(t, "gateway.yaml", r.out+"providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}\n")
	url := startServe(t, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
	for name, status := range map[string]int{"up/sim/native": 200, "sim/offline": 404, "nobody/x": 404, "openai+http://127.0.0.1:9/v1#x": 404} {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+name+`","messages":[{"role":"user","content":"Hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
}
