package emulate

import (
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// fencedData unwraps data that a model wrote into a code fence. Text that begins like JSON passes at once. Other text
// would be an error at the end of the answer, so it is held until then, or until a call shows that it is not the data.
type fencedData struct {
	flows bool // the text is not held
	text  bool // some held text is not white space
	held  []llm.Event
}

// hold takes an event and returns true if it is held. Otherwise the caller must pass on what it released, and the
// event.
func (f *fencedData) hold(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Part != nil && ev.Part.Refusal {
			f.flows = true
			return false
		}
		if start := strings.TrimSpace(ev.Text); !f.text && start != "" {
			f.text = true
			f.flows = strings.ContainsRune(`{["-0123456789`, rune(start[0]))
		}
		if !f.flows {
			f.held = append(f.held, ev)
		}
		return !f.flows
	case llm.CallStart, llm.Call, llm.InvalidCall:
		f.flows = true
		return false
	case llm.Finish, llm.Warning, llm.KeepAlive:
		return false
	}
	if len(f.held) > 0 {
		f.held = append(f.held, ev)
	}
	return len(f.held) > 0
}

// release returns the held events, and holds no more.
func (f *fencedData) release() []llm.Event {
	held := f.held
	f.held, f.flows = nil, true
	return held
}

// replace replaces the text of the held events.
func (f *fencedData) replace(text string) {
	kept := f.held[:0]
	for _, ev := range f.held {
		if d, is := ev.(llm.TextDelta); is {
			if text == "" {
				continue
			}
			d.Text, text = text, ""
			ev = d
		}
		kept = append(kept, ev)
	}
	f.held = kept
}
