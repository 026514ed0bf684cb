package invoke

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// Question is a call that a person is asked about.
type Question struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	// ParamsHash identifies exactly these arguments. An answer must carry it.
	ParamsHash journal.Hash `json:"params_hash"`
	Effects    tool.Effects `json:"-"`
	Reason     string       `json:"reason,omitempty"` // of the policy, for asking
	// Repeats is an earlier call with the same arguments whose outcome is
	// unknown: to allow this one may do the same thing twice.
	Repeats string `json:"repeats,omitempty"`
	// Prompt counts from 1 the questions that the tool itself asks; see
	// [tool.Ask]. Message is what it asks, Schema what the Value of the answer
	// must match. With 0 the question is whether the call may run.
	Prompt  int             `json:"prompt,omitempty"`
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	// Held says that the tool has begun and waits for the answer. If it cannot wait, it has to be called again, and
	// Repeats names its call: to answer is then to consent that it may do the same thing twice.
	Held bool `json:"held,omitempty"`
	// Until is when a question that waits is answered with no; zero means never.
	Until time.Time `json:"until,omitzero"`
	// Waited says that the run has waited for an answer before: to wait again
	// changes nothing.
	Waited bool `json:"waited,omitempty"`
	// Bound is what the call would act on, each with a hash: the answer counts only
	// while that is the same. Runs is the command line, the request or the files, for
	// people. Changed tells what differs from an earlier approval of the call, if that
	// is why a person is asked.
	Bound   map[string]journal.Hash `json:"bound,omitempty"`
	Runs    string                  `json:"runs,omitempty"`
	Changed string                  `json:"changed,omitempty"`
}

// Answer returns the decision about exactly this call. Set Args on it to have
// the call run with other arguments, and Value to answer a tool's question.
func (q Question) Answer(allowed bool, by, reason string) journal.Approval {
	return journal.Approval{Call: q.CallID, Tool: q.Tool, ParamsHash: q.ParamsHash, Allowed: allowed, By: by, Reason: reason, Prompt: q.Prompt, Asked: q.Message, Bound: q.Bound}
}

// Hides reports whether part of the arguments is not shown, because it looks like a secret. It may be
// anything: a model can make any text look like a key.
func (q Question) Hides() bool {
	return q.Prompt == 0 && bytes.Contains(q.Args, []byte(secret.MarkPrefix))
}

// Why returns the reason for asking, with what changed since the call was approved.
func (q Question) Why() string {
	if q.Changed == "" || strings.Contains(q.Reason, q.Changed) {
		return q.Reason
	}
	return strings.TrimPrefix(q.Reason+"; it is not what was approved: "+q.Changed, "; ")
}

// asked returns a question as the record holds it.
func (q Question) asked() journal.QuestionRecord {
	return journal.QuestionRecord{Call: q.CallID, Tool: q.Tool, Args: q.Args, ParamsHash: q.ParamsHash, Effects: q.Effects.String(), Reason: q.Reason,
		Repeats: q.Repeats, Prompt: q.Prompt, Message: q.Message, Schema: q.Schema, Until: q.Until, Bound: q.Bound, Runs: q.Runs, Changed: q.Changed}
}

// QuestionOf returns a question from the record.
func QuestionOf(q journal.QuestionRecord) Question {
	return Question{CallID: q.Call, Tool: q.Tool, Args: q.Args, ParamsHash: q.ParamsHash, Reason: q.Reason, Repeats: q.Repeats,
		Prompt: q.Prompt, Message: q.Message, Schema: q.Schema, Until: q.Until, Bound: q.Bound, Runs: q.Runs, Changed: q.Changed}
}

// Fault returns why value does not answer the question of a tool, or "".
func (q Question) Fault(value json.RawMessage) string {
	if !json.Valid(value) {
		return "there is no value"
	}
	if len(q.Schema) == 0 {
		return ""
	}
	compiled, err := schema.Compile(schema.Schema(q.Schema))
	if err != nil {
		return "the schema of the question cannot be used: " + err.Error()
	}
	if faults := compiled.Validate(value); len(faults) > 0 { // value is passed on unchanged, so it must match unchanged
		return faults[0].Message
	}
	return ""
}

// Expired returns the refusal of a question whose time is over at now, and
// whether it is.
func (q Question) Expired(now time.Time) (journal.Approval, bool) {
	if q.Until.IsZero() || now.Before(q.Until) {
		return journal.Approval{}, false
	}
	return q.Answer(false, ByDeadline, "nobody decided before "+q.Until.UTC().Format(time.RFC3339)), true
}

// ByDeadline is the decider of a question that was not answered in time.
const ByDeadline = "deadline"

// PendingError is what Approve returns if a decision is still missing and the run
// should wait. The run then ends without a failure and gives up its record. It
// continues when it is resumed with an answer, perhaps by another process. Until is
// when the question counts as answered with no; zero means never.
type PendingError struct{ Until time.Time }

// Error names the missing decision.
func (e *PendingError) Error() string { return "a person has to decide first" }

// covers reports whether a decides q: it is about the same tool with the same
// arguments, about this call or about any, and has not expired. What only this
// call raises is decided for this call only.
func covers(a journal.Approval, q Question, now time.Time) bool {
	return a.Tool == q.Tool && a.ParamsHash == q.ParamsHash && a.Prompt == q.Prompt && (a.Expires.IsZero() || now.Before(a.Expires)) &&
		(a.Call == q.CallID || a.Call == "" && q.Repeats == "" && q.Prompt == 0)
}

// refusal is what the model is told about a call that a person refused.
func refusal(a journal.Approval) string {
	reason := cmp.Or(a.By, "a person") + " refused it"
	switch {
	case a.By == ByDeadline && a.Prompt > 0:
		reason = "its question was not answered in time"
	case a.By == ByDeadline:
		reason = "it was not allowed in time"
	case a.Prompt > 0:
		reason = cmp.Or(a.By, "a person") + " declined to answer"
	}
	if a.Reason != "" {
		reason += ": " + a.Reason
	}
	return reason
}
