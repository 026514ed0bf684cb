package provider

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/provider/internal/deadline"
)

// NoAnswerError reports a response with a status of 2xx that is not an answer of a
// model: a page of a proxy or a login, or an empty body. The server was reached, so
// the cause is the address, or a proxy in between.
type NoAnswerError struct {
	Status int
	Type   string // media type of the body; "" if there is none
	Start  string // beginning of the body in one line, without the key; "" if the body is empty or may be an answer
	Empty  bool   // nothing came
	Err    error  // of the reader
}

// Error is for operators: it shows the beginning of the body.
func (e *NoAnswerError) Error() string { return e.says(fmt.Sprintf(", which begins %q", e.Start)) }

// Outline is the error without any byte of the body. It is for readers that must not
// see the body, like the clients of a gateway: a page may repeat the request, and with
// it a key, in any form.
func (e *NoAnswerError) Outline() string { return e.says("") }

func (e *NoAnswerError) says(begins string) string {
	kind := e.Type
	if kind == "" {
		kind = "no media type"
	}
	if e.Empty {
		return fmt.Sprintf("the server answered %d with an empty body (%s)", e.Status, kind)
	}
	return fmt.Sprintf("the server answered %d without an answer of a model (%s)%s; the address may be wrong, or something may be in front of the server", e.Status, kind, begins)
}

func (e *NoAnswerError) Unwrap() error { return e.Err }

// noAnswer returns the error for a response whose body begins with start, or nil if it
// may be an answer.
func noAnswer(resp *http.Response, start []byte, key string) *NoAnswerError {
	kind, _, err := mime.ParseMediaType(credential.Redact(resp.Header.Get("Content-Type"), key))
	if err != nil {
		kind = ""
	}
	e := &NoAnswerError{Status: resp.StatusCode, Type: brief(kind, 60)}
	text := js.Trim(start)
	switch {
	case len(start) == 0:
		e.Empty = true
		return e
	case len(text) == 0 || mayBeAnswer(text):
		return nil
	}
	e.Start = brief(credential.RedactTruncated(string(text), key), deadline.MaxStart)
	return e
}

// mayBeAnswer reports whether a text begins like JSON, like events, or like what no text is.
func mayBeAnswer(text []byte) bool {
	if text[0] == '{' || text[0] == '[' || text[0] == ':' || text[0] < ' ' {
		return true
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:", "\ufeff"} {
		if strings.HasPrefix(string(text), field) || strings.HasPrefix(field, string(text)) {
			return true
		}
	}
	return false
}

// brief returns a text of a stranger in one line of at most so many bytes, without what steers a terminal.
func brief(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || !unicode.IsGraphic(r):
			return ' '
		}
		return r
	}, text)
	return clip.Bytes(strings.Join(strings.Fields(text), " "), most)
}
