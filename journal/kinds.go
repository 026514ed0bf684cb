package journal

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Kind is the kind of an entry's body. The set is open: other packages write their own
// kinds, and readers skip unknown ones.
type Kind string

// The kinds of this package, with the type of the body.
const (
	KindStart        Kind = "start"        // Start: a session begins
	KindPlan         Kind = "plan"         // SessionPlan: the plan of a session
	KindRequest      Kind = "request"      // Request: what a model is asked
	KindAnswer       Kind = "answer"       // Answer: the answer of a model
	KindRepair       Kind = "repair"       // RepairRecord: a call was read in spite of its faults, or could not be
	KindQuestion     Kind = "question"     // QuestionRecord: the run waits for a person
	KindApproval     Kind = "approval"     // Approval: the decision about a call
	KindIntent       Kind = "intent"       // Intent: a call that may change something is about to run
	KindReceipt      Kind = "receipt"      // Receipt of a call that ran, or was served from a cache
	KindRefusal      Kind = "refusal"      // Receipt of a call that did not run
	KindOutcome      Kind = "outcome"      // OutcomeRecord: how a call ended, to compare models and tools
	KindStep         Kind = "step"         // Step: a step of a plan is over
	KindVerification Kind = "verification" // Verification: a command that checked the work
	KindEnd          Kind = "end"          // End: the session ends
	KindTorn         Kind = "torn"         // Torn: a half-written line was cut off
	KindSeal         Kind = "seal"         // Seal: the last entry
)

// Start opens a session.
type Start struct {
	Producer    string `json:"producer,omitempty"` // name@version of the program
	Task        string `json:"task,omitempty"`
	Model       string `json:"model,omitempty"`
	PolicyID    string `json:"policy_bundle_id,omitempty"`
	IssueNumber *int64 `json:"issue_number,omitempty"`
	Repo        *Repo  `json:"repo,omitempty"`
	Lane        string `json:"lane,omitempty"`
	// Parent is the run this one continues, if it does.
	Parent string `json:"parent,omitempty"`
	// Metadata is data of the program about the run.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Team and Route say for whom a gateway runs the calls of a request, and by which of its routes.
	Team  string `json:"team,omitempty"`
	Route string `json:"route,omitempty"`
}

// Repo is the state of the code a session works on.
type Repo struct {
	Remote string `json:"remote"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// SessionPlan is what a session plans to do.
type SessionPlan struct {
	PlanHash  Hash            `json:"plan_hash"`
	StepCount int             `json:"step_count"`
	Plan      json.RawMessage `json:"plan,omitempty"`
}

// Intent announces a call that may change the world, before it does.
type Intent struct {
	Call string `json:"call"` // the call's id, unique in the run
	// Repeats is the call that this one is another attempt of, because a person
	// granted it with an Approval of [ScopeRepeat].
	Repeats    string          `json:"repeats,omitempty"`
	StepID     string          `json:"step_id,omitempty"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
	ParamsHash Hash            `json:"params_hash"`
	Effects    string          `json:"effects,omitempty"` // what the tool declares, in its words
	Approval   Hash            `json:"approval,omitempty"`
	// Key is the call whose idempotency key this one has, because it repeats that
	// call, whose outcome is unknown. Empty means that its own id is the key.
	Key string `json:"idempotency,omitempty"`
}

// Status is how a call ended.
type Status string

// The ways a call ends.
const (
	OK        Status = "ok"        // it ran without an error
	Failed    Status = "failed"    // it ran and reported an error
	Refused   Status = "refused"   // it never ran
	Abandoned Status = "abandoned" // it was given up while it ran; it may still change things
	Unknown   Status = "unknown"   // it was interrupted after the intent; it may have taken effect
)

// The values of Receipt.ExecutedBy.
const (
	ByRuntime  = "runtime"
	ByProvider = "provider"
)

