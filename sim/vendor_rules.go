package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// VendorRule is a documented rule of a vendor about requests. A strict server refuses requests that break it, with the
// vendor's message.
type VendorRule struct {
	Name    string   // stable, like "messages.begin_turn"
	Formats []string // where it holds
	// Family and Since are the models it holds for; a strict model that plays
	// none of a family counts as the newest of the format's maker.
	Family string
	Since  catalog.Version
	// Always means that the rule also applies if the server is not strict.
	Always bool

	servers  string                // the servers it holds at, separated by spaces; empty means all of the formats
	thinking bool                  // only for models that think
	status   int                   // of the refusal; 0 means that of the server
	kind     string                // of the refusal, where the server has several
	code     string                // of the refusal, likewise
	check    func(*inquiry) string // the vendor's message, or ""
}

// inquiry is a request under examination.
type inquiry struct {
	*llm.Request
	body  []byte
	codec wire.Codec
	model catalog.Model // the simulated model
}

// VendorRules returns the rules that strict servers enforce.
func VendorRules() []VendorRule { return slices.Clone(vendorRules) }

// check refuses a request that breaks a rule.
func (b behaviour) check(codec wire.Codec, req *llm.Request, body []byte) error {
	q := &inquiry{Request: req, body: body, codec: codec, model: b.plays}
	for _, l := range vendorRules {
		if !(b.Strict || l.Always) || !slices.Contains(l.Formats, codec.Format) || !l.at(b.server, codec.Format) || !l.covers(b.plays) {
			continue
		}
		if words := l.check(q); words != "" {
			if b.server != nil && b.server.refusal != "" {
				return b.server.refused(l, words)
			}
			return q.refused(words)
		}
	}
	if b.Think || b.Strict {
		return q.checkSignatures()
	}
	return nil
}

// covers reports whether the rule holds for a model.
func (l VendorRule) covers(model catalog.Model) bool {
	id := model.ID
	switch {
	case l.thinking && model.Reasoning.Support != catalog.Yes:
		return false
	case l.Family == "":
		return true
	case id.Raw == "": // engines have no maker of models
		return l.servers == ""
	}
	return id.Root() == l.Family && (id.Version.IsZero() || id.Version.Compare(l.Since) >= 0)
}

func (q *inquiry) refused(words string) error {
	return &llm.Error{Op: "sim", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: errors.New(words)}
}

// Formats that share rules.
var (
	openaiFormats = []string{wire.Chat, wire.Responses}
	onMessages    = []string{wire.Messages}
	onGemini      = []string{wire.Gemini}
	onChat        = []string{wire.Chat}
	onResponses   = []string{wire.Responses}
	onConverse    = []string{wire.Converse}
)

