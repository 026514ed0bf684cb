package sim_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// broken are requests that break one rule each, as clients send them, and a
// piece of the vendor's message. %s is the model.
var broken = []struct{ rule, format, plays, body, says string }{
	{"calls.answered", wire.Chat, "", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"b"}]}`,
		"did not have response messages: c1"},
	{"calls.answered", wire.Chat, "", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"c1","content":"x"}]}`, "must be a response to a preceeding message"},
	{"calls.answered", wire.Responses, "", `{"model":%q,"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}]}`, "No tool output found for function call c1."},
	{"calls.answered", wire.Responses, "", `{"model":%q,"input":[{"role":"user","content":"a"},{"type":"function_call_output","call_id":"c1","output":"x"}]}`, "No tool call found for function call output with call_id c1."},
	{"calls.answered", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":"b"}]}`,
		"`tool_use` ids were found without `tool_result` blocks immediately after: c1."},
	{"calls.answered", wire.Gemini, "gemini-2.5-pro", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`,
		"the number of function response parts is equal"},
	{"calls.answered", wire.Converse, "", `{"toolConfig":{"tools":[]},"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},{"role":"user","content":[{"text":"b"}]}]}`,
		"Expected toolResult blocks at messages.2.content for the following Ids: c1"},
	{"calls.ids", wire.Chat, "", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("x", 41) + `","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"` + strings.Repeat("x", 41) + `","content":"x"}]}`,
		"maximum length 40, but got a string with length 41"},
	{"calls.ids", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c.1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c.1","content":"x"}]}]}`,
		"tool_use.id: String should match pattern"},
	{"tools.names", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"a.b","input_schema":{"type":"object"}}]}`, "tools.0.custom.name: String should match pattern"},
	{"tools.names", wire.Gemini, "", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"1f"}]}]}`, "Invalid function name. Must start with a letter"},
	{"messages.empty", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "text content blocks must be non-empty"},
	{"messages.empty", wire.Converse, "", `{"messages":[{"role":"user","content":[{"text":" "}]}]}`, "is blank. Add text to the text field"},
	{"media.type", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"}}]}]}`, "image.source.base64.media_type: Input should be 'image/jpeg'"},
	{"media.type", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`, "media_type: Input should be 'application/pdf'"},
	{"media.type", wire.Chat, "", `{"model":%q,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:text/plain;base64,AAAA"}}]}]}`, "You uploaded an unsupported image."},
	{"media.type", wire.Responses, "", `{"model":%q,"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/tiff;base64,AAAA"}]}]}`, "unsupported MIME type 'image/tiff'"},
	{"media.type", wire.Gemini, "", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"picture","data":"AAAA"}}]}]}`, "Unsupported MIME type: picture"},
	{"media.type", wire.Converse, "", `{"messages":[{"role":"user","content":[{"image":{"format":"tiff","source":{"bytes":"AAAA"}}}]}]}`, "enum value set: [gif, jpeg, png, webp]"},
	{"messages.limit", wire.Messages, "", `{"model":%q,"messages":[{"role":"user","content":"a"}]}`, "max_tokens: Field required"},
	{"messages.limit", wire.Messages, "claude-sonnet-4-5", `{"model":%q,"max_tokens":64001,"messages":[{"role":"user","content":"a"}]}`, "max_tokens: 64001 > 64000, which is the maximum"},
	{"messages.unknown_field", wire.Messages, "", `{"model":%q,"max_tokens":9,"n":2,"messages":[{"role":"user","content":"a"}]}`, "n: Extra inputs are not permitted"},
	{"messages.search_model", wire.Messages, "claude-3-7-sonnet", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},{"name":"f","defer_loading":true,"input_schema":{"type":"object"}}]}`,
		"'claude-3-7-sonnet' does not support tool types: tool_search_tool_bm25_20251119."},
	{"responses.search_model", wire.Responses, "gpt-5.1", `{"model":%q,"input":"a","tools":[{"type":"tool_search"},{"type":"function","name":"f","defer_loading":true,"parameters":{"type":"object"}}]}`, "Tool 'tool_search' is not supported with gpt-5.1."},
	{"messages.all_deferred", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","defer_loading":true,"input_schema":{"type":"object"}},{"name":"g","defer_loading":true,"input_schema":{"type":"object"}}]}`,
		"All tools have defer_loading set. At least one tool must be non-deferred."},
	{"messages.deferred_cache", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"g","defer_loading":true,"cache_control":{"type":"ephemeral"},"input_schema":{"type":"object"}}]}`,
		"Tool 'g' cannot have both defer_loading=true and cache_control set."},
	{"messages.tool_reference", wire.Messages, "", `{"model":%q,"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_bm25","input":{"query":"g"}},{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"g"}]}},{"type":"text","text":"b"}]},{"role":"user","content":"a"}]}`,
		"Tool reference 'g' has no corresponding tool definition"},
	{"messages.tool_reference", wire.Messages, "", `{"model":%q,"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"tool_reference","tool_name":"h"}]}]}]}`,
		"Tool reference 'h' has no corresponding tool definition"},
	{"responses.deferred", wire.Responses, "", `{"model":%q,"input":"a","tools":[{"type":"function","name":"f","defer_loading":true,"parameters":{"type":"object"}}]}`, "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search."},
	{"messages.first_role", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"a"}]}`, "first message must use the"},
	{"messages.cache_marks", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5), ",") + `]}]}`, "Found 5."},
	{"messages.begin_turn", wire.Messages, "claude-sonnet-4-5", `{"model":%q,"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}]}`,
		"Expected `thinking` or `redacted_thinking`, but found `tool_use`."},
	{"messages.begin_turn", wire.Converse, "claude-sonnet-4-5", `{"toolConfig":{"tools":[]},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000}},"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"x"}]}}]}]}`,
		"The model returned the following errors: messages.1.content.0.type: Expected"},
	{"messages.budget", wire.Messages, "", `{"model":%q,"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":20},"messages":[{"role":"user","content":"a"}]}`, "greater than or equal to 1024"},
	{"messages.budget", wire.Messages, "", `{"model":%q,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"a"}]}`, "`max_tokens` must be greater than"},
	{"messages.thinking_sampling", wire.Messages, "", `{"model":%q,"max_tokens":9000,"temperature":0.2,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"a"}]}`, "may only be set to 1 when thinking is enabled"},
	{"messages.thinking_choice", wire.Messages, "", `{"model":%q,"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2000},"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},"messages":[{"role":"user","content":"a"}]}`, "Thinking may not be enabled when tool_choice forces tool use."},
	{"messages.effort_only", wire.Messages, "claude-opus-4-7", `{"model":%q,"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"a"}]}`, "is not supported for this model. Use"},
	{"messages.no_sampling", wire.Messages, "claude-opus-4-7", `{"model":%q,"max_tokens":9,"top_k":3,"messages":[{"role":"user","content":"a"}]}`, "`top_k` is deprecated for this model."},
	{"messages.one_sampler", wire.Messages, "claude-sonnet-4-5", `{"model":%q,"max_tokens":9,"temperature":0.2,"top_p":0.5,"messages":[{"role":"user","content":"a"}]}`, "cannot both be specified"},
	{"openai.choice", wire.Chat, "", `{"model":%q,"tool_choice":"auto","messages":[{"role":"user","content":"a"}]}`, "'tool_choice' is only allowed when 'tools' are specified."},
	{"openai.strict_schema", wire.Chat, "", `{"model":%q,"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}],"messages":[{"role":"user","content":"a"}]}`, "'additionalProperties' is required to be supplied and to be false"},
	{"openai.strict_schema", wire.Responses, "", `{"model":%q,"tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}],"input":"a"}`, "Missing 'a'."},
	{"openai.json_word", wire.Chat, "", `{"model":%q,"response_format":{"type":"json_object"},"messages":[{"role":"user","content":"a"}]}`, "must contain the word 'json'"},
	{"openai.sampling", wire.Chat, "o3", `{"model":%q,"temperature":0.2,"messages":[{"role":"user","content":"a"}]}`, "'temperature' does not support 0.2 with this model"},
	{"chat.limit_name", wire.Chat, "o3", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"}]}`, "Use 'max_completion_tokens' instead."},
	{"chat.wrong_endpoint", wire.Chat, "o3-pro", `{"model":%q,"messages":[{"role":"user","content":"a"}]}`, "only supported in v1/responses"},
	{"template.roles", wire.Chat, "llamacpp/qwen3-8b", `{"model":%q,"messages":[{"role":"developer","content":"b"},{"role":"user","content":"a"}]}`,
		"Unexpected message role."},
	{"template.roles", wire.Chat, "qwen3-8b", `{"model":%q,"messages":[{"role":"developer","content":"b"},{"role":"user","content":"a"}]}`,
		"Unexpected message role."},
	{"template.system_first", wire.Chat, "qwen3-8b", `{"model":%q,"messages":[{"role":"system","content":"a"},{"role":"system","content":"b"},{"role":"user","content":"a"}]}`,
		"System message must be at the beginning."},
	{"template.user", wire.Chat, "vllm/qwen3.5-9b", `{"model":%q,"messages":[{"role":"system","content":"a"},{"role":"assistant","content":"b"}]}`,
		"No user query found in messages."},
	{"template.turns", wire.Chat, "vllm/mistral-small-3.2", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"user","content":"a"}]}`,
		"roles must alternate user and assistant roles except for tool calls"},
	{"template.turns", wire.Chat, "llamacpp/mistral-small-3.2", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"x"},{"role":"user","content":"a"}]}`,
		"roles must alternate user and assistant roles except for tool calls"},
	{"template.turns", wire.Chat, "llamacpp/gemma-3-12b-it", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"user","content":"a"}]}`,
		"Conversation roles must alternate user/assistant"},
	{"template.call_ids", wire.Chat, "sglang/mistral-small-3.2", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}]}`,
		"alphanumeric strings with length 9"},
	{"template.one_call", wire.Chat, "vllm/llama-3.1-8b-instruct", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"tool","tool_call_id":"c2","content":"x"}]}`,
		"only supports single tool-calls"},
	{"template.results", wire.Chat, "vllm", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		"Only text content is supported"},
	{"deepseek.roles", wire.Chat, "deepseek", `{"model":%q,"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"a"}]}`,
		"messages[1].role: unknown variant `developer`"},
	{"deepseek.content", wire.Chat, "deepseek-chat", `{"model":%q,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		"messages[0]: unknown variant `image_url`, expected `text`"},
	{"deepseek.thinking", wire.Chat, "deepseek/deepseek-reasoner", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
		"Missing `reasoning_content` field in the assistant message at message index 1"},
	{"openai.json_word", wire.Chat, "groq", `{"model":%q,"response_format":{"type":"json_object"},"messages":[{"role":"user","content":"a"}]}`,
		"must contain the word 'json'"},
	{"mistral.members", wire.Chat, "mistral", `{"model":%q,"store":false,"messages":[{"role":"user","content":"a"}]}`,
		"\"loc\":[\"body\",\"store\"],\"msg\":\"Extra inputs are not permitted\""},
	{"mistral.members", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"user","content":"a","name":"b"}]}`,
		"\"loc\":[\"body\",\"messages\",0,\"user\",\"name\"]"},
	{"mistral.roles", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"developer","content":"b"},{"role":"user","content":"a"}]}`,
		"Input tag 'developer' found"},
	{"mistral.order", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"x"},{"role":"user","content":"a"}]}`,
		"Unexpected role 'user' after role 'tool'"},
	{"mistral.order", wire.Chat, "openrouter", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"x"},{"role":"user","content":"a"}]}`,
		"Unexpected role 'user' after role 'tool'"},
	{"mistral.last", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`,
		"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"},
	{"mistral.empty", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"a"}]}`,
		"must have either content or tool_calls, but not none"},
	{"mistral.call_ids", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}]}`,
		"Tool call id was call_1 but must be"},
	{"mistral.results", wire.Chat, "mistral", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		"ChunkTypes.text"},
	{"moonshot.roles", wire.Chat, "moonshot", `{"model":%q,"messages":[{"role":"developer","content":"b"},{"role":"user","content":"a"}]}`,
		"unsupported role ROLE_UNSPECIFIED"},
	{"moonshot.empty", wire.Chat, "moonshot", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"a"}]}`,
		"the message at position 1 with role 'assistant' must not be empty"},
	{"moonshot.thinking", wire.Chat, "kimi-k2.5", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
		"reasoning_content is missing in assistant tool call message at index 1"},
	{"groq.members", wire.Chat, "groq", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"c"},{"role":"user","content":"a"}]}`,
		"for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]"},
	{"groq.images", wire.Chat, "groq", `{"model":%q,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		"up to 5 images"},
	{"cerebras.members", wire.Chat, "cerebras", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"c"},{"role":"user","content":"a"}]}`,
		"property 'messages.1.assistant.reasoning_content' is unsupported"},
	{"xai.content", wire.Chat, "xai", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
		"must have at least one content element"},
	{"xai.images", wire.Chat, "xai", `{"model":%q,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,AAAA"}}]}]}`,
		"Expected one of: image/jpeg"},
	{"chat.images", wire.Chat, "", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		"this message with role 'tool' contains an image URL"},
	{"chat.members", wire.Chat, "", `{"model":%q,"top_k":3,"messages":[{"role":"user","content":"a"}]}`,
		"Unrecognized request argument supplied: top_k"},
	{"chat.empty", wire.Chat, "", `{"model":%q,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"user","content":"a"}]}`,
		"expected a string, got null"},
	{"converse.turns", wire.Converse, "", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"a"}]}]}`,
		"A conversation must alternate between user and assistant roles."},
	{"converse.images", wire.Converse, "", `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"text":"a"}]}]}`,
		"21 + 0 > 20"},
	{"converse.documents", wire.Converse, "", `{"messages":[{"role":"user","content":[{"document":{"format":"txt","name":"a","source":{"bytes":"AAAA"}}},{"document":{"format":"txt","name":"a","source":{"bytes":"AAAA"}}},{"document":{"format":"txt","name":"a","source":{"bytes":"AAAA"}}},{"document":{"format":"txt","name":"a","source":{"bytes":"AAAA"}}},{"document":{"format":"txt","name":"a","source":{"bytes":"AAAA"}}},{"document":{"format":"txt","name":"a","source":{"bytes":"AAAA"}}},{"text":"a"}]}]}`,
		"6 > 5"},
	{"messages.trailing_space", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b "}]}`,
		"cannot end with trailing whitespace"},
	{"gemini.members", wire.Gemini, "", `{"n":2,"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
		"Unknown name \"n\": Cannot find field."},
	{"gemini.schema", wire.Gemini, "", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"const":1}}}}]}]}`,
		"Unknown name \"const\""},
	{"ollama.arguments", wire.Ollama, "", `{"model":%q,"stream":false,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_name":"f","content":"x"}]}`,
		"can't find closing '}' symbol"},
	{"chat.stop", wire.Chat, "", `{"model":%q,"stop":["a","b","c","d","e"],"messages":[{"role":"user","content":"a"}]}`, "maximum length 4, but got an array with length 5"},
	{"chat.n", wire.Chat, "", `{"model":%q,"n":200,"messages":[{"role":"user","content":"a"}]}`, "Expected a value <= 128, but got 200"},
	{"responses.unknown_field", wire.Responses, "", `{"model":%q,"stop":["a"],"input":"a"}`, "Unknown parameter: 'stop'."},
	{"responses.limit", wire.Responses, "", `{"model":%q,"max_output_tokens":8,"input":"a"}`, "Expected a value >= 16, but got 8"},
	{"responses.reasoning", wire.Responses, "", `{"model":%q,"store":false,"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"a"}]}`, "Items are not persisted when `store` is set to false."},
	{"responses.reasoning", wire.Responses, "", `{"model":%q,"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"forged"},{"role":"user","content":"a"}]}`, "The encrypted content for item rs_1 could not be verified."},
	{"responses.reasoning", wire.Responses, "", `{"model":%q,"input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]}]}`, "without its required following item."},
	{"gemini.signature", wire.Gemini, "gemini-3-pro-preview", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`,
		"Function call is missing a thought_signature in functionCall parts."},
	{"gemini.signature", wire.Gemini, "", `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"forged"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`,
		"Corrupted thought signature."},
	{"gemini.json_beside_tools", wire.Gemini, "gemini-2.5-pro", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],"generationConfig":{"responseMimeType":"application/json"}}`, "Function calling with a response mime type"},
	{"gemini.one_thinking", wire.Gemini, "", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":100,"thinkingLevel":"low"}}}`, "only one of thinking budget and thinking level"},
	{"gemini.n", wire.Gemini, "", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"generationConfig":{"candidateCount":9}}`, "candidate_count"},
	{"converse.tool_config", wire.Converse, "", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"x"}]}}]}]}`,
		"The toolConfig field must be defined"},
	{"results.failed", wire.Messages, "", `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":""}]}]}`,
		"content cannot be empty if `is_error` is true"},
	{"results.failed", wire.Converse, "", `{"toolConfig":{"tools":[]},"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","status":"error","content":[]}}]}]}`,
		"cannot be empty when status value is error."},
	{"converse.first_role", wire.Converse, "", `{"messages":[{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"a"}]}]}`, "A conversation must start with a user message."},
}

