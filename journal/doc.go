// Package journal records what models asked for and what tools did.
//
// A run is a sequence of entries: requests, answers, intents, receipts, refusals,
// approvals. Each entry contains the hash of the one before it. [Verify] therefore
// finds every entry that was changed, dropped, added or moved. A finished run is
// sealed by a last entry that counts the others; a run without a seal is open.
//
// A [Recorder] writes a run in an order that is safe in crashes: the intent of an
// effect before the effect, its receipt after. After a crash, an intent without a
// receipt means that the effect may or may not have happened. [Open] reports such
// intents, and the Recorder refuses to announce them again.
//
// A [Store] keeps entries: [Memory], a directory of JSON lines ([Dir]) or a database
// ([OpenSQL]). Every store writes the same bytes for the same entry: its canonical
// JSON, as [Canonical] makes it.
//
// A run contains each message, result and argument once. Later entries refer to it by
// its hash; [Whole] resolves the references. Runs of earlier versions repeat the
// values. Their format is the number in each of their lines, and a run keeps the
// format it began in.
//
// Secrets of a known form never reach a store. Hashes of arguments and outputs are
// taken before secrets are stripped and therefore still identify the whole value. The
// chain covers the stripped form, and a stripped run still verifies.
//
// The package does not call models or run tools. [NewReplay] plays a run back without
// either.
package journal
