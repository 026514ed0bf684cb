package catalog

import (
	"strings"
	"testing"
)

// dialects are all text dialects. The last ones are forms of prompts and habits
// of clients, not formats of a family.
const dialects = `hermes_json hermes_plural_array minimax_m1 granite3 granite20b_fc longcat ernie45 nemotron_nano_v2
qwen3_coder_xml seed_oss glm45 glm47 hy_v3 minimax_m2 minimax_m3 deepseek_dsml_v32 deepseek_dsml_v4 deepseek_v3
deepseek_v31 kimi_k2 kimi_k3 mistral_json mistral_v11 mistral_call_id harmony gemma4 functiongemma gemma3_prompted
llama3_json functionary_v31 functionary_v32 pythonic olmo3 lfm2 phi4_functools command_r_plus
command_action apertus internlm gigachat3 step3 dots minicpm5 inkling muse_glimmer solar_open
hyperclova xlam glm4_classic qwen_agent react claude_xml json_fence
| llama3_builtin cohere_cofl xml_tagname`

// moreIDs reach the rules that no listed example reaches.
const moreIDs = `claude-opus-4-7 o3-pro gpt-3.5-turbo-instruct gpt-4.5-preview gpt-5.4 gpt-5.2-chat gpt-5-chat codex-mini-latest gpt-5.2-pro gpt-4o-search-preview gpt-audio
claude-opus-4-20250514 claude-sonnet-4-6 claude-instant-v1 gemini-1.0-pro gemini-2.5-flash-nothinking gemini-live-2.5-flash gemma-3-1b-it gemma-4-e4b-it shieldgemma-2b
llama3:70b llama-4-scout llama3-groq-tool-use:8b cydonia-24b mistral-small-3.1-24b mistral-large-3 ministral-3-14b-reasoning mistral-small-4 mathstral-7b voxtral-mini
qwen-turbo qwen-max qwen-vl-max qwen-mt-plus qwen2.5-math-7b qwen3-vl-8b-instruct qwen3-coder-plus qwen3.6-flash qwen3.5-omni-plus
deepseek-r1-distill-llama-8b deepseek-v3.2-speciale grok-beta grok-4.20-reasoning grok-4-fast-non-reasoning kimi-thinking-preview kimi-dev-72b moonshot-v1-8k moonshot-v1-32k
glm-4 glm-4.1v-thinking glm-zero-preview glm-5-turbo minimax-text-01 step-2-mini step-1 doubao-1.5-pro baichuan4 intern-s1 minicpm4.1-8b command-light command-a-plus-05-2026 command-a-vision
jamba-instruct nova-canvas-v1 nova-reel-v1 deepgram/nova-3 granite-ttm phi-3-mini-4k-instruct nemotron-3-ultra nemotron-3-content-safety openrouter/nousresearch/hermes-4-70b llama-xlam-2-8b
sonar-reasoning solar-pro k-exaone-236b apriel-1.5-15b laguna-m.1 relace-search qwen3-reranker-4b qwen-image-plus gpt-4o-transcribe grok-imagine-video text-moderation-latest mistral-ocr-2512
ollama/llama3.1:8b vertex_ai/claude-sonnet-4 bedrock/amazon.nova-pro-v1:0 groq/llama-3.1-8b perplexity/sonar vllm/qwen3:8b llamacpp/qwen3:8b publicai/swiss-ai/apertus-8b-instruct glm-ocr qwen-chat dolphin-mistral:7b text-completion-openai/davinci-002`

// TestEmbeddedData: every example belongs to its family, every rule matches a
// model, and every dialect belongs to a family.
func TestEmbeddedData(t *testing.T) {
	c := Default()
	reached := map[string]bool{}
	used := map[string]bool{}
	note := func(id string) {
		m := c.lookup(id)
		for i := 1; i < c.own; i++ {
			r := &c.rules[i]
			family := len(r.when.families) == 0
			for _, f := range r.when.families {
				family = family || f == m.ID.Family || f == m.ID.Root()
			}
			reached[r.name] = reached[r.name] || family && r.when.matches(&m.ID)
		}
		used[m.Dialect] = true
	}
	for _, f := range vocabulary().order {
		if len(f.examples) == 0 {
			t.Errorf("family %s has no example", f.name)
		}
		for _, id := range f.examples {
			m := c.lookup(id)
			if m.ID.Family != f.name && m.ID.Root() != f.name {
				t.Errorf("%s is listed under %s, but is read as %s", id, f.name, m.ID.Family)
			}
			if !m.Known() {
				t.Errorf("no rule is about %s", id)
			}
			note(id)
		}
	}
	for _, row := range idRows(idTable) {
		note(row[0])
	}
	for id := range strings.FieldsSeq(moreIDs) {
		note(id)
	}
	for i := 1; i < c.own; i++ {
		if !reached[c.rules[i].name] {
			t.Errorf("%s: rule %s is about none of the ids here", c.rules[i].from, c.rules[i].name)
		}
	}
	families, prompts, _ := strings.Cut(dialects, "|")
	known := map[string]bool{}
	for d := range strings.FieldsSeq(families) {
		known[d] = true
		if !used[d] {
			t.Errorf("no model writes %s", d)
		}
	}
	for d := range strings.FieldsSeq(prompts) {
		known[d] = true
	}
	for d := range used {
		if !known[d] {
			t.Errorf("there is no dialect %s", d)
		}
	}
}

// TestRuleNames: Explain shows the names of rules, so they must be unique.
func TestRuleNames(t *testing.T) {
	if name := Default().rules[defaultRule].name; name != "default" {
		t.Errorf("the first rule is %s", name)
	}
	seen := map[string]bool{}
	for _, r := range Default().rules[1:Default().own] {
		if seen[r.name] {
			t.Errorf("%s: two rules are called %s", r.from, r.name)
		}
		seen[r.name] = true
		for _, f := range r.when.families {
			if vocabulary().families[f] == nil {
				t.Errorf("%s: there is no family %s", r.from, f)
			}
		}
	}
}
