package wire

import (
	"io"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// chat is the format of OpenAI Chat Completions. Many hosts copy it, so it also
// reads their variants: reasoning_content, reasoning, reasoning_details, images
// in answers, the function_call of old.
type chat struct{}

// chatProperties are what the format can do.
var chatProperties = Properties{
	Name: Chat, Path: "chat/completions", StreamType: "text/event-stream",
	KeepAlive: sseKeepAlive, LogProbs: "openai", Files: "openai",
	Features: []Feature{
		StrictTools, FreeTextTools, ToolGrammars, HostedSearch, ChoiceRequired, ChoiceNamed, ChoiceNone, ChoiceAllowed, OneCall,
		OutputSchema, OutputAnyJSON, OutputBesideTools, MaxTokens, Temperature, TopP, FrequencyPenalty, PresencePenalty, Seed,
		StopSequences, SeveralAnswers, ReasoningOff, ReasoningEffort,
	},
	Models:   ModelList{Path: "models", List: "data", ID: "id"},
	Imitated: true, HostFields: true, OutputField: "response_format",
	StreamedArgs: true, TextArgs: true,
	AnswerIDs: true, IDPrefix: "chatcmpl-",
	Thinking: openaiThinking,
	Bounds: map[string]RequestBounds{"": {MakerOnly: true, MaxStops: 4, SaysJSON: true, Media: MediaTypes{
		llm.Image: webImages, llm.Audio: openaiSounds, llm.Document: {"application/pdf", AnyText}, llm.Video: {},
	}}},
	Errors: openaiErrors,

	MoreErrors: openaiCodes, SearchModels: true,
}

func (chat) properties() *Properties { return &chatProperties }

func (chat) detects(doc []byte) bool {
	return js.Kind(js.Get(doc, "choices")) == '['
}

var chatReasons = map[string]llm.Reason{
	"stop":           llm.Stop,
	"tool_calls":     llm.ToolCalls,
	"function_call":  llm.ToolCalls,
	"length":         llm.Length,
	"content_filter": llm.ContentFilter,
	// Words of other servers that speak the format.
	"eos":          llm.Stop,
	"end_turn":     llm.Stop,
	"tool_use":     llm.ToolCalls,
	"max_tokens":   llm.Length,
	"model_length": llm.Length,
	"sensitive":    llm.ContentFilter,
}

var chatFinish = map[llm.Reason]string{
	llm.Stop: "stop", llm.ToolCalls: "tool_calls", llm.Length: "length", llm.ContentFilter: "content_filter",
}

// chatReadOnly are finish reasons of other formats that some servers mix up. They are never written.
var chatReadOnly = []string{"end_turn", "tool_use", "max_tokens"}

// chatWord returns the word for the end of an answer that clients of the chat format know.
func chatWord(f llm.Finish) string {
	word := chatWords.finishWord(f)
	if slices.Contains(chatReadOnly, word) {
		return chatWords.finishWord(llm.Finish{Reason: f.Reason})
	}
	return word
}

func (chat) decodeUsage(d *decoder, v []byte, f *llm.Finish) {
	if !d.object(v) {
		return
	}
	u := llm.Usage{Hosted: f.Usage.Hosted}
	var rest fields
	for key, val := range js.Members(v) {
		switch string(key) {
		case "prompt_tokens":
			u.Input = d.tokens(val)
		case "completion_tokens":
			u.Output = d.tokens(val)
		case "total_tokens":
		case "prompt_tokens_details":
			if details := d.counts(val, map[string]*int{"cached_tokens": &u.CacheRead, "cache_write_tokens": &u.CacheWrite}); details != nil {
				rest.add(key, details)
			}
		case "completion_tokens_details":
			if details := d.counts(val, map[string]*int{"reasoning_tokens": &u.Reasoning}); details != nil {
				rest.add(key, details)
			}
		default:
			rest.add(key, val)
		}
	}
	f.Usage = u
	d.keepUsage(f, "usage", rest.object())
}

// counts reads the known counters of an object and returns the others.
func (d *decoder) counts(v []byte, known map[string]*int) []byte {
	if !d.object(v) {
		return nil
	}
	var rest fields
	for key, val := range js.Members(v) {
		if n, ok := known[string(key)]; ok {
			*n = d.tokens(val)
		} else {
			rest.add(key, val)
		}
	}
	return rest.object()
}

func (chat) encodeUsage(e *encoder, f llm.Finish) {
	u := told(f.Usage)
	more := f.Extra[e.c.Format]["usage"]
	e.Key("usage")
	start := e.Object()
	e.IntField("prompt_tokens", u.Input)
	e.IntField("completion_tokens", u.Output)
	e.IntField("total_tokens", u.Input+u.Output)
	e.counts("prompt_tokens_details", js.Get(more, "prompt_tokens_details"),
		count{key: "cached_tokens", n: u.CacheRead}, count{key: "cache_write_tokens", n: u.CacheWrite})
	e.counts("completion_tokens_details", js.Get(more, "completion_tokens_details"), count{key: "reasoning_tokens", n: u.Reasoning})
	e.rest(start, more)
}

type count struct {
	key string
	n   int
}

// counts writes an object of counters with those of others, unless all are 0.
func (e *encoder) counts(key string, more []byte, known ...count) {
	some := len(more) > 0
	for _, c := range known {
		some = some || c.n != 0
	}
	if !some {
		return
	}
	e.Key(key)
	start := e.Object()
	for _, c := range known {
		e.optInt(c.key, c.n)
	}
	e.rest(start, more)
}

// rest closes the object that began at start, after the members of more that
// it does not have yet.
func (e *encoder) rest(start int, more []byte) {
	many := e.manyKeys(start, len(more)/64)
	for key, val := range js.Members(more) {
		if name := string(key); !e.has(start, name, many) {
			e.AnyKey(name)
			e.Raw(val)
		}
	}
	e.End()
}

func (c chat) decodeStream(a *answer, src io.Reader) error {
	a.doneEnds = true
	s := &chatStream{answer: a}
	if a.relaying {
		a.place = s
	}
	return a.events(src, s.chunk)
}

// openaiThinking are the rules of OpenAI's own models, not of all who copy its
// formats.
var openaiThinking = ThinkingRules{MinTopP: 1, Families: []string{"gpt", "o-series"}}

// openaiErrors are the codes of both OpenAI formats.
var openaiErrors = map[llm.Kind]string{
	llm.Unknown: "unknown", llm.Invalid: "invalid_request", llm.Auth: "invalid_api_key", llm.NotFound: "model_not_found",
	llm.TooLong: "context_length_exceeded", llm.Unsupported: "unsupported_value", llm.RateLimited: "rate_limit_exceeded",
	llm.Overloaded: "server_is_overloaded", llm.Server: "server_error", llm.Network: "network_error", llm.Timeout: "timeout",
	llm.Incomplete: "incomplete", llm.Malformed: "malformed", llm.Refused: "content_policy_violation",
	llm.BrokenPromise: "broken_promise", llm.Canceled: "canceled", llm.ByteLimit: "byte_limit", llm.TextLimit: "text_limit",
	llm.ThinkingLimit: "thinking_limit", llm.EventLimit: "event_limit", llm.TimeLimit: "time_limit", llm.Stalled: "stalled",
}

// openaiErrorTypes are the types beside the codes; the others are server_error.
var openaiErrorTypes = map[llm.Kind]string{
	llm.Invalid: "invalid_request_error", llm.Auth: "invalid_request_error", llm.NotFound: "invalid_request_error",
	llm.TooLong: "invalid_request_error", llm.Unsupported: "invalid_request_error", llm.Refused: "invalid_request_error",
	llm.RateLimited: "rate_limit_error", llm.Overloaded: "service_unavailable_error",
}

// openaiCodeTypes are the types of codes that have one of their own.
var openaiCodeTypes = map[string]string{"insufficient_quota": "insufficient_quota"}

// chatWords is the vocabulary of the format for finish reasons and error codes.
var chatWords = words{
	reasons: chatReasons, finish: chatFinish,
	interrupted: chatInterrupted,
	codes:       chatCodes,
}

func (chat) words() *words { return &chatWords }

// chatInterrupted are the finish reasons of answers that are not complete although no limit was reached.
var chatInterrupted = []string{
	"insufficient_system_resource", // DeepSeek
	"error",                        // OpenRouter
	"abort",                        // vLLM, SGLang
	"network_error",                // Zhipu
	"cancelled",                    // several
}

// chatCodes are error codes that are read and never written.
var chatCodes = map[string]llm.Kind{
	"string_above_max_length": llm.TooLong, "unknown_url": llm.NotFound, "response_not_found": llm.NotFound, "insufficient_quota": llm.Auth,
	"content_filter": llm.Refused, "bio_policy": llm.Refused, "misalignment_policy_violation": llm.Refused,
	"image_content_policy_violation": llm.Refused, "unsupported_parameter": llm.Unsupported,
	"previous_response_not_found": llm.Invalid, "tool_use_failed": llm.BrokenPromise, "invalid_prompt": llm.Invalid,
	"exceed_context_size_error": llm.TooLong, "overloaded": llm.Overloaded, "slow_down": llm.Overloaded,
	"unsupported_error": llm.Unsupported, "not_supported_error": llm.Unsupported, "unavailable_error": llm.Overloaded,
	// Codes that several kinds share mean the first of them.
	"server_error": llm.Server, "invalid_request_error": llm.Invalid,
}
