package wire

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// messages is the format of Anthropic Messages.
type messages struct{}

// messagesProperties are what the format can do.
var messagesProperties = Properties{
	Name: Messages, Path: "messages", StreamType: "text/event-stream",
	KeepAlive: "event: ping\ndata: {\"type\":\"ping\"}\n\n",
	Features: []Feature{
		StrictTools, ToolExamples, HostedSearch, ChoiceRequired, ChoiceNamed, ChoiceNone, OneCall, OutputSchema, OutputBesideTools,
		MaxTokens, Temperature, TopP, TopK, StopSequences, ReasoningOff, ReasoningEffort, ReasoningBudget, ReasoningSummary,
	},
	Models:      ModelList{Path: "models", List: "data", ID: "id"},
	OutputField: "response_format",
	NeedsLimit:  true,
	SystemFirst: true,
	UserFirst:   true, DeclaredCalls: true, StreamedArgs: true,
	Count:     TokenCount{"messages/count_tokens", "input_tokens"},
	AnswerIDs: true, IDPrefix: "msg_",
	Signature: "signature",
	Thinking: ThinkingRules{
		EffortSince: catalog.MakeVersion(4, 6), EffortOnly: catalog.MakeVersion(4, 7), MinBudget: 1024, MinTopP: 0.95, NoTopK: true, BeginTurn: true,
		Efforts:   []string{"low", "medium", "high", "xhigh", "max"},
		Summaries: []string{"summarized", "omitted"},
	},
	Bounds: map[string]RequestBounds{
		"":       {SeenText: true, Media: messagesMedia},
		"claude": {MaxTemperature: 1, SeenStops: true, SeenText: true, TrimmedEnd: true, Media: messagesMedia},
	},
	Errors: map[llm.Kind]string{
		llm.Unknown: "api_error", llm.Invalid: "invalid_request_error", llm.Auth: "authentication_error", llm.NotFound: "not_found_error",
		llm.TooLong: "invalid_request_error", llm.Unsupported: "invalid_request_error", llm.RateLimited: "rate_limit_error",
		llm.Overloaded: "overloaded_error", llm.Server: "api_error", llm.Network: "api_error", llm.Timeout: "timeout_error",
		llm.Incomplete: "api_error", llm.Malformed: "api_error", llm.Refused: "invalid_request_error",
		llm.BrokenPromise: "api_error", llm.Canceled: "api_error",
	},
	ErrorForms: []ErrorForm{
		{Kind: llm.Overloaded, As: 529},
		{Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Code: "request_too_large"},
		{Kind: llm.TooLong, Words: "prompt is too long"},
		{Kind: llm.Invalid, Status: http.StatusConflict, Code: "conflict_error"},
		{Kind: llm.Unsupported, Status: http.StatusNotImplemented, Code: "api_error"},
	},
	MoreErrors: []string{"permission_error", "billing_error", "conflict_error"},
}

func (messages) properties() *Properties { return &messagesProperties }

func (messages) detects(doc []byte) bool {
	typ := js.Get(doc, "type")
	return bytes.HasPrefix(typ, []byte(`"message_`)) || bytes.HasPrefix(typ, []byte(`"content_block_`)) ||
		js.Is(typ, "message") && js.Kind(js.Get(doc, "content")) == '['
}

var messagesReasons = map[string]llm.Reason{
	"end_turn":                      llm.Stop,
	"stop_sequence":                 llm.Stop,
	"tool_use":                      llm.ToolCalls,
	"max_tokens":                    llm.Length,
	"model_context_window_exceeded": llm.Length,
	"refusal":                       llm.ContentFilter,
	"pause_turn":                    llm.OtherReason,
	"compaction":                    llm.OtherReason,
}

var messagesFinish = map[llm.Reason]string{
	llm.Stop: "end_turn", llm.ToolCalls: "tool_use", llm.Length: "max_tokens", llm.ContentFilter: "refusal", llm.OtherReason: "pause_turn",
}

func (messages) decodeStream(a *answer, src io.Reader) error {
	s := &messagesStream{answer: a}
	if a.relaying {
		a.place = s
	}
	return a.events(src, s.event)
}

func (messages) encodeError(e *encoder, err *llm.Error, _ int) {
	e.Object()
	e.StringField("type", "error")
	e.Key("error")
	e.Object()
	e.StringField("type", e.c.all.errorCode(err, &messagesProperties))
	e.StringField("message", errorMessage(err, &messagesProperties))
	e.End()
	e.End()
}

func (messages) decodeError(_ *registry, body []byte) (code, message string) {
	v := js.Get(body, "error")
	return word(js.Get(v, "type")), js.Text(js.Get(v, "message"))
}

// messagesUsage are the counters of the vendor, who counts cached input apart.
type messagesUsage struct{ input, read, write, output, thinking int }

