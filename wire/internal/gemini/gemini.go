// Package gemini is the format of Gemini generateContent.
package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// Format is the format of generateContent. Its names are read in camel case
// and in snake case, as the vendor does.
type Format struct{}

// properties are what the format can do.
var properties = format.Properties{
	Name: names.Gemini, Path: "models/{model}:generateContent", StreamPath: "models/{model}:streamGenerateContent?alt=sse", StreamType: "text/event-stream",
	KeepAlive: "\n\n", LogProbs: "gemini",
	NoComments: true, // Google's clients for Go and Python end with an error at one
	Features: []format.Feature{
		format.HostedSearch, format.ChoiceRequired, format.ChoiceNamed, format.ChoiceNone, format.ChoiceAllowed, format.OutputSchema, format.OutputAnyJSON, format.MaxTokens, format.Temperature, format.TopP,
		format.TopK, format.FrequencyPenalty, format.PresencePenalty, format.Seed, format.StopSequences, format.SeveralAnswers, format.ReasoningOff, format.ReasoningEffort, format.ReasoningTokens,
	},
	Models:      format.ModelList{Path: "models", List: "models", ID: "name"},
	OutputField: "response_format",
	UserFirst:   true, LetterFirst: true, OptionalCallIDs: true,
	Count:     format.TokenCount{Path: "models/{model}:countTokens", Member: "totalTokens"},
	AnswerIDs: true,
	Signature: "thoughtSignature",
	// The value that the vendor documents for calls that its models did not make.
	Thinking: format.ThinkingRules{Efforts: []string{"minimal", "low", "medium", "high"}, EffortSince: catalog.MakeVersion(3), OneMeasure: true, Dynamic: true, Unsigned: "skip_thought_signature_validator", UnsignedSince: catalog.MakeVersion(3)},
	Bounds:   map[string]format.RequestBounds{"": {MaxStops: 5, SeenText: true}},
	Errors: map[llm.Kind]string{
		llm.Unknown: "UNKNOWN", llm.Invalid: "INVALID_ARGUMENT", llm.Auth: "UNAUTHENTICATED", llm.NotFound: "NOT_FOUND",
		llm.TooLong: "INVALID_ARGUMENT", llm.Unsupported: "INVALID_ARGUMENT", llm.RateLimited: "RESOURCE_EXHAUSTED",
		llm.Overloaded: "UNAVAILABLE", llm.Server: "INTERNAL", llm.Network: "INTERNAL", llm.Timeout: "DEADLINE_EXCEEDED",
		llm.Incomplete: "DATA_LOSS", llm.Malformed: "INTERNAL", llm.Refused: "FAILED_PRECONDITION",
		llm.BrokenPromise: "INTERNAL", llm.Canceled: "CANCELLED",
	},
	ErrorForms: []format.ErrorForm{
		{Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, As: http.StatusBadRequest, Words: "Request payload size exceeds the limit"},
		{Kind: llm.TooLong, Words: "The input token count exceeds the maximum number of tokens allowed"},
		{Kind: llm.Invalid, Status: http.StatusConflict, Code: "ABORTED"},
		{Kind: llm.Unsupported, Status: http.StatusNotImplemented, Code: "UNIMPLEMENTED"},
		{Kind: llm.Auth, Status: http.StatusBadRequest, Code: "INVALID_ARGUMENT", Words: "API key not valid. Please pass a valid API key"},
	},
	MoreErrors: []string{"PERMISSION_DENIED"},
}

func (Format) Properties() *format.Properties { return &properties }

func (Format) Detects(doc []byte) bool {
	return js.Kind(camelGet(doc, "candidates")) == '[' || js.Kind(camelGet(doc, "usageMetadata")) == '{'
}

var reasons = map[string]llm.Reason{
	"STOP":                     llm.Stop,
	"MAX_TOKENS":               llm.Length,
	"SAFETY":                   llm.ContentFilter,
	"RECITATION":               llm.ContentFilter,
	"BLOCKLIST":                llm.ContentFilter,
	"PROHIBITED_CONTENT":       llm.ContentFilter,
	"SPII":                     llm.ContentFilter,
	"IMAGE_SAFETY":             llm.ContentFilter,
	"IMAGE_PROHIBITED_CONTENT": llm.ContentFilter,
	"IMAGE_RECITATION":         llm.ContentFilter,
	"JAILBREAK":                llm.ContentFilter,

	"OTHER":                     llm.OtherReason,
	"LANGUAGE":                  llm.OtherReason,
	"MALFORMED_FUNCTION_CALL":   llm.OtherReason,
	"MALFORMED_RESPONSE":        llm.OtherReason,
	"UNEXPECTED_TOOL_CALL":      llm.OtherReason,
	"TOO_MANY_TOOL_CALLS":       llm.OtherReason,
	"MISSING_THOUGHT_SIGNATURE": llm.OtherReason,
	"NO_IMAGE":                  llm.OtherReason,
	"IMAGE_OTHER":               llm.OtherReason,
}

var finish = map[llm.Reason]string{
	llm.Stop: "STOP", llm.ToolCalls: "STOP", llm.Length: "MAX_TOKENS", llm.ContentFilter: "SAFETY", llm.OtherReason: "OTHER",
}

