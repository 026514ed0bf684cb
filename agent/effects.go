package agent

import (
	"context"
	"iter"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// effects performs everything that a run does outside of its loop. The loop itself is
// deterministic: with the same results it takes the same steps. live performs the effects;
// replay returns the results that a record holds. A workflow engine would be a third
// implementation: each model request and each tool call is an activity, and each decision
// a recorded side effect.
type effects interface {
	// model returns the model of a turn and its id.
	model(turn int) (llm.Model, string)
	// ask returns m as the loop asks it: calls in the text of its answers are read, and
	// its requests and answers are recorded, or played from a record. ids returns the
	// generator of ids for the calls in one answer.
	ask(m llm.Model, ids func() llm.CallIDs) llm.Model
	// run runs tool calls. Its events are those of [invoke.Session.Do].
	run(ctx context.Context, at callSite, calls []llm.Call) iter.Seq2[llm.Event, error]
	// refuse answers a call that cannot be run.
	refuse(ctx context.Context, at callSite, c llm.InvalidCall) (invoke.Outcome, error)
	// decide returns a result that depends on the program, on a person or on the record.
	// live computes it; replay returns the recorded result and does not call compute. The
	// type of the result depends on the kind of the decision; see [decide].
	decide(ctx context.Context, d decision, compute func() (any, error)) (any, error)
}

// callSite is the place in a run that tool calls come from.
type callSite struct {
	turn  int
	model string    // id of the model that made the calls
	extra *tool.Set // tools of this turn in addition to those of the run
	// If a call is run again, repeats is the id of the original call, repeat the id of the
	// new one, and by is who wanted it.
	repeats, repeat, by string
}

// decision identifies a result of effects.decide. Its kind is the kind of the entry in
// which the record holds the result:
//
//	kindPlan    *planEntry   changes of the hook BeforeTurn to the turn
//	kindStop    string       why the hook AfterTurn ends the run
//	kindFound   foundEntry   tools that the model found since the last turn
//	kindLane    offeredTools the tools for another model
//	kindCut     *reduction   how to make the conversation shorter; nil if it fits
//	kindChoice  Choice       the answer to a checkpoint
//	kindNote    []Message    messages to add to the conversation before the turn
//	kindInside  []string     ids of the calls that ran while the model answered
//	kindGuard   *guardEntry  what guardrails decided about messages or an answer; nil if there are none
//	kindCheck   *checkEntry  a structured answer was refused; nil if it was not
//	kindCost    Money        what the run has cost
//	KindRefusal bool         a redacted argument prevents the call from running
//	KindReceipt bool         a call of an answer beyond the budget ran all the same
type decision struct {
	kind    journal.Kind
	turn    int
	planned bool         // with kindCut: the plan of the turn is known
	output  bool         // with kindGuard: an answer
	value   journal.Hash // with kindCheck
	model   string       // with kindLane
	calls   []llm.Call   // with KindRefusal and KindReceipt
	point   Checkpoint   // with kindChoice
}

// decide is effects.decide with a typed result.
func decide[T any](ctx context.Context, e effects, d decision, compute func() (T, error)) (T, error) {
	v, err := e.decide(ctx, d, func() (any, error) { return compute() })
	result, _ := v.(T)
	return result, err
}
