package opening_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/opening"
	"github.com/toolpost/toolpost/llm"
)

// foreign is an event of another package, such as one about a request that is sent again.
type foreign struct{}

func (foreign) EventType() string { return "foreign" }

// TestOpeningHoldsTheBeginning: what belongs to an answer waits until it begins, and the
// order stays.
func TestOpeningHoldsTheBeginning(t *testing.T) {
	for name, c := range map[string]struct {
		events []llm.Event
		held   int // events that are held after all of them
		passed string
	}{
		"begins with text":    {[]llm.Event{llm.Start{}, foreign{}, llm.Warning{}, llm.TextRead{}, llm.KeepAlive{}, llm.TextDelta{Text: "a"}, llm.Finish{}}, 0, "foreign warning keep_alive start text_read text_delta finish"},
		"begins with a call":  {[]llm.Event{llm.Start{}, llm.PartEnd{}, llm.CallStart{}, llm.UnknownEvent{}}, 0, "start part_end call_start unknown"},
		"has no content":      {[]llm.Event{llm.Start{}, llm.UnknownEvent{}, llm.Finish{}}, 0, "start unknown finish"},
		"never begins":        {[]llm.Event{foreign{}, llm.Start{}, llm.UnknownEvent{}, llm.TextDelta{}}, 3, "foreign"},
		"retracted and again": {[]llm.Event{llm.Start{}, llm.TextDelta{Text: "a"}, llm.Retract{}, foreign{}, llm.Start{}, llm.TextDelta{Text: "a"}}, 0, "start text_delta retract foreign start text_delta"},
		"retracted":           {[]llm.Event{llm.Start{}, llm.TextDelta{Text: "a"}, llm.Retract{}, llm.Start{}}, 1, "start text_delta retract"},
	} {
		var o opening.Opening
		var passed []string
		for _, ev := range c.events {
			for _, ev := range o.Next(ev) {
				passed = append(passed, ev.EventType())
			}
		}
		if got := strings.Join(passed, " "); got != c.passed || len(o.Held()) != c.held || o.Begun() != (c.held == 0) {
			t.Errorf("%s: passed %q, held %d, begun %v", name, got, len(o.Held()), o.Begun())
		}
	}
}
