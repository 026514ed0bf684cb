// Package toollist reads the lists of tools of MCP servers and remembers which definitions were accepted.
package toollist
