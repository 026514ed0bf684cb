package tool

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/toolpost/toolpost/llm"
)

// FromError returns err as an Error: the Error in its tree if there is one.
// Otherwise the types of the errors in the tree decide the code, then the HTTP
// status in it, and only then its wording. It returns nil for nil.
func FromError(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		e := *known
		// A wrapper's words stay; the code is not repeated.
		e.Message = strings.Replace(err.Error(), known.Error(), known.Message, 1)
		return &e
	}
	e := Errorf(classify(err), "%s", err.Error())
	e.Err = err
	var l *llm.Error
	if errors.As(err, &l) {
		e.RetryAfter = l.RetryAfter
	}
	return e
}

func classify(err error) Code {
	if code, ok := byType(err); ok {
		return code
	}
	if code, ok := byStatus(status(err)); ok {
		return code
	}
	return byWording(err.Error())
}

// causes are tried in order: a cancellation or timeout precedes other causes.
var causes = []struct {
	err  error
	code Code
}{
	{context.Canceled, Cancelled},
	{context.DeadlineExceeded, Timeout},
	{os.ErrDeadlineExceeded, Timeout},
	{syscall.ETIMEDOUT, Timeout},
	{fs.ErrPermission, Permission},
	{fs.ErrNotExist, NotFound},
	{exec.ErrNotFound, NotFound},
	{syscall.ECONNREFUSED, Network},
	{syscall.ECONNRESET, Network},
	{syscall.EPIPE, Network},
	{syscall.ENETUNREACH, Network},
	{syscall.EHOSTUNREACH, Network},
	{net.ErrClosed, Network},
	{io.ErrUnexpectedEOF, Network},
}

func byType(err error) (Code, bool) {
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.code, true
		}
	}
	var l *llm.Error
	if errors.As(err, &l) {
		if code := kinds[l.Kind]; code != "" {
			return code, true
		}
	}
	var n net.Error
	if errors.As(err, &n) {
		if n.Timeout() {
			return Timeout, true
		}
		return Network, true
	}
	return "", false
}

// status returns the HTTP status err carries or mentions, or 0.
func status(err error) int {
	var l *llm.Error
	if errors.As(err, &l) && l.Status != 0 {
		return l.Status
	}
	var a interface{ StatusCode() int }
	if errors.As(err, &a) {
		return a.StatusCode()
	}
	var b interface{ HTTPStatusCode() int }
	if errors.As(err, &b) {
		return b.HTTPStatusCode()
	}
	return statusIn(err.Error())
}

// statuses are the codes of HTTP statuses; any other error is the tool's own.
var statuses = map[int]Code{
	429: RateLimit,
	401: Permission, 403: Permission, 407: Permission,
	404: NotFound, 410: NotFound,
	408: Timeout, 504: Timeout,
	400: Validation, 409: Validation, 413: Validation, 415: Validation, 422: Validation,
	502: Network, 503: Network, 520: Network, 522: Network, 529: Network,
}

func byStatus(status int) (Code, bool) {
	if code, ok := statuses[status]; ok {
		return code, true
	}
	return Execution, status >= 400 && status < 600
}

// statusIn finds an HTTP status in the wording of an error. A separate 429
// always counts; another number only after a word that announces a status.
func statusIn(text string) int {
	words := strings.FieldsFunc(strings.ToLower(text[:min(len(text), maxWording)]), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for i, w := range words {
		if w == "429" {
			return 429
		}
		if len(w) != 3 || w[0] < '4' || w[0] > '5' || !digits(w) || i == 0 {
			continue
		}
		if announces(words[:i]) {
			return int(w[0]-'0')*100 + int(w[1]-'0')*10 + int(w[2]-'0')
		}
	}
	return 0
}

// announces reports whether the words before a number make it a status:
// "HTTP 503", "status code 404", "HTTP/1.1 500", "error: 403".
func announces(before []string) bool {
	for _, w := range before[max(len(before)-3, 0):] {
		switch w {
		case "http", "https", "status", "statuscode", "code":
			return true
		}
	}
	return before[len(before)-1] == "error"
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// wording is the last resort, in order: the first line that has one of its
// phrases in the text decides. A refusal by a model precedes a refused
// connection, and both precede the broad words.
var wording = []struct {
	code    Code
	phrases []string
}{
	{RateLimit, []string{"rate limit", "rate-limit", "ratelimit", "rate_limit", "too many requests", "throttl", "quota"}},
	{ModelRefusal, []string{"model refused", "refused to", "declined to", "content policy", "content filter"}},
	{Network, []string{"connection refused", "connection reset", "connection closed", "connection error", "no such host",
		"unreachable", "no route to host", "broken pipe", "econnrefused", "econnreset", "enotfound", "eai_again",
		"socket hang up", "tls handshake", "fetch failed", "failed to connect", "could not connect", "bad gateway",
		"service unavailable", "network error", "unexpected eof", "name resolution"}},
	{Timeout, []string{"timed out", "timeout", "time out", "deadline exceeded", "etimedout"}},
	{Cancelled, []string{"context canceled", "cancelled", "canceled", "aborted by", "interrupted by"}},
	{Permission, []string{"permission denied", "access denied", "unauthorized", "unauthorised", "forbidden",
		"not permitted", "not allowed", "not authorized", "not authorised", "eacces", "eperm", "api key", "outside allowed"}},
	{Validation, []string{"validation error", "validation failed", "invalid argument", "invalid input", "invalid parameter",
		"invalid value", "invalid type", "missing required", "required parameter", "is required", "field required",
		"must be a", "must be one of", "unexpected keyword argument", "is not of type", "unknown parameter"}},
	{NotFound, []string{"not found", "no such", "does not exist", "doesn't exist", "enoent", "unknown tool", "cannot find"}},
}

// maxWording limits the part of an error's text that is searched for its
// meaning: the first line is enough, and a tool may quote a whole page.
const maxWording = 2000

func byWording(text string) Code {
	text = strings.ToLower(text[:min(len(text), maxWording)])
	for _, w := range wording {
		for _, phrase := range w.phrases {
			if strings.Contains(text, phrase) {
				return w.code
			}
		}
	}
	return Execution
}
