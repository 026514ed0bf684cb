// Package connection reaches MCP servers: it starts programs, sends HTTP requests with a login, and explains why a
// server cannot be reached.
package connection
