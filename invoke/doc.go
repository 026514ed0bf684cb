// Package invoke runs the calls that models ask for.
//
// Every call takes the same ten steps, and each step is an event: the tool is
// looked up, the arguments are validated, a policy decides, the order is planned, the
// intent of a change is written down, the tool runs under a timeout, what the
// model sees is formatted and cut, transient failures are tried again, a
// receipt is written, and the result is delivered in the order of the calls.
//
// A [Runner] holds the tools, the policy and the limits. Most programs give one
// to an agent.Agent. Without an agent, [Runner.Session] begins a session, and
// [Session.Do] runs the calls of an answer.
//
// A call that fails at any step is an [Outcome] that tells the model what to
// do about it; it never ends the others. The package talks to no model.
package invoke
