package main

import (
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
)

// TestPromises holds the parts of the program to what is promised about every store
// and every model.
func TestPromises(t *testing.T) {
	t.Run("store", func(t *testing.T) {
		llmtest.TestStore(t, func(*testing.T) journal.Store { return &store{runs: map[string][]journal.Entry{}} })
	})
	t.Run("model", func(t *testing.T) {
		llmtest.TestModel(t, func(*testing.T) llm.Model { return emulate.Emulation{}.Around(scribe{}) })
	})
}
