// Package converse is the format of Amazon Bedrock Converse.
package converse

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	wiredocument "github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

// Format is the format of Amazon Bedrock's Converse and ConverseStream. Its
// streams are binary frames. What only some models take, like a budget for
// thinking, has the name that their maker gave it: see Quirks.ModelFields.
type Format struct{}

// properties are what the format can do.
var properties = format.Properties{
	Name: names.Converse, Path: "model/{model}/converse", StreamPath: "model/{model}/converse-stream", StreamType: eventstream.MediaType,
	Features: []format.Feature{
		format.StrictTools, format.HostedSearch, format.ChoiceRequired, format.ChoiceNamed, format.OutputSchema, format.OutputBesideTools, format.MaxTokens, format.Temperature, format.TopP,
		format.StopSequences, format.ReasoningEffort,
	},
	OutputField: "response_format",
	Count:       format.TokenCount{Path: "model/{model}/count-tokens", Member: "inputTokens"},
	SystemFirst: true, UserFirst: true, DeclaredCalls: true, StreamedArgs: true,
	Signature: "signature",
	Bounds: map[string]format.RequestBounds{
		"":       {SeenText: true, SeenResults: true, Describes: document, Media: media, ClosedOutput: true, MaxTemperature: 1},
		"claude": {SeenText: true, SeenResults: true, Describes: document, Media: media, ClosedOutput: true, MaxTemperature: 1, SeenStops: true, TrimmedEnd: true},
	},
	Errors: map[llm.Kind]string{
		llm.Unknown: "InternalServerException", llm.Invalid: "ValidationException", llm.Auth: "AccessDeniedException",
		llm.NotFound: "ResourceNotFoundException", llm.TooLong: "ValidationException", llm.Unsupported: "ValidationException",
		llm.RateLimited: "ThrottlingException", llm.Overloaded: "ServiceUnavailableException", llm.Server: "InternalServerException",
		llm.Network: "InternalServerException", llm.Timeout: "ModelTimeoutException", llm.Incomplete: "ModelStreamErrorException",
		llm.Malformed: "ModelErrorException", llm.Refused: "ValidationException", llm.BrokenPromise: "ModelErrorException",
		llm.Canceled: "ModelStreamErrorException",
	},
	ErrorForms: []format.ErrorForm{
		{Kind: llm.Auth, As: http.StatusForbidden},
		{Kind: llm.Timeout, As: http.StatusRequestTimeout},
		{Kind: llm.Incomplete, As: http.StatusFailedDependency},
		{Kind: llm.Malformed, As: http.StatusFailedDependency},
		{Kind: llm.BrokenPromise, As: http.StatusFailedDependency},
		{Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, Code: "RequestEntityTooLargeException"},
		{Kind: llm.TooLong, Words: "Input is too long"},
		{Kind: llm.Invalid, Status: http.StatusConflict, Code: "ConflictException"},
		{Kind: llm.Unsupported, Status: http.StatusNotImplemented, Code: "UnknownOperationException"},
	},
	MoreErrors: []string{
		"ServiceQuotaExceededException", "ModelNotReadyException", "InternalFailureException", "ThrottledException", "TooManyRequestsException", "ExpiredTokenException",
		"UnrecognizedClientException", "InvalidSignatureException", "IncompleteSignatureException", "MissingAuthenticationTokenException", "SerializationException",
		"UnknownOperationException", "ConflictException",
	},
}

func (Format) Properties() *format.Properties { return &properties }

func (Format) Detects(doc []byte) bool {
	return js.Kind(js.Get(js.Get(doc, "output"), "message")) == '{' && js.Get(doc, "stopReason") != nil
}

// DetectsFrame reports whether a frame is part of a stream of this format, and
// of no other that comes in frames.
func (Format) DetectsFrame(f eventstream.Frame) bool {
	switch f.Name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop":
		return f.Kind == eventstream.Event
	}
	return false
}

var reasons = map[string]llm.Reason{
	"end_turn":                      llm.Stop,
	"stop_sequence":                 llm.Stop,
	"tool_use":                      llm.ToolCalls,
	"max_tokens":                    llm.Length,
	"model_context_window_exceeded": llm.Length,
	"guardrail_intervened":          llm.ContentFilter,
	"content_filtered":              llm.ContentFilter,
	"malformed_model_output":        llm.OtherReason,
	"malformed_tool_use":            llm.OtherReason,
}

var finish = map[llm.Reason]string{
	llm.Stop: "end_turn", llm.ToolCalls: "tool_use", llm.Length: "max_tokens", llm.ContentFilter: "content_filtered",
	llm.OtherReason: "malformed_model_output",
}

