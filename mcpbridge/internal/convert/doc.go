// Package convert turns definitions and results of tools into those of MCP, and back.
package convert
