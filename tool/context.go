package tool

import (
	"context"
	"encoding/json"

	"github.com/toolpost/toolpost/llm"
)

// Info describes its call to a running tool.
type Info struct {
	Call string // the id of the call, unique in its run
	Run  string // the run it belongs to, "" if the run is not recorded
	Turn int    // the turn of the conversation, 0 if there is none
	// Attempt counts from 1 the times that the runtime has run the call.
	Attempt int
	// Key is the idempotency key: the id of the call, or of the earlier call of
	// unknown outcome that it repeats. Two calls of one run that have the same
	// key are meant to take effect once. It is unique in its run: for a service
	// that sees several runs, put Run before it. See [Tool.HonoursKeys].
	Key string
}

// Progress is the progress of a tool. Total is 0 if it is not known.
type Progress struct {
	Message string  `json:"message,omitempty"`
	Done    float64 `json:"done,omitempty"`
	Total   float64 `json:"total,omitempty"`
}

// Prompt is a question of a tool to a person.
type Prompt struct {
	Message string `json:"message"`
	// Schema restricts the answer; empty allows any JSON value.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Held says that the tool has begun and waits for the answer: it is not called again to get it. A person who
	// declines, or who cannot be asked now, does not end the call: Ask returns an error and the tool continues.
	Held bool `json:"held,omitempty"`
}

// Runtime runs a call and serves the functions of this file. Package invoke
// implements it.
type Runtime interface {
	Info() Info
	Report(Progress)
	Emit(context.Context, llm.Event)
	Ask(context.Context, Prompt) (json.RawMessage, error)
}

// WithRuntime returns a context for a tool that is run by r: its value for the key
// (*Runtime)(nil) is r.
func WithRuntime(ctx context.Context, r Runtime) context.Context {
	return context.WithValue(ctx, (*Runtime)(nil), r)
}

// RuntimeOf returns the runtime of the call that ctx belongs to, nil outside of a call.
func RuntimeOf(ctx context.Context) Runtime {
	r, _ := ctx.Value((*Runtime)(nil)).(Runtime)
	return r
}

// InfoOf returns the facts about the call that ctx belongs to. It is zero
// outside of a call.
func InfoOf(ctx context.Context) Info {
	if r := RuntimeOf(ctx); r != nil {
		return r.Info()
	}
	return Info{}
}

// ReportProgress sends the progress of the call to the readers of the run. It
// never waits: if the readers are too slow, reports are dropped. Outside of a
// call it does nothing.
func ReportProgress(ctx context.Context, p Progress) {
	if r := RuntimeOf(ctx); r != nil {
		r.Report(p)
	}
}

// Emit passes an event on to the readers of the run, such as an event of a run
// inside the tool. It waits until there is room for the event or ctx ends.
// Outside of a call it does nothing.
func Emit(ctx context.Context, ev llm.Event) {
	if r := RuntimeOf(ctx); r != nil {
		r.Emit(ctx, ev)
	}
}

// Ask asks a person a question that the tool needs to continue, and returns the
// answer, which matches the schema of the prompt. A person who declines ends the
// call.
//
// The answer may come from another process on another day. Until then Ask
// returns an error, which the tool must return: the run waits, and when the
// answer is there, the tool is called again from its beginning and Ask returns
// it at once. So a tool asks before it changes anything, and asks each question
// in the same words each time. A tool that cannot do so holds the question; see [Prompt.Held].
func Ask(ctx context.Context, p Prompt) (json.RawMessage, error) {
	if r := RuntimeOf(ctx); r != nil {
		return r.Ask(ctx, p)
	}
	return nil, Errorf(Permission, "nobody can be asked: %s", p.Message)
}

type valueKey[T any] struct{}

// WithValue returns a context in which [Value] finds v. A program passes it to
// the run whose tools need v; values of different types do not meet.
func WithValue[T any](ctx context.Context, v T) context.Context {
	return context.WithValue(ctx, valueKey[T]{}, v)
}

// Value returns the value that the program put into the context with
// [WithValue] under exactly this type, and whether there is one.
func Value[T any](ctx context.Context) (T, bool) {
	v, ok := ctx.Value(valueKey[T]{}).(T)
	return v, ok
}
