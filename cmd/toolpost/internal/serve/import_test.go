package serve_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/sim"
)

// importRow is a LiteLLM configuration with the expected output and messages of import.
type importRow struct{ config, writes, says string }

// liteEntry returns an entry of a model list.
func liteEntry(name, params string) string {
	return "  - {model_name: " + name + ", litellm_params: {" + params + "}}\n"
}

// importKinds are the kinds of entries in LiteLLM configurations, each next to a model that is always imported.
var importKinds = map[string][]importRow{
	"keys in an address": {
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/sk-abcdefghijklmnopqrstuv/v1'"), `k-base-url: {base_url: "${K_BASE_URL}", wire: chat}`, "set K_BASE_URL to it"},
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/v1/0123456789abcdef0123456789abcdef/x'"), "{model: k-base-url/m}", "its path holds what may be a key"},
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/0f8fad5b-d9cb-469f-a165-70867728950e/v1'"), "{model: k-base-url/m}", ""},
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/token/hunter2/v1'"), "{model: k-base-url/m}", ""},
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/abcdefghijklmnopqrstuvwxyzab/v1', api_key: os.environ/GPU_KEY"), `gpu-key: {base_url: "${K_BASE_URL}", wire: chat, key_env: "GPU_KEY"}`, ""},
		{liteEntry("k", "model: ollama/m, api_base: 'https://a.example.org/abcdefghij0123456789'"), `{base_url: "${K_BASE_URL}/api", wire: ollama}`, ""},
		{liteEntry("k", "model: anthropic/claude-sonnet-4-5, api_base: 'https://a.example.org/abcdefghij0123456789'"), `{like: anthropic, base_url: "${K_BASE_URL}/v1"}`, ""},
		{liteEntry("7ü", "model: openai/m, api_base: 'https://a.example.org/abcdefghij0123456789'"), `"${MODEL_BASE_URL}"`, ""},
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/abcdefghij0123456789'") + liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/zbcdefghij0123456789'"), `"${K_BASE_URL_2}"`, ""},
		{liteEntry("k", "model: openai/m, api_base: 'https://a.example.org/openai/deployments/gpt-4o-mini-2024-07-18/v1'"), `"https://a.example.org/openai/deployments/gpt-4o-mini-2024-07-18/v1#m"`, ""},
		{liteEntry("k", "model: openai/m, api_base: 'https://sk-abcdefghij0123456789abcd.example.org/v1'"), `"${K_BASE_URL}"`, ""},
		{liteEntry("sk-abcdefghijklmnopqrstuv", "model: openai/m"), "model: sure", "its name holds what looks like a key"},
		{liteEntry("k", "model: openai/sk-abcdefghijklmnopqrstuv"), "model: sure", "its name holds what looks like a key"},
		{liteEntry("k", "model: openai/m, api_key: os.environ/sk-abcdefghijklmnopqrstuv"), "{model: openai/m}", "is not a name of a variable"},
	},
	"addresses": {
		{liteEntry("a", "model: openai/m, api_base: os.environ/GPU_URL"), `gpu-url: {base_url: "${GPU_URL}", wire: chat}`, "2 of 2 models"},
		{liteEntry("a", "model: openai/m, api_base: os.environ/GPU_URL, api_key: os.environ/GPU_KEY"), `gpu-key: {base_url: "${GPU_URL}", wire: chat, key_env: "GPU_KEY"}`, ""},
		{liteEntry("a", "model: openai/m, api_base: os.environ/"), "model: sure", "its api_base is not an address"},
		{liteEntry("a", "model: openai/m, api_base: 'os.environ/A B'"), "model: sure", "is not a name of one"},
		{liteEntry("a", "model: azure/d, api_base: os.environ/AZURE_API_BASE, api_key: os.environ/AZURE_API_KEY"), `azure-api-base: {like: azure, endpoint: "${AZURE_API_BASE}", key_env: "AZURE_API_KEY"}`, "2 of 2 models are taken over, in 2 routes. Next"},
		{liteEntry("a", "model: openai/m, base_url: 'http://gpu:8000/v1'"), `"http://gpu:8000/v1#m"`, ""},
		{liteEntry("a", "model: anthropic/claude-sonnet-4-5, api_base: 'https://a.example.org', api_key: os.environ/A_KEY"), `a-key: {like: anthropic, base_url: "https://a.example.org/v1", key_env: "A_KEY"}`, ""},
		{liteEntry("a", "model: anthropic/claude-sonnet-4-5, api_base: 'https://a.example.org/v1'"), `"anthropic+https://a.example.org/v1#claude-sonnet-4-5"`, ""},
		{liteEntry("a", "model: openai/m, api_base: 'no address'"), "model: sure", "its api_base is not an address"},
		{liteEntry("a", "model: openai/m, api_base: 'http://x/${HOME}'"), "model: sure", "its api_base is not an address"},
		{liteEntry("a", "model: litellm_proxy/m, api_base: 'http://other:4000'"), `"http://other:4000#m"`, ""},
		{liteEntry("a", "model: openai/m, api_key: os.environ/OPENAI"), `openai-2: {like: openai, key_env: "OPENAI"}`, ""},
		{liteEntry("a", "model: openai/m, api_key: os.environ/VERTEX"), `vertex-2: {like: openai, key_env: "VERTEX"}`, ""},
	},
	"vendors": {
		{liteEntry("v", "model: vertex_ai/gemini-2.5-pro, vertex_project: p-1, vertex_location: europe-west1"), "{model: vertex/gemini-2.5-pro}", "vertex_project is not needed: Gemini is asked with the key in VERTEX_API_KEY"},
		{liteEntry("v", "model: vertex_ai/claude-sonnet-4@20250514, vertex_location: us-east5") + liteEntry("w", "model: vertex_ai/gemini-2.5-pro, vertex_location: us-east1"), "vertex-claude-us-east5: {like: vertex-claude, region: us-east5}", "vertex_location is not taken over: with a key, Gemini is asked at"},
		{liteEntry("v", "model: vertex_ai/meta/llama-3.1-405b-instruct-maas, vertex_credentials: '{\"private_key\": \"x\"}'"), "model: sure", "a model is left out (v): meta/llama-3.1-405b-instruct-maas on vertex is served to Google accounts only"},
		{liteEntry("v", "model: m, custom_llm_provider: anthropic"), "{model: anthropic/m}", ""},
		{liteEntry("v", "model: bedrock/converse/anthropic.claude-3-5-sonnet-20240620-v1:0"), `"bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0"`, ""},
		{liteEntry("v", "model: bedrock/us-east-1/anthropic.claude-3-5-sonnet-20240620-v1:0"), `"bedrock-us-east-1/anthropic.claude-3-5-sonnet-20240620-v1:0"`, ""},
		{liteEntry("v", "model: openai/responses/gpt-5"), "{model: openai/gpt-5}", ""},
		{liteEntry("v", "model: sagemaker/x"), "model: sure", "the vendor sagemaker is not known here"},
		{liteEntry("v", "model: vertex_ai/meta/llama-3.1-405b-instruct-maas, api_base: os.environ/V_BASE"), "gateway:\n  routes:\n    - model: sure\n      to:\n        - {model: openai/gpt-4o}\n", "a model is left out (v)"},
		{liteEntry("v", "model: llamafile/x"), "model: sure", "a model is left out (v): openai-compatible has no address of its own"},
	},
	"names": {
		{liteEntry("'a*b'", "model: openai/m"), "model: sure", "a model is left out (a*b): a * may only stand at the end"},
		{liteEntry("fix", "model: 'openai/*'"), "model: sure", "a model is left out (fix): the * of openai/* matches nothing"},
		{liteEntry("'x-*'", "model: 'openai/*'"), `"x-*"`, ""},
		{liteEntry("'*'", "model: 'openai/*'"), `model: "*"`, ""},
		{liteEntry("x", "model: openai/"), "model: sure", "lacks the name of a model"},
		{liteEntry("'two words'", "model: openai/m"), `"two words"`, ""},
		{liteEntry("4", "model: openai/m"), `"4"`, ""},
		{liteEntry("x", "model: openai/m, weight: 99999999"), "{model: openai/m}", "the weight of x is left out"},
		{liteEntry("x", "model: openai/m, weight: 0.5"), "{model: openai/m, weight: 1}", ""},
		{liteEntry("x", "model: openai/m") + liteEntry("x", "model: 'openai/*'"), "{model: openai/m}", "2 of 3 models are taken over, in 2 routes; 1 model is left out"},
		{liteEntry("'a*b'", "model: openai/m") + "router_settings: {fallbacks: [{sure: ['a*b']}], model_group_alias: {other: 'a*b'}}\n", "model: sure", "the fallback a*b of sure leads to no other model"},
	},
	"aliases": {
		{"router_settings: {model_group_alias: {one: {model: sure, hidden: true}}}\n", "    - model: one\n      hidden: true\n      to:\n        - {model: openai/gpt-4o}\n", "1 of 1 model is taken over, in 2 routes. Next"},
		{"router_settings: {model_group_alias: {one: {model: sure, hidden: false}}}\n", "    - model: one\n      to:\n", "1 of 1 model is taken over, in 2 routes. Next"},
		{"router_settings: {model_group_alias: {one: {model: sure, odd: 1}}}\n", "model: one", "odd of the alias one is not taken over"},
		{"router_settings: {model_group_alias: {\"one\": sure, two: one}}\n", "model: two", ""},
		{"router_settings: {model_group_alias: {one: {hidden: true}}}\n", "model: sure", "the alias one is left out: it names no model"},
		{"router_settings: {model_group_alias: {one: [sure]}}\n", "model: sure", "the alias one is left out: it names no model"},
		{"router_settings: {model_group_alias: {one: nobody}}\n", "model: sure", "the alias one is left out: there is no model nobody"},
		{"router_settings: {model_group_alias: {sure: sure}}\n", "model: sure", "the alias sure is left out: there is a model of that name"},
		{"router_settings: {model_group_alias: [sure]}\n", "model: sure", "model_group_alias is not a mapping"},
		{"router_settings: {model_group_alias: {'o*e': sure}}\n", "model: sure", "a model is left out (o*e): a * may only stand at the end"},
	},
	"anchors": {
		{"  - {model_name: m, litellm_params: &p {model: openai/m, api_base: 'http://gpu:8000/v1'}}\n  - {model_name: n, litellm_params: {<<: *p, model: openai/n}}\n  - {model_name: o, litellm_params: *p}\n",
			"gateway:\n  routes:\n    - model: sure\n      to:\n        - {model: openai/gpt-4o}\n    - model: m\n      to:\n        - {model: \"http://gpu:8000/v1#m\"}\n    - model: n\n      to:\n        - {model: \"http://gpu:8000/v1#n\"}\n    - model: o\n      to:\n        - {model: \"http://gpu:8000/v1#m\"}\n", "4 of 4 models are taken over"},
		{"  - {\"model_name\": \"q\", \"litellm_params\": {\"model\": \"openai/q\"}}\n", "{model: openai/q}", "2 of 2"},
	},
}

