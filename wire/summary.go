package wire

import (
	"strconv"

	"github.com/toolpost/toolpost/llm"
)

// display is how a format says that thinking is shown, or hidden.
type display struct {
	Word  string // of the format; "" says it by leaving the field out
	Close bool   // the word says less than what was asked for
}

// hiddenThoughts is the summary that asks for none, as the gemini format says by leaving its field out.
const hiddenThoughts = "none"

// The words of the formats for how thinking is shown, by the word that a client has for it: "auto", "concise" and
// "detailed" are those of the responses format, "summarized" and "omitted" those of the messages format.
var messagesDisplays = map[string]display{
	"summarized": {Word: "summarized"}, "auto": {Word: "summarized"},
	"concise": {Word: "summarized", Close: true}, "detailed": {Word: "summarized", Close: true},
	"omitted": {Word: "omitted"}, hiddenThoughts: {Word: "omitted"},
}
var responsesDisplays = map[string]display{
	"auto": {Word: "auto"}, "concise": {Word: "concise"}, "detailed": {Word: "detailed"}, "summarized": {Word: "auto"},
	"omitted": {}, hiddenThoughts: {},
}

// hidesThinking reports whether a summary asks that thinking is not shown.
func hidesThinking(summary string) bool { return summary == "omitted" || summary == hiddenThoughts }

// display returns the word of the format for how thinking is shown. What it cannot say is a warning.
func (e *encoder) display(words map[string]display, r *llm.Reasoning) string {
	d, ok := words[r.Summary]
	switch {
	case r.Summary == "":
	case !ok:
		e.lost(llm.Ignored, "reasoning.summary", "the "+e.c.Format+" format cannot show thinking as "+strconv.Quote(r.Summary))
	case d.Close:
		e.lost(llm.Degraded, "reasoning.summary", "the "+e.c.Format+" format has one kind of summary, and not "+strconv.Quote(r.Summary))
	}
	return d.Word
}
