package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Tool is something a model may call. It is a value: copies are independent. To
// use another name or timeout, change a copy. Its function is safe for
// concurrent use if its effects include ReadOnly.
type Tool struct {
	// Name is the name that the model calls; see [ValidName].
	Name string
	// Description and schema are all that a model knows of the tool: its
	// purpose, when not to use it, the form of its input.
	Description string
	// Input is the schema of the arguments; empty means there are none.
	Input schema.Schema
	// OutputSchema is the schema of Structured in every successful Output;
	// empty declares nothing. Output that does not match is not passed on.
	OutputSchema schema.Schema
	// Extra are fields for vendors, by format. Requests carry them unchanged:
	// {"messages": {"cache_control": …}} marks the tools up to this one for
	// Anthropic's cache.
	Extra llm.Extra
	// Effects are the promises of the tool. The zero value promises nothing.
	Effects Effects
	// HonoursKeys promises that two calls with the same key take effect once:
	// the tool passes the Key of its [Info] on to a service that enforces it.
	// Without it, and without Idempotent, a call that repeats one of unknown
	// outcome needs a person's consent.
	HonoursKeys bool
	// Timeout limits one attempt; 0 leaves it to the runner.
	Timeout time.Duration
	// MaxOutput is the maximum number of characters of output for the model; 0
	// leaves it to the runner, which also sets the upper limit.
	MaxOutput int
	// Examples are arguments of good calls.
	Examples []json.RawMessage
	// Origin is where the tool comes from. The zero value is trusted least.
	Origin Origin
	// Source names the server or file it comes from, for people. SourceHash is
	// the hash of everything that the source offered with the tool, if that can
	// change. The receipts of its calls then contain both.
	Source, SourceHash string
	// Call runs the tool. The arguments are one JSON value that matches Input.
	// Output counts even with an error: it holds the work done before the
	// failure.
	Call func(ctx context.Context, args json.RawMessage) (Output, error)
	// Preview describes the effects of a call, for a person who is asked about it.
	// It changes nothing. If Preview is nil, only the arguments are shown. An
	// error explains why the call would fail.
	Preview func(ctx context.Context, args json.RawMessage) (Preview, error)
	// Bind returns what a call acts on and its arguments do not fix, like the folder
	// of a file. It changes nothing. An approval counts only while the pins are the
	// same when the call is about to run. If Bind is nil, they are those of Preview.
	Bind func(ctx context.Context, args json.RawMessage) ([]Pin, error)

	namespace, base string // the original name, before Prefix
}

// New returns a tool that is built by hand: a schema, and a function that gets
// JSON that matches it. Like [Func] it sets Origin to Program, because to hand
// over a function is to consent to its use; a literal of Tool that does not is of
// unknown origin and trusted least.
func New(name, description string, input schema.Schema, call func(context.Context, json.RawMessage) (Output, error)) Tool {
	return Tool{Name: name, Description: description, Input: input, Call: call, Origin: Program}
}

// Output is the result of a tool.
type Output struct {
	// Parts are the result for the model: Text and Media.
	Parts []llm.Part
	// Structured is the same result as JSON, for programs; see
	// [Tool.OutputSchema]. Without parts, the model gets this.
	Structured json.RawMessage
	// Usage counts the tokens of the models that the tool asked, if any.
	Usage llm.Usage
	// Did are the changes that the tool made and knows of.
	Did []SideEffect
	// Omitted is how many bytes of the output the tool left out because it was too long.
	Omitted int64
	// ExitCode is that of a command, nil if there was none.
	ExitCode *int
	// Format is the amount of output for the model: concise, detailed or minimal. Empty leaves it to the runner of the
	// call.
	Format string
}

// Text returns an output of one text.
func Text(text string) Output { return Output{Parts: []llm.Part{llm.Text{Text: text}}} }

// SideEffect is a change a tool made: a type like "file_modified",
// "file_deleted" or "command_executed", and the object of the change.
type SideEffect struct {
	Type   string                     `json:"type"`
	Path   string                     `json:"path,omitempty"`
	Detail map[string]json.RawMessage `json:"detail,omitempty"`
}

// Effects is a set of promises about the effects of a call. The zero value is
// the worst case: each call may change anything, anywhere.
type Effects uint8

// The promises.
const (
	// Idempotent: the same call twice has the same effect as once.
	Idempotent Effects = 1 << iota
	readOnly
	// Local: it reaches only this machine.
	Local

	// ReadOnly: it changes nothing, and calls may run in parallel. It includes
	// Idempotent.
	ReadOnly = readOnly | Idempotent
)

// Has reports whether e makes every promise in p.
func (e Effects) Has(p Effects) bool { return e&p == p }

// String returns the promises in words, and "unknown" if there are none.
func (e Effects) String() string {
	var words []string
	switch {
	case e.Has(ReadOnly):
		words = append(words, "read_only")
	case e.Has(Idempotent):
		words = append(words, "idempotent")
	}
	if e.Has(Local) {
		words = append(words, "local")
	}
	if words == nil {
		return "unknown"
	}
	return strings.Join(words, " ")
}

// Origin is the source of a tool. It decides the default for how far the tool
// is trusted.
type Origin uint8

// The origins.
const (
	Unknown Origin = iota
	Program        // a Go function the program itself handed over with Func
	Builtin        // comes with Toolpost
	File           // described in a file
	MCP            // offered by an MCP server
	Request        // sent along with a request
)

var originNames = [...]string{"an unknown place", "the program", "Toolpost", "a file", "an MCP server", "a request"}

// String returns the origin in the form that follows "comes from".
func (o Origin) String() string {
	if int(o) < len(originNames) {
		return originNames[o]
	}
	return originNames[Unknown]
}

// Def returns the definition of t for a model.
func (t Tool) Def() llm.ToolDef {
	d := llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Input, Examples: t.Examples, Extra: t.Extra}
	if t.Origin != Program && t.Origin != Builtin {
		d.Origin = llm.OriginDescription
	}
	return d
}

// Run calls the tool. A panic comes back as an error of code Execution.
func (t Tool) Run(ctx context.Context, args json.RawMessage) (out Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = Output{}, Panicked(t.Name, p)
		}
	}()
	if t.Call == nil {
		return Output{}, Errorf(Execution, "%s has no function", t.Name)
	}
	return t.Call(ctx, args)
}

// PanicError is the cause of an Error that was a panic.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic, without the stack: the text may reach
// a model.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Panicked returns the error, of code Execution, of the named tool that panicked
// with value. It is for the deferred function that recovered it.
func Panicked(name string, value any) error {
	cause := &PanicError{value, debug.Stack()}
	e := Errorf(Execution, "%s broke down: %v", name, cause)
	e.Err = cause
	e.Fix = "The tool itself is broken, whatever the arguments. Take another way and tell the user."
	return e
}

// check returns the error in t as a member of a set.
func (t Tool) check() error {
	switch {
	case !ValidName(t.Name):
		return fmt.Errorf("tool: %.80q cannot name a tool: use 1 to 64 of A-Z a-z 0-9 _ -, or SafeName", t.Name)
	case t.Call == nil:
		return fmt.Errorf("tool: %s has no function", t.Name)
	case t.Timeout < 0 || t.MaxOutput < 0:
		return errors.New("tool: " + t.Name + ": Timeout and MaxOutput must not be negative")
	}
	return nil
}
