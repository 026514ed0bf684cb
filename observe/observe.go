// Package observe reports the steps of a program as they happen: runs of an agent,
// their turns, model calls and tool calls.
//
// There is one [Observer] for all of them. It travels in the context ([With]), or
// an agent puts it there (agent.Agent.Observer). Every layer reports to it the begin and
// the end of its steps, with the ids of the record. Without an observer nothing is
// collected and nothing is allocated.
//
// Package observe/slogobserve writes to a log, observe/otlp sends spans to a
// collector, and observe/otelobserve makes spans of a program's own OpenTelemetry SDK.
package observe

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Observer is told of every step. It must be safe for concurrent use: calls that
// run side by side are observed side by side. It must not change what it is
// given, nor keep it after End.
//
// A panic of an observer does not affect the observed work and is not reported. After a panic of Begin, the observer
// gets no End of that step and does not see the steps inside it.
type Observer interface {
	// Begin is called when a step begins, with the fields that are known then. The step and the steps
	// inside it run with the context that Begin returns.
	Begin(ctx context.Context, s Step) context.Context
	// End is called once for each Begin, when the step is over, with the context that Begin returned.
	End(ctx context.Context, s Step)
}

// Step is a *[Request], a *[Run], a *[Turn], a *[ModelCall] or a *[ToolCall].
type Step interface {
	// Timing returns when the step began, how long it took and why it failed.
	Timing() *Span
	step()
}

// Span is what all steps have.
type Span struct {
	Began time.Time
	Took  time.Duration // when it is over
	Err   error         // why it failed, nil if it did not
}

// Request is a request of a client to a gateway.
type Request struct {
	Span
	ID     string // that the answer has, and the record of the tools that were run for it
	Method string
	Path   string
	// Endpoint is the path with * in the place of names and ids, like
	// /v1/responses/*; "" if the gateway has none of that path.
	Endpoint string

	Team     string // whose key it had
	Route    string // of the gateway, by the name that its setup gives it
	Model    string // that the client asked for
	Upstream string // the model that answered
	Status   int    // of the answer
	Usage    llm.Usage
}

// Name is the name of the request's span: its method and its endpoint.
func (r *Request) Name() string {
	if r.Endpoint == "" {
		return r.KnownMethod()
	}
	return r.KnownMethod() + " " + r.Endpoint
}

// KnownMethod is the method, or _OTHER for an unknown method.
func (r *Request) KnownMethod() string {
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH":
		return r.Method
	}
	return "_OTHER"
}

// Run is a conversation of an agent. A run that was resumed is observed once for
// each process that worked on it.
type Run struct {
	Span
	ID      string // of the record
	Parent  string // the run whose call this one is, or that it continues
	Model   string
	Resumed bool

	Status string // of agent.Done
	Turns  int
	Calls  int // that were run
	Usage  llm.Usage
}

// Turn is a question to the model and the calls it answers with.
type Turn struct {
	Span
	Run   string
	N     int // counts from 1
	Model string
	Last  bool // no tools are offered any more
	// Changed is what a hook changed for the turn, like "tools".
	Changed []string
}

// ModelCall is one question to a model. It includes the requests that were repeated until one was answered. A question
// that is asked again because its answer cannot be used is another ModelCall.
type ModelCall struct {
	Span
	Run   string // "" outside of a run
	Turn  int
	Model string // the id that it was opened with
	// Request is the question. It holds what people wrote, which an observer
	// should leave out unless it is told to pass it on.
	Request *llm.Request

	// What package provider knows: the names of the vendor and of the model in the
	// vendor's words, the host and its port, the wire format, and how the model is
	// asked for calls.
	Vendor, Name, Host, Wire, Route string

	Attempts int     // requests that were sent; 0 if the model is not one of package provider
	Retries  []Retry // between them
	First    time.Duration
	ID       string // of the answer, in the vendor's words
	Answered string // the model that answered, in the vendor's words
	Finish   llm.Reason
	Usage    llm.Usage
	// Message is the answer, or its beginning if it was cut off. Invalid counts the calls in it that cannot be run.
	Message llm.Message
	Invalid int
	// Asked and Recorded are the hashes of the entries of the record that hold
	// the question and the answer, "" if the run is not recorded.
	Asked, Recorded string
}

// Retry is an attempt that failed and is followed by another.
type Retry struct {
	Attempt int // that failed, counted from 1
	At      time.Time
	Wait    time.Duration
	Why     string // what kind of failure it was
}

// ToolCall is a call, from its check to its receipt. A call that waits for a
// person ends with the status "waiting", and is observed again when the run goes
// on.
type ToolCall struct {
	Span
	Run  string // "" outside of a run
	Turn int
	ID   string // of the call, as in its receipt
	Tool string
	// Args are the arguments that the model wrote; at the end of the call, the arguments that the tool got. Result is the
	// result that the model gets.
	Args   json.RawMessage
	Result llm.Result

	Effects  string
	Allowed  bool
	By       string // who decided: "policy", "grant", or the name of a person; "" without a decision
	Reason   string
	Repairs  []llm.Repair // of the call's text and of its arguments
	Dialect  string
	Source   llm.Source
	Waited   time.Duration // for the decision and for earlier calls
	Attempts int
	Retries  []Retry
	Cached   bool
	Status   string // of the receipt, or "waiting"
	Code     string // of the error
	ExitCode *int
	Usage    llm.Usage // of models that the tool asked

	ParamsHash, OutputHash string
	Receipt                string // the hash of the entry that holds the receipt, "" if the run is not recorded
	OutputBytes            int64  // of the whole output
	Truncated              bool   // the model was shown less
}

// Classes are the classes of the repairs, once each.
func (c *ToolCall) Classes() []string {
	var out []string
	for _, r := range c.Repairs {
		if class := r.Class.String(); !slices.Contains(out, class) {
			out = append(out, class)
		}
	}
	return out
}

func (*Request) step()   {}
func (*Run) step()       {}
func (*Turn) step()      {}
func (*ModelCall) step() {}
func (*ToolCall) step()  {}

type observerKey struct{}

// With returns a context in which o observes; nil ends observation.
func With(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// From returns the observer of a context, nil if there is none.
func From(ctx context.Context) Observer {
	o, _ := ctx.Value(observerKey{}).(Observer)
	return o
}

// Timing returns s.
func (s *Span) Timing() *Span { return s }
