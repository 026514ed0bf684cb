package emulate

import (
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// testDecider is the decider of package smallmodel, which the tests inside this
// package cannot import.
var testDecider Decider

// WholeCalls reads with [WholeCallsStage].
func WholeCalls(events iter.Seq2[llm.Event, error], passes func(id string) bool) iter.Seq2[llm.Event, error] {
	return WholeCallsStage(passes).Read(events)
}

// SetTestDecider sets it.
func SetTestDecider(d Decider) { testDecider = d }
