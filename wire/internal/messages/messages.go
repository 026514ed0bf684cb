// Package messages is the format of Anthropic Messages.
package messages

import (
	"bytes"
	"io"
	"net/http"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// Format is the format of Anthropic Messages.
type Format struct{}

// Properties are what the format can do.
var Properties = format.Properties{
	EndUser: []string{"metadata.user_id"},
	Name:    names.Messages, Path: "messages", StreamType: "text/event-stream",
	KeepAlive: "event: ping\ndata: {\"type\":\"ping\"}\n\n",
	Features: []format.Feature{
		format.StrictTools, format.ToolExamples, format.HostedSearch, format.ChoiceRequired, format.ChoiceNamed, format.ChoiceNone, format.OneCall, format.OutputSchema, format.OutputBesideTools,
		format.MaxTokens, format.Temperature, format.TopP, format.TopK, format.StopSequences, format.ReasoningOff, format.ReasoningEffort, format.ReasoningTokens, format.ReasoningSummary,
	},
	Models:      format.ModelList{Path: "models", List: "data", ID: "id"},
	OutputField: "response_format",
	NeedsLimit:  true,
	CacheMarks:  format.MarksAnywhere,
	SystemFirst: true,
	UserFirst:   true, DeclaredCalls: true, StreamedArgs: true,
	Count:     format.TokenCount{Path: "messages/count_tokens", Member: "input_tokens"},
	AnswerIDs: true, IDPrefix: "msg_",
	Signature: "signature",
	Thinking: format.ThinkingRules{
		EffortSince: catalog.MakeVersion(4, 6), EffortOnly: catalog.MakeVersion(4, 7), MinTokens: 1024, MinTopP: 0.95, NoTopK: true, BeginTurn: true,
		Efforts:   []string{"low", "medium", "high", "xhigh", "max"},
		Summaries: []string{"summarized", "omitted"},
	},
	Bounds: map[string]format.RequestBounds{
		"":       {SeenText: true, Media: media},
		"claude": {MaxTemperature: 1, SeenStops: true, SeenText: true, TrimmedEnd: true, Media: media},
	},
	Errors: map[llm.Kind]string{
		llm.Unknown: "api_error", llm.Invalid: "invalid_request_error", llm.Auth: "authentication_error", llm.NotFound: "not_found_error",
		llm.TooLong: "invalid_request_error", llm.Unsupported: "invalid_request_error", llm.RateLimited: "rate_limit_error",
		llm.Overloaded: "overloaded_error", llm.Server: "api_error", llm.Network: "api_error", llm.Timeout: "timeout_error",
		llm.Incomplete: "api_error", llm.Malformed: "api_error", llm.Refused: "invalid_request_error",
		llm.BrokenPromise: "api_error", llm.Canceled: "api_error",
	},
	ErrorForms: []format.ErrorForm{
		{Kind: llm.Overloaded, As: 529},
		{Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Code: "request_too_large"},
		{Kind: llm.TooLong, Words: "prompt is too long"},
		{Kind: llm.Invalid, Status: http.StatusConflict, Code: "conflict_error"},
		{Kind: llm.Unsupported, Status: http.StatusNotImplemented, Code: "api_error"},
	},
	MoreErrors: []string{"permission_error", "billing_error", "conflict_error"},
}

func (Format) Properties() *format.Properties { return &Properties }

func (Format) Detects(doc []byte) bool {
	typ := js.Get(doc, "type")
	return bytes.HasPrefix(typ, []byte(`"message_`)) || bytes.HasPrefix(typ, []byte(`"content_block_`)) ||
		js.Is(typ, "message") && js.Kind(js.Get(doc, "content")) == '['
}

var reasons = map[string]llm.Reason{
	"end_turn":                      llm.Stop,
	"stop_sequence":                 llm.Stop,
	"tool_use":                      llm.ToolCalls,
	"max_tokens":                    llm.Length,
	"model_context_window_exceeded": llm.Length,
	"refusal":                       llm.ContentFilter,
	"pause_turn":                    llm.OtherReason,
	"compaction":                    llm.OtherReason,
}

var finish = map[llm.Reason]string{
	llm.Stop: "end_turn", llm.ToolCalls: "tool_use", llm.Length: "max_tokens", llm.ContentFilter: "refusal", llm.OtherReason: "pause_turn",
}

func (Format) DecodeStream(a *codec.Answer, src io.Reader) error {
	s := &messagesStream{Answer: a}
	if a.Relaying {
		a.Position = s
	}
	return a.Events(src, s.event)
}

func (Format) EncodeError(e *codec.Encoder, err *llm.Error, _ int) {
	e.Object()
	e.StringField("type", "error")
	e.ObjectField("error")
	e.StringField("type", e.Host.Registry.ErrorCode(err, &Properties))
	e.StringField("message", codec.ErrorMessage(err, &Properties))
	e.End()
	e.End()
}

func (Format) DecodeError(_ *codec.Registry, body []byte) (code, message string) {
	v := js.Get(body, "error")
	return codec.StringOrNumber(js.Get(v, "type")), js.Text(js.Get(v, "message"))
}

// Usage are the counters of the vendor, who counts cached input apart.
type Usage struct{ Input, Read, Write, Output, thinking int }

func (u Usage) Usage(hosted map[string]int) llm.Usage {
	return llm.Usage{
		Input: u.Input + u.Read + u.Write, Output: u.Output,
		CacheRead: u.Read, CacheWrite: u.Write, Reasoning: u.thinking, Hosted: hosted,
	}
}

const usesSuffix = "_requests"

// decode adds what an event says to what earlier ones said.
func (u *Usage) decode(d *codec.Decoder, v []byte, f *llm.Finish) {
	var rest codec.Fields
	hosted := f.Usage.Hosted
	for key, val := range js.Members(v) {
		switch string(key) {
		case "input_tokens":
			u.set(d, &u.Input, val)
		case "cache_read_input_tokens":
			u.set(d, &u.Read, val)
		case "cache_creation_input_tokens":
			u.set(d, &u.Write, val)
		case "output_tokens":
			u.set(d, &u.Output, val)
		case "output_tokens_details":
			if more := d.Counts(val, map[string]*int{"thinking_tokens": &u.thinking}); more != nil {
				rest.Add(key, more)
			}
		case serverUses:
			var more codec.Fields
			hosted = decodeUses(d, val, hosted, &more)
			if other := more.Object(); other != nil {
				rest.Add(key, other)
			}
		default:
			rest.Add(key, val)
		}
	}
	f.Usage = u.Usage(hosted)
	d.KeepUsage(f, "usage", rest.Object())
}

// serverUses counts the uses of hosted tools.
const serverUses = "server_tool_use"

// decodeUses adds known counts. Other members go to more.
func decodeUses(d *codec.Decoder, v []byte, hosted map[string]int, more *codec.Fields) map[string]int {
	for key, n := range d.Members(v) {
		name, ok := cutSuffix(string(key), usesSuffix)
		uses := d.Tokens(n)
		switch {
		case !ok:
			more.Add(key, n)
		case uses > 0:
			if hosted == nil {
				hosted = map[string]int{}
			}
			hosted[name] = uses
		}
	}
	return hosted
}

func (*Usage) set(d *codec.Decoder, n *int, v []byte) {
	if js.Kind(v) == '0' {
		*n = d.Tokens(v)
	}
}

func cutSuffix(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n > 0 && s[n:] == suffix {
		return s[:n], true
	}
	return s, false
}

func encodeUsage(e *codec.Encoder, f llm.Finish) {
	u := codec.ClampUsage(f.Usage)
	more := f.Extra[e.Host.Format]["usage"]
	start := e.ObjectField("usage")
	e.IntField("input_tokens", max(0, u.Input-u.CacheRead-u.CacheWrite))
	e.OptInt("cache_creation_input_tokens", u.CacheWrite)
	e.OptInt("cache_read_input_tokens", u.CacheRead)
	e.IntField("output_tokens", u.Output)
	e.Counts("output_tokens_details", js.Get(more, "output_tokens_details"), codec.Count{Key: "thinking_tokens", N: u.Reasoning})
	if uses := js.Get(more, serverUses); len(u.Hosted) > 0 || uses != nil {
		inner := e.ObjectField(serverUses)
		for _, name := range js.Keys(u.Hosted) {
			e.AnyKey(name + usesSuffix)
			e.Int(int64(u.Hosted[name]))
		}
		e.EndRest(inner, uses)
	}
	e.EndRest(start, more)
}

// OnVertex returns how Google's Vertex AI serves the messages format: the model is in the path, below
// publishers/anthropic, and the version in the body.
func OnVertex() format.Quirks {
	return format.Quirks{Path: "models/{model}:rawPredict", StreamPath: "models/{model}:streamRawPredict", Version: "vertex-2023-10-16"}
}

// OnBedrock returns how Amazon Bedrock serves the messages format with InvokeModel: the model is in the path, the
// version in the body, and a stream consists of frames.
func OnBedrock() format.Quirks {
	return format.Quirks{Path: "model/{model}/invoke", StreamPath: "model/{model}/invoke-with-response-stream", Version: "bedrock-2023-05-31", Framed: true, Members: "cache_control citations context anthropic_beta effort"}
}

// messagesWords is the vocabulary of the format for finish reasons and error codes.
var messagesWords = codec.Words{
	Reasons: reasons, Finish: finish,
	Interrupted: interrupted,
	Codes:       codes,
}

func (Format) Words() *codec.Words { return &messagesWords }

// interrupted are the finish reasons of answers that are not complete although no limit was reached.
var interrupted = []string{
	"pause_turn", "compaction", // which continue if the model is asked again
}

// codes are error codes that are read and never written.
var codes = map[string]llm.Kind{
	"billing_error": llm.Auth, "permission_error": llm.Auth, "authentication_error": llm.Auth, "conflict_error": llm.Invalid,
	"rate_limit_error": llm.RateLimited, "not_found_error": llm.NotFound, "overloaded_error": llm.Overloaded,
	"request_too_large": llm.TooLong, "timeout_error": llm.Timeout,
	"api_error": llm.Server, // several kinds share it
}