// shared are the rules that many vendors have, each with its message.
var shared = []VendorRule{
	{Name: "calls.answered", Formats: onChat, check: answered(
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ID",
		"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")},
	{Name: "calls.answered", Formats: onResponses, check: answered("No tool output found for function call ID.", "No tool call found for function call output with call_id ID.")},
	{Name: "calls.answered", Formats: onMessages, check: answered(
		"messages.AT: `tool_use` ids were found without `tool_result` blocks immediately after: ID. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		"messages.AT.content.0: unexpected `tool_use_id` found in `tool_result` blocks: ID. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")},
	{Name: "calls.answered", Formats: onGemini, check: answered(
		"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
		"Please ensure that function response turn comes immediately after a function call turn.")},
	{Name: "calls.answered", Formats: onConverse, check: answered(
		"Expected toolResult blocks at messages.AT.content for the following Ids: ID", "The number of toolResult blocks at messages.AT.content exceeds the number of toolUse blocks of previous turn.")},

	{Name: "calls.ids", Formats: onChat, servers: "openai", check: shortIDs(40, "Invalid 'messages[%d].tool_calls[%d].id'")},
	{Name: "calls.ids", Formats: onResponses, check: shortIDs(64, "Invalid 'input[%d].call_id[%d]'")},
	{Name: "calls.ids", Formats: onMessages, check: (*inquiry).wordIDs},

	{Name: "tools.names", Formats: onMessages, check: names("", 128, "tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")},
	{Name: "tools.names", Formats: onChat, check: names("", 64, "Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")},
	{Name: "tools.names", Formats: onResponses, check: names("", 64, "Invalid 'tools[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.")},
	{Name: "tools.names", Formats: onConverse, check: names("", 64, "1 validation error detected: Value at 'toolConfig.tools.%d.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")},
	{Name: "tools.names", Formats: onGemini, check: names(".:", 64, "* GenerateContentRequest.tools[0].function_declarations[%d].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. "+
		"Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 64.")},

	{Name: "messages.empty", Formats: onMessages, check: empty("messages: text content blocks must be non-empty", "messages.%d: all messages must have non-empty content except for the optional final assistant message")},
	{Name: "messages.empty", Formats: onGemini, check: empty("", "* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.")},
	{Name: "messages.empty", Formats: onConverse, check: empty("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the text field, and try again.",
		"The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.")},

	{Name: "results.failed", Formats: onMessages, check: emptyFailure("messages.%d.content.%d: content cannot be empty if `is_error` is true")},
	{Name: "results.failed", Formats: onConverse, check: noFailureContent("The content field at messages.{at}.content.{number}.toolResult cannot be empty when status value is error.")},
}

// forClaude are the rules of Claude. Amazon's messages for them have a prefix.
var forClaude = inBoth([]VendorRule{
	{Name: "messages.begin_turn", Family: "claude", check: (*inquiry).beginTurn},
	{Name: "messages.budget", Family: "claude", check: (*inquiry).budget},
	{Name: "messages.thinking_sampling", Family: "claude", check: (*inquiry).thinkingSampling},
	{Name: "messages.thinking_choice", Family: "claude", check: func(q *inquiry) string {
		if thinks(q.Request) && q.Choice.Mode == llm.MustCall {
			return "Thinking may not be enabled when tool_choice forces tool use."
		}
		return ""
	}},
	{Name: "messages.effort_only", Family: "claude", Since: catalog.MakeVersion(4, 7), check: func(q *inquiry) string {
		if q.model.ID.Raw != "" && thinks(q.Request) && q.Reasoning.Tokens > 0 {
			return "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."
		}
		return ""
	}},
	{Name: "messages.no_sampling", Family: "claude", Since: catalog.MakeVersion(4, 7), check: func(q *inquiry) string {
		if name := q.sampler(); q.model.ID.Raw != "" && name != "" {
			return "`" + name + "` is deprecated for this model."
		}
		return ""
	}},
	{Name: "messages.one_sampler", Family: "claude", Since: catalog.MakeVersion(4, 1), check: func(q *inquiry) string {
		if q.Temperature != nil && q.TopP != nil {
			return "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
		}
		return ""
	}},
})

func inBoth(list []VendorRule) []VendorRule {
	var out []VendorRule
	for _, l := range list {
		amazon := l
		l.Formats, amazon.Formats = onMessages, onConverse
		amazon.check = func(q *inquiry) string {
			if words := l.check(q); words != "" {
				return "The model returned the following errors: " + words
			}
			return ""
		}
		out = append(out, l, amazon)
	}
	return out
}

var vendorRules = slices.Concat(shared, mediaRules, searchRules, forClaude, templates, imitators, makersRules, []VendorRule{
	{Name: "messages.limit", Formats: onMessages, check: func(q *inquiry) string {
		if js.Get(q.body, "max_tokens") == nil {
			return "max_tokens: Field required"
		}
		if most := q.model.MaxOutput; q.model.ID.Raw != "" && most > 0 && q.MaxTokens > most {
			return fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", q.MaxTokens, most, q.model.ID.Raw)
		}
		return ""
	}},
	{Name: "messages.unknown_field", Formats: onMessages, Always: true, check: func(q *inquiry) string {
		return q.unknown("%s: Extra inputs are not permitted", "n", "seed", "logprobs", "top_logprobs", "stop", "frequency_penalty", "presence_penalty")
	}},
	{Name: "messages.first_role", Formats: onMessages, check: func(q *inquiry) string {
		if first := q.spoken(); len(first) > 0 && first[0].Role == llm.RoleAssistant {
			return `messages: first message must use the "user" role`
		}
		return ""
	}},
	{Name: "messages.cache_marks", Formats: onMessages, check: func(q *inquiry) string {
		if n := bytes.Count(q.body, []byte(`"cache_control"`)); n > 4 {
			return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
		}
		return ""
	}},
	{Name: "openai.choice", Formats: openaiFormats, servers: "openai", check: func(q *inquiry) string {
		for _, field := range []string{"tool_choice", "parallel_tool_calls"} {
			if js.Get(q.body, field) != nil && len(q.Tools) == 0 {
				return fmt.Sprintf("Invalid value for '%s': '%[1]s' is only allowed when 'tools' are specified.", field)
			}
		}
		return ""
	}},
	{Name: "openai.strict_schema", Formats: openaiFormats, servers: "openai", check: (*inquiry).openSchema},
	{Name: "openai.json_word", Formats: onChat, servers: "openai", check: jsonWord("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")},
	{Name: "openai.json_word", Formats: onResponses, check: jsonWord("Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")},
	{Name: "openai.sampling", Formats: onChat, servers: "openai", check: sampled("Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.")},
	{Name: "openai.sampling", Formats: onResponses, check: sampled("Unsupported parameter: 'temperature' is not supported with this model.")},
	{Name: "chat.limit_name", Formats: onChat, servers: "openai", check: func(q *inquiry) string {
		if q.model.ID.Raw != "" && q.model.Reasoning.Support == catalog.Yes && js.Get(q.body, "max_tokens") != nil {
			return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
		}
		return ""
	}},
	{Name: "chat.wrong_endpoint", Formats: onChat, servers: "openai", check: func(q *inquiry) string {
		if q.model.ID.Raw != "" && slices.Contains(onResponses, q.model.Wire) {
			return "This model is only supported in v1/responses and not in v1/chat/completions."
		}
		return ""
	}},
	{Name: "chat.stop", Formats: onChat, Always: true, check: func(q *inquiry) string {
		if n := len(q.Stop); n > 4 {
			return fmt.Sprintf("Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length %d instead.", n)
		}
		return ""
	}},
	{Name: "chat.n", Formats: onChat, Always: true, check: func(q *inquiry) string {
		if q.N > 128 {
			return fmt.Sprintf("Invalid 'n': integer above maximum value. Expected a value <= 128, but got %d instead.", q.N)
		}
		return ""
	}},
	{Name: "responses.unknown_field", Formats: onResponses, Always: true, check: func(q *inquiry) string {
		return q.unknown("Unknown parameter: '%s'.", "n", "stop", "seed", "logprobs", "messages", "max_tokens", "frequency_penalty", "presence_penalty")
	}},
	{Name: "responses.limit", Formats: onResponses, check: func(q *inquiry) string {
		if q.MaxTokens > 0 && q.MaxTokens < 16 {
			return fmt.Sprintf("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", q.MaxTokens)
		}
		return ""
	}},
	{Name: "responses.reasoning", Formats: onResponses, check: (*inquiry).reasoningItems},

	{Name: "gemini.signature", Formats: onGemini, Family: "gemini", Since: catalog.MakeVersion(3), check: (*inquiry).unsigned},
	{Name: "gemini.json_beside_tools", Formats: onGemini, Family: "gemini", check: func(q *inquiry) string {
		old := q.model.ID.Raw != "" && !q.model.ID.Version.IsZero() && q.model.ID.Version.Compare(catalog.MakeVersion(3)) < 0
		if old && q.Output != nil && len(q.Tools) > 0 {
			return "Function calling with a response mime type: 'application/json' is unsupported"
		}
		return ""
	}},
	{Name: "gemini.one_thinking", Formats: onGemini, check: func(q *inquiry) string {
		if q.Reasoning != nil && q.Reasoning.Tokens != 0 && q.Reasoning.Effort != "" {
			return "You can only set only one of thinking budget and thinking level."
		}
		return ""
	}},
	{Name: "gemini.n", Formats: onGemini, Always: true, check: func(q *inquiry) string {
		if q.N > 8 {
			return "* GenerateContentRequest.generation_config.candidate_count: must be within range [1, 8]"
		}
		return ""
	}},

	{Name: "converse.tool_config", Formats: onConverse, check: func(q *inquiry) string {
		if js.Get(q.body, "toolConfig") != nil {
			return ""
		}
		if bytes.Contains(q.body, []byte(`"toolUse"`)) || bytes.Contains(q.body, []byte(`"toolResult"`)) {
			return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
		}
		return ""
	}},
	{Name: "converse.first_role", Formats: onConverse, check: func(q *inquiry) string {
		if first := q.spoken(); len(first) > 0 && first[0].Role == llm.RoleAssistant {
			return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
		}
		return ""
	}},
})

// thinks reports whether a request asks for thinking.
func thinks(req *llm.Request) bool { return req.Reasoning != nil && !req.Reasoning.Off }

// unknown names the first of the fields that a request has.
func (q *inquiry) unknown(words string, fields ...string) string {
	for _, f := range fields {
		if js.Get(q.body, f) != nil {
			return fmt.Sprintf(words, f)
		}
	}
	return ""
}

// spoken returns the messages without instructions.
func (q *inquiry) spoken() []llm.Message {
	return slices.DeleteFunc(slices.Clone(q.Messages), func(m llm.Message) bool { return m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper })
}

// said returns all text of the conversation.
func (q *inquiry) said() []byte {
	b, _ := json.Marshal(q.Messages)
	return append(b, q.System...)
}

// underWay returns the messages after the last user message.
func (q *inquiry) underWay() []llm.Message {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		if q.Messages[i].Role == llm.RoleUser {
			return q.Messages[i+1:]
		}
	}
	return q.Messages
}

// answered finds a call without its result, or a result without its call. AT and
// ID in the words are the place and the ids.
func answered(missing, orphan string) func(*inquiry) string {
	say := func(words string, at int, id string) string {
		return strings.NewReplacer("AT", fmt.Sprint(at), "ID", id).Replace(words)
	}
	return func(q *inquiry) string {
		var open []string
		for i, m := range q.Messages {
			if m.Role != llm.RoleTool && m.Role != llm.RoleAssistant && len(open) > 0 {
				return say(missing, i, strings.Join(open, ", "))
			}
			for _, p := range m.Parts {
				r, ok := p.(llm.Result)
				if !ok || r.Hosted {
					continue
				}
				k := slices.Index(open, r.CallID)
				if k < 0 {
					return say(orphan, i, r.CallID)
				}
				open = slices.Delete(open, k, k+1)
			}
			for _, c := range m.Calls() {
				open = append(open, c.ID)
			}
		}
		if len(open) > 0 {
			return say(missing, len(q.Messages)-1, strings.Join(open, ", "))
		}
		return ""
	}
}

// shortIDs finds an id that is too long.
func shortIDs(most int, where string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.Messages {
			for k, c := range m.Calls() {
				if len(c.ID) > most {
					return fmt.Sprintf(where+": string too long. Expected a string with maximum length %d, but got a string with length %d instead.", i, k, most, len(c.ID))
				}
			}
		}
		return ""
	}
}

