// Package mcpbridge has no names of its own. Its subpackages connect Toolpost with MCP:
//
//   - config: how a server is reached, how far it is trusted, and which tools it lists
//   - client: servers as tools of a run, and logins
//   - serve: tools served over MCP
//   - relay: a whole server passed on to other clients
//   - agentcli: agent programs as models
package mcpbridge
