// Package relay passes a whole MCP server on to other clients. Messages go both ways as they are, in every revision.
// Only calls of tools stop on the way: they are validated, authorised and recorded.
package relay
