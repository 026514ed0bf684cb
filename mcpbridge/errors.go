package mcpbridge

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/internal/clip"
)

// redirectError reports that a server redirects to another server.
type redirectError struct{ to *url.URL }

func (e *redirectError) Error() string {
	return fmt.Sprintf("the server sends us on to %s://%s, which is not the server that was named", e.to.Scheme, e.to.Host)
}

// codeNotSent is the SDK's code of a request that did not reach the server,
// or that HTTP refused. It is not an error of the server.
const codeNotSent = -32005

// answeredError returns the server's error response, nil if there is none.
func answeredError(err error) *jsonrpc.Error {
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

// plainError returns an error for a person: the failure, without the names of requests, of
// types and of functions.
func plainError(err error) string {
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
	text = strings.ReplaceAll(text, "request terminated without response", fmt.Sprintf("its answer ended, or went on beyond %d bytes, without a result", maxStream))
	return strings.TrimSuffix(strings.TrimSpace(text), ":")
}

// The text of a server is shown without what a terminal would obey, and bounded.
func plainText(text string) string { return child.PlainText(text) }
