package codec

import (
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// betweenThoughts stands between the parts of thinking in formats that have one text for all of it.
const betweenThoughts = "\n\n"

// JoinThinking adds a part to the text of all thinking.
func JoinThinking(b *strings.Builder, t llm.Thinking) {
	if b.Len() > 0 && t.Text != "" {
		b.WriteString(betweenThoughts)
	}
	b.WriteString(t.Text)
}

// ThinkingJoiner does in a stream what [JoinThinking] does in one piece. Parts of thinking end where those of an [llm.Builder] do.
type ThinkingJoiner struct{ some, ended, redacted bool }

// Joined returns an event of the stream together with the thinking before it.
func (t *ThinkingJoiner) Joined(ev llm.Event) llm.Event {
	switch ev := ev.(type) {
	case llm.ThinkingDelta:
		return t.next(ev)
	case llm.TextDelta, llm.PartEnd, llm.Media, llm.Call, llm.HostedCall, llm.HostedResult:
		t.ended = true
	}
	return ev
}

func (t *ThinkingJoiner) next(ev llm.ThinkingDelta) llm.Event {
	about := ev.About()
	t.ended = t.ended || t.redacted != about.Redacted
	t.redacted = about.Redacted
	if ev.Text != "" {
		if t.some && t.ended {
			ev.Text = betweenThoughts + ev.Text
		}
		t.some, t.ended = true, false
	}
	t.ended = t.ended || !about.State.IsZero()
	return ev
}
