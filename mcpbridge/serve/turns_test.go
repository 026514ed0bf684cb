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

// A call that only reads does not wait for a command that runs. The next command waits for both.
func TestReadsRunNextToARunningCommand(t *testing.T) {
	var turn turns
	command, err := turn.wait(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	read, err := turn.wait(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan func())
	go func() {
		done, _ := turn.wait(context.Background(), false)
		next <- done
	}()
	command()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turn.wait(gone, false); err == nil {
		t.Error("a command runs next to a read")
	}
	read()
	(<-next)()
}
