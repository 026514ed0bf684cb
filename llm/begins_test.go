package llm_test

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// foreign is an event of another package, such as one about a request that is sent again.
type foreign struct{}

func (foreign) EventType() string { return "foreign" }

// TestWhatBeginsAnAnswer: only text, thinking, media and calls do.
func TestWhatBeginsAnAnswer(t *testing.T) {
	for _, ev := range []llm.Event{llm.TextDelta{Text: "a"}, llm.TextDelta{Part: &llm.Text{}}, llm.ThinkingDelta{Text: "a"}, llm.ThinkingDelta{Part: &llm.Thinking{Redacted: true}},
		llm.Media{}, llm.CallStart{}, llm.CallDelta{}, llm.Call{}, llm.InvalidCall{}, llm.HostedCall{}, llm.HostedResult{}, llm.Alternative{Index: 1, Event: llm.TextDelta{Text: "a"}}} {
		if !llm.Begins(ev) {
			t.Errorf("%#v begins no answer", ev)
		}
	}
	for _, ev := range []llm.Event{nil, llm.Start{}, llm.KeepAlive{}, llm.Warning{}, llm.TextRead{}, llm.PartEnd{}, llm.UnknownEvent{}, llm.TextDelta{}, llm.ThinkingDelta{},
		llm.Alternative{Index: 1, Event: llm.Start{}}, llm.Retract{}, llm.Finish{}, foreign{}} {
		if llm.Begins(ev) {
			t.Errorf("%#v begins an answer", ev)
		}
	}
}