// DecodeStream reads frames, or the one document that a server sent instead.
func (Format) DecodeStream(a *codec.Answer, src io.Reader) error {
	looked := codec.Peek(src)
	if looked.First == '{' {
		body, err := wiredocument.Read(looked)
		if err != nil {
			return a.Ended(err)
		}
		return a.DecodeDocument(body)
	}
	s := &converseStream{Answer: a}
	if a.Relaying {
		a.Position = s
	}
	for frames := eventstream.NewReader(bufio.NewReader(looked)); !a.Stopped; {
		f, err := frames.Next()
		switch {
		case errors.Is(err, eventstream.ErrMalformed):
			return a.Host.Fail("DecodeStream", llm.Malformed, err)
		case frames.Partial(): // half a frame is a lost stream, whatever came before it
			return fmt.Errorf("%w: %w", codec.ErrNoEnd, err)
		case err != nil:
			return a.Ended(err)
		}
		a.Next(frames.Offset())
		more := s.event(f)
		if a.Err != nil {
			return a.DecodeFailure()
		}
		if !more {
			return nil
		}
	}
	return nil
}

// EncodeError writes the code into the body too, where clients look if the header is missing.
func (Format) EncodeError(e *codec.Encoder, err *llm.Error, _ int) {
	e.Object()
	e.StringField("__type", awsCode(e.Host.Registry, err))
	e.StringField("message", codec.ErrorMessage(err, &properties))
	e.End()
}

func (Format) ErrorHeader(all *codec.Registry, err *llm.Error) http.Header {
	return http.Header{codec.AWSErrorHeader: {awsCode(all, err)}}
}

// awsCode returns the code of an error: its own, if it is one of Amazon's.
func awsCode(all *codec.Registry, err *llm.Error) string {
	if code := all.ErrorCode(err, &properties); strings.HasSuffix(code, "Exception") {
		return code
	}
	return all.ErrorCode(&llm.Error{Kind: err.Kind}, &properties)
}

func (Format) DecodeError(_ *codec.Registry, body []byte) (code, message string) {
	return codec.AWSError(nil, body)
}

// Usage. Like Anthropic, the vendor counts cached input apart.

func decodeUsage(d *codec.Decoder, v []byte, f *llm.Finish) {
	if !d.Object(v) {
		return
	}
	var u messages.Usage
	var rest codec.Fields
	for key, val := range js.Members(v) {
		switch string(key) {
		case "inputTokens":
			u.Input = d.Tokens(val)
		case "outputTokens":
			u.Output = d.Tokens(val)
		case "cacheReadInputTokens":
			u.Read = d.Tokens(val)
		case "cacheWriteInputTokens":
			u.Write = d.Tokens(val)
		case "totalTokens":
		default:
			rest.Add(key, val)
		}
	}
	f.Usage = u.Usage(nil)
	d.KeepUsage(f, "usage", rest.Object())
}

func encodeUsage(e *codec.Encoder, f llm.Finish) {
	u := codec.ClampUsage(f.Usage)
	start := e.ObjectField("usage")
	e.IntField("inputTokens", max(0, u.Input-u.CacheRead-u.CacheWrite))
	e.IntField("outputTokens", u.Output)
	e.IntField("totalTokens", u.Input+u.Output)
	e.OptInt("cacheReadInputTokens", u.CacheRead)
	e.OptInt("cacheWriteInputTokens", u.CacheWrite)
	e.Unsupported(u.Reasoning > 0, "usage.reasoning")
	e.Unsupported(len(u.Hosted) > 0, "usage.hosted")
	e.EndRest(start, f.Extra[e.Host.Format]["usage"])
}

// noMetrics are the metrics of an answer that was not timed.
const noMetrics = `{"latencyMs":0}`

// encodeMetrics writes how long the answer took, which clients expect.
func encodeMetrics(e *codec.Encoder, own map[string]json.RawMessage) {
	if own["metrics"] == nil {
		e.RawField("metrics", []byte(noMetrics))
	}
}

// words is the vocabulary of the format for finish reasons and error codes.
var words = codec.Words{
	Reasons: reasons, Finish: finish,
	Interrupted: interrupted,
	Codes:       codes,
}

func (Format) Words() *codec.Words { return &words }

// interrupted are the finish reasons of answers that are not complete although no limit was reached.
var interrupted = []string{
	"malformed_model_output", "malformed_tool_use",
}

// codes are error codes that are read and never written.
var codes = map[string]llm.Kind{
	"RequestEntityTooLargeException": llm.TooLong,
	"ServiceQuotaExceededException":  llm.RateLimited, "ModelNotReadyException": llm.Overloaded, "ModelErrorException": llm.Server,
	"ModelStreamErrorException": llm.Server, "InternalFailure": llm.Server, "InternalFailureException": llm.Server,
	"ServiceUnavailable": llm.Overloaded, "ThrottledException": llm.RateLimited, "TooManyRequestsException": llm.RateLimited,
	"ExpiredTokenException": llm.Auth, "UnrecognizedClientException": llm.Auth, "InvalidSignatureException": llm.Auth,
	"IncompleteSignatureException": llm.Auth, "MissingAuthenticationTokenException": llm.Auth, "InvalidClientTokenId": llm.Auth,
	"SignatureDoesNotMatch": llm.Auth, "OptInRequired": llm.Auth, "RequestExpired": llm.Auth, "SerializationException": llm.Invalid,
	"UnknownOperationException": llm.NotFound, "ConflictException": llm.Invalid,
	"InternalServerException": llm.Server, "ValidationException": llm.Invalid, // several kinds share them
}
