// Package sim simulates models: an offline model that calls tools by rule, and servers that speak every vendor's
// format, write every dialect and show every fault.
//
// # The offline model
//
// [Offline] is not a language model. It splits a request into the things asked for. For each it picks the offered tool
// whose name, description and parameters share the most words with it. It fills the arguments from the text by the
// tool's schema: numbers next to the parameter's name, quoted text, paths, dates, names of places, values of an enum.
// When results come back it makes the remaining calls, each once, and otherwise answers with the text of the results.
// It never invents a fact: an optional parameter that the request does not mention is left out, or null where a strict
// schema wants it. It ignores text in a fence, like a file that accompanies a request. The same request always gives
// the same answer.
//
// That is enough to run an agent, a demonstration or a test without network or keys, and to see all of the machinery
// around a model at work. It does not measure the abilities of a model. The tests of this package print how often it
// reads a request like a person.
package sim
