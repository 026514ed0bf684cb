// Package client makes the tools of MCP servers tools of a run. A [config.ServerConfig] describes
// how a server is reached and how far it is trusted; [Open] takes any number of
// them and starts none. [Servers.Tools] returns their tools as one [tool.Set],
// under the names server__tool, and [Servers.BeforeTurn] keeps a run up to date
// when a server changes its list or comes late.
//
// The official SDK implements the protocol in all its revisions. This package decides what a server
// must not decide: when it is started and ended, which environment it sees, how long and how much it
// may answer, and whether its description of its tools is trusted.
//
// Everything a server sends is from outside: frames, pages, names, schemas and
// results are bounded, and a server that breaks a bound fails alone.
package client
