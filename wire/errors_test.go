package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// vendorErrors are errors as vendors and the servers that copy them send them.
var vendorErrors = []struct {
	Format string
	status int
	body   string
	want   llm.Kind
	code   string
}{
	{Gemini, 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.Auth, "INVALID_ARGUMENT"},
	{Gemini, 400, `{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT"}}`, llm.Auth, "INVALID_ARGUMENT"},
	{Chat, 401, `{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.Auth, "invalid_api_key"},
	{Chat, 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Auth, "insufficient_quota"},
	{Chat, 429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, llm.RateLimited, "rate_limit_exceeded"},
	{Chat, 400, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.TooLong, "context_length_exceeded"},
	{Chat, 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice","type":"BadRequestError","code":400}`, llm.Unsupported, "400"},
	{Chat, 400, `{"error":{"message":"Failed to call a function","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<f>"}}`, llm.BrokenPromise, "tool_use_failed"},
	{Chat, 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.Unsupported, "server_error"},
	{Chat, 404, `{"detail":"Not Found"}`, llm.NotFound, ""},
	{Chat, 502, `<html>Bad gateway</html>`, llm.Server, ""},
	{Chat, 503, ``, llm.Overloaded, ""},
	{Responses, 0, `{"type":"error","code":"server_error","message":"boom"}`, llm.Server, "server_error"},
	{Messages, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, "overloaded_error"},
	{Messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.TooLong, "invalid_request_error"},
	{Messages, 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.TooLong, "request_too_large"},
	{Messages, 403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, llm.Auth, "permission_error"},
	{Gemini, 400, `{"error":{"code":400,"message":"Invalid value","status":"INVALID_ARGUMENT"}}`, llm.Invalid, "INVALID_ARGUMENT"},
	{Gemini, 503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, llm.Overloaded, "UNAVAILABLE"},
	{Converse, 429, `{"__type":"com.amazon.bedrock#ThrottlingException","message":"Too many requests"}`, llm.RateLimited, "ThrottlingException"},
	{Converse, 400, `{"__type":"ValidationException:http://internal.amazon.com/","message":"Input is too long for requested model."}`, llm.TooLong, "ValidationException"},
	{Converse, 400, `{"__type":"ValidationException","message":"This model doesn't support tool use."}`, llm.Unsupported, "ValidationException"},
	{Converse, 403, `{"Message":"The security token included in the request is invalid"}`, llm.Auth, ""},
	{Converse, 403, `{"__type":"ExpiredTokenException","message":"expired"}`, llm.Auth, "ExpiredTokenException"},
	{Converse, 424, `{"__type":"ModelErrorException","message":"the model failed"}`, llm.Server, "ModelErrorException"},
	{Converse, 429, `{"__type":"ModelNotReadyException","message":"loading"}`, llm.Overloaded, "ModelNotReadyException"},
	{Converse, 408, `{"__type":"ModelTimeoutException","message":"slow"}`, llm.Timeout, "ModelTimeoutException"},
	{Messages, 400, `{"__type":"ValidationException","message":"of Amazon, in another format"}`, llm.Invalid, "ValidationException"},
	{Ollama, 400, `{"error":"registry.ollama.ai/library/gemma3:latest does not support tools"}`, llm.Unsupported, ""},
	{Ollama, 404, `{"error":"model \"x\" not found, try pulling it first"}`, llm.NotFound, ""},
}

func TestVendorErrors(t *testing.T) {
	for _, v := range vendorErrors {
		err := Codec{Format: v.Format}.DecodeError(v.status, nil, []byte(v.body))
		if err.Kind != v.want || err.Code != v.code || err.Status != v.status || err.Err == nil {
			t.Errorf("%s %d %s: kind %s, code %q: %v", v.Format, v.status, v.body, err.Kind, err.Code, err)
		}
	}
}

// TestErrorRoundTrip: what we send as a server is understood by ourselves as a
// client, and no error becomes a success.
func TestErrorRoundTrip(t *testing.T) {
	for _, format := range Formats() {
		c := Codec{Format: format}
		for kind := range codec.KindStatus {
			status, body := c.EncodeError(&llm.Error{Kind: kind, Err: errors.New("it went wrong")})
			got := c.DecodeError(status, nil, body)
			if status < 400 || !strings.Contains(got.Error(), "it went wrong") {
				t.Errorf("%s %s: %d %s", format, kind, status, body)
			}
			if got.Kind != kind && format == Chat && kind != llm.Unknown {
				t.Errorf("%s: %s became %s", format, kind, got.Kind)
			}
			if got.Kind.Transient() != kind.Transient() && format != Ollama {
				if !sameStatus(kind) {
					t.Errorf("%s: %s became %s, which asks for something else", format, kind, got.Kind)
				}
			}
		}
	}
}

