// Package emulate gives tool calling to models that were never taught it.
//
// [Emulation.Around] gives tool calling to any llm.Model: it teaches the tools in the
// prompt, writes the calls and results of the history as text, has the model's host
// hold the answer to a schema where it can, and reads the calls from the text as it
// streams. [Emulation.Plan] does the same for one request, for programs that send it
// themselves.
//
// The parts can be used separately. [Teach] writes the prompt and [Envelope] the
// schema of a call; a [Host] takes schemas or grammars; for small models a [Decider]
// chooses the tools. [CallReader] reads the calls of a text and decides which of them
// count. [AnswerByTool], [AnswerByPrompt] and [Emulation.AnswerBySchema] get answers
// that match a schema, and [Keep] holds an answer to the demands of its request.
// [Answer] puts the stages of an answer together.
//
// The package does not know vendors, addresses and keys. Package provider does, and
// uses it for models whose vendor does not support tools.
package emulate
