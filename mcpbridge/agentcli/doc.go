// Package agentcli asks agent programs: command-line programs that have a model and a loop
// of their own, like Claude Code and Codex. A [Program] says how one is started; its
// [Model] is an [llm.Model] whose tools the program finds on an [mcpbridge.Bridge] that is
// made for each question, and nowhere else.
//
// Everything is explicit: the program gets the environment of its configuration and no
// other, a folder of its own for its settings, and exactly the tools of the question. What
// a program cannot be held to is refused.
//
// In a run of package agent that has a function for every tool, the program walks the
// turns, the run's own runtime runs its calls, and they are reported as run by the
// provider. Otherwise the program has one turn, and its calls are calls of the answer.
//
// What a program writes is from outside: lines, output and time are bounded.
package agentcli
