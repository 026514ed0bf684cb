package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

type statusError int

func (e statusError) Error() string   { return "the server said no" }
func (e statusError) StatusCode() int { return int(e) }

func TestFromError(t *testing.T) {
	_, notThere := os.Open("/does/not/exist")
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		why  string
		err  error
		want tool.Code
	}{
		// By type.
		{"who gave up is not who was slow", context.Canceled, tool.Cancelled},
		{"a deadline", fmt.Errorf("query: %w", context.DeadlineExceeded), tool.Timeout},
		{"cancelled, whatever the words around it say", fmt.Errorf("timeout: %w", context.Canceled), tool.Cancelled},
		{"no file", notThere, tool.NotFound},
		{"no permission", fmt.Errorf("open: %w", fs.ErrPermission), tool.Permission},
		{"refused", refused, tool.Network},
		{"refused, inside an HTTP client's error", &url.Error{Op: "Get", URL: "http://x", Err: refused}, tool.Network},
		{"reset", syscall.ECONNRESET, tool.Network},
		{"a connection that timed out", &net.DNSError{IsTimeout: true}, tool.Timeout},
		{"no such host", &net.DNSError{IsNotFound: true}, tool.Network},
		{"a vendor that limits", &llm.Error{Kind: llm.RateLimited}, tool.RateLimit},
		{"a vendor's refusal", &llm.Error{Kind: llm.Refused, Err: errors.New("connection refused")}, tool.ModelRefusal},
		// By status.
		{"a status it carries", statusError(403), tool.Permission},
		{"a status it carries", fmt.Errorf("fetch: %w", statusError(429)), tool.RateLimit},
		{"a status it carries", statusError(503), tool.Network},
		{"a status it carries", statusError(500), tool.Execution},
		{"429 in any wording", errors.New("HTTP 429"), tool.RateLimit},
		{"429 in any wording", errors.New("request failed (429)"), tool.RateLimit},
		{"429 in any wording", errors.New("error code: 429 - slow down, connection refused"), tool.RateLimit},
		{"a status in words", errors.New("unexpected status code 404"), tool.NotFound},
		{"a status in words", errors.New("HTTP/1.1 503 whatever"), tool.Network},
		{"a number that is no status", errors.New("row 404 is odd"), tool.Execution},
		// By wording.
		{"a model that refused is no connection that was", errors.New("Model refused to call tool"), tool.ModelRefusal},
		{"wording", errors.New("Rate limited by upstream: rate limit reached"), tool.RateLimit},
		{"wording", errors.New("Too Many Requests"), tool.RateLimit},
		{"wording", errors.New("dial tcp: connection refused"), tool.Network},
		{"wording", errors.New("read: connection reset by peer"), tool.Network},
		{"wording", errors.New("operation timed out"), tool.Timeout},
		{"wording", errors.New("EACCES: permission denied, open 'x'"), tool.Permission},
		{"wording", errors.New("ENOENT: no such file or directory"), tool.NotFound},
		{"wording", errors.New("1 validation error for run: field required"), tool.Validation},
		{"nothing known", errors.New("it broke"), tool.Execution},
	} {
		e := tool.FromError(c.err)
		if e.Code != c.want {
			t.Errorf("%s: %v is %s, want %s", c.why, c.err, e.Code, c.want)
		}
		if !errors.Is(e, c.err) {
			t.Errorf("%s: the cause of %v is lost", c.why, c.err)
		}
	}
	if tool.FromError(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestFromErrorKeepsAnError(t *testing.T) {
	own := &tool.Error{Code: tool.NotFound, Message: "no city Romx", Recoverable: true, Fix: "Try Rome."}
	got := tool.FromError(fmt.Errorf("weather: %w", own))
	if got.Code != tool.NotFound || got.Fix != "Try Rome." || got.Message != "weather: no city Romx" {
		t.Errorf("%+v", got)
	}
	if own.Message != "no city Romx" {
		t.Error("the original was changed")
	}
	if got := tool.FromError(&llm.Error{Kind: llm.RateLimited, RetryAfter: 7 * time.Second}); got.RetryAfter != 7*time.Second {
		t.Errorf("the wait is lost: %v", got.RetryAfter)
	}
}

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		err   *tool.Error
		want  string // after attempts 1, 2, 3, 4
		retry string // ShouldRetry, likewise
	}{
		{tool.Errorf(tool.Validation, "x"), "rephrase interference vortex escalate", "true true false false"},
		{&tool.Error{Code: tool.Validation, Recoverable: true}, "rephrase interference vortex escalate", "true true false false"},
		{tool.Errorf(tool.NotFound, "x"), "rephrase interference vortex escalate", "true true false false"},
		{tool.Errorf(tool.Execution, "x"), "same interference vortex escalate", "true true false false"},
		{tool.Errorf(tool.Timeout, "x"), "same same escalate escalate", "true true false false"},
		{tool.Errorf(tool.RateLimit, "x"), "same same escalate escalate", "true true false false"},
		{tool.Errorf(tool.Network, "x"), "same same escalate escalate", "true true false false"},
		{tool.Errorf(tool.Permission, "x"), "abort abort abort abort", "false false false false"},
		{tool.Errorf(tool.Cancelled, "x"), "abort abort abort abort", "false false false false"},
		{&tool.Error{Code: tool.Timeout}, "abort abort abort abort", "false false false false"},
		{&tool.Error{Code: "other", Recoverable: true}, "same interference vortex escalate", "true true false false"},
	} {
		var next, retry []string
		for attempt := 1; attempt <= 4; attempt++ {
			next = append(next, string(c.err.Next(attempt)))
			retry = append(retry, fmt.Sprint(c.err.ShouldRetry(attempt, 0)))
		}
		if diff := cmp.Diff(c.want, strings.Join(next, " ")); diff != "" {
			t.Errorf("%s:\n%s", c.err.Code, diff)
		}
		if diff := cmp.Diff(c.retry, strings.Join(retry, " ")); diff != "" {
			t.Errorf("%s, retry:\n%s", c.err.Code, diff)
		}
	}
}

