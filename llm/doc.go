// Package llm is the vocabulary of Toolpost: models, requests, messages, tool
// calls, results, events and errors, in words that belong to no vendor.
//
// A [Model] answers a [Request] with a stream of events, each an [Event]. [Generate] drains
// that stream into a [Response]. Everything else in Toolpost either makes a
// Model (package provider), wraps one (package refine) or reads its events
// (package agent).
//
// The package imports the standard library only. It does not validate, run or
// retry anything. Goroutines may share its values as long as none of them
// changes a value. To change a request, copy it with [Request.Clone] first.
//
// # Streams
//
// A stream is an iter.Seq2[Event, error]. It yields at most one error, and
// yields it last. Breaking out of the loop cancels the request. A stream that
// ends without error has yielded exactly one [Finish].
//
// The deltas of a call, joined, are exactly the arguments of the [Call] that
// follows them. A call that was cut off or cannot be read arrives as an
// [InvalidCall] and must not be run.
package llm
