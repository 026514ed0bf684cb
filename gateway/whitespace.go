package gateway

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// withoutSpace drops white space that is the only text before, between or after calls. Such text is left over when
// calls are parsed from text, and some clients would show it as the answer. White space within text stays.
func withoutSpace(events iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		var held []llm.Event // white space since the last call, while there was no other text
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
