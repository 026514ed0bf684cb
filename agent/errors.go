package agent

import "errors"

// AbortedError ends a run on purpose: somebody chose to, or the runtime
// stopped it. Such a run is sealed.
type AbortedError struct{ Err error }

// Error returns the reason.
func (e *AbortedError) Error() string { return "agent: the run was ended: " + e.Err.Error() }

// Unwrap returns the failure before that.
func (e *AbortedError) Unwrap() error { return e.Err }

// aborted reports whether an error ends the run for good.
func aborted(err error) bool {
	var abort *AbortedError
	return errors.As(err, &abort)
}

// errWaiting ends a run that waits for a person. It is not a failure.
var errWaiting = errors.New("agent: the run waits for a person")

// The raw reasons of answers that had to be recovered, or could not be.
const (
	rawCalls      = "tool_use"                                      // calls had come before the answer broke off
	rawEmpty      = "empty-tool-routing-output"                     // neither text nor call
	rawNoResult   = "agent-sdk-no-result"                           // the answer never ended
	rawBroken     = "stream-bridge-error"                           // the stream failed
	rawStopped    = "interrupted"                                   // somebody gave up waiting
	rawStructured = "error_max_structured_output_retries"           // the vendor gave up on the schema
	rawRecovered  = "error_max_structured_output_retries_recovered" // and left a usable text
)
