package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// gemini is the format of generateContent. Its names are read in camel case
// and in snake case, as the vendor does.
type gemini struct{}

// geminiProperties are what the format can do.
var geminiProperties = Properties{
	Name: Gemini, Path: "models/{model}:generateContent", StreamPath: "models/{model}:streamGenerateContent?alt=sse", StreamType: "text/event-stream",
	KeepAlive: "\n\n", LogProbs: "gemini",
	NoComments: true, // Google's clients for Go and Python end with an error at one
	Features: []Feature{
		HostedSearch, ChoiceRequired, ChoiceNamed, ChoiceNone, ChoiceAllowed, OutputSchema, OutputAnyJSON, MaxTokens, Temperature, TopP,
		TopK, FrequencyPenalty, PresencePenalty, Seed, StopSequences, SeveralAnswers, ReasoningOff, ReasoningEffort, ReasoningBudget,
	},
	Models:      ModelList{Path: "models", List: "models", ID: "name"},
	OutputField: "response_format",
	UserFirst:   true, LetterFirst: true, OptionalCallIDs: true,
	Count:     TokenCount{"models/{model}:countTokens", "totalTokens"},
	AnswerIDs: true,
	Signature: "thoughtSignature",
	// The value that the vendor documents for calls that its models did not make.
	Thinking: ThinkingRules{Efforts: []string{"minimal", "low", "medium", "high"}, EffortSince: catalog.MakeVersion(3), OneMeasure: true, Dynamic: true, Unsigned: "skip_thought_signature_validator", UnsignedSince: catalog.MakeVersion(3)},
	Bounds:   map[string]RequestBounds{"": {MaxStops: 5, SeenText: true}},
	Errors: map[llm.Kind]string{
		llm.Unknown: "UNKNOWN", llm.Invalid: "INVALID_ARGUMENT", llm.Auth: "UNAUTHENTICATED", llm.NotFound: "NOT_FOUND",
		llm.TooLong: "INVALID_ARGUMENT", llm.Unsupported: "INVALID_ARGUMENT", llm.RateLimited: "RESOURCE_EXHAUSTED",
		llm.Overloaded: "UNAVAILABLE", llm.Server: "INTERNAL", llm.Network: "INTERNAL", llm.Timeout: "DEADLINE_EXCEEDED",
		llm.Incomplete: "DATA_LOSS", llm.Malformed: "INTERNAL", llm.Refused: "FAILED_PRECONDITION",
		llm.BrokenPromise: "INTERNAL", llm.Canceled: "CANCELLED",
	},
	ErrorForms: []ErrorForm{
		{Kind: llm.TooLong, Status: http.StatusRequestEntityTooLarge, As: http.StatusBadRequest, Words: "Request payload size exceeds the limit"},
		{Kind: llm.TooLong, Words: "The input token count exceeds the maximum number of tokens allowed"},
		{Kind: llm.Invalid, Status: http.StatusConflict, Code: "ABORTED"},
		{Kind: llm.Unsupported, Status: http.StatusNotImplemented, Code: "UNIMPLEMENTED"},
		{Kind: llm.Auth, Status: http.StatusBadRequest, Code: "INVALID_ARGUMENT", Words: "API key not valid. Please pass a valid API key"},
	},
	MoreErrors: []string{"PERMISSION_DENIED"},
}

func (gemini) properties() *Properties { return &geminiProperties }

func (gemini) detects(doc []byte) bool {
	return js.Kind(camelGet(doc, "candidates")) == '[' || js.Kind(camelGet(doc, "usageMetadata")) == '{'
}