// wordIDs finds an id with other than word characters, or a duplicate.
func (q *inquiry) wordIDs() string {
	seen := map[string]bool{}
	for i, m := range q.Messages {
		for k, c := range m.Calls() {
			switch {
			case strings.Trim(c.ID, wordChars) != "":
				return fmt.Sprintf("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, k)
			case seen[c.ID]:
				return fmt.Sprintf("messages.%d.content.%d: `tool_use` ids must be unique", i, k)
			}
			seen[c.ID] = true
		}
	}
	return ""
}

const wordChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// names finds the name of a tool that is too long or has characters other than
// word characters and those in more. With more, the first character must be a
// letter or an underscore.
func names(more string, most int, words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, t := range q.Tools {
			if t.Kind == llm.HostedTool {
				continue
			}
			if strings.Trim(t.Name, wordChars+more) != "" || t.Name == "" || len(t.Name) > most || more != "" && !letterFirst(t.Name) {
				return fmt.Sprintf(words, i)
			}
		}
		return ""
	}
}

func letterFirst(name string) bool {
	return name != "" && (name[0] == '_' || name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// empty finds text without words, if that is forbidden, and a message without
// content.
func empty(blank, none string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.Messages {
			for k, p := range m.Parts {
				if t, ok := p.(llm.Text); ok && blank != "" && strings.TrimSpace(t.Text) == "" && t.State.IsZero() {
					return at(blank, i, k)
				}
			}
			if len(m.Parts) == 0 {
				return at(none, i)
			}
		}
		return ""
	}
}

// at fills in as many places as the words have placeholders.
func at(words string, places ...any) string {
	return fmt.Sprintf(words, places[:strings.Count(words, "%d")]...)
}

// emptyFailure finds a failed result without content.
func emptyFailure(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		for i, m := range q.Messages {
			for k, p := range m.Parts {
				if r, ok := p.(llm.Result); ok && !r.Hosted && r.Failed && r.Text() == "" && !slices.ContainsFunc(r.Parts, isMedia) {
					return fmt.Sprintf(words, i, k)
				}
			}
		}
		return ""
	}
}

