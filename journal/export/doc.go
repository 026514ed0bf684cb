// Package export writes a run as the files that other programs read:
// REPLAY.jsonl, what happened, event by event; RECEIPT.json, what was done, call
// by call; PR_SUMMARY.md, the same for people. It reads and checks such files
// too, whoever wrote them.
//
// There are two formats with the same content. [A] has events named by "event"
// with a time "t", and joins results to calls by id; ours is a superset of it.
// [B] has "type" and "ts", and no ids.
//
// Without being asked for more, an export holds hashes only: no arguments, no
// outputs, no messages, no paths.
package export
