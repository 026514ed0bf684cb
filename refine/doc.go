// Package refine wraps models: the wrappers ask again, ask another model, ask
// several times and take the best answer, and hold answers to a schema.
//
// Each of them is an [llm.Model], so they stack. What is asked again on behalf
// of a request is taken from the one [llm.RetryBudget] that travels with it:
// however they are stacked, attempts add up and never multiply. A request
// without a budget gets one from the outermost of them.
//
// Nothing here runs a tool, and nothing here repeats what package provider
// repeats: a request that never reached the model, or that it could not begin
// to answer, has been sent again already by the time its error arrives here.
package refine
