// Package agentcli asks agent programs: command-line programs with a model and a loop,
// like Claude Code and Codex. A [Program] describes how one is started. Its [Model] is
// an [llm.Model] whose tools the program finds on a bridge, and nowhere else.
// Each question has a separate bridge.
//
// Everything is explicit: the program gets the environment of its configuration and no
// other, a separate folder for its settings, and exactly the tools of the question. A setting
// that the program cannot enforce is refused.
//
// In a run of package agent that has a function for every tool, the program walks the
// turns, the run's runtime runs its calls, and they are reported as run by the
// provider. Otherwise the program has one turn, and its calls are calls of the answer.
//
// The output of a program is untrusted: lines, output and time are bounded.
package agentcli
