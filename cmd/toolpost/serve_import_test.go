package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
)

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
	writeFile(t, file, liteConfig)
	got := toolpost(t, "", "serve", "import", file)
	if got.code != 0 || got.out != liteResult {
		t.Errorf("exit %d:\n%s", got.code, got.out)
	}
	for _, line := range []string{
		":2: fallbacks of nobody: there is no such model", ":3: num_retries is not taken over", ":10: rpm is not taken over: it is a limit of the vendor's",
		":15: api_key is not copied: put the key into GPT_API_KEY", ":16: api_version is not taken over",
		":34: a model is left out: its api_base has a user or a password in it", ":42: the fallback missing of claude leads to no other model", ":44: master_key is not taken over",
		"7 of 8 models are taken over, in 6 routes; 1 model is left out",
	} {
		if !strings.Contains(got.errOut, line) {
			t.Errorf("it does not say %q:\n%s", line, got.errOut)
		}
	}
	for line := range strings.Lines(got.errOut[:strings.Index(got.errOut, "7 of 8")]) {
		if !strings.HasPrefix(line, file+":") || strings.HasPrefix(line, file+":0:") {
			t.Errorf("a line without its place: %s", line)
		}
	}
	if strings.Contains(got.errOut+got.out, "sk-") || strings.Contains(got.errOut+got.out, "pass-word") {
		t.Error("a key was copied")
	}
	ours := filepath.Join(dir, "gateway.yaml")
	writeFile(t, ours, got.out)
	must(t, toolpost(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: gpt, claude, local, vectors, other-azure, gpt-4")
	writeFile(t, file, "model: x\n")
	must(t, toolpost(t, "", "serve", "import", file), 1, "it is not a configuration of LiteLLM's proxy")
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
		writeFile(t, file, "model_list:\n"+test.config)
		got := toolpost(t, "", "serve", "import", file)
		if got.code != 0 || !strings.Contains(got.out, test.writes) || !strings.Contains(got.errOut, test.says) || strings.Contains(got.out+got.errOut, "sk-") {
			t.Errorf("%s: %d\n%s\n%s", test.config, got.code, got.out, got.errOut)
		}
		writeFile(t, ours, got.out)
		must(t, toolpost(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order")
	}
	for config, says := range map[string]string{
		"model_list: hello\n":                    "its model_list is not a list of models",
		"model_list:\n  - {model_name: x}\n":     "its one model cannot be taken over: line 2: a model is left out: it has no litellm_params",
		"model_list:\n" + entry("z", "a: b", ""): "its litellm_params have no model",
	} {
		writeFile(t, file, config)
		must(t, toolpost(t, "", "serve", "import", file), 1, says)
	}
}

// TestServeFor: the configuration of each program names this gateway and one of its routes.
func TestServeFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	writeFile(t, file, "gateway:\n  addr: 127.0.0.1:9999\n  routes:\n    - {model: \"x-*\", to: [{model: sim/offline}]}\n    - {model: fast, to: [{model: sim/offline}]}\n")
	for _, p := range serve.CodingAgents {
		got := toolpost(t, "", "serve", "--config", file, "--for", p.Name)
		if got.code != 0 || !strings.Contains(got.out, "http://127.0.0.1:9999") || !strings.Contains(got.out, "fast") || strings.Contains(got.out, "{URL}") || strings.Contains(got.out, "{KEY}") {
			t.Errorf("%s: %d %s", p.Name, got.code, got.out)
		}
	}
	for config, want := range map[string][2]string{
		"addr: 0.0.0.0:9999\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n":                                                      {"codex", "http://127.0.0.1:9999/v1"},
		"addr: \"[::]:9999\"\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n":                                                     {"aider", "http://127.0.0.1:9999/v1"},
		"routes:\n    - {model: a, from: [chat], to: [{model: sim/offline}]}\n    - {model: b, from: [messages], to: [{model: sim/offline}]}\n": {"claude-code", "ANTHROPIC_MODEL=b"},
		"routes:\n    - {model: \"x-*\", to: [{model: sim/offline}]}\n":                                                                         {"aider", "openai/x-any"},
		"routes:\n    - {model: \"claude-*\", to: [{model: anthropic/claude-*}]}\n":                                                             {"claude-code", "ANTHROPIC_MODEL=claude-"},
	} {
		writeFile(t, file, "gateway:\n  keys: sqlite:keys.db\n  "+config)
		must(t, toolpost(t, "", "serve", "--config", file, "--for", want[0]), 0, "YOUR-KEY is a key of the gateway")
		writeFile(t, file, "gateway:\n  "+config)
		if got := toolpost(t, "", "serve", "--config", file, "--for", want[0]); got.code != 0 || !strings.Contains(got.out, want[1]) || strings.Contains(got.out, "*") || strings.Contains(got.out, "=claude-\n") {
			t.Errorf("%s: %d %s%s", config, got.code, got.out, got.errOut)
		}
	}
	writeFile(t, file, "gateway:\n  routes:\n    - {model: a, from: [gemini], to: [{model: sim/offline}]}\n")
	must(t, toolpost(t, "", "serve", "--config", file, "--for", "codex"), 1, "no route answers clients of the format responses")
	must(t, toolpost(t, "", "serve", "--for", "vim"), 2, "nothing is known of \"vim\"")
}
