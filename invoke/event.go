package invoke

import (
	"encoding/json"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Checked says that a call names a tool and its arguments match the schema.
type Checked struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"` // as they will be run
	// Repairs are those of the call and those its schema demanded.
	Repairs []llm.Repair `json:"repairs,omitempty"`
}

// Asked says that a person is being asked about a call.
type Asked struct{ Question }

// Decided says whether a call may run, or that a question of its tool was not answered.
type Decided struct {
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Allowed bool   `json:"allowed"`
	By      string `json:"by"` // "policy", "grant", or who was asked
	Reason  string `json:"reason,omitempty"`
	// Prompt is the question of the tool that was not answered. Unless it is empty, the call itself was allowed, and
	// the tool may have begun.
	Prompt string `json:"prompt,omitempty"`
}

// Waiting reports a call that is not decided yet: Approve returned a [PendingError],
// and the question is on record. The calls of the same Do that are not over get no
// outcome. Until is when the question counts as answered with no; zero means never.
type Waiting struct{ Question }

// Progress is how far a call has come, as its tool reports it.
type Progress struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	tool.Progress
}

// Planned says in which order the calls that may run will run: batch after
// batch, the calls of a batch side by side.
type Planned struct {
	Batches [][]string `json:"batches"` // ids of calls
}

// Intended says that the intent of a call that may change things is on record.
type Intended struct {
	CallID string       `json:"call_id"`
	Tool   string       `json:"tool"`
	Entry  journal.Hash `json:"entry,omitempty"`
}

// Started says that a tool begins to run.
type Started struct {
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Attempt int    `json:"attempt"` // counts from 1
}

// ToolRetry says that an attempt failed and that another will follow.
type ToolRetry struct {
	CallID  string        `json:"call_id"`
	Tool    string        `json:"tool"`
	Attempt int           `json:"attempt"` // that failed
	Delay   time.Duration `json:"delay_ns"`
	Error   *tool.Error   `json:"error"`
}

// Truncated says that the model is shown less than the tool returned.
type Truncated struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	Chars  int    `json:"chars"` // of the whole
	Kept   int    `json:"kept"`
	// Omitted is how many bytes the tool itself left out. Chars does not count them.
	Omitted int64  `json:"omitted,omitempty"`
	Spill   string `json:"spill,omitempty"` // the file that has the whole of what the tool returned
	// SpillError is the reason why there is no such file.
	SpillError string `json:"spill_error,omitempty"`
}

// Ended reports the end of a call at once. Its Outcome follows when the outcomes of
// the calls before it have been delivered.
type Ended struct {
	CallID string         `json:"call_id"`
	Tool   string         `json:"tool"`
	Status journal.Status `json:"status"`
	Took   time.Duration  `json:"took_ns"`
}

// Outcome is the result of a call. There is exactly one for each, in the order
// of the calls.
type Outcome struct {
	Index   int             `json:"index"` // of the call
	Call    llm.Call        `json:"call"`
	Result  llm.Result      `json:"result"` // for the model
	Receipt journal.Receipt `json:"receipt"`
	// Structured is what the tool returned as JSON, if it did and it matches the
	// tool's schema. It is for programs; the record has what the model saw.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Error is what went wrong, nil if nothing did.
	Error *tool.Error `json:"error,omitempty"`
	// Attempt counts the failures of this tool in a row, this one included,
	// and Next is what to try after so many. Both are zero after success.
	Attempt int           `json:"attempt,omitempty"`
	Next    tool.Strategy `json:"next,omitempty"`
}

// Stopped says that the run must not go on: the model repeats itself, or the
// budget is used up. Calls that come later are refused.
type Stopped struct {
	Reason string `json:"reason"`
}

// EventType returns "checked".
func (Checked) EventType() string { return "checked" }

// EventType returns "asked".
func (Asked) EventType() string { return "asked" }

// EventType returns "waiting".
func (Waiting) EventType() string { return "waiting" }

// EventType returns "progress".
func (Progress) EventType() string { return "progress" }

// EventType returns "decided".
func (Decided) EventType() string { return "decided" }

// EventType returns "planned".
func (Planned) EventType() string { return "planned" }

// EventType returns "intended".
func (Intended) EventType() string { return "intended" }

// EventType returns "started".
func (Started) EventType() string { return "started" }

// EventType returns "retrying".
func (ToolRetry) EventType() string { return "retrying" }

// EventType returns "truncated".
func (Truncated) EventType() string { return "truncated" }

// EventType returns "ended".
func (Ended) EventType() string { return "ended" }

// EventType returns "outcome".
func (Outcome) EventType() string { return "outcome" }

// EventType returns "stopped".
func (Stopped) EventType() string { return "stopped" }