// TestImportsPassTheCheck: the output of import passes 'serve --check'. Everything left out is reported, and neither
// contains a key.
func TestImportsPassTheCheck(t *testing.T) {
	dir := t.TempDir()
	file, ours := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "gateway.yaml")
	for kind, rows := range importKinds {
		for _, row := range rows {
			programtest.WriteFile(t, file, "model_list:\n"+liteEntry("sure", "model: openai/gpt-4o")+row.config)
			got := programtest.Run(t, "", "serve", "import", file)
			if got.Code != 0 || !strings.Contains(got.Out, row.writes) || !strings.Contains(got.ErrOut, row.says) {
				t.Errorf("%s: %s%d\n%s%s", kind, row.config, got.Code, got.Out, got.ErrOut)
			}
			for _, secret := range []string{"sk-abc", "abcdefghij", "hunter2", "0123456789abcdef", "0f8fad5b", "private_key"} {
				if strings.Contains(got.Out+got.ErrOut, secret) {
					t.Errorf("%s: %scopied:\n%s%s", kind, row.config, got.Out, got.ErrOut)
				}
			}
			programtest.WriteFile(t, ours, got.Out)
			programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: sure")
		}
	}
	programtest.WriteFile(t, file, "model_list:\n"+liteEntry("'a*b'", "model: openai/m"))
	programtest.Must(t, programtest.Run(t, "", "serve", "import", file), 1, "its one model cannot be taken over: line 2: a model is left out (a*b): a * may only")
}

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
		programtest.Place(t, "lite.yaml", c.config)
		r := programtest.Run(t, "", "serve", "import", "lite.yaml")
		if r.Code != 0 || !strings.Contains(r.Out, c.writes) || !strings.Contains(r.ErrOut, c.says) {
			t.Errorf("%s: %d\n%s%s", c.config, r.Code, r.Out, r.ErrOut)
		}
	}
}