func (u messagesUsage) usage(hosted map[string]int) llm.Usage {
	return llm.Usage{
		Input: u.input + u.read + u.write, Output: u.output,
		CacheRead: u.read, CacheWrite: u.write, Reasoning: u.thinking, Hosted: hosted,
	}
}

const usesSuffix = "_requests"

// decode adds what an event says to what earlier ones said.
func (u *messagesUsage) decode(d *decoder, v []byte, f *llm.Finish) {
	var rest fields
	hosted := f.Usage.Hosted
	for key, val := range js.Members(v) {
		switch string(key) {
		case "input_tokens":
			u.set(d, &u.input, val)
		case "cache_read_input_tokens":
			u.set(d, &u.read, val)
		case "cache_creation_input_tokens":
			u.set(d, &u.write, val)
		case "output_tokens":
			u.set(d, &u.output, val)
		case "output_tokens_details":
			if more := d.counts(val, map[string]*int{"thinking_tokens": &u.thinking}); more != nil {
				rest.add(key, more)
			}
		case serverUses:
			var more fields
			hosted = decodeUses(d, val, hosted, &more)
			if other := more.object(); other != nil {
				rest.add(key, other)
			}
		default:
			rest.add(key, val)
		}
	}
	f.Usage = u.usage(hosted)
	d.keepUsage(f, "usage", rest.object())
}

// serverUses counts the uses of hosted tools.
const serverUses = "server_tool_use"

// decodeUses adds the counts to those that are known. What is none goes to more.
func decodeUses(d *decoder, v []byte, hosted map[string]int, more *fields) map[string]int {
	for key, n := range d.members(v) {
		name, ok := cutSuffix(string(key), usesSuffix)
		uses := d.tokens(n)
		switch {
		case !ok:
			more.add(key, n)
		case uses > 0:
			if hosted == nil {
				hosted = map[string]int{}
			}
			hosted[name] = uses
		}
	}
	return hosted
}

func (*messagesUsage) set(d *decoder, n *int, v []byte) {
	if js.Kind(v) == '0' {
		*n = d.tokens(v)
	}
}

func cutSuffix(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n > 0 && s[n:] == suffix {
		return s[:n], true
	}
	return s, false
}

func (messages) encodeUsage(e *encoder, f llm.Finish) {
	u := told(f.Usage)
	more := f.Extra[e.c.Format]["usage"]
	e.Key("usage")
	start := e.Object()
	e.IntField("input_tokens", max(0, u.Input-u.CacheRead-u.CacheWrite))
	e.optInt("cache_creation_input_tokens", u.CacheWrite)
	e.optInt("cache_read_input_tokens", u.CacheRead)
	e.IntField("output_tokens", u.Output)
	e.counts("output_tokens_details", js.Get(more, "output_tokens_details"), count{key: "thinking_tokens", n: u.Reasoning})
	if uses := js.Get(more, serverUses); len(u.Hosted) > 0 || uses != nil {
		e.Key(serverUses)
		inner := e.Object()
		for _, name := range slices.Sorted(maps.Keys(u.Hosted)) {
			e.AnyKey(name + usesSuffix)
			e.Int(int64(u.Hosted[name]))
		}
		e.rest(inner, uses)
	}
	e.rest(start, more)
}

// OnVertex returns how Google's Vertex AI serves the messages format: the model
// stands in the path, below publishers/anthropic, and the version in the body.
func OnVertex() Quirks {
	return Quirks{Path: "models/{model}:rawPredict", StreamPath: "models/{model}:streamRawPredict", Version: "vertex-2023-10-16"}
}

// OnBedrock returns how Amazon Bedrock serves the messages format with
// InvokeModel: the model stands in the path, the version in the body, and a
// stream comes in frames.
func OnBedrock() Quirks {
	return Quirks{Path: "model/{model}/invoke", StreamPath: "model/{model}/invoke-with-response-stream", Version: "bedrock-2023-05-31", Framed: true, Members: "cache_control citations context anthropic_beta effort"}
}

// messagesWords is the vocabulary of the format for finish reasons and error codes.
var messagesWords = words{
	reasons: messagesReasons, finish: messagesFinish,
	interrupted: messagesInterrupted,
	codes:       messagesCodes,
}

func (messages) words() *words { return &messagesWords }

// messagesInterrupted are the finish reasons of answers that are not complete although no limit was reached.
var messagesInterrupted = []string{
	"pause_turn", "compaction", // which continue if the model is asked again
}

// messagesCodes are error codes that are read and never written.
var messagesCodes = map[string]llm.Kind{
	"billing_error": llm.Auth, "permission_error": llm.Auth, "authentication_error": llm.Auth, "conflict_error": llm.Invalid,
	"rate_limit_error": llm.RateLimited, "not_found_error": llm.NotFound, "overloaded_error": llm.Overloaded,
	"request_too_large": llm.TooLong, "timeout_error": llm.Timeout,
	"api_error": llm.Server, // several kinds share it
}
