package emulate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// What stands behind a value that the host holds the model to comes before the end of the text, however the value is cut, or
// the call around it would be cut off.
func TestValuesAreClosedBeforeTheTextEnds(t *testing.T) {
	const value = `{"minutes": [1, "}"]} `
	for size := 1; size <= 2*len(value); size++ {
		signed := size > len(value) // the part is told by its own event, and its end is not
		raw := func(yield func(llm.Event, error) bool) {
			for rest := value; rest != ""; {
				n := min((size-1)%len(value)+1, len(rest))
				if !yield(llm.TextDelta{Text: rest[:n]}, nil) {
					return
				}
				rest = rest[n:]
			}
			if signed {
				_ = yield(llm.TextDelta{Part: &llm.Text{State: llm.State{Vendor: "v", Data: []byte(`"id"`)}}}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
				return
			}
			_ = yield(llm.PartEnd{}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
		}
		var text strings.Builder
		ended := false
		for ev, err := range wholeJSON(`{"arguments":`, "}")(raw) {
			switch ev := ev.(type) {
			case llm.TextDelta:
				if ended {
					t.Errorf("in pieces of %d: %q comes after the end of the text", size, ev.Text)
				}
				text.WriteString(ev.Text)
				ended = ev.Part != nil
			case llm.PartEnd:
				ended = true
			case llm.Finish:
				if ev.Reason != llm.Stop || err != nil {
					t.Errorf("in pieces of %d: it ends with %v, %v", size, ev.Reason, err)
				}
			}
		}
		if got := strings.ReplaceAll(text.String(), " ", ""); got != `{"arguments":{"minutes":[1,"}"]}}` {
			t.Error(fmt.Sprintf("in pieces of %d: ", size) + got)
		}
	}
}