// TestImportedStar: the imported route for all names leads to the model that the client names.
func TestImportedStar(t *testing.T) {
	clitest.Bare(t, nil)
	programtest.Place(t, "lite.yaml", "model_list:\n"+liteEntry("'*'", "model: '*'"))
	r := programtest.Run(t, "", "serve", "import", "lite.yaml")
	programtest.Must(t, r, 0)
	upstream := httptest.NewServer(new(sim.Server))
	defer upstream.Close()
	programtest.Place(t, "gateway.yaml", r.Out+"providers:\n  up: {base_url: '"+upstream.URL+"/v1', wire: chat}\n")
	url := programtest.StartServe(t, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
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

// TestImportHidesKeysInNames: a labelled key or a query in the name of a model is neither written nor printed.
func TestImportHidesKeysInNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const secret = "SUPERSECRETabc123456789XYZ"
	for _, row := range []importRow{
		{liteEntry("m", `model: "openai/m?key=`+secret+`"`), "", ":3: a model is left out: its name holds what looks like a key"},
		{liteEntry("m", `model: "openai/m&api_key=`+secret+`"`), "", "its name holds what looks like a key"},
		{liteEntry("m", `model: "vertex_ai/m?x=`+secret+`"`), "", ":3: a model is left out: its name has a query or a fragment"},
		{liteEntry("m", `model: "openai/m#`+secret+`"`), "", "has a query or a fragment"},
		{liteEntry("m", `model: "nobody/m?token=`+secret+`"`), "", "its name holds what looks like a key"},
		{liteEntry(`"m?key=`+secret+`"`, "model: openai/m"), "", "its name holds what looks like a key"},
		{`router_settings: {model_group_alias: {"a?key=` + secret + `": sure}}` + "\n", "", "an alias is left out"},
		{`router_settings: {fallbacks: [{sure: ["m?key=` + secret + `"]}, {"n?key=` + secret + `": [sure]}]}` + "\n", "", "fallback"},
		{liteEntry("tokens", "model: openai/key-token:latest"), `"openai/key-token:latest"`, "2 of 2 models"},
	} {
		programtest.WriteFile(t, file, "model_list:\n"+liteEntry("sure", "model: openai/gpt-4o")+row.config)
		got := programtest.Run(t, "", "serve", "import", file)
		if got.Code != 0 || !strings.Contains(got.Out, row.writes) || !strings.Contains(got.ErrOut, row.says) || strings.Contains(got.Out+got.ErrOut, secret) {
			t.Errorf("%s%d\n%s%s", row.config, got.Code, got.Out, got.ErrOut)
		}
	}
}

// TestImportLowerCaseVariables: an address from a variable becomes a provider, with any case of the name. The
// variable is read where the gateway starts.
func TestImportLowerCaseVariables(t *testing.T) {
	dir := t.TempDir()
	file, ours := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "gateway.yaml")
	programtest.WriteFile(t, file, "model_list:\n"+liteEntry("a", "model: openai/m, api_base: os.environ/my_base")+liteEntry("b", "model: ollama/m, api_base: os.environ/Other_Base"))
	got := programtest.Run(t, "", "serve", "import", file)
	if got.Code != 0 || !strings.Contains(got.Out, `my-base: {base_url: "${my_base}", wire: chat}`) || !strings.Contains(got.Out, `{base_url: "${Other_Base}/api", wire: ollama}`) || !strings.Contains(got.ErrOut, "2 of 2 models") {
		t.Fatalf("%d\n%s%s", got.Code, got.Out, got.ErrOut)
	}
	programtest.WriteFile(t, ours, got.Out)
	t.Setenv("my_base", "http://gpu.example.org:8000/v1")
	t.Setenv("Other_Base", "http://gpu.example.org:11434")
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: a, b")
	t.Setenv("my_base", "no address")
	if got := programtest.Run(t, "", "serve", "--check", "--config", ours); got.Code == 0 {
		t.Errorf("the variable is not read: %s%s", got.Out, got.ErrOut)
	}
}