// post sends a body to the endpoint of a format.
func post(t *testing.T, server *httptest.Server, format, model, body string) (int, string) {
	t.Helper()
	codec, _ := wire.For(format)
	resp, err := server.Client().Post(server.URL+roots[format]+codec.Path(model, false), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// Every rule is broken once at least, and refused with the vendor's message.
// Without strictness only the rules with Always apply.
func TestVendorRules(t *testing.T) {
	server := httptest.NewServer(&sim.Server{})
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	always := map[string]bool{}
	tried := map[string]bool{}
	for _, l := range sim.VendorRules() {
		always[l.Name] = l.Always
	}
	for _, c := range broken {
		tried[c.rule] = true
		if _, ok := always[c.rule]; !ok {
			t.Errorf("there is no rule %s", c.rule)
		}
		strict := "sim/native+strict"
		if c.plays != "" {
			strict += "=" + c.plays
		}
		for model, refused := range map[string]bool{strict: true, "sim/native": always[c.rule]} {
			body := c.body
			if strings.Contains(body, "%q") {
				body = fmt.Sprintf(body, model)
			}
			status, answer := post(t, server, c.format, model, body)
			words := strings.NewReplacer(`\\n`, "\n", `\"`, `"`).Replace(unescaped(answer))
			if got := status >= 400 && strings.Contains(words, c.says); got != refused || !refused && status != 200 {
				t.Errorf("%s in %s with %s: %d %s\nwant %q", c.rule, c.format, model, status, answer, c.says)
			}
		}
	}
	for _, l := range sim.VendorRules() {
		if !tried[l.Name] {
			t.Errorf("no request breaks the rule %s", l.Name)
		}
	}
}

// unescaped returns the texts of a JSON document with its other bytes.
func unescaped(doc string) string {
	var b strings.Builder
	dec := json.NewDecoder(strings.NewReader(doc))
	for {
		token, err := dec.Token()
		if err != nil {
			return b.String() + doc
		}
		if text, ok := token.(string); ok {
			b.WriteString(text + "\n")
		}
	}
}

// Each server refuses in its own words and form.
func TestRefusalsHaveTheFormOfTheServer(t *testing.T) {
	server := httptest.NewServer(&sim.Server{})
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	for plays, want := range map[string]string{
		"deepseek":          `400 {"error":{"message":"Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant ` + "`developer`, expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder`" + `","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`,
		"mistral":           `422 {"object":"error","message":{"detail":[{"type":"union_tag_invalid","loc":["body","messages",0],"msg":"Input tag 'developer' found using 'role' does not match any of the expected tags: 'assistant', 'system', 'tool', 'user'"}]},"type":"invalid_request_error","param":null,"code":null}`,
		"moonshot":          `400 {"error":{"message":"Invalid request: unsupported role ROLE_UNSPECIFIED","type":"invalid_request_error"}}`,
		"qwen3-8b":          `400 {"error":{"message":"Unexpected message role.","type":"BadRequestError","param":null,"code":400}}`,
		"sglang/qwen3-8b":   `400 {"object":"error","message":"Unexpected message role.","type":"BadRequest","param":null,"code":400}`,
		"llamacpp/qwen3-8b": `500 {"error":{"code":500,"message":"Unexpected message role.","type":"server_error"}}`,
	} {
		status, answer := post(t, server, wire.Chat, "", fmt.Sprintf(`{"model":"sim/native+strict=%s","messages":[{"role":"developer","content":"a"},{"role":"user","content":"a"}]}`, plays))
		if got := fmt.Sprint(status, " ", answer); got != want {
			t.Errorf("%s: %s\nwant %s", plays, got, want)
		}
	}
}

const alphabet = "one two three four five six seven eight nine ten"

// reciter answers with the alphabet of numbers, and calls a tool if it has one.
var reciter = llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	parts := []llm.Part{llm.Text{Text: alphabet}}
	reason := llm.Stop
	if len(req.Tools) > 0 {
		parts, reason = append(parts, llm.Call{ID: "call_1", Name: "f", Args: []byte(`{"text":"` + strings.Repeat("x", 80) + `"}`)}), llm.ToolCalls
	}
	r := &llm.Response{Message: llm.Assistant(parts...), Finish: llm.Finish{Reason: reason}}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range r.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
})

