// Package refine wraps models: the wrappers ask again, ask another model, ask
// several times and take the best answer, and hold answers to a schema.
//
// Each of them is an [llm.Model], so they stack. Requests that they repeat are taken from the one
// [llm.RetryBudget] that travels with a request. However the wrappers are stacked, attempts add up
// and never multiply. A request without a budget gets one from the outermost wrapper.
//
// This package runs no tool. It also repeats nothing that package provider retries: a request that
// never reached the model, or that the model could not begin to answer, has been sent again before
// its error arrives here.
package refine