const liteConfig = `router_settings:
  fallbacks: [{"gpt": ["local"]}, {"nobody": ["gpt"]}]
  num_retries: 2
  model_group_alias: {"gpt-4": "gpt"}
model_list:
  - model_name: gpt
    litellm_params:
      model: openai/gpt-5
      api_key: os.environ/OPENAI_API_KEY
      rpm: 60
  - model_name: gpt
    litellm_params:
      model: azure/my-deployment
      api_base: https://example.openai.azure.com
      api_key: sk-secret-value
      api_version: 2024-10-21
  - model_name: claude
    litellm_params:
      api_key: os.environ/TEAM_KEY
      model: anthropic/claude-sonnet-4-5
      weight: 2
  - model_name: local
    litellm_params:
      model: hosted_vllm/Qwen/Qwen3-32B
      api_base: http://gpu1.example.org:8000/v1
    model_info:
      mode: chat
  - model_name: vectors
    litellm_params: {model: openai/text-embedding-3-small}
    model_info: {mode: embedding}
  - model_name: scores
    litellm_params:
      model: hosted_vllm/reranker
      api_base: http://user:pass-word-1@gpu2.example.org:8000/v1
    model_info: {mode: rerank}
  - model_name: other-azure
    litellm_params: {model: azure/x, api_base: "https://second.openai.azure.com"}
  - model_name: local
    litellm_params: {model: ollama_chat/qwen3:8b, api_base: "http://127.0.0.1:11434"}
litellm_settings:
  drop_params: true
  context_window_fallbacks: [{"claude": ["gpt", "missing"]}]
general_settings:
  master_key: sk-1234
`

