package main

import (
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// Without evaluations, the list is empty.
func TestEvalListWithoutEvaluations(t *testing.T) {
	clitest.Bare(t, nil)
	must(t, toolpost(t, "", "eval", "list", "--json"), 0, "[]")
}
