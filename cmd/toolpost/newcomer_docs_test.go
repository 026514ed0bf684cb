//go:build unix

package main

import (
	"testing"
)

// TestNewcomersWalk follows all instructions for newcomers in an empty home: the commands of README.md, then of the
// documents that it links to, in order, then of the others, then the examples of all help texts.
func TestNewcomersWalk(t *testing.T) {
	t.Run("documents", documentedCommands)
	t.Run("help", helpExamples)
}