const liteResult = `providers:
  azure-example: {like: azure, endpoint: "https://example.openai.azure.com", key_env: "GPT_API_KEY"}
  team-key: {like: anthropic, key_env: "TEAM_KEY"}
  azure-second: {like: azure, endpoint: "https://second.openai.azure.com", key_env: "AZURE_API_KEY"}
gateway:
  # keys: sqlite:keys.db   # without it no key is needed; make keys with 'toolpost keys create'
  routes:
    - model: gpt
      to:
        - {model: openai/gpt-5}
        - {model: azure-example/my-deployment}
      fallback: [local]
    - model: claude
      to:
        - {model: team-key/claude-sonnet-4-5, weight: 2}
      fallback: [gpt]
    - model: local
      to:
        - {model: "vllm+http://gpu1.example.org:8000/v1#Qwen/Qwen3-32B"}
        - {model: "ollama+http://127.0.0.1:11434/api#qwen3:8b"}
    - model: vectors
      to:
        - {model: openai/text-embedding-3-small}
      pass: [embeddings]
    - model: other-azure
      to:
        - {model: azure-second/x}
    - model: gpt-4
      to:
        - {model: openai/gpt-5}
        - {model: azure-example/my-deployment}
      fallback: [local]
`

// TestServeImport: the imported LiteLLM configuration is valid. Everything else in the file is reported with its line,
// without keys.
func TestServeImport(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	programtest.WriteFile(t, file, liteConfig)
	got := programtest.Run(t, "", "serve", "import", file)
	if got.Code != 0 || got.Out != liteResult {
		t.Errorf("exit %d:\n%s", got.Code, got.Out)
	}
	for _, line := range []string{
		":2: fallbacks of nobody: there is no such model", ":3: num_retries is not taken over", ":10: rpm is not taken over: it is a limit of the vendor's",
		":15: api_key is not copied: put the key into GPT_API_KEY", ":16: api_version is not taken over",
		":34: a model is left out: its api_base has a user or a password in it", ":42: the fallback missing of claude leads to no other model", ":44: master_key is not taken over",
		"7 of 8 models are taken over, in 6 routes; 1 model is left out",
	} {
		if !strings.Contains(got.ErrOut, line) {
			t.Errorf("it does not say %q:\n%s", line, got.ErrOut)
		}
	}
	for line := range strings.Lines(got.ErrOut[:strings.Index(got.ErrOut, "7 of 8")]) {
		if !strings.HasPrefix(line, file+":") || strings.HasPrefix(line, file+":0:") {
			t.Errorf("a line without its place: %s", line)
		}
	}
	if strings.Contains(got.ErrOut+got.Out, "sk-") || strings.Contains(got.ErrOut+got.Out, "pass-word") {
		t.Error("a key was copied")
	}
	ours := filepath.Join(dir, "gateway.yaml")
	programtest.WriteFile(t, ours, got.Out)
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: gpt, claude, local, vectors, other-azure, gpt-4")
	programtest.WriteFile(t, file, "model: x\n")
	programtest.Must(t, programtest.Run(t, "", "serve", "import", file), 1, "it is not a configuration of LiteLLM's proxy")
}

