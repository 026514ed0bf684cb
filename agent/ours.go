package agent

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// whyManual is why a note was added that a person wrote.
const whyManual = "manual"

// message returns the message of a note. What we wrote ourselves is marked: it
// may quote a call, and a call that the model then sends again is no echo.
func (n noteEntry) message() llm.Message {
	m := n.Message
	if n.Why != whyManual && n.Why != whyResumed {
		m.Parts = ours(m.Parts)
	}
	return m
}

// ours returns parts with their text marked as written by us.
func ours(parts []llm.Part) []llm.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if t, ok := p.(llm.Text); ok {
			t.Ours = true
			out[i] = t
		}
	}
	return out
}
