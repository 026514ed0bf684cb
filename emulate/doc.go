// Package emulate makes models call tools that were never taught to.
//
// It teaches the tools in a prompt ([Teach]), writes the calls and results of
// the history as text, and has the host of the model hold the answer to a
// schema where it can ([Envelope], [Host]). For small models it also decides
// whether a tool is called, and which ([Gate]).
package emulate
