//go:build unix

package main

import "testing"

// TestNewcomersWalk does everything that a newcomer is told to, in a home of its own
// in which nothing is configured: the commands of README.md, then of the documents
// it leads to, in its order, then of the others; then the examples of all help texts.
func TestNewcomersWalk(t *testing.T) {
	t.Run("documents", documentedCommands)
	t.Run("help", helpExamples)
}