func TestOnlyTransientErrorsAreTransient(t *testing.T) {
	want := map[tool.Code]bool{tool.Timeout: true, tool.RateLimit: true, tool.Network: true}
	for _, code := range []tool.Code{tool.Validation, tool.Permission, tool.NotFound, tool.Timeout, tool.RateLimit,
		tool.ModelRefusal, tool.Execution, tool.Network, tool.Cancelled} {
		if got := tool.Errorf(code, "x").Transient(); got != want[code] {
			t.Errorf("%s is transient: %v", code, got)
		}
	}
}

func TestForModel(t *testing.T) {
	e := tool.Errorf(tool.Validation, "the arguments do not match")
	e.Details = []tool.Detail{{Field: "days", Problem: "has the wrong type", Expected: "integer", Got: "string of 3 characters", Fix: "Write 3."}}
	got := e.ForModel("weather", 1, 3)
	for _, want := range []string{"weather", "attempt 1 of 3", "days", "string of 3 characters", "integer", "Write 3.",
		"Tool call validation failed. Please fix these issues:", "Please try the tool call again with corrected arguments."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	// A model that gets the same advice for different failures repeats its mistake.
	seen := make(map[string]tool.Code)
	for _, code := range []tool.Code{tool.Validation, tool.Permission, tool.NotFound, tool.Timeout, tool.RateLimit,
		tool.ModelRefusal, tool.Execution, tool.Network, tool.Cancelled} {
		text := strings.ReplaceAll(tool.Errorf(code, "m").ForModel("f", 0, 0), string(code), "")
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s sound the same", code, other)
		}
		seen[text] = code
		if !strings.Contains(text, "What to do: ") {
			t.Errorf("%s has no fix", code)
		}
	}
	slow := tool.Errorf(tool.RateLimit, "slow down")
	slow.RetryAfter = 30 * time.Second
	if got := slow.ForModel("f", 1, 3); !strings.Contains(got, "30s") {
		t.Errorf("the wait is missing:\n%s", got)
	}
}

func TestErrorsWrap(t *testing.T) {
	if e := tool.Errorf(tool.Execution, "reading: %w", fs.ErrClosed); !errors.Is(e, fs.ErrClosed) {
		t.Error("Errorf does not wrap")
	}
}

func TestErrorJSON(t *testing.T) {
	b, err := json.Marshal(tool.Errorf(tool.Network, "gone"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m["code"] != "network" || m["retry_strategy"] != "same" || m["recoverable"] != true || m["suggested_fix"] == "" {
		t.Errorf("%s", b)
	}
}

func FuzzFromError(f *testing.F) {
	f.Add("HTTP 429")
	f.Add("status 50")
	f.Fuzz(func(t *testing.T, text string) {
		e := tool.FromError(errors.New(text))
		if e.Message != text || e.ForModel("f", 1, 3) == "" {
			t.Errorf("%q became %+v", text, e)
		}
	})
}
