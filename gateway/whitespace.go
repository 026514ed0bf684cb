package gateway

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// withoutSpace returns the events of an answer without the white space that stands alone before,
// between and behind its calls. It is left over where calls are found in text, and some clients take
// any text for the answer. White space within text stays.
func withoutSpace(events iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		var held []llm.Event // white space since the last call, while nothing else was said
		speaking := false
		for ev, err := range events {
			if err == nil {
				switch ev := ev.(type) {
				case llm.TextDelta:
					if !speaking && ev.Part == nil && strings.TrimSpace(ev.Text) == "" {
						held = append(held, ev)
						continue
					}
					speaking = true
					for _, space := range held {
						if !yield(space, nil) {
							return
						}
					}
					held = nil
				case llm.Call, llm.CallStart, llm.InvalidCall:
					held, speaking = nil, false
				}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
