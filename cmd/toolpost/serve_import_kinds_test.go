package main

import (
	"path/filepath"
	"strings"
	"testing"
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
			writeFile(t, file, "model_list:\n"+liteEntry("sure", "model: openai/gpt-4o")+row.config)
			got := toolpost(t, "", "serve", "import", file)
			if got.code != 0 || !strings.Contains(got.out, row.writes) || !strings.Contains(got.errOut, row.says) {
				t.Errorf("%s: %s%d\n%s%s", kind, row.config, got.code, got.out, got.errOut)
			}
			for _, secret := range []string{"sk-abc", "abcdefghij", "hunter2", "0123456789abcdef", "0f8fad5b", "private_key"} {
				if strings.Contains(got.out+got.errOut, secret) {
					t.Errorf("%s: %scopied:\n%s%s", kind, row.config, got.out, got.errOut)
				}
			}
			writeFile(t, ours, got.out)
			must(t, toolpost(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: sure")
		}
	}
	writeFile(t, file, "model_list:\n"+liteEntry("'a*b'", "model: openai/m"))
	must(t, toolpost(t, "", "serve", "import", file), 1, "its one model cannot be taken over: line 2: a model is left out (a*b): a * may only")
}
