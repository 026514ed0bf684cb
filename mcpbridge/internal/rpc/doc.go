// Package rpc reads and writes JSON-RPC messages as MCP peers write them. Its readers come before those of the SDK,
// which end a connection at the first message that they cannot read.
package rpc
