// Package agent runs the turns of a conversation between a model and its tools
// until there is an answer.
//
//	look := tool.Func("get_weather", "Current weather in a city.", weather) // a Go function
//	a := &agent.Agent{Model: model, Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
//	done, err := a.Ask(ctx, llm.User("What is the weather in Rome?"))
//	fmt.Println(done.Text)
//
// An [Agent] holds the settings. [Agent.Run], and [Agent.Ask] without its events, asks the model, has package invoke
// run the calls, gives the results back, and repeats that. Everything that happens is
// an event, and everything that matters is in a journal. [Agent.Resume] continues a run that was
// interrupted at any moment. [Replay] repeats a run that ended, without model or tools.
//
// # Functions and callers
//
// If every tool has a function, the agent runs calls and takes as many turns as
// needed. If none has, there is one turn, and the caller gets the calls in
// [Done]. If only some have, there is one turn as well, the agent runs no call, and a
// warning names the tools without a function.
//
// # Corrections
//
// A call that cannot be read, names no tool, or does not match its schema never
// runs. The model is told the problem, field by field, and may try again. The same
// holds for a model that writes nothing, or does not call a tool although it has to. One
// budget, [Agent.RetryBudget], counts all corrections.
package agent
