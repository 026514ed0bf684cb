package refine

import (
	"encoding/json"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// AnswerRetry says that the question is asked again because the answer broke off or
// could not be read. What the broken answer said does not count.
type AnswerRetry struct {
	Attempt int           `json:"attempt"` // that failed, counted from 1
	Max     int           `json:"max"`     // attempts in total
	Cause   string        `json:"cause"`   // the kind of the error
	Error   string        `json:"error"`
	Delay   time.Duration `json:"delay_ns"`
	Usage   llm.Usage     `json:"usage,omitzero"` // of all answers to the question so far
}

// EventType returns "retry".
func (AnswerRetry) EventType() string { return "retry" }

// Recovery says that the model is asked to mend its answer: it was empty, no
// JSON, of the wrong shape, not the call that was demanded.
type Recovery struct {
	Attempt int           `json:"attempt"` // the recovery that begins, counted from 1
	Max     int           `json:"max"`     // recoveries in total
	Cause   RecoveryCause `json:"cause"`
	Error   string        `json:"error"` // the problem, as the model was told
	Delay   time.Duration `json:"delay_ns"`
	Usage   llm.Usage     `json:"usage,omitzero"` // of all answers to the question so far
	// Added are the messages that were added to the conversation for the next request: the text of
	// the model, if the model sees it again, and the correction. A caller that keeps the conversation
	// adds them, too. Structured answers are corrected outside of the conversation, and add nothing.
	Added []llm.Message `json:"-"`
}

// EventType returns "recovery".
func (Recovery) EventType() string { return "recovery" }

// Partial is the value of a structured answer as far as it has been written.
// It is a whole JSON value that need not match the schema yet. The last one
// before the end of the answer is not the value: that is the answer's text.
type Partial struct {
	Value json.RawMessage `json:"value"`
}

// EventType returns "partial".
func (Partial) EventType() string { return "partial" }

// RecoveryCause is why a model is asked again: "empty", "broken", "syntax", "schema", "value", "refusal" or "validation".
type RecoveryCause string

// The causes.
const (
	causeEmpty      RecoveryCause = "empty"      // nothing was said
	causeBroken     RecoveryCause = "broken"     // the answer broke off
	causeSyntax     RecoveryCause = "syntax"     // it is not JSON
	causeSchema     RecoveryCause = "schema"     // it is JSON of the wrong shape
	causeValue      RecoveryCause = "value"      // it has the right shape, and a check refused it
	causeRefusal    RecoveryCause = "refusal"    // a call was demanded and none was made
	causeValidation RecoveryCause = "validation" // calls did not match their schemas, or could not be read
)
