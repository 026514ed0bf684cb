// Package refine wraps models: the wrappers ask again ([Retry]), ask another
// model ([Fallback]), ask several times and take the best answer ([BestOf]),
// check what goes in and comes out ([Guard]), and hold answers to a schema
// ([Structured]). [Into] returns an answer as a Go value.
//
// Each of them is an [llm.Model], so they stack. Requests that they repeat are taken from the one
// [llm.RetryBudget] that travels with a request. However the wrappers are stacked, attempts add up
// and never multiply. A request without a budget gets one from the outermost wrapper.
//
// This package runs no tool. It also repeats nothing that package provider retries: a request that
// never reached the model, or that the model could not begin to answer, has been sent again before
// its error arrives here.
package refine
