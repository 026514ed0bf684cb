package main

import (
	"path/filepath"
	"strings"
	"testing"
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

const liteResult = `gateway:
  routes:
    - model: gpt
      to:
        - {model: openai/gpt-5}
        - {model: azure/my-deployment}
      fallback: [local]
    - model: claude
      to:
        - {model: anthropic/claude-sonnet-4-5, weight: 2}
      fallback: [gpt]
    - model: local
      to:
        - {model: "vllm+http://gpu1.example.org:8000/v1#Qwen/Qwen3-32B"}
        - {model: "ollama+http://127.0.0.1:11434/api#qwen3:8b"}
    - model: vectors
      to:
        - {model: openai/text-embedding-3-small}
      pass: [embeddings]
    - model: gpt-4
      to:
        - {model: openai/gpt-5}
        - {model: azure/my-deployment}
      fallback: [local]
`

// TestServeImport checks that a configuration of LiteLLM's becomes one of ours that is in order, and
// that everything else in it is said with its line, but no key.
func TestServeImport(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	writeFile(t, file, liteConfig)
	got := toolpost(t, "", "serve", "import", file)
	if got.code != 0 || got.out != liteResult {
		t.Errorf("exit %d:\n%s", got.code, got.out)
	}
	for _, line := range []string{
		":2: fallbacks of nobody: there is no such model", ":3: num_retries is not taken over", ":10: rpm is not taken over: it is a limit of the vendor's", ":14: api_base: set AZURE_OPENAI_ENDPOINT to https://example.openai.azure.com",
		":15: api_key is not copied", ":16: api_version is not taken over", ":19: api_key: the gateway reads this vendor's key from ANTHROPIC_API_KEY, not from TEAM_KEY",
		":34: api_base has a user or a password in it", ":37: a second endpoint on Azure", ":42: the fallback missing of claude leads to no other model", ":44: master_key is not taken over",
	} {
		if !strings.Contains(got.errOut, line) {
			t.Errorf("it does not say %q:\n%s", line, got.errOut)
		}
	}
	for line := range strings.Lines(got.errOut) {
		if !strings.HasPrefix(line, file+":") || strings.HasPrefix(line, file+":0:") {
			t.Errorf("a line without its place: %s", line)
		}
	}
	if strings.Contains(got.errOut+got.out, "sk-") || strings.Contains(got.errOut+got.out, "pass-word") {
		t.Error("a key was copied")
	}
	ours := filepath.Join(dir, "gateway.yaml")
	t.Setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com")
	writeFile(t, ours, got.out)
	must(t, toolpost(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: gpt, claude, local, vectors, gpt-4")
	writeFile(t, file, "model: x\n")
	must(t, toolpost(t, "", "serve", "import", file), 1, "it is no configuration of LiteLLM's proxy")
}

// TestServeFor checks that the lines for each program name this gateway and one of its routes.
func TestServeFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	writeFile(t, file, "gateway:\n  addr: 127.0.0.1:9999\n  routes:\n    - {model: \"x-*\", to: [{model: sim/offline}]}\n    - {model: fast, to: [{model: sim/offline}]}\n")
	for _, p := range codingAgents {
		got := toolpost(t, "", "serve", "--config", file, "--for", p.name)
		if got.code != 0 || !strings.Contains(got.out, "http://127.0.0.1:9999") || !strings.Contains(got.out, "fast") || strings.Contains(got.out, "{URL}") || strings.Contains(got.out, "{KEY}") {
			t.Errorf("%s: %d %s", p.name, got.code, got.out)
		}
	}
	for config, want := range map[string][2]string{
		"addr: 0.0.0.0:9999\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n":                                                      {"codex", "http://127.0.0.1:9999/v1"},
		"addr: \"[::]:9999\"\n  routes:\n    - {model: fast, to: [{model: sim/offline}]}\n":                                                     {"aider", "http://127.0.0.1:9999/v1"},
		"routes:\n    - {model: a, from: [chat], to: [{model: sim/offline}]}\n    - {model: b, from: [messages], to: [{model: sim/offline}]}\n": {"claude-code", "ANTHROPIC_MODEL=b"},
		"routes:\n    - {model: \"x-*\", to: [{model: sim/offline}]}\n":                                                                         {"aider", "openai/x-any"},
		"routes:\n    - {model: \"claude-*\", to: [{model: anthropic/claude-*}]}\n":                                                             {"claude-code", "ANTHROPIC_MODEL=claude-"},
	} {
		writeFile(t, file, "gateway:\n  "+config)
		if got := toolpost(t, "", "serve", "--config", file, "--for", want[0]); got.code != 0 || !strings.Contains(got.out, want[1]) || strings.Contains(got.out, "*") || strings.Contains(got.out, "=claude-\n") {
			t.Errorf("%s: %d %s%s", config, got.code, got.out, got.errOut)
		}
	}
	writeFile(t, file, "gateway:\n  routes:\n    - {model: a, from: [gemini], to: [{model: sim/offline}]}\n")
	must(t, toolpost(t, "", "serve", "--config", file, "--for", "codex"), 1, "no route answers clients of the format responses")
	must(t, toolpost(t, "", "serve", "--for", "vim"), 2, "nothing is known of \"vim\"")
}
