// Package serve offers tools to MCP clients. [Service] runs every call of a client like a call of a model: validated,
// authorised, bounded and recorded.
package serve
