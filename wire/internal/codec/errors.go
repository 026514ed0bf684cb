package codec

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// KindStatus is the status with which a kind of error is sent.
var KindStatus = map[llm.Kind]int{
	llm.Unknown: 500, llm.Invalid: 400, llm.Auth: 401, llm.NotFound: 404, llm.TooLong: 400, llm.Unsupported: 400,
	llm.RateLimited: 429, llm.Overloaded: 503, llm.Server: 500, llm.Network: 502, llm.Timeout: 504, llm.Incomplete: 502,
	llm.Malformed: 502, llm.Refused: 400, llm.BrokenPromise: 502, llm.Canceled: 499,
	llm.ByteLimit: 502, llm.TextLimit: 502, llm.ThinkingLimit: 502, llm.EventLimit: 502, llm.TimeLimit: 504, llm.Stalled: 504,
}

// StandIns maps kinds for which most formats have no code to kinds whose code is used instead.
var StandIns = map[llm.Kind]llm.Kind{
	llm.ByteLimit: llm.Malformed, llm.TextLimit: llm.Malformed, llm.ThinkingLimit: llm.Malformed, llm.EventLimit: llm.Malformed,
	llm.TimeLimit: llm.Timeout, llm.Stalled: llm.Timeout,
}

// statusKinds is what an HTTP status means where the body says nothing else.
var statusKinds = map[int]llm.Kind{
	400: llm.Invalid, 401: llm.Auth, 402: llm.Auth, 403: llm.Auth, 404: llm.NotFound, 405: llm.Invalid,
	408: llm.Timeout, 413: llm.TooLong, 415: llm.Invalid, 422: llm.Invalid, 429: llm.RateLimited, 499: llm.Canceled,
	500: llm.Server, 501: llm.Unsupported, 502: llm.Server, 503: llm.Overloaded, 504: llm.Timeout, 529: llm.Overloaded,
}

// phrases are words of vendors' messages that tell the kind of an error whose
// code only says that the request is wrong.
var phrases = []struct {
	text string
	kind llm.Kind
}{
	{"does not support tools", llm.Unsupported},
	{"tool choice requires --enable-auto-tool-choice", llm.Unsupported},
	{"tools param requires --jinja", llm.Unsupported},
	{"does not support function calling", llm.Unsupported},
	{"doesn't support tool use", llm.Unsupported},
	{"function calling is not enabled", llm.Unsupported},
	{"tool use is not supported", llm.Unsupported},
	{"does not support thinking", llm.Unsupported},
	{"image input is not supported", llm.Unsupported},          // llama.cpp says 500
	{"missing data required for image input", llm.Unsupported}, // Ollama says 500
	{"does not support image", llm.Unsupported},
	{"not support image input", llm.Unsupported},
	{"image_url is only supported by certain models", llm.Unsupported},
	{"is not a multimodal model", llm.Unsupported},                   // vLLM
	{"no endpoints found that support image input", llm.Unsupported}, // OpenRouter
	{"prompt is too long", llm.TooLong},
	{"input is too long", llm.TooLong},
	{"maximum context length", llm.TooLong},
	{"context length", llm.TooLong},
	{"context_length", llm.TooLong},
	{"context size", llm.TooLong},
	{"exceed context limit", llm.TooLong},
	{"input token count", llm.TooLong},
	{"too many tokens", llm.TooLong},
	{"payload size exceeds", llm.TooLong},
	{"content policy", llm.Refused},
	{"api key not valid", llm.Auth}, // Google says 400 INVALID_ARGUMENT of a wrong key
	{"api key expired", llm.Auth},
	{"api key not found", llm.Auth},
}

// errorForm returns how a format sends err, and the zero value if it has no special form.
func errorForm(err *llm.Error, p *format.Properties) format.ErrorForm {
	status := err.Status
	if status < 400 || status > 599 {
		status = 0
	}
	for _, form := range p.ErrorForms {
		if (form.Kind == err.Kind || form.Kind == StandIns[err.Kind]) && form.Status == status {
			return form
		}
	}
	return format.ErrorForm{}
}

// ErrorStatus is the status with which a format sends err: its own, or the one its kind suggests.
func ErrorStatus(err *llm.Error, p *format.Properties) int {
	if form := errorForm(err, p); form.As != 0 {
		return form.As
	}
	if err.Status >= 400 && err.Status < 600 {
		return err.Status
	}
	return KindStatus[err.Kind]
}

