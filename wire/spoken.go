package wire

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// Spoken returns the messages of a client in which texts of a model that follow each other
// are one, and so is its thinking, as far as nothing belongs to one of the pieces alone: a
// client of streams sends a text back in the pieces in which it came, and a format, a server
// or a prompt with one text for a turn takes them for paragraphs. It is for servers that ask
// in another format than the client's. Where a turn is a list of items, their texts are no
// pieces, and stay apart. The messages are not changed.
func (c Codec) Spoken(messages []llm.Message) []llm.Message {
	if c.Properties().Items {
		return messages
	}
	var out []llm.Message
	for i, m := range messages {
		if m.Role != llm.RoleAssistant {
			continue
		}
		parts := spoken(m.Parts)
		if len(parts) == len(m.Parts) {
			continue
		}
		if out == nil {
			out = slices.Clone(messages)
		}
		out[i].Parts = parts
	}
	if out == nil {
		return messages
	}
	return out
}

// spoken returns the parts of a model's turn with the pieces of a text as one.
func spoken(parts []llm.Part) []llm.Part {
	for i := 1; i < len(parts); i++ {
		if joinPieces(parts[i-1], parts[i]) != nil {
			return spokenFrom(i, parts)
		}
	}
	return parts
}

// spokenFrom is spoken for parts of which the one at i is the first that is joined.
func spokenFrom(i int, parts []llm.Part) []llm.Part {
	out := slices.Clone(parts[:i])
	for _, p := range parts[i:] {
		if whole := joinPieces(out[len(out)-1], p); whole != nil {
			out[len(out)-1] = whole
		} else {
			out = append(out, p)
		}
	}
	return out
}

// joinPieces returns two parts as one, nil if they are not pieces of the same.
func joinPieces(a, b llm.Part) llm.Part {
	switch a := a.(type) {
	case llm.Text:
		b, ok := b.(llm.Text)
		if !ok || !sameText(a, b) {
			return nil
		}
		a.Text, a.State = a.Text+b.Text, b.State
		return a
	case llm.Thinking:
		b, ok := b.(llm.Thinking)
		if !ok || !a.State.IsZero() || a.Redacted || b.Redacted || len(a.Extra)+len(b.Extra) > 0 {
			return nil
		}
		a.Text, a.State = a.Text+b.Text, b.State
		return a
	}
	return nil
}

func sameText(a, b llm.Text) bool {
	switch {
	case !a.State.IsZero(), b.Text == "" && !b.State.IsZero(): // a block that only its vendor can read
		return false
	case len(a.Citations)+len(b.Citations)+len(a.Extra)+len(b.Extra) > 0, a.LogProbs != nil, b.LogProbs != nil: // of one text alone
		return false
	}
	return a.Refusal == b.Refusal && a.Ours == b.Ours
}
