package sim

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/wire"
)

// server is a kind of server that a strict model can stand behind: strict=NAME, or strict=NAME/MODEL. Its rules are
// those of vendorRules that have its name.
type server struct {
	name    string
	formats []string
	// families are the families of models that a bare strict=MODEL finds here.
	families []string
	// refusal is the body of an error: {words}, {code} and {type} are replaced. Empty means the usual one of the format.
	refusal string
	status  int // of a refusal; 0 means 400
}

// servers are the servers with rules of their own, those of the formats' makers first.
var servers = []server{
	{name: "openai", formats: openaiFormats, families: []string{"gpt", "o-series"}},
	{name: "anthropic", formats: onMessages, families: []string{"claude"}},
	{name: "gemini", formats: onGemini, families: []string{"gemini"}},
	{name: "bedrock", formats: onConverse, families: []string{"nova"}},
	{name: "ollama", formats: []string{wire.Ollama}},
	{name: "deepseek", formats: onChat, families: []string{"deepseek"},
		refusal: `{"error":{"message":{words},"type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`},
	{name: "mistral", formats: onChat, families: []string{"mistral"},
		refusal: `{"object":"error","message":{words},"type":{type},"param":null,"code":{code}}`},
	{name: "moonshot", formats: onChat, families: []string{"kimi"}, refusal: `{"error":{"message":{words},"type":"invalid_request_error"}}`},
	{name: "groq", formats: onChat, refusal: `{"error":{"message":{words},"type":"invalid_request_error"}}`},
	{name: "cerebras", formats: onChat, refusal: `{"message":{words},"type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}`},
	{name: "xai", formats: onChat, families: []string{"grok"}, refusal: `{"code":"Client specified an invalid argument","error":{words}}`},
	{name: "openrouter", formats: onChat,
		refusal: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":{words},"provider_name":"Mistral"}},"user_id":"user_1"}`},
	{name: "vllm", formats: onChat, families: []string{"qwen", "gemma", "llama"}, refusal: `{"error":{"message":{words},"type":"BadRequestError","param":null,"code":400}}`},
	{name: "sglang", formats: onChat, refusal: `{"object":"error","message":{words},"type":"BadRequest","param":null,"code":400}`},
	{name: "llamacpp", formats: onChat, status: http.StatusInternalServerError, refusal: `{"error":{"code":500,"message":{words},"type":"server_error"}}`},
}

// engines are the servers that write requests into the chat template of a model.
const engines = "vllm sglang llamacpp"

// templates are the guards in the chat templates of families, which engines pass on as errors.
var templates = []VendorRule{
	// ggml-org/llama.cpp#27367, vllm via ogx-ai/ogx#6069; chat_template.jinja of Qwen/Qwen3.5-9B and later.
	{Name: "template.roles", Formats: onChat, servers: engines, Family: "qwen", check: roles("system user assistant tool", "Unexpected message role.")},
	{Name: "template.system_first", Formats: onChat, servers: engines, Family: "qwen", check: systemFirst("System message must be at the beginning.")},
	{Name: "template.user", Formats: onChat, servers: engines, Family: "qwen", Since: catalog.MakeVersion(3, 5), check: missing("user", "No user query found in messages.")},
	// ggml-org/llama.cpp#19851, vllm-project/vllm#6862; chat templates of Mistral 7B v0.3 to Mistral Small 3.2 and Devstral 2.
	{Name: "template.turns", Formats: onChat, servers: engines, Family: "mistral", check: alternate("system tool", "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.")},
	{Name: "template.call_ids", Formats: onChat, servers: engines, Family: "mistral", check: callIDs(9, 9, alphanumeric, "Tool call IDs should be alphanumeric strings with length 9!")},
	// google/adk-python#1373, suitenumerique/conversations#197; chat template of Gemma 3.
	{Name: "template.turns", Formats: onChat, servers: engines, Family: "gemma", check: alternate("system", "Conversation roles must alternate user/assistant/user/assistant/...")},
	// vllm-project/vllm#12938; chat template of Llama 3.1 to 3.3.
	{Name: "template.one_call", Formats: onChat, servers: engines, Family: "llama", Since: catalog.MakeVersion(3, 1), check: oneCall("This model only supports single tool-calls at once!")},
	// vllm-project/vllm#43203: engines take text in results only.
	{Name: "template.results", Formats: onChat, servers: engines, check: contentTypes("tool", "text", "Only text content is supported in messages with role 'tool'.")},
}

// imitators are the rules of servers that imitate Chat Completions, each with a public report or a page of the vendor.
var imitators = []VendorRule{
	// earendil-works/pi#1048, eclipse-theia/theia#15144, esengine/DeepSeek-Reasonix#7859, deepseek-ai/DeepSeek-V3#1053,
	// https://api-docs.deepseek.com/guides/thinking_mode
	{Name: "deepseek.roles", Formats: onChat, servers: "deepseek", check: roles("system user assistant tool latest_reminder",
		"Failed to deserialize the JSON body into the target type: messages[{at}].role: unknown variant `{role}`, expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder`")},
	{Name: "deepseek.content", Formats: onChat, servers: "deepseek", check: contentTypes("", "text",
		"Failed to deserialize the JSON body into the target type: messages[{at}]: unknown variant `{kind}`, expected `text`")},
	{Name: "deepseek.thinking", Formats: onChat, servers: "deepseek", thinking: true, check: callsWith("reasoning_content",
		"Missing `reasoning_content` field in the assistant message at message index {at}. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls")},
	{Name: "openai.json_word", Formats: onChat, servers: "deepseek groq", check: jsonWord("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")},

	// mistral_common/protocol/instruct/validator.py; BerriAI/litellm#17761, OpenHands/OpenHands#8685, camel-ai/camel#1467,
	// nearai/ironclaw#1241, Gitlawb/openclaude#739, zeroclaw-labs/zeroclaw#3572, mistralai/mistral-common#166, LibreChat-AI/agents#344
	{Name: "mistral.members", Formats: onChat, servers: "mistral", status: http.StatusUnprocessableEntity, check: members(
		"model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode reasoning_effort safe_prompt guardrails prompt_cache_key",
		map[string]string{"system": "role content", "user": "role content", "assistant": "role content tool_calls prefix", "tool": "role content tool_call_id name"},
		`{"detail":[{"type":"extra_forbidden","loc":["body","{path}"],"msg":"Extra inputs are not permitted","input":null}]}`)},
	{Name: "mistral.roles", Formats: onChat, servers: "mistral", status: http.StatusUnprocessableEntity, check: roles("system user assistant tool",
		`{"detail":[{"type":"union_tag_invalid","loc":["body","messages",{at}],"msg":"Input tag '{role}' found using 'role' does not match any of the expected tags: 'assistant', 'system', 'tool', 'user'"}]}`)},
	{Name: "mistral.order", Formats: onChat, servers: "mistral openrouter", kind: "invalid_request_message_order", code: "3230", check: order(map[string]string{
		"system": "user assistant system", "user": "assistant system user", "assistant": "assistant user tool", "tool": "assistant tool",
	}, "Unexpected role '{role}' after role '{before}'")},
	{Name: "mistral.last", Formats: onChat, servers: "mistral", kind: "invalid_request_message_order", code: "3230", check: lastRole("user tool system",
		"Expected last role User or Tool (or Assistant with prefix True) for serving but got {role}")},
	{Name: "mistral.empty", Formats: onChat, servers: "mistral openrouter", kind: "invalid_request_assistant_message", code: "3240", check: silent("Assistant message must have either content or tool_calls, but not none.")},
	{Name: "mistral.call_ids", Formats: onChat, servers: "mistral openrouter", kind: "invalid_function_call", code: "3280", check: callIDs(9, 9, alphanumeric,
		"Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.")},
	{Name: "mistral.results", Formats: onChat, servers: "mistral", status: http.StatusUnprocessableEntity, check: contentTypes("tool", "text",
		`{"detail":[{"type":"literal_error","loc":["body","messages",{at},"tool","content"],"msg":"Input should be <ChunkTypes.text: 'text'>"}]}`)},

	// openclaw/openclaw#22194, AstrBotDevs/AstrBot#7200, MoonshotAI/kimi-agent-sdk#169, continuedev/continue#11600
	{Name: "moonshot.roles", Formats: onChat, servers: "moonshot", check: roles("system user assistant tool", "Invalid request: unsupported role ROLE_UNSPECIFIED")},
	{Name: "moonshot.empty", Formats: onChat, servers: "moonshot", check: silent("Invalid request: the message at position {at} with role 'assistant' must not be empty")},
	{Name: "moonshot.thinking", Formats: onChat, servers: "moonshot", thinking: true, check: callsWith("reasoning_content",
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}")},

	// karthink/gptel#774, tashfeenahmed/freellmapi#1070, run-llama/llama_index#14701, https://console.groq.com/docs/api-reference,
	// https://console.groq.com/docs/vision
	{Name: "groq.members", Formats: onChat, servers: "groq", check: members("",
		map[string]string{"system": "role content name", "developer": "role content name", "user": "role content name", "assistant": "role content name tool_calls function_call", "tool": "role content tool_call_id name"},
		"'messages.{at}' : for 'role:{role}' the following must be satisfied[('messages.{at}' : property '{name}' is unsupported)]")},
	{Name: "groq.images", Formats: onChat, servers: "groq", check: imageLimit(5, "Too many images provided. This model supports up to 5 images")},

	// QwenLM/qwen-code#11045, NousResearch/hermes-agent#34716, proxysoul/Empryo#209
	{Name: "cerebras.members", Formats: onChat, servers: "cerebras", check: members("", map[string]string{"system": "role content name", "developer": "role content name", "user": "role content name",
		"assistant": "role content name tool_calls reasoning", "tool": "role content tool_call_id name"}, "messages.{at}.{role}.{name}: property 'messages.{at}.{role}.{name}' is unsupported")},

	// langchain-ai/langchain#34140, charmbracelet/crush#964, AstrBotDevs/AstrBot#6447, https://docs.x.ai/docs/guides/image-understanding
	{Name: "xai.content", Formats: onChat, servers: "xai", check: noContent("Invalid request content: Each message must have at least one content element.")},
	{Name: "xai.images", Formats: onChat, servers: "xai", check: mediaIn([]string{"image/jpeg", "image/png"}, "Unsupported content-type encountered when downloading image. Expected one of: image/jpeg, image/jpg, image/png.")},
}

// makersRules are rules of the formats' makers about the order and the content of messages.
var makersRules = []VendorRule{
	// OpenHands/OpenHands#7700, openai/openai-node#1030
	{Name: "chat.images", Formats: onChat, servers: "openai", check: imageRoles("user",
		"Invalid 'messages[{at}]'. Image URLs are only allowed for messages with role 'user', but this message with role '{role}' contains an image URL.")},
	// xlinx/sd-webui-decadetw-auto-prompt-llm#29, TutteInstitute/toponymy#148
	{Name: "chat.members", Formats: onChat, servers: "openai", check: members(
		"model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key "+
			"prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options moderation",
		nil, "Unrecognized request argument supplied: {name}")},
	{Name: "chat.empty", Formats: onChat, servers: "openai", check: silent("Invalid value for 'content': expected a string, got null.")},

	// langgenius/dify#9294, https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
	{Name: "converse.turns", Formats: onConverse, check: repeats("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")},
	{Name: "converse.images", Formats: onConverse, check: blocksPerMessage("image", 20, "The model returned the following errors: too many images and documents: {number} + 0 > 20")},
	{Name: "converse.documents", Formats: onConverse, check: blocksPerMessage("document", 5, "The model returned the following errors: too many documents in the message: {number} > 5")},

	// tailcallhq/forgecode#1872
	{Name: "messages.trailing_space", Formats: onMessages, check: trailingSpace("messages: final assistant content cannot end with trailing whitespace")},

	// google-gemini/gemini-cli#13972, zed-industries/zed#44875
	{Name: "gemini.members", Formats: onGemini, check: members("contents systemInstruction system_instruction tools toolConfig tool_config safetySettings safety_settings generationConfig generation_config cachedContent cached_content store serviceTier labels model",
		nil, `Invalid JSON payload received. Unknown name "{name}": Cannot find field.`)},
	{Name: "gemini.schema", Formats: onGemini, check: (*inquiry).openAPI},

	// openclaw/openclaw#52253, aliasrobotics/cai#76
	{Name: "ollama.arguments", Formats: []string{wire.Ollama}, check: objectArguments("Value looks like object, but can't find closing '}' symbol")},
}

// serverOf returns the server that a strict model stands behind, and the model: NAME, NAME/MODEL or MODEL.
func serverOf(value string) (*server, catalog.Model) {
	name, model, _ := strings.Cut(value, "/")
	if i := slices.IndexFunc(servers, func(s server) bool { return s.name == name }); i >= 0 {
		if model == "" {
			return &servers[i], catalog.Model{}
		}
		return &servers[i], catalog.Default().Lookup(model)
	}
	if value == "" {
		return nil, catalog.Model{}
	}
	plays := catalog.Default().Lookup(value)
	i := slices.IndexFunc(servers, func(s server) bool { return slices.Contains(s.families, plays.ID.Root()) })
	if i < 0 {
		return nil, plays
	}
	return &servers[i], plays
}

// at reports whether a rule holds at a server. No server means the maker of the format.
func (l VendorRule) at(s *server, format string) bool {
	switch {
	case l.servers == "":
		return true
	case s == nil || !slices.Contains(s.formats, format):
		i := slices.IndexFunc(servers, func(s server) bool { return slices.Contains(s.formats, format) })
		return i >= 0 && has(l.servers, servers[i].name)
	}
	return has(l.servers, s.name)
}

// refusal is an error in the form of a server.
type refusal struct {
	status int
	body   []byte
	words  string
}

func (r *refusal) Error() string { return r.words }

// refused returns the error of a server for a broken rule.
func (s *server) refused(l VendorRule, words string) error {
	r := &refusal{status: cmp.Or(l.status, s.status, http.StatusBadRequest), words: words}
	quoted := func(v string) string {
		if v == "" {
			return "null"
		}
		return string(js.AppendQuoted(nil, v))
	}
	said := quoted(words)
	if strings.HasPrefix(words, "{") { // the details of a validator
		said = words
	}
	r.body = []byte(strings.NewReplacer("{words}", said, "{type}", quoted(cmp.Or(l.kind, "invalid_request_error")), "{code}", quoted(l.code)).Replace(s.refusal))
	return r
}

// writeRefusal sends a refusal. It reports false for other errors.
func writeRefusal(w http.ResponseWriter, err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // the client may be gone
	return true
}