// TestServeImportOf checks single entries: vendors of names without one, keys, regions, aliases, and invalid entries.
func TestServeImportOf(t *testing.T) {
	dir := t.TempDir()
	file, ours := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "gateway.yaml")
	t.Setenv("AWS_REGION", "eu-central-1")
	entry := func(name, params, more string) string {
		return "  - {model_name: " + name + ", litellm_params: {" + params + "}" + more + "}\n"
	}
	for _, test := range []struct{ config, writes, says string }{
		{entry("c", "model: claude-3-5-sonnet-20240620", ""), "{model: anthropic/claude-3-5-sonnet-20240620}", "1 of 1 model is taken over"},
		{entry("g", "model: gemini-2.5-pro", ""), "{model: gemini/gemini-2.5-pro}", "LiteLLM asks Vertex AI"},
		{entry("k", "model: command-r-plus", ""), "{model: cohere/command-r-plus}", ""},
		{entry("o", "model: gpt-4o-mini", ""), "{model: openai/gpt-4o-mini}", ""},
		{entry("r", "model: cohere/rerank-v3.5", ", model_info: {mode: rerank}"), "cohere-api-key: {base_url: \"https://api.cohere.com/v2\", wire: chat, key_env: \"COHERE_API_KEY\"}", ""},
		{entry("r", "model: cohere/rerank-v3.5", ", model_info: {mode: rerank}"), "{model: cohere-api-key/rerank-v3.5}\n      pass: [rerank]", ""},
		{entry("a", "model: openai/gpt-4o, api_key: os.environ/OPENAI_KEY_1", "") + entry("a", "model: openai/gpt-4o, api_key: os.environ/OPENAI_KEY_2", ""),
			"providers:\n  openai-key-1: {like: openai, key_env: \"OPENAI_KEY_1\"}\n  openai-key-2: {like: openai, key_env: \"OPENAI_KEY_2\"}\ngateway:\n  routes:\n    - model: a\n      to:\n        - {model: openai-key-1/gpt-4o}\n        - {model: openai-key-2/gpt-4o}\n", "2 of 2 models"},
		{entry("s", "model: openai/m, api_base: 'http://gpu2:8000/v1', api_key: os.environ/GPU_KEY", ""), "gpu-key: {base_url: \"http://gpu2:8000/v1\", wire: chat, key_env: \"GPU_KEY\"}", ""},
		{entry("s", "model: openai/m, api_base: 'http://gpu2:8000/v1', api_key: sk-abcdefghijklmnopqrst", ""), "{model: \"http://gpu2:8000/v1#m\"}", "this server is asked without a key"},
		{entry("x", "model: gpt-4o", "") + entry("s", "model: openai/m, api_base: 'http://gpu2:8000/v1?api_key=sk-abcdefghijklmnopqrst'", ""), "openai/gpt-4o", "its api_base has a query or a fragment"},
		{entry("b", "model: bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0, aws_region_name: eu-central-1", ""), "  bedrock-eu-central-1: {like: bedrock, region: eu-central-1}", "1 of 1 model is taken over, in 1 route. Next"},
		{entry("w", "model: sim, weight: 0", "") + entry("w", "model: gpt-4o", ""), "{model: openai/sim, weight: 0}", ""},
		{entry("x", "model: gpt-4o", "") + "litellm_settings: {cache: true}\nrouter_settings: {model_group_alias: {y: x}}\n", "    - model: y\n      to:\n        - {model: openai/gpt-4o}\n      cache: 10m\n", ""},
		{entry("x", "model: gpt-4o", "") + entry("z", "model: watsonx/q", "") + "litellm_settings: {request_timeout: 5}\n", "openai/gpt-4o", "1 of 2 models is taken over, in 1 route; 1 model is left out"},
		{entry("x", "model: gpt-4o", "") + "litellm_settings: {request_timeout: 5}\n", "openai/gpt-4o", "limits: {time: 10m"},
	} {
		programtest.WriteFile(t, file, "model_list:\n"+test.config)
		got := programtest.Run(t, "", "serve", "import", file)
		if got.Code != 0 || !strings.Contains(got.Out, test.writes) || !strings.Contains(got.ErrOut, test.says) || strings.Contains(got.Out+got.ErrOut, "sk-") {
			t.Errorf("%s: %d\n%s\n%s", test.config, got.Code, got.Out, got.ErrOut)
		}
		programtest.WriteFile(t, ours, got.Out)
		programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order")
	}
	for config, says := range map[string]string{
		"model_list: hello\n":                    "its model_list is not a list of models",
		"model_list:\n  - {model_name: x}\n":     "its one model cannot be taken over: line 2: a model is left out: it has no litellm_params",
		"model_list:\n" + entry("z", "a: b", ""): "its litellm_params have no model",
	} {
		programtest.WriteFile(t, file, config)
		programtest.Must(t, programtest.Run(t, "", "serve", "import", file), 1, says)
	}
}

