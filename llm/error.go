package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies an error by its remedy.
type Kind uint8

// The kinds of errors. Each comment gives the remedy.
const (
	Unknown       Kind = iota // no information; do not retry
	Invalid                   // the request is wrong; change it
	Auth                      // the key is missing, wrong or not allowed; fix it
	NotFound                  // no such model or endpoint
	TooLong                   // the conversation exceeds the context; shorten it
	Unsupported               // the model or vendor cannot do this; take another way
	RateLimited               // wait for RetryAfter and ask again
	Overloaded                // the vendor is busy; wait and ask again
	Server                    // the vendor failed; ask again
	Network                   // no connection, or it was lost before the answer began; ask again
	Timeout                   // no answer in time; ask again
	Incomplete                // the stream ended without its finish marker
	Malformed                 // the vendor sent something that cannot be read
	Refused                   // the vendor's filter or the model declined
	BrokenPromise             // the model did not meet a demand of the request; refine may ask again
	Canceled                  // the caller gave up
	ByteLimit                 // the answer is larger than [Limits].Bytes; ask for less or raise the limit
	TextLimit                 // its text is longer than [Limits].Text; likewise
	ThinkingLimit             // its thinking is longer than [Limits].Thinking; likewise
	EventLimit                // it has more events than [Limits].Events; likewise
	TimeLimit                 // it took longer than [Limits].Time; likewise
	Stalled                   // no piece of it arrived for [Limits].Idle, whatever else the vendor sent
)

var kindNames = [...]string{
	"unknown", "invalid", "auth", "not_found", "too_long", "unsupported", "rate_limited", "overloaded",
	"server", "network", "timeout", "incomplete", "malformed", "refused", "broken_promise", "canceled",
	"byte_limit", "text_limit", "thinking_limit", "event_limit", "time_limit", "stalled",
}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// MarshalText makes the kind a word in JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText decodes the output of MarshalText; a word it does not know becomes
// Unknown.
func (k *Kind) UnmarshalText(b []byte) error {
	*k = Unknown
	for i, name := range kindNames {
		if name == string(b) {
			*k = Kind(i)
		}
	}
	return nil
}

// Transient reports whether the same request may succeed a little later.
func (k Kind) Transient() bool {
	switch k {
	case RateLimited, Overloaded, Server, Network, Timeout:
		return true
	}
	return false
}

// Error is the one error type that crosses packages. It never contains a key.
type Error struct {
	Op   string // the operation, like "anthropic.Stream"
	Kind Kind
	// Status is the HTTP status, 0 if there was none.
	Status int
	// Code is the vendor's own code.
	Code string
	// RetryAfter is the wait that the vendor asked for; 0 if it did not ask.
	RetryAfter time.Duration
	Err        error
}

// Error returns operation, kind and cause in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	b.WriteString(strings.ReplaceAll(e.Kind.String(), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " [%s]", e.Code)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's tree. A bare context
// error is Canceled or Timeout; anything else is Unknown.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Unknown
}
