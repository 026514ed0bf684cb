// Package sim simulates models: an offline model that calls tools by rule, and
// servers that speak every vendor's format, write every dialect and show every
// fault.
//
// # The offline model
//
// [Offline] is not a language model. It splits a request into the things asked
// for, picks for each the offered tool whose name, description and parameters
// share the most words with it, and fills the arguments from the text by the
// tool's schema: numbers beside the parameter's name, quoted text, paths,
// dates, names of places, values of an enum. When results come back it calls
// what is still to be done, each thing once, and otherwise answers with what the
// tools said. It never invents a fact: an optional parameter that the request
// does not speak of is left out, or null where a strict schema wants it. Text in a fence, like a file that goes with a request,
// asks for nothing. The same request gives the same answer, always.
//
// That is enough to run an agent, a demonstration or a test without network or
// keys, and to see every part of the machinery around a model at work. It is no
// measure of what a model can do; how often it reads a request as a person
// would is printed by the tests of this package.
package sim
