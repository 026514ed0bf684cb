// Package export writes a run as the files that other programs read: REPLAY.jsonl, the
// events of the run; RECEIPT.json, its calls; PR_SUMMARY.md, the same for people. It
// reads and checks such files of any origin too.
//
// There are two formats with the same content. [A] has events named by "event" with a
// time "t", and joins results to calls by id; our form is a superset of it. [B] has
// "type" and "ts", but no ids.
//
// By default an export contains only hashes: no arguments, no outputs, no messages, no
// paths.
package export
