package rpc

// Oldest is the first revision of the protocol.
const Oldest = "2024-11-05"

// Legacy is the newest revision with a handshake. Servers that know only older revisions may fail at
// messages before it.
const Legacy = "2025-11-25"

// Newest is the first revision in which servers send no requests: what they ask is
// in the result of a call, which the client makes again with the answers.
const Newest = "2026-07-28"
