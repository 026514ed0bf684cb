package wire

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// converse is the format of Amazon Bedrock's Converse and ConverseStream. Its
// streams are binary frames. What only some models take, like a budget for
// thinking, has the name that their maker gave it: see Quirks.ModelFields.
type converse struct{}

// converseProperties are what the format can do.
var converseProperties = Properties{
	Name: Converse, Path: "model/{model}/converse", StreamPath: "model/{model}/converse-stream", StreamType: eventstream.MediaType,
	Features: []Feature{
		StrictTools, HostedSearch, ChoiceRequired, ChoiceNamed, OutputSchema, OutputBesideTools, MaxTokens, Temperature, TopP,
		StopSequences, ReasoningEffort,
	},
	OutputField: "response_format",
	Count:       TokenCount{"model/{model}/count-tokens", "inputTokens"},
	SystemFirst: true, UserFirst: true, DeclaredCalls: true, StreamedArgs: true,
	Signature: "signature",
	Bounds: map[string]RequestBounds{
		"":       {SeenText: true, SeenResults: true, Describes: converseDocument, Media: converseMedia, ClosedOutput: true, MaxTemperature: 1},
		"claude": {SeenText: true, SeenResults: true, Describes: converseDocument, Media: converseMedia, ClosedOutput: true, MaxTemperature: 1, SeenStops: true, TrimmedEnd: true},
	},
	Errors: map[llm.Kind]string{
		llm.Unknown: "InternalServerException", llm.Invalid: "ValidationException", llm.Auth: "AccessDeniedException",
		llm.NotFound: "ResourceNotFoundException", llm.TooLong: "ValidationException", llm.Unsupported: "ValidationException",
		llm.RateLimited: "ThrottlingException", llm.Overloaded: "ServiceUnavailableException", llm.Server: "InternalServerException",
		llm.Network: "InternalServerException", llm.Timeout: "ModelTimeoutException", llm.Incomplete: "ModelStreamErrorException",
		llm.Malformed: "ModelErrorException", llm.Refused: "ValidationException", llm.BrokenPromise: "ModelErrorException",
		llm.Canceled: "ModelStreamErrorException",
	},
	ErrorForms: []ErrorForm{
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

func (converse) properties() *Properties { return &converseProperties }

func (converse) detects(doc []byte) bool {
	return js.Kind(js.Get(js.Get(doc, "output"), "message")) == '{' && js.Get(doc, "stopReason") != nil
}

// detectsFrame reports whether a frame is part of a stream of this format, and
// of no other that comes in frames.
func (converse) detectsFrame(f eventstream.Frame) bool {
	switch f.Name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop":
		return f.Kind == eventstream.Event
	}
	return false
}

var converseReasons = map[string]llm.Reason{
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

var converseFinish = map[llm.Reason]string{
	llm.Stop: "end_turn", llm.ToolCalls: "tool_use", llm.Length: "max_tokens", llm.ContentFilter: "content_filtered",
	llm.OtherReason: "malformed_model_output",
}

// decodeStream reads frames, or the one document that a server sent instead.
func (converse) decodeStream(a *answer, src io.Reader) error {
	looked := lookAt(src)
	if looked.first == '{' {
		body, err := ReadDocument(looked)
		if err != nil {
			return a.ended(err)
		}
		return a.whole(body)
	}
	s := &converseStream{answer: a}
	if a.relaying {
		a.place = s
	}
	for frames := eventstream.NewReader(bufio.NewReader(looked)); !a.stopped; {
		f, err := frames.Next()
		switch {
		case errors.Is(err, eventstream.ErrMalformed):
			return a.c.fail("DecodeStream", llm.Malformed, err)
		case frames.Partial(): // half a frame is a lost stream, whatever came before it
			return fmt.Errorf("%w: %w", errNoEnd, err)
		case err != nil:
			return a.ended(err)
		}
		a.next(frames.Offset())
		more := s.event(f)
		if a.err != nil {
			return a.decodeFailure()
		}
		if !more {
			return nil
		}
	}
	return nil
}

// Errors.

// awsErrorHeader says what kind of error a response of Amazon's is.
const awsErrorHeader = "X-Amzn-Errortype"

// encodeError writes the code into the body too, where clients look for it if
// there is no header.
func (converse) encodeError(e *encoder, err *llm.Error, _ int) {
	e.Object()
	e.StringField("__type", awsCode(e.c.all, err))
	e.StringField("message", errorMessage(err, &converseProperties))
	e.End()
}

func (converse) errorHeader(all *registry, err *llm.Error) http.Header {
	return http.Header{awsErrorHeader: {awsCode(all, err)}}
}

// awsCode returns the code of an error: its own, if it is one of Amazon's.
func awsCode(all *registry, err *llm.Error) string {
	if code := all.errorCode(err, &converseProperties); strings.HasSuffix(code, "Exception") {
		return code
	}
	return all.errorCode(&llm.Error{Kind: err.Kind}, &converseProperties)
}

func (converse) decodeError(_ *registry, body []byte) (code, message string) {
	return awsError(nil, body)
}

// awsError reads an error of Amazon's. The code stands in a header or in the
// body, at times with a namespace before it or an address after it.
func awsError(header http.Header, body []byte) (code, message string) {
	code = cmp.Or(header.Get(awsErrorHeader), js.Text(js.Get(body, "__type")))
	code, _, _ = strings.Cut(code, ":")
	if _, name, ok := strings.Cut(code, "#"); ok {
		code = name
	}
	if code != "" { // streams begin it with a small letter
		code = strings.ToUpper(code[:1]) + code[1:]
	}
	return code, cmp.Or(js.Text(js.Get(body, "message")), js.Text(js.Get(body, "Message")))
}

// Usage. Like Anthropic, the vendor counts cached input apart.

func (converse) decodeUsage(d *decoder, v []byte, f *llm.Finish) {
	if !d.object(v) {
		return
	}
	var u messagesUsage
	var rest fields
	for key, val := range js.Members(v) {
		switch string(key) {
		case "inputTokens":
			u.input = d.tokens(val)
		case "outputTokens":
			u.output = d.tokens(val)
		case "cacheReadInputTokens":
			u.read = d.tokens(val)
		case "cacheWriteInputTokens":
			u.write = d.tokens(val)
		case "totalTokens":
		default:
			rest.add(key, val)
		}
	}
	f.Usage = u.usage(nil)
	d.keepUsage(f, "usage", rest.object())
}

func (converse) encodeUsage(e *encoder, f llm.Finish) {
	u := told(f.Usage)
	e.Key("usage")
	start := e.Object()
	e.IntField("inputTokens", max(0, u.Input-u.CacheRead-u.CacheWrite))
	e.IntField("outputTokens", u.Output)
	e.IntField("totalTokens", u.Input+u.Output)
	e.optInt("cacheReadInputTokens", u.CacheRead)
	e.optInt("cacheWriteInputTokens", u.CacheWrite)
	e.unsupported(u.Reasoning > 0, "usage.reasoning")
	e.unsupported(len(u.Hosted) > 0, "usage.hosted")
	e.rest(start, f.Extra[e.c.Format]["usage"])
}

// noMetrics are the metrics of an answer that was not timed.
const noMetrics = `{"latencyMs":0}`

// encodeMetrics writes how long the answer took, which clients expect.
func (converse) encodeMetrics(e *encoder, own map[string]json.RawMessage) {
	if own["metrics"] == nil {
		e.RawField("metrics", []byte(noMetrics))
	}
}

// converseWords is the vocabulary of the format for finish reasons and error codes.
var converseWords = words{
	reasons: converseReasons, finish: converseFinish,
	interrupted: converseInterrupted,
	codes:       converseCodes,
}

func (converse) words() *words { return &converseWords }

// converseInterrupted are the finish reasons of answers that are not complete although no limit was reached.
var converseInterrupted = []string{
	"malformed_model_output", "malformed_tool_use",
}

// converseCodes are error codes that are read and never written.
var converseCodes = map[string]llm.Kind{
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
