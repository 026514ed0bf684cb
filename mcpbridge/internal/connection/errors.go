package connection

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// RedirectError reports that a server redirects to another server.
type RedirectError struct{ to *url.URL }

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server sends us on to %s://%s, which is not the server that was named", e.to.Scheme, e.to.Host)
}

// codeNotSent is the SDK's code of a request that did not reach the server,
// or that HTTP refused. It is not an error of the server.
const codeNotSent = -32005

// AnsweredError returns the server's error response, nil if there is none.
func AnsweredError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code == codeNotSent && e.Message == "rejected by transport" {
		return nil
	}
	return e
}

// The parts of errors that name places in a program.
var (
	steps    = regexp.MustCompile(`(?:calling|sending) "[^"]*": |rejected by transport(?:: )?|failed to connect \(session ID: [^)]*\): |connection closed: `)
	goType   = regexp.MustCompile(`json: cannot unmarshal (?s:(.*?)) into Go (?:value|struct field [\w.]*?\.?(\w+)) of type (?s:.*)$`)
	goPrefix = regexp.MustCompile(`unmarshaling (?:\*?[\w.]+): |unmarshaling result: `)
)

// PlainError returns an error for a person: the failure, without the names of requests, of
// types and of functions.
func PlainError(err error) string {
	var address *url.Error
	if errors.As(err, &address) && address.Err != nil {
		err = address.Err // without the address, which may hold a secret
	}
	text := steps.ReplaceAllString(err.Error(), "")
	text = goPrefix.ReplaceAllString(text, "")
	text = goType.ReplaceAllStringFunc(text, func(s string) string {
		m := goType.FindStringSubmatch(s)
		where := ""
		if m[2] != "" {
			where = " at " + m[2]
		}
		return "its answer cannot be read" + where + ": " + clip.Bytes(m[1], 60) + " is not what belongs there"
	})
	text = strings.ReplaceAll(text, "request terminated without response", fmt.Sprintf("its answer ended, or went on beyond %d bytes, without a result", rpc.MaxStream))
	return strings.TrimSuffix(strings.TrimSpace(text), ":")
}

// Lost reports whether a request failed because the connection ended.
func Lost(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) ||
		errors.Is(err, syscall.EPIPE)
}
