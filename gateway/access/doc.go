// Package access knows who may use a gateway, for what, and how much: keys, the teams that they
// belong to, limits, and what was spent.
//
// A [Book] keeps all of it in a [Store]: [Memory], or a database of SQLite or PostgreSQL
// ([OpenSQL]), which several gateways may share. A request is let in in three steps.
// [Book.Authenticate] finds the key, [Book.Admit] reserves what the request may cost at most, and
// [Book.Settle] puts what it did cost in the place of the reservation. Requests that run at the
// same time see each other's reservations, so together they exceed a limit by no more than
// the one that was let in last.
//
// The secret of a key is shown once, when it is made. Only a hash of it is kept.
package access
