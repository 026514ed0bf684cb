package agent

import (
	"encoding/json"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Turn begins a turn: one question to the model and the calls it answers with.
type Turn struct {
	N     int    `json:"n"`   // counts from 1
	Max   int    `json:"max"` // how many there may be
	Model string `json:"model,omitempty"`
	// Last says that the model is offered no more tools: it has to answer now.
	Last bool `json:"last,omitempty"`
}

// EventType returns "turn".
func (Turn) EventType() string { return "turn" }

// Switched reports that another model continues the conversation.
type Switched struct {
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why"`
}

// EventType returns "switched".
func (Switched) EventType() string { return "switched" }

// Shortened says that old results were cut, because the conversation had
// outgrown the model's context. The record keeps them whole.
type Shortened struct {
	Calls []string `json:"calls"` // whose results were cut
	Chars int      `json:"chars"` // that they had
	Kept  int      `json:"kept"`
}

// EventType returns "shortened".
func (Shortened) EventType() string { return "shortened" }

// Cause is what a checkpoint is about.
type Cause string

// The causes of checkpoints.
const (
	ToolFailed  Cause = "tool"  // a call failed and nothing that can be tried is left
	ModelFailed Cause = "model" // the model gave no usable answer
	LoopStopped Cause = "stop"  // the runtime stopped the run: a loop, a budget
)

// Checkpoint is a failure at which somebody decides how to go on.
type Checkpoint struct {
	N     int      `json:"n"` // counts from 1 within the run
	Turn  int      `json:"turn"`
	Cause Cause    `json:"cause"`
	Model string   `json:"model,omitempty"` // that was asked
	Call  llm.Call `json:"call,omitzero"`   // with ToolFailed
	// Error describes the failure and its possible fix.
	Error   *tool.Error `json:"error"`
	Attempt int         `json:"attempt,omitempty"`
	// Raw is what the model wrote, where that was the failure.
	Raw     string   `json:"raw,omitempty"`
	Options []Action `json:"options"`
}

// EventType returns "checkpoint".
func (Checkpoint) EventType() string { return "checkpoint" }

// Action is a way to go on after a failure.
type Action string

// The actions.
const (
	Retry  Action = "retry"  // run the call again, or ask the model again
	Skip   Action = "skip"   // leave the failure to the model
	Manual Action = "manual" // Choice.Text is the result, or a hint for the model
	Abort  Action = "abort"  // end the run
)

// Choice answers a checkpoint.
type Choice struct {
	Action Action `json:"action"`
	Text   string `json:"text,omitempty"` // with Manual
	By     string `json:"by,omitempty"`   // who decided
}

// Chosen reports the answer to a checkpoint.
type Chosen struct {
	N int `json:"n"` // of the checkpoint
	Choice
}

// EventType returns "chosen".
func (Chosen) EventType() string { return "chosen" }

// Failed is the reason of a Finish without a usable answer. Finish.Raw has the
// cause.
const Failed llm.Reason = "error"

// Status is how a run ended, or why it did not.
type Status string

// The statuses.
const (
	StatusFinished    Status = "finished"    // there is an answer, or calls for the caller
	StatusPending     Status = "pending"     // it waits for a person: see Done.Waiting
	StatusInterrupted Status = "interrupted" // it was cancelled, or the reader of its events stopped
	StatusFailed      Status = "failed"      // an error follows
)

// Done is the last event of every run. The error of a failed run comes after it.
type Done struct {
	Run    string `json:"run"`
	Status Status `json:"status"`
	// Waiting are the questions that a person has to answer before a run that
	// is pending can go on; see [Agent.ResumeWith].
	Waiting []invoke.Question `json:"waiting,omitempty"`
	Text    string            `json:"text"` // of the last answer
	// Value is the structured answer, where the request asks for one.
	Value json.RawMessage `json:"value,omitempty"`
	// Calls are for the caller to run; see Agent.Caller.
	Calls []llm.Call `json:"calls,omitempty"`
	// Invalid are calls of the last answer that must not run.
	Invalid []llm.InvalidCall `json:"invalid,omitempty"`
	// Messages are the conversation, for a run that continues it: each call has
	// its result, also after an interruption. A part that outgrew the window is shortened
	// or left out: see [Shortened] and [Compacted]. The record has it whole.
	Messages []llm.Message `json:"messages"`
	// Warnings are the warnings of the run, once each, at most 100 of them.
	Warnings []llm.Warning `json:"warnings,omitempty"`
	Finish   llm.Finish    `json:"finish"` // of the last answer
	Usage    llm.Usage     `json:"usage"`  // of all answers
	// Cost is the known cost of Usage; see [catalog.Money]. Unpriced reports that the
	// price of a part of it, or of all, is unknown: the real cost is higher.
	Cost     catalog.Money `json:"cost,omitempty"`
	Unpriced bool          `json:"unpriced,omitempty"`
	Turns    int           `json:"turns"`
	// Ran counts the calls that were run, Did are the changes they reported.
	Ran int                  `json:"ran"`
	Did []journal.SideEffect `json:"did,omitempty"`
	// Unreported are the tools that were run, do not declare that they only
	// read, and did not report what they changed, once each.
	Unreported []string `json:"unreported,omitempty"`
	// Stopped is why [Agent.AfterTurn] ended the run, "" if it did not.
	Stopped string `json:"stopped,omitempty"`
	// Partial reports that the run did not come to its end: Done holds the state that
	// it reached.
	Partial bool `json:"partial,omitempty"`
	// Open says that the run can be resumed.
	Open bool `json:"open,omitempty"`
}

// EventType returns "done".
func (Done) EventType() string { return "done" }
