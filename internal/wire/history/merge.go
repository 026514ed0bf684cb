package history

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// MergePieces returns messages with consecutive pieces of the model's text, or thinking, merged.
func MergePieces(messages []llm.Message) []llm.Message {
	var out []llm.Message
	for i, m := range messages {
		if m.Role != llm.RoleAssistant {
			continue
		}
		parts := mergePieces(m.Parts)
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

// mergePieces returns the parts of a model's turn with the pieces of a text as one.
func mergePieces(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for i := 0; i < len(parts); {
		end := i + 1
		for end < len(parts) && samePiece(parts[end-1], parts[end]) {
			end++
		}
		if out == nil && end > i+1 {
			out = append(make([]llm.Part, 0, len(parts)), parts[:i]...)
		}
		if out != nil {
			out = append(out, joined(parts[i:end]))
		}
		i = end
	}
	if out == nil {
		return parts
	}
	return out
}

// joined returns the pieces of a text, or of a thought, as one. What the last says of it holds.
func joined(pieces []llm.Part) llm.Part {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var all strings.Builder
	for _, p := range pieces {
		switch p := p.(type) {
		case llm.Text:
			all.WriteString(p.Text)
		case llm.Thinking:
			all.WriteString(p.Text)
		}
	}
	switch last := pieces[len(pieces)-1].(type) {
	case llm.Text:
		last.Text = all.String()
		return last
	case llm.Thinking:
		last.Text = all.String()
		return last
	}
	return pieces[0]
}

// samePiece reports whether two parts are pieces of the same.
func samePiece(a, b llm.Part) bool {
	switch a := a.(type) {
	case llm.Text:
		b, ok := b.(llm.Text)
		return ok && sameText(a, b)
	case llm.Thinking:
		b, ok := b.(llm.Thinking)
		return ok && a.State.IsZero() && !a.Redacted && !b.Redacted && len(a.Extra)+len(b.Extra) == 0
	}
	return false
}

func sameText(a, b llm.Text) bool {
	switch {
	case !a.State.IsZero(), b.Text == "" && !b.State.IsZero(): // a block that only its vendor can read
		return false
	case len(a.Citations)+len(b.Citations)+len(a.Extra)+len(b.Extra) > 0, a.LogProbs != nil, b.LogProbs != nil: // of one text alone
		return false
	}
	return a.Refusal == b.Refusal && a.Ours == b.Ours && a.Origin == b.Origin
}
