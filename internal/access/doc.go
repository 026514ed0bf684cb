// Package access controls who may use a gateway, which models, tools and routes they may use, and how much. It manages
// keys, the teams that own them, limits and recorded usage.
//
// A [Book] keeps all of it in a [Store]: [Memory], or a SQLite or PostgreSQL database ([OpenSQL]) that several gateways
// may share. A request is admitted in three steps. [Book.Authenticate] finds the key, [Book.Admit] reserves the most
// that the request may cost, and [Book.Settle] replaces the reservation with the actual cost. Concurrent requests see
// each other's reservations, so together they exceed a limit by at most the last request admitted.
//
// The secret of a key is shown once, when the key is created. Only a hash of it is stored.
package access
