// Package config describes MCP servers: how a server is reached, how far it is trusted, and the tools it lists. It
// reads the configuration files of other programs.
package config
