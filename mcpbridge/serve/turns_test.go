package serve

import (
	"context"
	"testing"
)

// A call that gives up its place does not let those behind it pass those before it.
func TestTurnsThatAreGivenUp(t *testing.T) {
	for _, reads := range []bool{true, false} {
		var turn turns
		first, err := turn.wait(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turn.wait(gone, reads); err == nil {
			t.Fatal("it has its turn")
		}
		if _, err := turn.wait(gone, false); err == nil {
			t.Fatal("the one behind it has its turn")
		}
		first()
		last, err := turn.wait(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		last()
	}
}
