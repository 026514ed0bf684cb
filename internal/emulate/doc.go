// Package emulate is the engine of the public package emulate and the assembly of the
// stages that read an answer.
//
// [Emulation.Plan] teaches the tools of one request in its prompt, writes the calls and
// results of the history as text, and has the model's host hold the answer to a schema
// where it can. [Teach] writes the prompt and [Envelope] the schema of a call; a [Host]
// takes schemas or grammars; for small models a [Decider] chooses the tools. [CallReader]
// reads the calls of a text and decides which of them count. [AnswerByTool],
// [AnswerByPrompt] and [Emulation.AnswerBySchema] get answers that match a schema, and
// [Keep] holds an answer to the demands of its request. [Answer] puts the stages of an
// answer together.
//
// The package does not know vendors, addresses and keys. Package provider does, and
// uses it for models whose vendor does not support tools.
package emulate