// Receipt is the result of a call that is over.
type Receipt struct {
	Call   string `json:"call"`
	StepID string `json:"step_id,omitempty"`
	Tool   string `json:"tool"`
	// Server is where a tool comes from whose definition can change, like an MCP
	// server.
	Server *ToolServer `json:"server,omitempty"`
	// Args are the arguments as run, or as the model wrote them if they never ran.
	// Text without a canonical JSON form is kept as a string.
	Args json.RawMessage `json:"args"`
	// ParamsHash speaks for the arguments and OutputHash for the whole output,
	// whatever was stripped from them or not shown to the model.
	ParamsHash Hash   `json:"params_hash"`
	OutputHash Hash   `json:"output_hash,omitempty"`
	Status     Status `json:"status"`
	// Reason is why a call was refused, abandoned or has an unknown outcome.
	Reason string   `json:"reason,omitempty"`
	Error  *Failure `json:"error,omitempty"`
	// Result is what the model was shown.
	Result *llm.Result `json:"result,omitempty"`

	LatencyMS int64 `json:"latency_ms"`
	ExitCode  *int  `json:"exit_code,omitempty"`
	// Attempts counts the times the tool ran, DelaysMS the waits in between.
	Attempts    int          `json:"attempts,omitempty"`
	DelaysMS    []int64      `json:"delays_ms,omitempty"`
	SideEffects []SideEffect `json:"side_effects,omitempty"`
	StepUtility *float64     `json:"step_utility,omitempty"`

	// Dialect is how the call was written in text, and Source where it was
	// found; both are empty for a call that the vendor delivered as one.
	Dialect    string       `json:"dialect,omitempty"`
	Source     llm.Source   `json:"source,omitempty"`
	Repairs    []llm.Repair `json:"repairs,omitempty"`
	ExecutedBy string       `json:"executed_by,omitempty"` // ByRuntime if empty
	Approval   *Approval    `json:"approval,omitempty"`
	Cached     bool         `json:"cached,omitempty"`
	// OutputBytes is the size of the whole output, OmittedBytes of the part that the
	// tool left out of its result, and ShownBytes of what the model was shown. Spill is
	// the file that holds the whole result.
	OutputBytes  int64  `json:"output_bytes,omitempty"`
	OmittedBytes int64  `json:"omitted_bytes,omitempty"`
	ShownBytes   int64  `json:"shown_bytes,omitempty"`
	Truncated    bool   `json:"truncated,omitempty"`
	Spill        string `json:"spill,omitempty"`
	// Usage is what the tool used of models, if it asked any.
	Usage *llm.Usage `json:"usage,omitempty"`

	// Entry is the hash of the entry that holds the receipt. It is not part
	// of the body.
	Entry Hash `json:"-"`
}

// codeCancelled is the code of a call that was interrupted: tool.Cancelled, which
// this package does not import.
const codeCancelled = "cancelled"

// ToolServer is a source of tools; List is the hash of its tool list.
type ToolServer struct {
	Name string `json:"name"`
	List Hash   `json:"list"`
}

// Interrupted reports whether the call was cancelled before it began or while it ran.
// Such a call is not over unless it had an intent: a resumed run runs it again,
// because it did not change anything.
func (r Receipt) Interrupted() bool { return r.Error != nil && r.Error.Code == codeCancelled }

// Failure is an error as a receipt holds it.
type Failure struct {
	Code        string `json:"code"`
	Message     string `json:"message"`
	Recoverable bool   `json:"recoverable,omitempty"`
	Strategy    string `json:"strategy,omitempty"`
}

// SideEffect is a change a tool reports, like {"file_modified", "a/b.go"}.
type SideEffect struct {
	Type   string                     `json:"type"`
	Path   string                     `json:"path,omitempty"`
	Detail map[string]json.RawMessage `json:"detail,omitempty"`
}