// The settings of a request for length, end, number and thinking of answers are
// applied in every format that has them, streamed and not.
func TestHonours(t *testing.T) {
	everyClient(t, reciter, func(t *testing.T, c client) {
		has := c.codec.Properties().Has
		ask := func(change func(*llm.Request)) *llm.Response {
			t.Helper()
			req := &llm.Request{Model: "sim/native", MaxTokens: 1000, Messages: []llm.Message{llm.User("go")}}
			change(req)
			r, err := c.ask(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := ask(func(r *llm.Request) { r.MaxTokens = 5 }); r.Message.Text() != alphabet[:20] || r.Finish.Reason != llm.Length || r.Finish.Usage.Output != 5 {
			t.Errorf("5 tokens: %q, %s, %d", r.Message.Text(), r.Finish.Reason, r.Finish.Usage.Output)
		}
		if r := ask(func(r *llm.Request) { r.MaxTokens = 20; r.Tools = []llm.ToolDef{{Name: "f"}} }); len(r.Message.Calls()) != 0 || r.Finish.Reason != llm.Length {
			t.Errorf("a call that was cut off counts: %v %v", r.Message.Calls(), r.Finish.Reason)
		}
		if r := ask(func(r *llm.Request) { r.Stop = []string{"seven", "three"} }); has(format.StopSequences) && (r.Message.Text() != "one two " || r.Finish.Reason != llm.Stop) {
			t.Errorf("stop: %q %s", r.Message.Text(), r.Finish.Reason)
		}
		if r := ask(func(r *llm.Request) { r.N = 3 }); has(format.SeveralAnswers) && (len(r.Alternatives) != 2 || r.Alternatives[1].Message.Text() != alphabet) {
			t.Errorf("n: %d more", len(r.Alternatives))
		}
		r := ask(func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Effort: "high"} })
		if thought := slices.ContainsFunc(r.Message.Parts, func(p llm.Part) bool { _, ok := p.(llm.Thinking); return ok }); !thought || r.Message.Text() != alphabet {
			t.Errorf("thinking: %+v", r.Message.Parts)
		}
		if r := ask(func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Off: true} }); len(r.Message.Parts) != 1 {
			t.Errorf("no thinking: %+v", r.Message.Parts)
		}
		r = ask(func(r *llm.Request) {
			r.Extra = llm.Extra{
				wire.Chat:      {"logprobs": json.RawMessage("true"), "top_logprobs": json.RawMessage("2")},
				wire.Responses: {"include": json.RawMessage(`["message.output_text.logprobs"]`), "top_logprobs": json.RawMessage("2")},
				wire.Gemini:    {"generationConfig": json.RawMessage(`{"responseLogprobs":true,"logprobs":2}`)},
			}
		})
		if form := c.codec.Properties().LogProbs; form != "" {
			text, _ := r.Message.Parts[0].(llm.Text)
			if text.LogProbs == nil || len(text.LogProbs.Tokens) != 12 || text.LogProbs.Form != form || r.Message.Text() != alphabet {
				t.Errorf("log probabilities: %+v", text)
			}
		}
	})
}

