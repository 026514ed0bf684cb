// Package journal is the record of what models asked for and what tools did.
//
// A run is a sequence of entries: requests, answers, intents, receipts,
// refusals, approvals. Each entry names the hash of the one before it, so that
// nothing can be changed, dropped, added or moved without [Verify] noticing. A
// finished run is sealed by a last entry that counts the others; a run without
// a seal is open.
//
// A [Recorder] writes a run in the order that makes crashes safe: the intent
// of an effect before the effect, its receipt after. After a crash an intent
// without a receipt means that nobody knows whether the effect happened. [Open]
// reports such intents, and the Recorder refuses to announce them again.
//
// A [Store] keeps entries: [Memory], a directory of JSON lines ([Dir]) or a
// database ([OpenSQL]). Every store writes the same bytes for the same entry:
// its canonical JSON, as [Canonical] makes it.
//
// A run holds each message, result and argument once. Entries that need one again
// refer to it by its hash; [Whole] puts the values back for whoever reads. Runs of
// earlier versions repeat; their format is the number in each of their lines, and
// a run stays in the format it began in.
//
// No known form of secret reaches a store. Hashes of arguments and outputs are
// taken before secrets are stripped, so they still speak for the whole value;
// the chain covers the stripped form, so a stripped run still verifies.
//
// The package talks to no model and runs no tool. What a run holds can be
// played back ([NewReplay]) without either.
package journal
