package tool

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Code is the kind of a failure. It decides the next step.
type Code string

// The codes.
const (
	Validation   Code = "validation"    // the arguments are wrong
	Permission   Code = "permission"    // it is not allowed
	NotFound     Code = "not_found"     // there is no such tool, file, record
	Timeout      Code = "timeout"       // it took too long
	RateLimit    Code = "rate_limit"    // too many requests; wait
	ModelRefusal Code = "model_refusal" // the model declined to do it
	Execution    Code = "execution"     // the tool itself failed
	Network      Code = "network"       // no connection, or it was lost
	Cancelled    Code = "cancelled"     // the caller gave up waiting
	Uncertain    Code = "unknown"       // it began, and its outcome is unknown
)

// Strategy is the next step after a failure. Same concerns the runtime, which
// may run a call again; the others concern the caller of the model.
type Strategy string

// The strategies of an Error, and the two steps a ladder adds to them.
const (
	Same         Strategy = "same"         // the same call again
	Rephrase     Strategy = "rephrase"     // ask the model for a corrected call
	Escalate     Strategy = "escalate"     // ask in a stronger way, then ask a person
	Abort        Strategy = "abort"        // stop; another attempt would not help
	Perspectives Strategy = "interference" // ask the model from several points of view
	Resample     Strategy = "vortex"       // ask the model several times, at several temperatures
)

// MaxAttempts is the default for the total number of attempts of a call.
const MaxAttempts = 3

// Error is a failure together with its remedy. The function of a tool may
// return an Error, made by [Errorf] or by hand; [FromError] classifies any
// other error.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Recoverable means that another attempt may succeed.
	Recoverable bool `json:"recoverable"`
	// Strategy is the first step; empty means the default of the code.
	Strategy Strategy `json:"retry_strategy,omitempty"`
	// Fix gives the model the remedy, in as many steps as necessary; empty
	// means the default of the code.
	Fix string `json:"suggested_fix,omitempty"`
	// Details are the places that are wrong, if the failure has any.
	Details []Detail `json:"details,omitempty"`
	// RetryAfter is the wait that the failed service asked for; 0 if it did not ask.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Err is the cause, if there is one.
	Err error `json:"-"`
}

// Detail is one thing wrong with the arguments of a call.
type Detail struct {
	Field    string `json:"field"`              // where: "city", "items[2].price"
	Problem  string `json:"problem"`            // the fault
	Expected string `json:"expected,omitempty"` // the expected value
	Got      string `json:"got,omitempty"`      // the present value: itself if short, or its shape
	Fix      string `json:"fix,omitempty"`      // the correction
}

// Errorf returns an Error of that code with the strategy, fix and chance of
// recovery the code suggests.
func Errorf(code Code, format string, args ...any) *Error {
	t := codes[code]
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error(), Recoverable: t.recoverable, Strategy: t.strategy, Fix: t.model}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	return e
}

// Error returns code and message in one line.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) strategy() Strategy {
	return cmp.Or(e.Strategy, codes[e.Code].strategy, Escalate)
}

// Transient reports whether the same call may succeed a little later.
func (e *Error) Transient() bool { return e.Recoverable && e.strategy() == Same }

// ShouldRetry reports whether anything is worth trying after attempt, which
// counts from 1, when most attempts are allowed in total; most below 1 means
// MaxAttempts.
func (e *Error) ShouldRetry(attempt, most int) bool {
	if most < 1 {
		most = MaxAttempts
	}
	return e.Recoverable && attempt < most && e.strategy() != Abort
}

// ladders are the steps after each attempt. Past the end comes Escalate.
var ladders = map[Strategy][]Strategy{
	Same:     {Same, Same},
	Rephrase: {Rephrase, Perspectives, Resample},
	Escalate: {Same, Perspectives, Resample},
}

// Next returns the step after attempt, which counts from 1. It depends only on
// the error and the number: the same failure at the same attempt gives the same
// answer on every machine and in every replay.
func (e *Error) Next(attempt int) Strategy {
	if !e.Recoverable || e.strategy() == Abort {
		return Abort
	}
	steps := ladders[e.strategy()]
	if attempt < 1 || attempt > len(steps) {
		return Escalate
	}
	return steps[attempt-1]
}

// ForModel returns the text for the model after the call of tool name failed:
// the kind of failure, each field with the shape of its value and the fix, and
// the number of this attempt. Most is the maximum number of attempts; 0 leaves
// the attempt out.
func (e *Error) ForModel(name string, attempt, most int) string {
	var b strings.Builder
	lead := cmp.Or(codes[e.Code].lead, "The call of %s failed.")
	fmt.Fprintf(&b, lead, name)
	switch {
	case most > 0 && attempt <= most:
		fmt.Fprintf(&b, " (attempt %d of %d)", attempt, most)
	case most > 0:
		fmt.Fprintf(&b, " (attempt %d; %d should have been enough)", attempt, most)
	}
	if e.Code == Validation && len(e.Details) > 0 {
		e.writeFaults(&b)
	} else {
		fmt.Fprintf(&b, "\n%s: %s", e.Code, e.Message)
		for _, d := range e.Details {
			d.write(&b)
		}
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "\nWait at least %s before the next attempt.", e.RetryAfter.Round(time.Second))
	}
	if fix := cmp.Or(e.Fix, codes[e.Code].model); fix != "" {
		fmt.Fprintf(&b, "\nWhat to do: %s", fix)
	}
	return b.String()
}

// writeFaults writes details in a form that models are trained on.
func (e *Error) writeFaults(b *strings.Builder) {
	b.WriteString("\nTool call validation failed. Please fix these issues:")
	for _, d := range e.Details {
		d.write(b)
	}
	b.WriteString("\nPlease try the tool call again with corrected arguments.")
}

// write turns a short problem into a line: it adds the facts that the problem lacks.
func (d Detail) write(b *strings.Builder) {
	b.WriteString("\n- ")
	if d.Field != "" {
		b.WriteString(d.Field + ": ")
	}
	b.WriteString(d.Problem)
	if strings.HasSuffix(d.Problem, ".") { // a complete sentence
		if d.Fix != "" {
			b.WriteString(" " + d.Fix)
		}
		return
	}
	if d.Expected != "" && !strings.Contains(d.Problem, d.Expected) {
		fmt.Fprintf(b, "; expected %s", d.Expected)
	}
	if d.Got != "" && !strings.Contains(d.Problem, d.Got) {
		fmt.Fprintf(b, "; got %s", d.Got)
	}
	if d.Fix != "" {
		fmt.Fprintf(b, ". %s", d.Fix)
	}
}
