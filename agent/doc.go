// Package agent runs the turns of a conversation between a model and its tools
// until there is an answer.
//
// An [Agent] holds the settings. [Agent.Run] asks the model, has package invoke
// run the calls, gives the results back, and so on; everything that happens is
// an event, and everything that matters is in a journal. A run that was
// interrupted at any moment is taken up again by [Agent.Resume], and a run that
// ended is played again, without model or tools, by [Replay].
//
// # Who runs the calls
//
// If every tool has a function, the agent runs calls and takes as many turns as
// needed. If none has, there is one turn, and the caller gets the calls in
// [Done]. If only some have, there is one turn as well, nothing is run, and a
// warning names the tools without a function.
//
// # What goes back to the model
//
// A call that cannot be read, names no tool, or does not match its schema is
// never run: the model is told what was wrong, field by field, and may try
// again. So may a model that says nothing, or does not call when it has to. All
// of that is counted by one budget.
package agent
