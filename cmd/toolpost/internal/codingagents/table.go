package codingagents

import "github.com/toolpost/toolpost/wire"

// litellmModels is the file of models of agents that use LiteLLM.
const litellmModels = `{"openai/{NAME}": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": "{CONTEXT}", "max_output_tokens": "{OUTPUT}",
	"input_cost_per_token": "{IN1}", "output_cost_per_token": "{OUT1}", "supports_function_calling": true}}`

// All holds the agents. conformance/run agents tries the agents that a package registry has.
var All = []Agent{
	{
		Name: "claude-code", Title: "Claude Code", Format: wire.Messages, Program: "claude",
		Files: []File{{"~/.claude/settings.json", "json", `{"env": "{ENV}"}`}},
		Env: []string{
			"ANTHROPIC_BASE_URL={URL}", "ANTHROPIC_AUTH_TOKEN={KEY}", "ANTHROPIC_MODEL={MODEL}",
			"ANTHROPIC_DEFAULT_OPUS_MODEL={OPUS}", "ANTHROPIC_DEFAULT_SONNET_MODEL={SONNET}", "ANTHROPIC_DEFAULT_HAIKU_MODEL={HAIKU}",
			"ANTHROPIC_SMALL_FAST_MODEL={HAIKU}", "CLAUDE_CODE_SUBAGENT_MODEL={SONNET}",
			"CLAUDE_CODE_MAX_CONTEXT_TOKENS={CONTEXT}", "CLAUDE_CODE_AUTO_COMPACT_WINDOW={CONTEXT}", "CLAUDE_CODE_MAX_OUTPUT_TOKENS={OUTPUT}",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		},
		Run: []string{"claude"}, Prefers: "sonnet", Asks: []string{"{OPUS}", "{SONNET}", "{HAIKU}"},
		Note:   "Sub-agents and titles ask for opus, sonnet and haiku: give the routes names with these words to have several models. It has its own table of prices.",
		Launch: Launch{Without: []string{"ANTHROPIC_API_KEY"}},
	},
	{
		Name: "codex", Title: "Codex", Format: wire.Responses, Program: "codex",
		Files: []File{{"~/.codex/config.toml", "toml", `{"model": "{MODEL}", "model_provider": "toolpost", "model_context_window": "{CONTEXT}",
			"model_providers": {"toolpost": {"name": "toolpost", "base_url": "{URL}/v1", "wire_api": "responses", "env_key": "TOOLPOST_KEY"}}}`}},
		Env: []string{"TOOLPOST_KEY={KEY}"},
		Run: []string{"codex"},
		Launch: Launch{Args: []string{
			"-c", `model="{MODEL}"`, "-c", `model_provider="toolpost"`, "-c=model_context_window={CONTEXT}",
			"-c", `model_providers.toolpost={name="toolpost", base_url="{URL}/v1", wire_api="responses", env_key="TOOLPOST_KEY"}`,
		}},
		Note: "Models whose names it knows are offered its patches as free text; others edit by commands. It takes no output limit and no prices.",
	},
	{
		Name: "opencode", Title: "opencode", Program: "opencode",
		Files: []File{{"~/.config/opencode/opencode.json", "json", `{
			"provider": {"toolpost": {"npm": "@ai-sdk/openai-compatible", "name": "toolpost", "options": {"baseURL": "{URL}/v1", "apiKey": "{KEY}"},
				"models": {"{NAME}": {"name": "{NAME}", "attachment": true, "modalities": {"input": ["text", "image"], "output": ["text"]}, "limit!": {"context": "{CONTEXT}", "output": "{OUTPUT}"}, "cost!": {"input": "{IN}", "output": "{OUT}", "cache_read": "{CACHED}"}}}}},
			"model": "toolpost/{MODEL}", "small_model": "toolpost/{SMALL}"}`}},
		Run: []string{"opencode"}, Asks: []string{"{SMALL}"},
		Launch: Launch{Env: []string{"OPENCODE_CONFIG_CONTENT={FILE}"}},
	},
	{
		Name: "pi", Title: "pi", Program: "pi",
		Files: []File{{"~/.pi/agent/models.json", "json", `{"providers": {"toolpost": {"baseUrl": "{URL}/v1", "apiKey": "{KEY}", "api": "openai-completions",
			"models": [{"id": "{NAME}", "input": ["text", "image"], "contextWindow": "{CONTEXT}", "maxTokens": "{OUTPUT}", "cost!": {"input": "{IN}", "output": "{OUT}", "cacheRead": "{CACHED}", "cacheWrite": "{IN}"}}]}}}`}},
		Run:    []string{"pi", "--provider", "toolpost", "--model", "{MODEL}"},
		Note:   "It also speaks \"openai-responses\" at the same address, \"anthropic-messages\" at {URL}, and \"google-generative-ai\" at {URL}/v1beta.",
		Launch: Launch{Args: []string{"--provider", "toolpost", "--model", "{MODEL}"}, Overlay: "PI_CODING_AGENT_DIR", OverlayOf: "~/.pi/agent"},
	},
	{
		Name: "gemini-cli", Title: "Gemini CLI", Format: wire.Gemini, Program: "gemini",
		Files: []File{
			{"~/.gemini/.env", "dotenv", `"{ENV}"`},
			{"~/.gemini/settings.json", "json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "{MODEL}"}}`},
		},
		Env:    []string{"GOOGLE_GEMINI_BASE_URL={URL}", "GEMINI_API_KEY={KEY}"},
		Run:    []string{"gemini"},
		Asks:   []string{"gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"},
		Note:   "It also asks for models of its choice, such as gemini-2.5-flash: a route for gemini-* answers them. It has its own table of windows and prices.",
		Launch: Launch{Args: []string{"-m", "{MODEL}"}, Without: []string{"GOOGLE_API_KEY"}, Overlay: "GEMINI_CLI_HOME", OverlayOf: "~/.gemini", OverlayIn: ".gemini"},
	},
	{
		Name: "qwen-code", Title: "Qwen Code", Program: "qwen",
		Files: []File{{"~/.qwen/settings.json", "json", `{"security": {"auth": {"selectedType": "openai"}}, "model": {"name": "{MODEL}"}, "env": {"TOOLPOST_KEY": "{KEY}"},
			"modelProviders": {"openai": [{"id": "{NAME}", "name": "{NAME}", "baseUrl": "{URL}/v1", "envKey": "TOOLPOST_KEY", "generationConfig": {"contextWindowSize": "{CONTEXT}"}}]}}`}},
		Run:    []string{"qwen"},
		Note:   "It shows no prices.",
		Launch: Launch{Args: []string{"--auth-type", "openai"}, Env: []string{"OPENAI_BASE_URL={URL}/v1", "OPENAI_API_KEY={KEY}", "OPENAI_MODEL={MODEL}"}},
	},
	{
		Name: "continue", Title: "Continue", Program: "cn",
		Files: []File{{"~/.continue/config.yaml", "yaml", `{"name?": "toolpost", "version?": "1.0.0", "schema?": "v1", "models": [{"name": "toolpost {NAME}", "provider": "openai", "model": "{NAME}", "apiBase": "{URL}/v1", "apiKey": "{KEY}",
			"roles": ["chat", "edit", "apply"], "capabilities": ["tool_use"], "defaultCompletionOptions": {"contextLength": "{CONTEXT}", "maxTokens": "{OUTPUT}"}}]}`}},
		Run:    []string{"cn", "--config", "~/.continue/config.yaml"},
		Note:   "It takes no prices.",
		Launch: Launch{Args: []string{"--config", "{COPY}"}},
	},
	{
		Name: "cline", Title: "Cline", Program: "cline",
		Files: []File{{"~/.cline/data/settings/providers.json", "json", `{"version?": 1, "lastUsedProvider": "openai-compatible",
			"providers": {"openai-compatible": {"settings": {"provider": "openai-compatible", "apiKey": "{KEY}", "model": "{MODEL}", "baseUrl": "{URL}/v1"}, "updatedAt?": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}`}},
		Run:    []string{"cline"},
		Note:   "It takes no window and no prices for a model that it does not know.",
		Launch: Launch{Overlay: "CLINE_DIR", OverlayOf: "~/.cline"},
	},
	{
		Name: "crush", Title: "Crush", Program: "crush",
		Files: []File{{"~/.config/crush/crush.json", "json", `{
			"providers": {"toolpost": {"name": "toolpost", "type": "openai-compat", "base_url": "{URL}/v1", "api_key": "{KEY}",
				"models": [{"id": "{NAME}", "name": "{NAME}", "supports_attachments": true, "context_window": "{CONTEXT}", "default_max_tokens": "{OUTPUT}", "cost_per_1m_in": "{IN}", "cost_per_1m_out": "{OUT}", "cost_per_1m_in_cached": "{CACHED}"}]}},
			"models": {"large": {"provider": "toolpost", "model": "{MODEL}"}, "small": {"provider": "toolpost", "model": "{SMALL}"}}}`}},
		Run: []string{"crush"}, Asks: []string{"{SMALL}"},
		Launch: Launch{Overlay: "CRUSH_GLOBAL_CONFIG", OverlayOf: "~/.config/crush"},
	},
	{
		Name: "goose", Title: "goose", Program: "goose",
		Files: []File{{"~/.config/goose/config.yaml", "yaml", `{"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "{MODEL}", "GOOSE_CONTEXT_LIMIT": "{CONTEXT}", "GOOSE_MAX_TOKENS": "{OUTPUT}", "OPENAI_HOST": "{URL}", "OPENAI_BASE_PATH": "v1/chat/completions"}`}},
		Env:   []string{"OPENAI_API_KEY={KEY}"},
		Run:   []string{"goose", "session"},
		Launch: Launch{
			Alone: []string{"session"},
			Env:   []string{"GOOSE_PROVIDER=openai", "GOOSE_MODEL={MODEL}", "GOOSE_CONTEXT_LIMIT={CONTEXT}", "GOOSE_MAX_TOKENS={OUTPUT}", "OPENAI_HOST={URL}", "OPENAI_BASE_PATH=v1/chat/completions", "GOOSE_DISABLE_KEYRING=1"},
		},
		Note: "It takes no prices for a model that it does not know.",
	},
	{
		Name: "zed", Title: "Zed",
		Files: []File{{"~/.config/zed/settings.json", "json", `{
			"language_models": {"openai_compatible": {"toolpost": {"api_url": "{URL}/v1",
				"available_models": [{"name": "{NAME}", "display_name": "{NAME}", "max_tokens": "{CONTEXT}", "max_output_tokens": "{OUTPUT}", "capabilities": {"tools": true, "images": true, "parallel_tool_calls": true, "prompt_cache_key": false}}]}}},
			"agent": {"default_model": {"provider": "toolpost", "model": "{MODEL}"}}}`}},
		Env:  []string{"TOOLPOST_API_KEY={KEY}"},
		Run:  []string{"zed"},
		Note: "Zed refuses a model without max_tokens: if the number is missing above, add the window of your model. It takes no prices. Start it from the shell that has the variable, or enter the key in its settings.",
	},
	{
		Name: "copilot", Title: "Copilot CLI", Program: "copilot",
		Env: []string{
			"COPILOT_PROVIDER_BASE_URL={URL}/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY={KEY}", "COPILOT_MODEL={MODEL}",
			"COPILOT_PROVIDER_MAX_PROMPT_TOKENS={PROMPT}", "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS={OUTPUT}", "COPILOT_OFFLINE=true",
		},
		Run:    []string{"copilot"},
		Launch: Launch{Without: []string{"COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY_COMMAND"}},
		Note:   "It reads the provider from variables only, and takes no prices.",
	},
	{
		Name: "mini-swe-agent", Title: "mini-swe-agent", Program: "mini",
		Files: []File{
			{"~/.config/mini-swe-agent/.env", "dotenv", `"{ENV}"`},
			{"~/.config/mini-swe-agent/toolpost-models.json", "json", litellmModels},
		},
		Env:    []string{"OPENAI_API_BASE={URL}/v1", "OPENAI_API_KEY={KEY}", "MSWEA_CONFIGURED=true", "MSWEA_MODEL_NAME=openai/{MODEL}", "MSWEA_COST_TRACKING=ignore_errors"},
		Run:    []string{"mini"},
		Launch: Launch{Args: []string{"-m", "openai/{MODEL}"}, Env: []string{"LITELLM_MODEL_REGISTRY_PATH={COPY2}"}},
		Note:   "LITELLM_MODEL_REGISTRY_PATH=~/.config/mini-swe-agent/toolpost-models.json in your shell gives it windows and prices.",
	},
	{
		Name: "llm", Title: "llm", Program: "llm",
		Files:  []File{{"~/.config/io.datasette.llm/extra-openai-models.yaml", "yaml", `[{"model_id": "toolpost/{NAME}", "model_name": "{NAME}", "api_base": "{URL}/v1", "api_key_name": "toolpost", "supports_tools": true, "vision": true}]`}},
		Run:    []string{"llm", "-m", "toolpost/{MODEL}", "--key", "{KEY}", "-T", "llm_time", "--td", "What time is it?"},
		Launch: Launch{Args: []string{"-m", "toolpost/{MODEL}", "--key", "{KEY}"}, Overlay: "LLM_USER_PATH", OverlayOf: "~/.config/io.datasette.llm"},
		Note:   "The folder is that of Linux; llm says its own with: dirname \"$(llm logs path)\". It takes no windows and no prices.",
	},
	{
		Name: "aider", Title: "aider", Program: "aider",
		Files: []File{
			{"~/.aider.conf.yml", "yaml", `{"model": "openai/{MODEL}", "weak-model": "openai/{SMALL}", "openai-api-base": "{URL}/v1", "openai-api-key": "{KEY}"}`},
			{"~/.aider.model.metadata.json", "json", litellmModels},
		},
		Run:  []string{"aider"},
		Asks: []string{"{SMALL}"},
		Launch: Launch{
			Args: []string{"--model", "openai/{MODEL}", "--weak-model", "openai/{SMALL}", "--model-metadata-file", "{COPY2}"},
			Env:  []string{"OPENAI_API_BASE={URL}/v1", "OPENAI_API_KEY={KEY}"},
		},
		Note: "It edits by text and needs no tools.",
	},
}
