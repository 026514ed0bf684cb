package main

import (
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// Without evaluations, the list is empty.
func TestEvalListWithoutEvaluations(t *testing.T) {
	clitest.Bare(t, nil)
	programtest.Must(t, programtest.Run(t, "", "eval", "list", "--json"), 0, "[]")
}