var geminiReasons = map[string]llm.Reason{
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

var geminiFinish = map[llm.Reason]string{
	llm.Stop: "STOP", llm.ToolCalls: "STOP", llm.Length: "MAX_TOKENS", llm.ContentFilter: "SAFETY", llm.OtherReason: "OTHER",
}

func (gemini) decodeStream(a *answer, src io.Reader) error {
	a.plainStop = true
	s := &geminiStream{answer: a}
	if a.relaying {
		a.place = s
	}
	looked := lookAt(src)
	switch looked.first {
	case '[':
		a.list = true
		return s.array(looked)
	case '{':
		body, err := ReadDocument(looked)
		if err != nil {
			return a.ended(err)
		}
		return a.whole(body)
	}
	return a.readEvents(sse.NewReader(looked), s.chunk)
}

// array reads a stream that is one JSON array, as the vendor sends it where
// nobody asks for events.
func (s *geminiStream) array(src io.Reader) error {
	bounded := &eachUpTo{src: src}
	bounded.next()
	dec := json.NewDecoder(bounded)
	if _, err := dec.Token(); err != nil {
		return s.ended(err)
	}
	for dec.More() {
		bounded.next()
		var chunk json.RawMessage
		if err := dec.Decode(&chunk); err != nil {
			return s.ended(err)
		}
		s.next(dec.InputOffset())
		s.surrogates = true // nobody looked
		if s.take(chunk, maxEventValues) {
			s.chunk(chunk)
		}
		if s.err != nil {
			return s.decodeFailure()
		}
		if s.stopped {
			return nil
		}
	}
	return s.ended(io.EOF)
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

func (gemini) encodeError(e *encoder, err *llm.Error, status int) {
	e.Object()
	e.Key("error")
	e.Object()
	e.IntField("code", status)
	e.StringField("message", errorMessage(err, &geminiProperties))
	e.StringField("status", e.c.all.errorCode(err, &geminiProperties))
	switch {
	case err.Kind == llm.Auth && status == http.StatusBadRequest: // by which clients know a wrong key
		e.RawField("details", []byte(`[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}]`))
	case err.RetryAfter > 0:
		e.RawField("details", fmt.Appendf(nil, `[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ss"}]`, strconv.FormatFloat(err.RetryAfter.Seconds(), 'f', -1, 64)))
	}
	e.End()
	e.End()
}

func (gemini) decodeError(_ *registry, body []byte) (code, message string) {
	for el := range js.Elements(body) { // [{"error":…}] of a stream
		body = el
		break
	}
	v := js.Get(body, "error")
	return cmp.Or(word(js.Get(v, "status")), word(js.Get(v, "code"))), js.Text(js.Get(v, "message"))
}

// camel returns a name in camel case. It allocates only where the name is
// written otherwise.
func camel(key []byte) []byte {
	if bytes.IndexByte(key, '_') < 0 {
		return key
	}
	out := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		if key[i] == '_' && i+1 < len(key) {
			i++
			out = append(out, bytes.ToUpper(key[i:i+1])...)
		} else {
			out = append(out, key[i])
		}
	}
	return out
}

// camelGet returns the member of an object, however its name is written.
func (d *decoder) camelGet(v []byte, name string) []byte {
	for key, val := range d.members(v) {
		if string(camel(key)) == name {
			return val
		}
	}
	return nil
}

// camelGet returns the value of a name, however it is written.
func camelGet(v []byte, name string) []byte {
	for key, val := range js.Members(v) {
		if string(camel(key)) == name {
			return val
		}
	}
	return nil
}

func (gemini) decodeUsage(d *decoder, v []byte, f *llm.Finish) {
	var rest fields
	u := llm.Usage{Hosted: f.Usage.Hosted}
	for key, val := range js.Members(v) {
		switch string(camel(key)) {
		case "promptTokenCount":
			u.Input = d.tokens(val)
		case "candidatesTokenCount":
			u.Output += d.tokens(val)
		case "thoughtsTokenCount":
			u.Reasoning = d.tokens(val)
			u.Output += u.Reasoning
		case "cachedContentTokenCount":
			u.CacheRead = d.tokens(val)
		case "totalTokenCount":
		default:
			rest.add(key, val)
		}
	}
	f.Usage = u
	d.keepUsage(f, "usageMetadata", rest.object())
}

func (gemini) encodeUsage(e *encoder, f llm.Finish) {
	u := told(f.Usage)
	e.Key("usageMetadata")
	start := e.Object()
	e.IntField("promptTokenCount", u.Input)
	e.IntField("candidatesTokenCount", max(0, u.Output-u.Reasoning))
	e.optInt("thoughtsTokenCount", u.Reasoning)
	e.optInt("cachedContentTokenCount", u.CacheRead)
	e.IntField("totalTokenCount", u.Input+u.Output)
	e.unsupported(u.CacheWrite != 0, "usage.cache_write")
	e.unsupported(len(u.Hosted) > 0, "usage.hosted")
	e.rest(start, f.Extra[e.c.Format]["usageMetadata"])
}

// geminiWords is the vocabulary of the format for finish reasons and error codes.
var geminiWords = words{
	reasons: geminiReasons, finish: geminiFinish,
	interrupted: geminiInterrupted,
	codes:       geminiCodes,
}

func (gemini) words() *words { return &geminiWords }

// geminiInterrupted are the finish reasons of answers that are not complete although no limit was reached.
var geminiInterrupted = []string{
	"OTHER", "LANGUAGE", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
	"MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER",
}

// geminiCodes are error codes that are read and never written.
var geminiCodes = map[string]llm.Kind{
	"PERMISSION_DENIED": llm.Auth, "OUT_OF_RANGE": llm.TooLong, "UNIMPLEMENTED": llm.Unsupported, "ABORTED": llm.Invalid,
	"FAILED_PRECONDITION": llm.Invalid,
	"INTERNAL":            llm.Server, "INVALID_ARGUMENT": llm.Invalid, // several kinds share them
}
