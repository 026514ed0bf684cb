package observing

import (
	"context"
	"encoding/hex"
	"strings"
)

// Trace is a position in a distributed trace, as in the W3C's Trace Context: the trace, and the span that is the parent
// of the next one.
type Trace struct {
	ID    [16]byte
	Span  [8]byte
	Flags byte
	State string // tracestate: data of tracing vendors
}

// Sampled is the flag of a trace that is recorded.
const Sampled = 1

// maxTraceState bounds Trace.State.
const maxTraceState = 512

// ParseTrace reads the headers traceparent and tracestate of a request. It reports false for an invalid traceparent. A
// state that is too long or contains invisible characters is left out.
func ParseTrace(parent, state string) (Trace, bool) {
	var t Trace
	part := strings.Split(parent, "-")
	if len(parent) > 256 || len(part) < 4 || len(part[0]) != 2 || part[0] == "ff" || part[0] == "00" && len(part) != 4 {
		return t, false
	}
	var version, flags [1]byte
	for _, f := range []struct {
		text string
		into []byte
	}{{part[0], version[:]}, {part[1], t.ID[:]}, {part[2], t.Span[:]}, {part[3], flags[:]}} {
		if n, err := hex.Decode(f.into, []byte(fixed(f.text, 2*len(f.into)))); err != nil || n != len(f.into) || f.text != strings.ToLower(f.text) {
			return Trace{}, false
		}
	}
	if t.ID == [16]byte{} || t.Span == [8]byte{} {
		return Trace{}, false
	}
	if t.Flags = flags[0]; len(state) <= maxTraceState && strings.IndexFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		t.State = state
	}
	return t, true
}

// fixed returns a text of n bytes, and none of another length.
func fixed(text string, n int) string {
	if len(text) != n {
		return ""
	}
	return text
}

// Parent is the header traceparent of a request that is part of the span.
func (t Trace) Parent() string {
	return "00-" + hex.EncodeToString(t.ID[:]) + "-" + hex.EncodeToString(t.Span[:]) + "-" + hex.EncodeToString([]byte{t.Flags})
}

type traceKey struct{}

// WithTrace returns a context that is part of a trace. Models of package provider hand it on to the servers that they ask.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, &t)
}

// TraceOf returns the place of a context in a trace, if it has one.
func TraceOf(ctx context.Context) (Trace, bool) {
	t, ok := ctx.Value(traceKey{}).(*Trace)
	if !ok {
		return Trace{}, false
	}
	return *t, true
}
