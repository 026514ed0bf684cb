// Package chat is the format of OpenAI Chat Completions, with the variants of the hosts that copy it.
package chat

import (
	"io"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// Format is the format of OpenAI Chat Completions. Many hosts copy it, so it also
// reads their variants: reasoning_content, reasoning, reasoning_details, images
// in answers, the function_call of old.
type Format struct{}

// properties are what the format can do.
var properties = format.Properties{
	EndUser: []string{"safety_identifier", "user"},
	Name:    names.Chat, Path: "chat/completions", StreamType: "text/event-stream",
	KeepAlive: codec.SSEKeepAlive, LogProbs: "openai", Files: "openai",
	Features: []format.Feature{
		format.StrictTools, format.FreeTextTools, format.ToolGrammars, format.HostedSearch, format.ChoiceRequired, format.ChoiceNamed, format.ChoiceNone, format.ChoiceAllowed, format.OneCall,
		format.OutputSchema, format.OutputAnyJSON, format.OutputBesideTools, format.MaxTokens, format.Temperature, format.TopP, format.FrequencyPenalty, format.PresencePenalty, format.Seed,
		format.StopSequences, format.SeveralAnswers, format.ReasoningOff, format.ReasoningEffort,
	},
	Models:   format.ModelList{Path: "models", List: "data", ID: "id"},
	Imitated: true, HostFields: true, OutputField: "response_format", CacheMarks: format.MarksByHost,
	StreamedArgs: true, TextArgs: true,
	AnswerIDs: true, IDPrefix: "chatcmpl-",
	Thinking: OpenaiThinking,
	Bounds: map[string]format.RequestBounds{"": {MakerOnly: true, MaxStops: 4, SaysJSON: true, Media: format.MediaTypes{
		llm.Image: mediatype.WebImages, llm.Audio: mediatype.OpenAISounds, llm.Document: {"application/pdf", format.AnyText}, llm.Video: {},
	}}},
	Errors: OpenaiErrors,

	MoreErrors: OpenaiCodes, SearchModels: true,
}

func (Format) Properties() *format.Properties { return &properties }

func (Format) Detects(doc []byte) bool {
	return js.Kind(js.Get(doc, "choices")) == '['
}

var reasons = map[string]llm.Reason{
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

var Finish = map[llm.Reason]string{
	llm.Stop: "stop", llm.ToolCalls: "tool_calls", llm.Length: "length", llm.ContentFilter: "content_filter",
}

// readOnly are finish reasons of other formats that some servers mix up. They are never written.
var readOnly = []string{"end_turn", "tool_use", "max_tokens"}

// chatWord returns the word for the end of an answer that clients of the chat format know.
func chatWord(f llm.Finish) string {
	word := words.FinishWord(f)
	if slices.Contains(readOnly, word) {
		return words.FinishWord(llm.Finish{Reason: f.Reason})
	}
	return word
}

func decodeUsage(d *codec.Decoder, v []byte, f *llm.Finish) {
	if !d.Object(v) {
		return
	}
	u := llm.Usage{Hosted: f.Usage.Hosted}
	var rest codec.Fields
	for key, val := range js.Members(v) {
		switch string(key) {
		case "prompt_tokens":
			u.Input = d.Tokens(val)
		case "completion_tokens":
			u.Output = d.Tokens(val)
		case "total_tokens":
		case "prompt_tokens_details":
			if details := d.Counts(val, map[string]*int{"cached_tokens": &u.CacheRead, "cache_write_tokens": &u.CacheWrite}); details != nil {
				rest.Add(key, details)
			}
		case "completion_tokens_details":
			if details := d.Counts(val, map[string]*int{"reasoning_tokens": &u.Reasoning}); details != nil {
				rest.Add(key, details)
			}
		default:
			rest.Add(key, val)
		}
	}
	f.Usage = u
	d.KeepUsage(f, "usage", rest.Object())
}

func encodeUsage(e *codec.Encoder, f llm.Finish) {
	u := codec.ClampUsage(f.Usage)
	more := f.Extra[e.Host.Format]["usage"]
	start := e.ObjectField("usage")
	e.IntField("prompt_tokens", u.Input)
	e.IntField("completion_tokens", u.Output)
	e.IntField("total_tokens", u.Input+u.Output)
	e.Counts("prompt_tokens_details", js.Get(more, "prompt_tokens_details"),
		codec.Count{Key: "cached_tokens", N: u.CacheRead}, codec.Count{Key: "cache_write_tokens", N: u.CacheWrite})
	e.Counts("completion_tokens_details", js.Get(more, "completion_tokens_details"), codec.Count{Key: "reasoning_tokens", N: u.Reasoning})
	e.EndRest(start, more)
}

func (Format) DecodeStream(a *codec.Answer, src io.Reader) error {
	a.DoneEnds = true
	s := &chatStream{Answer: a}
	if a.Relaying {
		a.Position = s
	}
	return a.Events(src, s.chunk)
}

// OpenaiThinking are the rules of OpenAI's own models, not of all who copy its
// formats.
var OpenaiThinking = format.ThinkingRules{MinTopP: 1, Families: []string{"gpt", "o-series"}}

// OpenaiErrors are the codes of both OpenAI formats.
var OpenaiErrors = map[llm.Kind]string{
	llm.Unknown: "unknown", llm.Invalid: "invalid_request", llm.Auth: "invalid_api_key", llm.NotFound: "model_not_found",
	llm.TooLong: "context_length_exceeded", llm.Unsupported: "unsupported_value", llm.RateLimited: "rate_limit_exceeded",
	llm.Overloaded: "server_is_overloaded", llm.Server: "server_error", llm.Network: "network_error", llm.Timeout: "timeout",
	llm.Incomplete: "incomplete", llm.Malformed: "malformed", llm.Refused: "content_policy_violation",
	llm.BrokenPromise: "broken_promise", llm.Canceled: "canceled", llm.ByteLimit: "byte_limit", llm.TextLimit: "text_limit",
	llm.ThinkingLimit: "thinking_limit", llm.EventLimit: "event_limit", llm.TimeLimit: "time_limit", llm.Stalled: "stalled",
}

// openaiErrorTypes are the types that accompany the codes; the others are server_error.
var openaiErrorTypes = map[llm.Kind]string{
	llm.Invalid: "invalid_request_error", llm.Auth: "invalid_request_error", llm.NotFound: "invalid_request_error",
	llm.TooLong: "invalid_request_error", llm.Unsupported: "invalid_request_error", llm.Refused: "invalid_request_error",
	llm.RateLimited: "rate_limit_error", llm.Overloaded: "service_unavailable_error",
}

// openaiCodeTypes are the types of codes with a special type.
var openaiCodeTypes = map[string]string{"insufficient_quota": "insufficient_quota"}

// words is the vocabulary of the format for finish reasons and error codes.
var words = codec.Words{
	Reasons: reasons, Finish: Finish,
	Interrupted: interrupted,
	Codes:       codes,
}

func (Format) Words() *codec.Words { return &words }

// interrupted are the finish reasons of answers that are not complete although no limit was reached.
var interrupted = []string{
	"insufficient_system_resource", // DeepSeek
	"error",                        // OpenRouter
	"abort",                        // vLLM, SGLang
	"network_error",                // Zhipu
	"cancelled",                    // several
}

// codes are error codes that are read and never written.
var codes = map[string]llm.Kind{
	"string_above_max_length": llm.TooLong, "unknown_url": llm.NotFound, "response_not_found": llm.NotFound, "insufficient_quota": llm.Auth,
	"content_filter": llm.Refused, "bio_policy": llm.Refused, "misalignment_policy_violation": llm.Refused,
	"image_content_policy_violation": llm.Refused, "unsupported_parameter": llm.Unsupported,
	"previous_response_not_found": llm.Invalid, "tool_use_failed": llm.BrokenPromise, "invalid_prompt": llm.Invalid,
	"exceed_context_size_error": llm.TooLong, "overloaded": llm.Overloaded, "slow_down": llm.Overloaded,
	"unsupported_error": llm.Unsupported, "not_supported_error": llm.Unsupported, "unavailable_error": llm.Overloaded,
	// Codes that several kinds share mean the first of them.
	"server_error": llm.Server, "invalid_request_error": llm.Invalid,
}