// ErrorCode returns the code of err if the format has it for the kind, and otherwise the
// format's code for the kind: the code of another vendor says nothing to a client.
func (r *Registry) ErrorCode(err *llm.Error, p *format.Properties) string {
	if kind, _ := r.Kind(err.Code); kind == err.Kind && slices.Contains(p.MoreErrors, err.Code) {
		return err.Code
	}
	if code := errorForm(err, p).Code; code != "" {
		return code
	}
	return cmp.Or(p.Errors[err.Kind], p.Errors[StandIns[err.Kind]])
}

// ErrorMessage returns what err says, with the words by which clients of the format know it.
func ErrorMessage(err *llm.Error, p *format.Properties) string {
	message := strings.ReplaceAll(err.Kind.String(), "_", " ")
	if err.Err != nil {
		message = err.Err.Error()
	}
	if words := errorForm(err, p).Words; !strings.Contains(strings.ToLower(message), strings.ToLower(words)) {
		return words + ": " + message
	}
	return message
}

const maxMessage = 2000

func (r *Registry) errorKind(status int, code, message string, own map[string]llm.Kind) llm.Kind {
	kind, ok := own[code]
	if !ok {
		kind, ok = r.Kind(code)
	}
	if !ok {
		if kind, ok = statusKinds[status]; !ok && status >= 500 {
			kind = llm.Server
		}
	}
	if status == 0 && kind == llm.Unknown {
		if n, err := strconv.Atoi(code); err == nil {
			kind = statusKinds[n]
		}
	}
	if kind == llm.Invalid || kind == llm.Unknown || kind == llm.Server {
		message = strings.ToLower(message)
		for _, p := range phrases {
			if strings.Contains(message, p.text) {
				return p.kind
			}
		}
	}
	if kind == llm.Unknown && status == 0 {
		return llm.Server // a vendor that fails in the middle of its answer
	}
	return kind
}

// retryAfter reads how long to wait: from the headers, or from the details of
// a Gemini error.
func retryAfter(header http.Header, body []byte) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	after := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, time.Until(at))
	}
	for detail := range js.Elements(js.Get(js.Get(js.Trim(body), "error"), "details")) {
		if d, err := time.ParseDuration(js.Text(js.Get(detail, "retryDelay"))); err == nil {
			return max(0, d)
		}
	}
	return 0
}

// seconds returns a plausible duration, and 0 for other numbers.
func seconds(s float64) time.Duration {
	if !(s > 0 && s < 1e8) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// StringOrNumber returns a string or a number as text.
func StringOrNumber(v []byte) string {
	if js.Kind(v) == '0' {
		return string(v)
	}
	return js.Text(v)
}

// DecodeError reads a response that is not a success. Status 0 is an error inside a stream; header may be nil. The kind
// comes from the vendor's code, its message and the status, in this order.
func (h *Host) DecodeError(status int, header http.Header, body []byte) *llm.Error {
	err := &llm.Error{Op: "wire." + h.Format, Status: status}
	body = js.Trim(body)
	var message string
	if h.Impl != nil {
		err.Code, message = h.Impl.DecodeError(h.Registry, body)
	}
	if code, words := AWSError(header, body); err.Code == "" && code != "" {
		err.Code, message = code, cmp.Or(message, words) // Amazon's, whatever format it serves
	}
	if message == "" {
		message = strings.TrimSpace(string(body[:min(len(body), 300)]))
	}
	if message == "" {
		message = "the server said nothing"
	}
	err.Err = errors.New(strings.ToValidUTF8(message[:min(len(message), maxMessage)], "\ufffd"))
	if text := js.Text(js.Get(js.Get(body, "error"), "failed_generation")); text != "" {
		err.Err = &format.FailedGeneration{Text: text, Err: err.Err}
	}
	err.Kind = h.Registry.errorKind(status, err.Code, message, h.ownCodes())
	err.RetryAfter = retryAfter(header, body)
	return err
}

// ownCodes returns the meaning of the codes of a program's own format. A code that several kinds share means the first of
// them.
func (h *Host) ownCodes() map[string]llm.Kind {
	if !h.Custom {
		return nil
	}
	words := h.Impl.Properties().Errors
	codes := make(map[string]llm.Kind, len(words))
	for _, kind := range slices.Sorted(maps.Keys(words)) {
		if _, ok := codes[words[kind]]; !ok && words[kind] != "" {
			codes[words[kind]] = kind
		}
	}
	return codes
}