// A vendor's token count of a request equals the count in its answer.
func TestCountsTokens(t *testing.T) {
	server := httptest.NewServer(&sim.Server{})
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	req := &llm.Request{Model: "sim/native", MaxTokens: 100, System: "Be brief.", Messages: []llm.Message{llm.User("How many tokens are these words?")}}
	for _, c := range []struct{ format, path, member, around string }{
		{wire.Messages, "/v1/messages/count_tokens", "input_tokens", "%s"},
		{wire.Responses, "/v1/responses/input_tokens", "input_tokens", "%s"},
		{wire.Gemini, "/v1beta/models/sim/native:countTokens", "totalTokens", "%s"},
		{wire.Gemini, "/v1beta/models/sim/native:countTokens", "totalTokens", `{"generateContentRequest":%s}`},
		{wire.Converse, "/model/sim/native/count-tokens", "inputTokens", `{"input":{"converse":%s}}`},
		{wire.Messages, "/model/sim/native/count-tokens", "inputTokens", `{"input":{"invokeModel":{"body":%q}}}`},
	} {
		codec, _ := wire.For(c.format)
		body, _, err := codec.EncodeRequest(req, false)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client{base: server.URL, codec: codec}.ask(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		text := string(body)
		if strings.Contains(c.around, "%q") {
			text = base64.StdEncoding.EncodeToString(body)
		}
		resp, err := server.Client().Post(server.URL+c.path, "application/json", bytes.NewReader(fmt.Appendf(nil, c.around, text)))
		if err != nil {
			t.Fatal(err)
		}
		var counted map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&counted); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n, ok := counted[c.member].(float64); !ok || int(n) != answer.Finish.Usage.Input || n == 0 {
			t.Errorf("%s %s: %v, the answer says %d", c.format, c.path, counted, answer.Finish.Usage.Input)
		}
	}
	resp, err := server.Client().Post(server.URL+"/v1/messages/count_tokens", "application/json", strings.NewReader(`{"messages":3}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("nonsense is counted: %d", resp.StatusCode)
	}
}