// Approval is a decision about one call with exactly these arguments.
type Approval struct {
	Call       string    `json:"call"`
	Tool       string    `json:"tool"`
	ParamsHash Hash      `json:"params_hash"`
	Allowed    bool      `json:"allowed"`
	By         string    `json:"by,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Scope      string    `json:"scope,omitempty"` // [ScopeRepeat], or in the program's words
	Expires    time.Time `json:"expires,omitzero"`
	// Args are what the call is to be run with instead, if the person changed
	// the arguments. ParamsHash is that of the arguments the person was shown.
	Args json.RawMessage `json:"args,omitempty"`
	// Prompt is the number of the question that Value answers, if the tool asked it
	// while it ran, and Asked its text; see [QuestionRecord].
	Prompt int             `json:"prompt,omitempty"`
	Asked  string          `json:"asked,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	// Bound is what the call would act on when the person decided, each with a hash.
	// The approval counts only while that is the same. Without it, an approval that a
	// record holds does not count for a later process.
	Bound map[string]Hash `json:"bound,omitempty"`
}

// QuestionRecord is something that a run waits for a person to decide. An [Approval]
// of the same call, ParamsHash and Prompt answers it.
type QuestionRecord struct {
	Call       string          `json:"call"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
	ParamsHash Hash            `json:"params_hash"`
	Effects    string          `json:"effects,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	// Repeats is an earlier call of unknown outcome that this one repeats.
	Repeats string `json:"repeats,omitempty"`
	// Prompt counts from 1 the questions that the tool itself asks while it
	// runs; 0 asks whether it may run. Message and Schema are what it asks.
	Prompt  int             `json:"prompt,omitempty"`
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	// Until is when the question is answered with no; zero means never.
	Until time.Time `json:"until,omitzero"`
	// Bound is what the call would act on; see [Approval]. Runs is the command line, the
	// request or the files, for people. Changed tells what differs from an earlier approval.
	Bound   map[string]Hash `json:"bound,omitempty"`
	Runs    string          `json:"runs,omitempty"`
	Changed string          `json:"changed,omitempty"`
}

// RepairRecord says that a call was read in spite of its faults, or could not be.
type RepairRecord struct {
	Call    string       `json:"call"`
	Tool    string       `json:"tool,omitempty"`
	Dialect string       `json:"dialect,omitempty"`
	Repairs []llm.Repair `json:"repairs,omitempty"`
	// Raw is what the model wrote, where the call could not be read.
	Raw     string `json:"raw,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// OutcomeRecord is how a call ended, for programs that compare models, prompts and tools. The
// runtime does not depend on it.
type OutcomeRecord struct {
	Task    string     `json:"task,omitempty"`
	Call    string     `json:"call"`
	Tool    string     `json:"tool"`
	Model   string     `json:"model,omitempty"`
	Success bool       `json:"success"`
	Code    string     `json:"code,omitempty"` // of the error
	Repairs int        `json:"repairs"`
	Attempt int        `json:"attempt"`
	Usage   *llm.Usage `json:"usage,omitempty"`
}

// Step says that a step of a plan is over.
type Step struct {
	StepID     string `json:"step_id"`
	Status     string `json:"status"` // Success, Failed, Skipped or MaxIterationsReached
	Iterations int    `json:"iterations"`
}

// Verification is a command that checked the work.
type Verification struct {
	Command       string `json:"command"`
	ExitCode      int    `json:"exit_code"`
	Cwd           string `json:"cwd,omitempty"`
	DurationMS    int64  `json:"duration_ms,omitempty"`
	FailuresFixed *int   `json:"verification_delta,omitempty"` // failing before minus failing after
}

// End closes a session.
type End struct {
	Status     string     `json:"status"` // success, failure, cancelled or timeout
	Confidence *float64   `json:"confidence,omitempty"`
	Summary    string     `json:"summary,omitempty"`
	Usage      *llm.Usage `json:"usage,omitempty"`
}

// Torn says that the bytes of a line that a crash had left unfinished were cut
// off before the run went on.
type Torn struct {
	Bytes int64 `json:"bytes"`
	Hash  Hash  `json:"hash"` // of those bytes
}

// Seal ends a run: nothing can follow it, and nothing before it can go
// missing.
type Seal struct {
	Count int64 `json:"count"` // of the entries before the seal
	Head  Hash  `json:"head"`  // of the last of them
}

// randomText returns n random letters and digits.
func randomText(n int) string { return rand.Text()[:n] }