func isMedia(p llm.Part) bool {
	_, ok := p.(llm.Media)
	return ok
}

// jsonWord finds a request for any JSON that does not mention JSON.
func jsonWord(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		if q.Output == nil || len(q.Output.Schema) > 0 || strings.Contains(strings.ToLower(string(q.said())), "json") {
			return ""
		}
		return words
	}
}

// sampled finds a temperature that the model does not take.
func sampled(words string) func(*inquiry) string {
	return func(q *inquiry) string {
		if q.model.Sampling != "none" || q.Temperature == nil || *q.Temperature == 1 {
			return ""
		}
		return strings.ReplaceAll(words, "%v", fmt.Sprint(*q.Temperature))
	}
}

// beginTurn finds a turn with calls that does not begin with thinking, while
// thinking is counted.
func (q *inquiry) beginTurn() string {
	if !thinks(q.Request) || q.Reasoning.Tokens == 0 {
		return ""
	}
	var first llm.Part
	calls := 0
	for _, m := range q.underWay() {
		if m.Role == llm.RoleAssistant && len(m.Parts) > 0 {
			if first == nil {
				first = m.Parts[0]
			}
			calls += len(m.Calls())
		}
	}
	if _, thought := first.(llm.Thinking); calls == 0 || thought {
		return ""
	}
	found := "tool_use"
	if _, ok := first.(llm.Text); ok {
		found = "text"
	}
	return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "+
		"(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "+
		"Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking", len(q.Messages)-len(q.underWay()), found)
}

