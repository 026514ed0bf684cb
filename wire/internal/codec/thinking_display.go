package codec

import (
	"strconv"

	"github.com/toolpost/toolpost/llm"
)

// Display is how a format says that thinking is shown, or hidden.
type Display struct {
	Word  string // of the format; "" says it by leaving the field out
	Close bool   // the word only approximates the request
}

// HiddenThoughts is the summary that asks for none, as the gemini format says by leaving its field out.
const HiddenThoughts = "none"

// HidesThinking reports whether a summary asks that thinking is not shown.
func HidesThinking(summary string) bool { return summary == "omitted" || summary == HiddenThoughts }

// ThinkingDisplay returns the word of the format for how thinking is shown. What it cannot say is a warning.
func (e *Encoder) ThinkingDisplay(words map[string]Display, r *llm.Reasoning) string {
	d, ok := words[r.Summary]
	switch {
	case r.Summary == "":
	case !ok:
		e.Lost(llm.Ignored, "reasoning.summary", "the "+e.Host.Format+" format cannot show thinking as "+strconv.Quote(r.Summary))
	case d.Close:
		e.Lost(llm.Degraded, "reasoning.summary", "the "+e.Host.Format+" format has one kind of summary, and not "+strconv.Quote(r.Summary))
	}
	return d.Word
}
