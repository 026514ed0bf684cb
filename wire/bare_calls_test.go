package wire

import (
	"bytes"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestCallsWithoutPieces: a call that was started and has no pieces comes with all of its arguments, in every format.
func TestCallsWithoutPieces(t *testing.T) {
	for _, format := range Formats() {
		for _, args := range []string{`{}`, `{"a":1}`} {
			var out bytes.Buffer
			c := Codec{Format: format}
			w := c.NewStream(&out, Head{ID: "x", Model: "m", Created: 1})
			for _, ev := range []llm.Event{
				llm.CallStart{ID: "c1", Name: "f"}, llm.Call{ID: "c1", Name: "f", Args: []byte(args)}, llm.Finish{Reason: llm.ToolCalls},
			} {
				if err := w.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			calls := build(t, c, out.String()).Message.Calls()
			if len(calls) != 1 || string(calls[0].Args) != args {
				t.Errorf("%s: %s became %v", format, args, calls)
			}
			if format == Chat && addedUp(out.String()) != "[[c1 f "+args+"]]" {
				t.Errorf("the client has %s", addedUp(out.String()))
			}
		}
	}
}