func (q *inquiry) budget() string {
	if !thinks(q.Request) || q.Reasoning.Tokens == 0 {
		return ""
	}
	switch b := q.Reasoning.Tokens; {
	case b < 1024:
		return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
	case q.MaxTokens > 0 && q.MaxTokens <= b:
		return "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
	}
	return ""
}

func (q *inquiry) thinkingSampling() string {
	const more = " Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking"
	switch {
	case !thinks(q.Request):
		return ""
	case q.Temperature != nil && *q.Temperature != 1:
		return "`temperature` may only be set to 1 when thinking is enabled." + more
	case q.TopK != nil:
		return "`top_k` must be unset when thinking is enabled." + more
	case q.TopP != nil && *q.TopP < 0.95:
		return "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled." + more
	}
	return ""
}

// sampler names an option of sampling that a request sets.
func (q *inquiry) sampler() string {
	switch {
	case q.Temperature != nil && *q.Temperature != 1:
		return "temperature"
	case q.TopP != nil:
		return "top_p"
	case q.TopK != nil:
		return "top_k"
	}
	return ""
}

// openSchema finds a strict tool whose objects are not closed.
func (q *inquiry) openSchema() string {
	for _, t := range q.Tools {
		if t.Strict == nil || !*t.Strict || t.Kind != llm.FunctionTool {
			continue
		}
		if !bytes.Equal(js.Get(t.Schema, "additionalProperties"), []byte("false")) {
			return fmt.Sprintf("Invalid schema for function '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", t.Name)
		}
		required := js.Get(t.Schema, "required")
		for key := range js.Members(js.Get(t.Schema, "properties")) {
			if !bytes.Contains(required, append(append([]byte{'"'}, key...), '"')) {
				return fmt.Sprintf("Invalid schema for function '%s': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", t.Name, key)
			}
		}
	}
	return ""
}

// reasoningItems finds reasoning that the server cannot know. Reasoning that is
// not stored must come back whole, and before the items that followed from it.
func (q *inquiry) reasoningItems() string {
	stored := !bytes.Equal(js.Get(q.body, "store"), []byte("false"))
	items := slices.Collect(js.Elements(js.Get(q.body, "input")))
	for i, item := range items {
		if !js.Is(js.Get(item, "type"), "reasoning") {
			continue
		}
		id := js.Text(js.Get(item, "id"))
		switch sealed := js.Get(item, "encrypted_content"); {
		case sealed == nil && !stored:
			return fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
		case sealed != nil && js.Text(sealed) != signature(thought):
			return fmt.Sprintf("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", id)
		case i == len(items)-1:
			return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id)
		}
	}
	return ""
}

// skipSignature is the value that Gemini accepts as the signature of a call
// that it did not make.
const skipSignature = "skip_thought_signature_validator"

// unsigned finds an answer of the turn under way whose first call is not signed.
func (q *inquiry) unsigned() string {
	for i, m := range q.underWay() {
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		var state map[string]string
		_ = json.Unmarshal(calls[0].State.Data, &state) // unreadable data is ignored
		switch sign := state["thoughtSignature"]; {
		case sign == "":
			return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. "+
				"Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", calls[0].Name, len(q.Messages)-len(q.underWay())+i+1)
		case sign != skipSignature && !signs(sign, calls[0].Name):
			return "Corrupted thought signature."
		}
	}
	return ""
}