// TestServeFor: the configuration of each program names this gateway and one of its routes.
func TestServeFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	programtest.WriteFile(t, file, "gateway:\n  addr: 127.0.0.1:9999\n  routes:\n    - {model: \"x-*\", to: [{model: sim/offline}]}\n    - {model: fast, to: [{model: sim/offline}]}\n")
	for _, p := range codingagents.All {
		got := programtest.Run(t, "", "serve", "--config", file, "--for", p.Name)
		if got.Code != 0 || !strings.Contains(got.Out, "http://127.0.0.1:9999") || !strings.Contains(got.Out, "fast") || strings.Contains(got.Out, "{URL}") || strings.Contains(got.Out, "{KEY}") {
			t.Errorf("%s: %d %s", p.Name, got.Code, got.Out)
		}
	}
	for config, want := range map[string][2]string{
		"addr: 0.0.0.0:9999\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n":                                                      {"codex", "http://127.0.0.1:9999/v1"},
		"addr: \"[::]:9999\"\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n":                                                     {"aider", "http://127.0.0.1:9999/v1"},
		"routes:\n    - {model: a, from: [chat], to: [{model: sim/offline}]}\n    - {model: b, from: [messages], to: [{model: sim/offline}]}\n": {"claude-code", `"ANTHROPIC_MODEL": "b"`},
		"routes:\n    - {model: \"x-*\", to: [{model: sim/offline}]}\n":                                                                         {"aider", "openai/x-any"},
		"routes:\n    - {model: \"claude-*\", to: [{model: anthropic/claude-*}]}\n":                                                             {"claude-code", `"ANTHROPIC_MODEL": "claude-`},
	} {
		programtest.WriteFile(t, file, "gateway:\n  keys: sqlite:keys.db\n  "+config)
		programtest.Must(t, programtest.Run(t, "", "serve", "--config", file, "--for", want[0]), 0, "YOUR-KEY is a key of the gateway")
		programtest.WriteFile(t, file, "gateway:\n  "+config)
		if got := programtest.Run(t, "", "serve", "--config", file, "--for", want[0]); got.Code != 0 || !strings.Contains(got.Out, want[1]) || strings.Contains(got.Out, "*") || strings.Contains(got.Out, `"claude-"`) {
			t.Errorf("%s: %d %s%s", config, got.Code, got.Out, got.ErrOut)
		}
	}
	programtest.WriteFile(t, file, "gateway:\n  routes:\n    - {model: a, from: [gemini], to: [{model: sim/offline}]}\n")
	programtest.Must(t, programtest.Run(t, "", "serve", "--config", file, "--for", "codex"), 1, "no route answers clients of the format responses")
	programtest.Must(t, programtest.Run(t, "", "serve", "--for", "vim"), 2, "nothing is known of \"vim\"")
}