// sameStatus are the kinds for which only some formats have a word: others say
// that the server failed.
func sameStatus(k llm.Kind) bool {
	switch k {
	case llm.Unknown, llm.Incomplete, llm.Malformed, llm.BrokenPromise, llm.Canceled:
		return true
	}
	_, ok := codec.StandIns[k]
	return ok
}

func TestRetryAfter(t *testing.T) {
	c := Codec{Format: Gemini}
	body := []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"}]}}`)
	for _, v := range []struct {
		header http.Header
		want   time.Duration
	}{
		{nil, 3500 * time.Millisecond},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{http.Header{"Retry-After": {"Inf"}}, 0},
		{http.Header{"Retry-After": {"-1"}}, 0},
		{http.Header{"Retry-After": {"soon"}}, 3500 * time.Millisecond},
		{http.Header{"Retry-After": {"Thu, 01 Jan 1970 00:00:00 GMT"}}, 0},
	} {
		if got := c.DecodeError(429, v.header, body).RetryAfter; got != v.want {
			t.Errorf("%v: %v", v.header, got)
		}
	}
}

// TestStreamErrors: an error inside a stream is read as one, in every format.
func TestStreamErrors(t *testing.T) {
	for _, format := range Formats() {
		var b strings.Builder
		c := Codec{Format: format}
		enc := c.NewStream(&b, wireformat.Head{ID: "i", Model: "m"})
		write(t, enc, llm.TextDelta{Text: "half"})
		if err := enc.Fail(&llm.Error{Kind: llm.Overloaded, Err: errors.New("too busy")}); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range c.DecodeStream(strings.NewReader(b.String())) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), "too busy") {
			t.Errorf("%s: %v\n%s", format, last, b.String())
		}
		if format != Ollama && llm.KindOf(last) != llm.Overloaded {
			t.Errorf("%s: kind %s", format, llm.KindOf(last))
		}
	}
}

// TestErrorHeaders: Amazon says what went wrong in a header, whatever format it
// serves, and a server of ours says it the same way.
func TestErrorHeaders(t *testing.T) {
	header := http.Header{"X-Amzn-Errortype": {"ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/"}}
	for _, format := range []string{Converse, Messages, Chat} {
		err := Codec{Format: format}.DecodeError(400, header, []byte(`{"message":"slow down"}`))
		if err.Kind != llm.RateLimited || err.Code != "ThrottlingException" || !strings.Contains(err.Error(), "slow down") {
			t.Errorf("%s: %v", format, err)
		}
	}
	known := &llm.Error{Kind: llm.NotFound, Code: "model_not_found", Err: errors.New("no such model")}
	c := Codec{Format: Converse}
	status, body := c.EncodeError(known)
	if got := c.ErrorHeader(known).Get("X-Amzn-ErrorType"); got != "ResourceNotFoundException" || status != 404 || !strings.Contains(string(body), got) {
		t.Errorf("%d %s %s", status, got, body)
	}
	own := map[string]string{Chat: "model_not_found", Responses: "model_not_found", Messages: "not_found_error", Gemini: "NOT_FOUND", Converse: "ResourceNotFoundException"}
	for format, want := range own {
		for _, code := range own {
			_, body := Codec{Format: format}.EncodeError(&llm.Error{Kind: llm.NotFound, Code: code, Err: errors.New("no such model")})
			if !strings.Contains(string(body), `"`+want+`"`) || code != want && strings.Contains(string(body), code) {
				t.Errorf("%s: the code %s became %s", format, code, body)
			}
		}
	}
	if _, body := (Codec{Format: Responses}).EncodeError(&llm.Error{Kind: llm.Auth, Code: "insufficient_quota", Err: errors.New("pay")}); !strings.Contains(string(body), `"insufficient_quota"`) {
		t.Errorf("a code of the vendor itself: %s", body)
	}
	if got := (Codec{Format: Chat}).ErrorHeader(known); got != nil {
		t.Errorf("chat: %v", got)
	}
}

// TestGeminiSaysWhenToAskAgain checks that clients of Gemini find the time to wait where its own errors
// have it, and read it.
func TestGeminiSaysWhenToAskAgain(t *testing.T) {
	c := Codec{Format: Gemini}
	status, body := c.EncodeError(&llm.Error{Kind: llm.RateLimited, RetryAfter: 3500 * time.Millisecond, Err: errors.New("slow down")})
	if !json.Valid(body) || !strings.Contains(string(body), `"retryDelay":"3.5s"`) {
		t.Errorf("%s", body)
	}
	if err := c.DecodeError(status, nil, body); err.RetryAfter != 3500*time.Millisecond || err.Kind != llm.RateLimited {
		t.Errorf("%+v", err)
	}
	if _, body := c.EncodeError(&llm.Error{Kind: llm.RateLimited, Err: errors.New("slow down")}); strings.Contains(string(body), "details") {
		t.Errorf("%s", body)
	}
}