func (Format) DecodeStream(a *codec.Answer, src io.Reader) error {
	a.PlainStop = true
	s := &stream{Answer: a}
	if a.Relaying {
		a.Position = s
	}
	looked := codec.Peek(src)
	switch looked.First {
	case '[':
		a.IsArray = true
		return s.array(looked)
	case '{':
		body, err := document.Read(looked)
		if err != nil {
			return a.Ended(err)
		}
		return a.DecodeDocument(body)
	}
	return a.ReadEvents(sse.NewReader(looked), s.chunk)
}

// array reads a stream that is one JSON array, as the vendor sends it unless the query asks for events.
func (s *stream) array(src io.Reader) error {
	bounded := &eachUpTo{src: src}
	bounded.next()
	dec := json.NewDecoder(bounded)
	if _, err := dec.Token(); err != nil {
		return s.Ended(err)
	}
	for dec.More() {
		bounded.next()
		var chunk json.RawMessage
		if err := dec.Decode(&chunk); err != nil {
			return s.Ended(err)
		}
		s.Next(dec.InputOffset())
		s.Surrogates = true // not checked
		if s.Take(chunk, codec.MaxEventValues) {
			s.chunk(chunk)
		}
		if s.Err != nil {
			return s.DecodeFailure()
		}
		if s.Stopped {
			return nil
		}
	}
	return s.Ended(io.EOF)
}

// eachUpTo is a reader that fails if there are too many bytes before next is
// called again.
type eachUpTo struct {
	src  io.Reader
	left int
}

func (r *eachUpTo) next() { r.left = sse.MaxEvent }

func (r *eachUpTo) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, sse.ErrTooLong
	}
	n, err := r.src.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

func (Format) EncodeError(e *codec.Encoder, err *llm.Error, status int) {
	e.Object()
	e.ObjectField("error")
	e.IntField("code", status)
	e.StringField("message", codec.ErrorMessage(err, &properties))
	e.StringField("status", e.Host.Registry.ErrorCode(err, &properties))
	switch {
	case err.Kind == llm.Auth && status == http.StatusBadRequest: // by which clients know a wrong key
		e.RawField("details", []byte(`[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}]`))
	case err.RetryAfter > 0:
		e.RawField("details", fmt.Appendf(nil, `[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ss"}]`, strconv.FormatFloat(err.RetryAfter.Seconds(), 'f', -1, 64)))
	}
	e.End()
	e.End()
}

func (Format) DecodeError(_ *codec.Registry, body []byte) (code, message string) {
	for el := range js.Elements(body) { // [{"error":…}] of a stream
		body = el
		break
	}
	v := js.Get(body, "error")
	return cmp.Or(codec.StringOrNumber(js.Get(v, "status")), codec.StringOrNumber(js.Get(v, "code"))), js.Text(js.Get(v, "message"))
}

// getCamel returns the member of an object, however its name is written.
func getCamel(d *codec.Decoder, v []byte, name string) []byte {
	for key, val := range d.Members(v) {
		if string(codec.CamelCase(key)) == name {
			return val
		}
	}
	return nil
}

// camelGet returns the value of a name, however it is written.
func camelGet(v []byte, name string) []byte {
	for key, val := range js.Members(v) {
		if string(codec.CamelCase(key)) == name {
			return val
		}
	}
	return nil
}

func decodeUsage(d *codec.Decoder, v []byte, f *llm.Finish) {
	var rest codec.Fields
	u := llm.Usage{Hosted: f.Usage.Hosted}
	for key, val := range js.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "promptTokenCount":
			u.Input = d.Tokens(val)
		case "candidatesTokenCount":
			u.Output += d.Tokens(val)
		case "thoughtsTokenCount":
			u.Reasoning = d.Tokens(val)
			u.Output += u.Reasoning
		case "cachedContentTokenCount":
			u.CacheRead = d.Tokens(val)
		case "totalTokenCount":
		default:
			rest.Add(key, val)
		}
	}
	f.Usage = u
	d.KeepUsage(f, "usageMetadata", rest.Object())
}

func encodeUsage(e *codec.Encoder, f llm.Finish) {
	u := codec.ClampUsage(f.Usage)
	start := e.ObjectField("usageMetadata")
	e.IntField("promptTokenCount", u.Input)
	e.IntField("candidatesTokenCount", max(0, u.Output-u.Reasoning))
	e.OptInt("thoughtsTokenCount", u.Reasoning)
	e.OptInt("cachedContentTokenCount", u.CacheRead)
	e.IntField("totalTokenCount", u.Input+u.Output)
	e.Unsupported(u.CacheWrite != 0, "usage.cache_write")
	e.Unsupported(len(u.Hosted) > 0, "usage.hosted")
	e.EndRest(start, f.Extra[e.Host.Format]["usageMetadata"])
}

// geminiWords is the vocabulary of the format for finish reasons and error codes.
var geminiWords = codec.Words{
	Reasons: reasons, Finish: finish,
	Interrupted: interrupted,
	Codes:       codes,
}

func (Format) Words() *codec.Words { return &geminiWords }

// interrupted are the finish reasons of answers that are not complete although no limit was reached.
var interrupted = []string{
	"OTHER", "LANGUAGE", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
	"MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER",
}

// codes are error codes that are read and never written.
var codes = map[string]llm.Kind{
	"PERMISSION_DENIED": llm.Auth, "OUT_OF_RANGE": llm.TooLong, "UNIMPLEMENTED": llm.Unsupported, "ABORTED": llm.Invalid,
	"FAILED_PRECONDITION": llm.Invalid,
	"INTERNAL":            llm.Server, "INVALID_ARGUMENT": llm.Invalid, // several kinds share them
}