// TestImportOfYAML11Booleans: LiteLLM uses YAML 1.1, and its examples write True.
func TestImportOfYAML11Booleans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for _, row := range []struct {
		settings string
		cached   bool
		says     string
		silent   string // must not be printed
	}{
		{"cache: true", true, "cache: answers are given again", ""},
		{"cache: True", true, "cache: answers are given again", ""},
		{"cache: TRUE", true, "cache: answers are given again", ""},
		{"cache: yes", true, "cache: answers are given again", ""},
		{"cache: On", true, "cache: answers are given again", ""},
		{`cache: "true"`, true, "cache: answers are given again", ""},
		{"cache: False", false, "", "cache"},
		{"cache: no", false, "", "cache"},
		{"cache: {type: redis}", false, "cache is not taken over: it is neither true nor false", ""},
		{"drop_params: True", false, "", "drop_params"},
		{"drop_params: yes", false, "", "drop_params"},
		{"drop_params: False", false, "drop_params: what an upstream cannot do", ""},
		{`fallbacks: [{"*": [a]}]`, false, "fallbacks of * are not taken over", "there is no such model"},
	} {
		programtest.WriteFile(t, file, "model_list:\n"+liteEntry("a", "model: openai/gpt-4o")+"litellm_settings: {"+row.settings+"}\n")
		got := programtest.Run(t, "", "serve", "import", file)
		if got.Code != 0 || strings.Contains(got.Out, "cache: 10m") != row.cached || !strings.Contains(got.ErrOut, row.says) || row.silent != "" && strings.Contains(got.ErrOut, row.silent) {
			t.Errorf("%s: %d\n%s%s", row.settings, got.Code, got.Out, got.ErrOut)
		}
	}
	programtest.WriteFile(t, file, "model_list:\n"+liteEntry("a", "model: openai/gpt-4o")+"router_settings: {model_group_alias: {b: {model: a, hidden: yes}}}\n")
	if got := programtest.Run(t, "", "serve", "import", file); !strings.Contains(got.Out, "hidden: true") {
		t.Errorf("%s%s", got.Out, got.ErrOut)
	}
}

// TestImportOfVertexVariables: the import does not ask for variables that Gemini on Vertex AI does not use.
func TestImportOfVertexVariables(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "model_list:\n  - model_name: g\n    litellm_params: {model: vertex_ai/gemini-2.5-pro, vertex_project: p-1, vertex_location: europe-west1}\n"
	if err := os.WriteFile("lite.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	r := programtest.Run(t, "", "serve", "import", "lite.yaml")
	if r.Code != cli.ExitOK || !strings.Contains(r.Out, "vertex/gemini-2.5-pro") || strings.Contains(r.Out+r.ErrOut, "GOOGLE_CLOUD") || !strings.Contains(r.Out+r.ErrOut, "vertex_location is not taken over") {
		t.Errorf("%d %s %s", r.Code, r.Out, r.ErrOut)
	}
}
